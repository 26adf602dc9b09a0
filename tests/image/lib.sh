# shellcheck shell=bash
# For tests of images: fixtures in $IMAGES (seconds: none with NO_FIXTURES=1), a store of this test's own in $STORE, image … for `cordon image …`.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
levels container
need python3 busybox
IMAGES=$WORK/images STORE=$WORK/store
busybox=$(command -v busybox)
if file -L "$busybox" 2>/dev/null | grep -q 'dynamically'; then skip_all "busybox is not static (package busybox-static)"; fi
[ -x "$(dirname "$(readlink -f "$CORDON")")/cordon-image" ] || [ -x /usr/libexec/cordon/cordon-image ] || skip_all "there is no cordon-image"
[ "${NO_FIXTURES:-}" ] || python3 "$(dirname "${BASH_SOURCE[0]}")/make.py" "$IMAGES" "$busybox" || skip_all "make.py failed"
printf 'version: 1\nimages_dir: %s\n' "$STORE" >"$WORK/config.yaml"
export CORDON_CONFIG=$WORK/config.yaml
image() { timeout -k 5 60 "$CORDON" image "$@"; }
# in_image NAME LINE: what a shell in a box from it says.
in_image() { box --image "$1" -- /bin/sh -c "$2" 2>&1; }
# root_of NAME: its directory in the store.
root_of() { image inspect "$1" | json root; }
