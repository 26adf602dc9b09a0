# The completion scripts are part of the command: `cordon completion SHELL` prints them.
COMPLETIONS := completions/cordon.bash completions/cordon.fish completions/cordon.zsh

$(GEN)/completions.c: tools/embed.sh $(COMPLETIONS)
	@mkdir -p $(@D)
	sh $^ > $@.tmp && mv $@.tmp $@
