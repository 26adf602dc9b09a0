#!/bin/bash
# A hostile archive is refused, makes nothing outside the store, and leaves nothing in it.
. "$(dirname "$0")/lib.sh"

rm -f /tmp/cordon-image-escaped
ok "control: an honest archive is imported" image import "$IMAGES/later.tar" good
before=$(find "$STORE" | sort)
for file in "$IMAGES"/hostile/*; do
	status 125 "$(basename "$file") is refused" image import "$file" bad
	[ -n "$ERR" ] || fail "it says why"
done
is "$(ls /tmp/cordon-image-escaped 2>/dev/null)" "" "nothing was written outside"
is "$(find "$STORE" | sort)" "$before" "and nothing is left in the store"
unlike "$(image import "$IMAGES/hostile/device.tar" bad 2>&1)" $'\e' "messages have no control characters"

ok "control: what is packed tightly is imported where that is allowed" image import --max-ratio 100000 "$IMAGES/bomb.tar.gz" bomb
ok "and removed" image rm bomb
status 125 "a bomb is refused, also where nobody says how large it may be" image import "$IMAGES/bomb.tar.gz" bomb
like "$ERR" 'packed more than 200 to 1.*--max-ratio' "by its ratio"
status 125 "or by a ratio that is named" image import --max-ratio 100 "$IMAGES/bomb.tar.gz" bomb
like "$ERR" 'packed more than 100 to 1.*--max-ratio' "which is told"
status 125 "or by its size" image import --max-size 100M --max-ratio 100000 "$IMAGES/bomb.tar.gz" bomb
like "$ERR" 'larger than 100 MiB' "which is told"
status 125 "or by the number of files" image import --max-entries 1000 "$IMAGES/many.tar.gz" many
ok "control: as many as are allowed" image import --max-entries 3000 "$IMAGES/many.tar.gz" many
ok "removed again" image rm many
is "$(find "$STORE" | sort)" "$before" "nothing is left of any of them"

status 125 "an archive without anything is refused" image import - good </dev/null
like "$ERR" 'the archive is empty' "and told"
is "$(find "$STORE" | sort)" "$before" "and what had the name still has it"

# Links of an image lead nowhere but into the image.
ln -s "$IMAGES/oci/index.json" "$WORK/link"
mkdir "$WORK/evil" && cp -r "$IMAGES/oci/." "$WORK/evil/" && mv "$WORK/evil/index.json" "$WORK/elsewhere" && ln -s ../elsewhere "$WORK/evil/index.json"
refused "a layout whose files are links to elsewhere is refused" image import "$WORK/evil" evil
done_testing
