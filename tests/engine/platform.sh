#!/bin/bash
# Which of gVisor's platforms a box gets: the installation's choice (runsc_platform) or a clear refusal; without one the first that this
# runsc has and that starts, which is remembered. A stand-in in front of the real runsc has and breaks what the test says.
if [ "$(id -u)" = 0 ] && [ -z "${PLATFORM_APART:-}" ]; then # what is remembered is this test's own, and so is /dev
	PLATFORM_APART=1 exec unshare -m --propagation private bash "$0" "$@"
fi
. "$(dirname "$0")/lib.sh"
need_root
need runsc
ENGINE=runsc real=$(command -v runsc) top=$WORK/containers
# shellcheck disable=SC2154 # of lib.sh
mkdir -p "$top" "$WORK/path" "$WORK/dev" "$containers"
mount --bind "$top" "$containers"
defer umount "$containers"
before=$(left | sort)

choose() { printf 'version: 1\nrunsc_platform: %s\n' "$1" >"$WORK/config.yaml"; }
export CORDON_CONFIG=$WORK/config.yaml
choose auto

# ---- the real one ----
# look FILE: $got is what it printed and its platform, $why the error's code, message and hint
look() {
	{ read -r got; read -r why; } < <(/usr/bin/python3 -c 'import json, re, sys
r = json.load(open(sys.argv[1]))
e = r["error"] or {}
print(r["stdout"].strip() + re.sub(r"^runsc .* \((.*)\)$", r" on \1", r.get("isolation", {}).get("engine_version") or ""))
print(e.get("code"), e.get("message"), e.get("hint"), sep=": ")' "$1")
}
tries() { # one run, and in $tried the platforms that the stand-in was started with
	: >"$WORK/tried"
	PATH=$WORK/path:$PATH result -- echo ran
	look "$WORK/.result"
	tried=$(tr '\n' ' ' <"$WORK/tried")
}
choose kvm
"$CORDON" run --engine runsc --json -- echo ran >"$WORK/kvm" 2>/dev/null & # may take its time
kvm=$! began=$SECONDS
until_true 10 test -d "$top"/cordon-*/ # it has read its configuration
choose ptrace
tries
is "$got" "ran on ptrace" "ptrace was chosen, and it is"
like "$("$CORDON" plan --engine runsc -- true)" 'engine runsc.*, platform ptrace' "the plan says so"
is "$("$CORDON" plan --engine runsc --json -- true | json engine_platform)" ptrace "as JSON, too"
like "$("$CORDON" config show)" 'runsc_platform: "ptrace" +# .*config.yaml:2' "and the configuration"
choose systrap
tries
if "$real" flags 2>&1 | grep -q 'platform to use:.*systrap'; then
	is "$got" "ran on systrap" "systrap was chosen, and it is"
else
	like "$why" "^unavailable: runsc .* has no platform 'systrap': it has ptrace" "systrap was chosen: this runsc has none, and the error says which it has"
fi
choose blue
tries
like "$why" "runsc_platform: 'blue' is not one of auto, systrap, ptrace, kvm" "one that nobody knows is refused by its name"

# ---- a stand-in ----
# knows WORD…: the platforms that it names; a new program to cordon. What is in $WORK/broken does not start. Its systrap is ptrace.
knows() {
	local words=$*
	: >"$WORK/broken"
	cat >"$WORK/path/runsc" <<END
#!/bin/bash
# $RANDOM$RANDOM
if [ "\$1" = flags ]; then
	"$real" flags 2>&1 | sed 's/which platform to use: .*/which platform to use: ${words// /, }. (default "$1")/'
	exit
fi
args=()
for arg; do
	[ "\$before" != --platform ] || platform=\$arg
	[ "\$before \$arg" != '--platform systrap' ] || arg=ptrace
	[ "\$arg" != run ] || verb=run
	args+=("\$arg") before=\$arg
done
if [ "\$verb" ]; then
	echo "\$platform" >>"$WORK/tried"
	if grep -qx "\$platform" "$WORK/broken"; then echo "\$platform is broken" >&2; exit 1; fi
fi
exec -a runsc "$real" "\${args[@]}"
END
	chmod 755 "$WORK/path/runsc"
}
breaks() { printf '%s\n' "$@" >"$WORK/broken"; }
choose auto
knows systrap ptrace kvm
tries
is "$got:$tried" "ran on systrap:systrap " "the best one that it has"
knows ptrace kvm
tries
is "$got:$tried" "ran on ptrace:ptrace " "of another program, the best of that one"
knows systrap ptrace
breaks systrap
tries
is "$got:$tried" "ran on ptrace:systrap ptrace " "one that does not start: the next one is taken"
tries
is "$got:$tried" "ran on ptrace:ptrace " "which is remembered"
choose systrap
tries
is "$got:$tried" ":systrap " "the broken one was chosen: no other is taken for it"
like "$why" "^unavailable: platform 'systrap' of runsc does not start here: .*systrap is broken" "and the error says why"
breaks ptrace
tries
is "$got:$tried" "ran on systrap:systrap " "control: mended it is used"
choose auto
tries
is "$got:$tried" ":ptrace " "the remembered one breaks: that is told"
like "$why" "ptrace is broken" "with its reason"
tries
is "$got:$tried" "ran on systrap:systrap " "and the next box tries them all again"
knows systrap ptrace
breaks systrap ptrace
tries
is "$got:$tried" ":systrap ptrace " "none starts: all were tried"
like "$why" "systrap is broken" "and the first one's reason is told"
knows ptrace
choose kvm
tries
is "$got:$tried" ":" "one that it does not have is not even tried"
like "$why" "has no platform 'kvm': it has ptrace:" "which is said"

# ---- no /dev/kvm ----
wait "$kvm" # which needs it
took=$((SECONDS - began))
mount -t tmpfs -o mode=755 none "$WORK/dev"
for name in null zero full random urandom tty; do
	touch "$WORK/dev/$name"
	mount --bind "/dev/$name" "$WORK/dev/$name"
done
mkdir "$WORK/dev/pts" "$WORK/dev/shm"
mount --bind /dev/pts "$WORK/dev/pts"
ln -s pts/ptmx "$WORK/dev/ptmx"
ln -s /proc/self/fd "$WORK/dev/fd"
mount --rbind "$WORK/dev" /dev
umount -l "$WORK/dev"
knows ptrace kvm
tries
is "$got:$tried" ":" "kvm was chosen, and there is no /dev/kvm"
like "$why" "^unavailable: platform 'kvm' of runsc needs /dev/kvm" "which is said"
choose auto
tries
is "$got:$tried" "ran on ptrace:ptrace " "control: another one works"
knows ptrace kvm
breaks ptrace
tries
is "$got:$tried" ":ptrace " "without a choice kvm is not tried there"
knows kvm
tries
is "$got:$tried" ":" "nor if it is the only one"
like "$why" "needs /dev/kvm" "which is said"

# ---- kvm ----
look "$WORK/kvm"
case $got in
ran*) is "$got" "ran on kvm" "kvm was chosen, and it is" ;;
*) like "$why" "^unavailable: (platform 'kvm' of runsc (does not start here|needs /dev/kvm): |runsc .* has no platform 'kvm')" "kvm was chosen: it is refused by its name" ;;
esac
note "kvm took $took s at most: $got $why"
until_gone "nothing is left"
done_testing
