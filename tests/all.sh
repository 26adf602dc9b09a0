#!/bin/bash
# Everything that `make test` runs, and the closing line. all.sh FILE… runs only these files, once, as whoever calls.
#
# As root, the passes of an ordinary user belong to an account made for it (TEST_USER, cordon-test), with a copy of what is
# tested, and removed at the end if it was not there before. Otherwise those of root are left out, and said to be.
set -u
cd "$(dirname "$0")/.." || exit 1
shopt -s nullglob extglob
top=$PWD
begin=$SECONDS
counts=$(mktemp "${TMPDIR:-/tmp}/cordon-counts.XXXXXX")
user=${TEST_USER:-cordon-test}
made_user='' copy=''

# shellcheck disable=SC2317 # by trap
clean_up() {
	rm -rf "$counts" "$copy"
	[ -z "$made_user" ] || userdel -r "$user" >/dev/null 2>&1
}
trap clean_up EXIT
trap 'exit 143' TERM INT HUP

closing() {
	awk -v took=$((SECONDS - begin)) '{ p += $1; f += $2; s += $3 }
		END { printf "took %d s\n%d passed, %d failed, %d skipped\n", took, p, f, s; exit f > 0 || p == 0 }' "$counts"
	exit
}
count() { # ok|failed|skipped WHAT
	case $1 in ok) echo 1 0 0 ;; failed) echo 0 1 0 ;; *) if [ "${CORDON_MUST:-0}" = 1 ]; then echo 0 1 0; else echo 0 0 1; fi ;; esac >>"$counts"
	echo "$2: $1${3:+: $3}"
}
files() { # DIR…: their tests. What begins without "#!" is a helper to be sourced.
	local dir file first
	for dir in "$@"; do
		for file in tests/"$dir"/!(run).sh; do
			IFS= read -r first <"$file"
			[[ $first != '#!'* ]] || echo "$file"
		done
	done
}
pass() { # LABEL COMMAND…: a stage
	echo "== $1, $((SECONDS - begin)) s"
}

if [ $# != 0 ]; then
	tests/run.sh --counts "$counts" "$@"
	closing
fi

pass "unit tests"
tests/run.sh --label unit --counts "$counts" build/"${V:-release}"/unit/!(*.d)

# ---- as whoever calls ----
if [ "$(id -u)" = 0 ]; then me=root; else me=user; fi
pass "$me, container"
mapfile -t list < <(files promise limits life cli programs egress engine fault api image)
tests/run.sh --label "$me" --counts "$counts" "${list[@]}"
pass "$me, process"
# Root's payloads at process level have no writable mounts, so that programs and limits are looked at as a user.
if [ $me = root ]; then mapfile -t list < <(files promise); else mapfile -t list < <(files promise limits life programs); fi
CORDON_LEVEL=process tests/run.sh --label "$me, process" --counts "$counts" "${list[@]}"

# ---- as an ordinary user ----
# Without privilege and without user namespaces, in a namespace of its own, so that the host's setting stays as it is.
# shellcheck disable=SC2016 # for the inner shell
no_userns=(unshare --user --map-user="$(id -u)" --map-group="$(id -g)" --keep-caps sh -c
	'echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --inh-caps=-all --ambient-caps=-all "$@"' sh)
as_user=()
if [ $me = root ]; then
	if ! id "$user" >/dev/null 2>&1; then
		if useradd -m "$user" 2>/dev/null; then made_user=1; else user=nobody; fi
	fi
	copy=$(mktemp -d /tmp/cordon-user.XXXXXX)
	mkdir "$copy/build" "$copy/tmp"
	cp -rL build/test build/get-go "$copy/build/" 2>/dev/null
	cp -L "${CORDON:-build/cordon}" "$copy/build/cordon"
	for program in "$(dirname "$(realpath "${CORDON:-build/cordon}")")"/cordon-{egress,egress-tls,image,engine,engine-docker,build,init}; do cp "$program" "$copy/build/"; done
	cp -r tests tools profiles "$copy/"
	[ ! -d man ] || cp -r man examples include docs "$copy/"
	chown -R "$user": "$copy"
	home=$(getent passwd "$user" | cut -d: -f6)
	as_user=(setpriv --reuid "$user" --regid "$(id -g "$user")" --init-groups --inh-caps=-all --reset-env
		env HOME="$home" TMPDIR="$copy/tmp" LC_ALL=C.UTF-8 CORDON_MUST="${CORDON_MUST:-0}" TEST_TIMEOUT="${TEST_TIMEOUT:-120}")
	no_userns[2]=--map-user=$(id -u "$user") no_userns[3]=--map-group=$(id -g "$user")
	cd "$copy" || exit 1
	user_run() { # LABEL LEVEL FILE…
		local label=$1 level=$2
		shift 2
		: >"$copy/counts" && chown "$user" "$copy/counts"
		"${prefix[@]}" env CORDON_LEVEL="$level" tests/run.sh --label "$label" --counts "$copy/counts" "$@" </dev/null
		cat "$copy/counts" >>"$counts"
	}
	prefix=("${as_user[@]}")
	pass "user, container"
	mapfile -t list < <(files promise limits life programs egress engine image)
	user_run user container "${list[@]}"
	pass "user, process"
	mapfile -t list < <(files promise limits life programs)
	user_run "user, process" process "${list[@]}"
else
	count skipped "as root" "make test was not called by root"
	user_run() {
		local label=$1 level=$2
		shift 2
		"${prefix[@]}" env CORDON_LEVEL="$level" tests/run.sh --label "$label" --counts "$counts" "$@" </dev/null
	}
fi

pass "without user namespaces"
prefix=("${as_user[@]}" "${no_userns[@]}")
if "${prefix[@]}" true 2>/dev/null; then
	user_run "no userns" container tests/promise/downgrade.sh
	mapfile -t list < <(files promise)
	user_run "no userns, process" process "${list[@]}"
else
	count skipped "without user namespaces" "this host has none to begin with, so the passes above were it"
fi
cd "$top" || exit 1

# ---- the rest ----
pass "fuzzers' corpus"
if make -s fuzz-replay >"$counts.log" 2>&1; then count ok "fuzz-replay"; else count failed "fuzz-replay" "$(tail -20 "$counts.log")"; fi
rm -f "$counts.log"
if said=$(sh tools/check-promises.sh 2>&1); then count ok "docs/PROMISES.md"; else count failed "docs/PROMISES.md" "$said"; fi
closing
