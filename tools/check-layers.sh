#!/bin/sh
# Who may include whom: base <- policy, os <- plan <- box; the command line sees cordon.h and base only.
set -eu
status=0
check() { # FOLDER ALLOWED…
	folder=$1
	allowed=$(echo "$*" | tr ' ' '|')
	for file in src/"$folder"/*.[ch]; do
		[ -e "$file" ] || continue
		bad=$(grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "$file" | grep -vE "\"($allowed)/[a-z0-9_]+\.(h|def)\"") || continue
		echo "$bad" | sed "s|^|$file:|; s|\$|   <- $folder may include only: $* and <cordon.h>|"
		status=1
	done
}
check base base
check policy policy base
check os os base
check plan plan policy os base
check box box plan policy os base
check cli cli base
for folder in src/*/; do
	case $folder in
	src/base/ | src/policy/ | src/os/ | src/plan/ | src/box/ | src/cli/) ;;
	*) echo "$folder: no layer of tools/check-layers.sh"; status=1 ;;
	esac
done
exit $status
