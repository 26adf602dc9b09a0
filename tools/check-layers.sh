#!/bin/sh
# Who may include whom: base <- net, stream, store <- policy, os <- plan <- box <- engine; egress, driver, image and inner are programs of their own; the command line sees cordon.h and base only.
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
check net net base
check store store base
check policy policy store net base
check os os base
check plan plan policy store os net base
check box box plan policy store os net stream base
check egress egress os net stream base
check stream stream base
check engine engine box plan policy store os net stream base
check driver driver stream os base
check inner inner os stream base
check musl musl
check image image store policy os net base
check cli cli base
for folder in src/*/; do
	case $folder in
	src/base/ | src/net/ | src/policy/ | src/os/ | src/egress/ | src/stream/ | src/engine/ | src/driver/ | src/inner/ | src/musl/ | src/store/ | src/image/ | src/plan/ | src/box/ | src/cli/) ;;
	*) echo "$folder: no layer of tools/check-layers.sh"; status=1 ;;
	esac
done
exit $status
