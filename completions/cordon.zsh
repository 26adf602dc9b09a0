#compdef cordon
# Completion of cordon for zsh: `cordon completion words` knows the candidates.
_cordon()
{
	local word help
	local -a candidates
	while IFS=$'\t' read -r word help; do
		case $word in
		:files) _files ;;
		:commands) _command_names -e ;;
		*) candidates+=("${word//:/\\:}:$help") ;;
		esac
	done < <(command ${words[1]} completion words "${(@)words[2,CURRENT]}" 2>/dev/null)
	(( ${#candidates} )) && _describe cordon candidates
}
if [ "$funcstack[1]" = _cordon ]; then
	_cordon "$@"
else
	compdef _cordon cordon
fi
