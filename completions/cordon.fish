# Completion of cordon for fish: `cordon completion words` knows the candidates.
function __cordon_words
	set -l words (commandline -opc) (commandline -ct)
	for line in ($words[1] completion words $words[2..-1] 2>/dev/null)
		switch $line
			case :files
				__fish_complete_path (commandline -ct)
			case :commands
				__fish_complete_command
			case '*'
				echo $line
		end
	end
end
complete -c cordon -f -a '(__cordon_words)'
