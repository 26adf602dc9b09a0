#!/bin/bash
# Everything that `make test` runs, and the closing line. all.sh FILE… runs only these files, once, as whoever calls.
#
# All passes are one queue, JOBS at a time: as whoever calls and as an ordinary user, at both levels, and without user namespaces. What takes long begins first.
# As root, the passes of an ordinary user belong to an account made for it (TEST_USER, cordon-test), with a copy of what is
# tested, and removed at the end if it was not there before. Otherwise those of root are left out, and said to be.
set -u
cd "$(dirname "$0")/.." || exit 1
shopt -s nullglob extglob
top=$PWD
begin=$SECONDS
counts=$(mktemp "${TMPDIR:-/tmp}/cordon-counts.XXXXXX")
user=${TEST_USER:-cordon-test}
made_user='' copy='' plan=''

# shellcheck disable=SC2317 # by trap
clean_up() {
	rm -rf "$counts" "$copy" "$plan"
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
if [ $# != 0 ]; then
	tests/run.sh --counts "$counts" "$@"
	closing
fi

# ---- who runs what ----

# runner NAME COMMAND…: the program of that name in $plan starts its arguments so.
plan=$(mktemp -d "${TMPDIR:-/tmp}/cordon-plan.XXXXXX")
runner() {
	local file=$plan/$1
	shift
	printf '#!/bin/bash\ncd %q && exec %s"$@"\n' "$where" "$(printf '%q ' "$@")" >"$file"
	chmod 755 "$file"
}
where=$top
queue() { # LABEL RUNNER FILE…
	local label=$1 runner=$plan/$2 file
	shift 2
	for file in "$@"; do
		[[ $file != tests/* ]] || file=$where/$file
		printf '%s\t%s\t%s\n' "$label" "$file" "$runner"
	done >>"$plan/files"
}
# What takes ten seconds and more as whoever calls, which is the first pass: the longest first.
long=(fuzz/replay engine/network engine/gone engine/docker engine/network_user fault/fail-files engine/living_runsc engine/user engine/runsc
	engine/podman engine/pause image/debian fault/memory fault/valgrind engine/living life/pause fault/fail fault/kill fault/lives engine/restart engine/living_podman engine/killed engine/maker
	engine/pull engine/driver engine/fake engine/living_docker engine/crun engine/runc engine/tty_daemons engine/volumes image/build_docker image/build_podman
	egress/clients egress/relay promise/protect promise/swap limits/disk life/deadline limits/time life/living api/install engine/platform engine/hostile image/hostile)
in_order() {
	awk -F '\t' -v me="$me" -v long="${long[*]}" 'BEGIN { n = split(long, list, " "); for (i = 1; i <= n; i++) place[list[i]] = i }
		{ name = $2; sub(/.*\/tests\//, "", name); sub(/\.sh$/, "", name); print ($1 == me && name in place ? place[name] : n + 1) "\t" $0 }' "$plan/files" |
		sort -s -n -k 1,1 | cut -f 2-
}

# ---- as whoever calls ----
if [ "$(id -u)" = 0 ]; then me=root; else me=user; fi
runner here env
runner process env CORDON_LEVEL=process
queue unit here build/"${V:-release}"/unit/!(*.d)
mapfile -t list < <(files promise limits life cli programs egress engine fault api image fuzz)
queue $me here "${list[@]}"
# Root's payloads at process level have no writable mounts, so that programs and limits are looked at as a user.
if [ $me = root ]; then mapfile -t list < <(files promise); else mapfile -t list < <(files promise limits life programs); fi
queue "$me, process" process "${list[@]}" tests/fault/fail.sh

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
		env HOME="$home" TMPDIR="$copy/tmp" LC_ALL=C.UTF-8 CORDON_MUST="${CORDON_MUST:-0}" CORDON_FULL="${CORDON_FULL:-0}")
	no_userns[2]=--map-user=$(id -u "$user") no_userns[3]=--map-group=$(id -g "$user")
	where=$copy
	runner user "${as_user[@]}" CORDON_LEVEL=container
	runner user-process "${as_user[@]}" CORDON_LEVEL=process
	# shellcheck disable=SC2016 # for the inner shell
	runner user-image sh -c 'cp -u "$0" build/test/ 2>/dev/null; exec "$@"' "$top/build/test/debian-image.tar" "${as_user[@]}" CORDON_LEVEL=container
	mapfile -t list < <(files promise limits life programs egress engine)
	queue user user "${list[@]}" tests/fault/fail.sh tests/fault/lives.sh tests/fault/told.sh
	mapfile -t list < <(files image) # root's have made what takes long
	queue user user-image "${list[@]}"
	mapfile -t list < <(files promise limits life programs)
	queue "user, process" user-process "${list[@]}" tests/fault/fail.sh
else
	count skipped "as root" "make test was not called by root"
fi
runner bare "${as_user[@]}" "${no_userns[@]}" env CORDON_LEVEL=container
runner bare-process "${as_user[@]}" "${no_userns[@]}" env CORDON_LEVEL=process
if "$plan/bare" true 2>/dev/null; then
	queue "no userns" bare tests/promise/downgrade.sh
	mapfile -t list < <(files promise)
	queue "no userns, process" bare-process "${list[@]}"
else
	count skipped "without user namespaces" "this host has none to begin with, so the other passes were it"
fi

# ---- all of it ----
[ "${CORDON_FULL:-0}" = 1 ] || echo "samples and short races: CORDON_FULL=1 has all of them"
in_order >"$plan/queue"
trap closing TERM INT HUP # once run.sh, which is told the same, has said how far it came
tests/run.sh --plan "$plan/queue" --counts "$counts"
if said=$(sh tools/check-promises.sh 2>&1); then count ok "docs/PROMISES.md"; else count failed "docs/PROMISES.md" "$said"; fi
closing
