#!/bin/bash
# Images come from root file systems, `docker save` and OCI layouts; layers are laid over each other with their whiteouts, and shared.
. "$(dirname "$0")/lib.sh"

for file in root.tar root.tar.gz root.tar.bz2 root.tar.xz root.tar.zst; do
	[ -e "$IMAGES/$file" ] || { skip "$file" "no zstd here"; continue; }
	ok "$file is imported" image import "$IMAGES/$file" "r:$file"
done
is "$(image ls --json | python3 -c 'import json, sys; print(len({i["id"] for i in json.load(sys.stdin)}))')" 1 "and is the same image however it is packed"
is "$(find "$STORE/layers" -mindepth 1 -maxdepth 1 | wc -l)" 1 "whose layer is there once"
ok "a root file system comes from a pipe" sh -c "cat '$IMAGES/root.tar' | '$CORDON' image import - piped"
is "$(in_image piped 'cat /data/second')" "same file" "and runs"

ok "docker save of old" image import "$IMAGES/docker-old.tar"
ok "docker save of today" image import "$IMAGES/docker-new.tar"
ok "the same, packed" image import "$IMAGES/docker-new.tar.gz" packed
ok "an OCI layout" image import "$IMAGES/oci"
ok "the tar of an OCI layout" image import "$IMAGES/oci.tar" ocitar
like "$(image ls)" 'docker.io/library/tiny:old' "names come from the archive"
for words in "run --image" "image rm" "image inspect"; do
	# shellcheck disable=SC2086 # words
	like "$("$CORDON" completion words $words '')" $'(^|\n)piped\t' "completion of $words knows the images"
done
unlike "$("$CORDON" completion words run --ro '')" piped "control: and that of another flag does not"
is "$(for i in tiny:old tiny:new packed tiny:oci ocitar docker.io/library/tiny:old; do image inspect $i | json id; done | sort -u | wc -l)" 1 \
	"all of them are one image"
is "$(find "$STORE/layers" -mindepth 1 -maxdepth 1 | wc -l)" 2 "layers are shared, also with the root file system"
is "$(find "$STORE/roots" -mindepth 1 -maxdepth 1 | wc -l)" 2 "and so are roots"

for name in tiny:old tiny:oci; do
	is "$(in_image $name 'cat /data/gone 2>&1 | head -c 3; test -e /data/gone; echo $?')" "cat1" "$name: a whiteout takes a file away"
	is "$(in_image $name 'cat /data/kept /data/changed')" keptupper "what the upper layer says counts, the rest stays"
	is "$(in_image $name 'ls /opaque')" new "an opaque directory hides everything below"
	is "$(in_image $name 'cat /turns')" "now a file" "a file replaces a directory"
	is "$(in_image $name 'cat /link/real; test -L /link; echo $?; ls /data' | head -c 12)" "a directory1" "a directory replaces a link, and nothing goes through it"
	is "$(in_image $name 'find / -xdev -name ".wh*" | wc -l')" 0 "no whiteout is seen"
done
is "$(in_image root.tar 'x' 2>&1 | head -1)" "cordon: there is no image 'root.tar'" "a name that is not there is told"
is "$(box --image r:root.tar -- /bin/sh -c 'cat /data/gone /opaque/deep/old /turns/inside')" loweroldx "the lower image alone has what the upper took away"
is "$(stat -c %Y "$(root_of piped)/data/kept")" 1500000000 "files keep their times"
is "$(stat -c %a "$(root_of piped)/bin/busybox")" 755 "set-user-id is taken off on disk"
is "$(find "$STORE" ! -user "$(id -un)" | wc -l)" 0 "everything belongs to who imported it"
is "$(stat -c %a "$STORE")" 700 "and nobody else can enter the store"
ok "later entries of a tar win" image import "$IMAGES/later.tar" later
is "$(cat "$(root_of later)/etc/x" "$(root_of later)/etc/l" && readlink "$(root_of later)/etc/d")" "laterfilex" "files, links and empty directories"
refused "an unknown command is refused" image frobnicate
refused "a name that is none is refused" image import "$IMAGES/root.tar" ../x
done_testing
