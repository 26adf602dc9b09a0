# Completion of cordon for bash: `cordon completion words` knows the candidates.
_cordon()
{
	local cur=${COMP_WORDS[COMP_CWORD]} word IFS=$'\n'
	[ "$cur" = = ] && cur=
	COMPREPLY=()
	while IFS=$'\t' read -r word _; do
		case $word in
		:files) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$cur") && compopt -o filenames ;;
		:commands) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -c -- "$cur") ;;
		"$cur"*) COMPREPLY+=("$word") ;;
		esac
	done < <("${COMP_WORDS[0]}" completion words "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _cordon cordon
