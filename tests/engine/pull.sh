#!/bin/bash
# Images of Docker and Podman by name, digest and id: one that is missing is pulled, and how that goes is told on a terminal; one that cannot be had is an
# error with the remedy. The registry is our own.
. "$(dirname "$0")/daemons.sh"
need_root

mkfifo "$WORK/registry"
python3 "$TOP/tests/engine/registry.py" "$(image_tar)" <"$WORK/registry" >"$WORK/port" &
exec 8>"$WORK/registry"
until_true 20 test -s "$WORK/port" || skip_all "the registry does not start"
AT=127.0.0.1:$(cat "$WORK/port")
digest=$(curl -s -m 20 "http://$AT/v2/cordon/pulled/manifests/1" | sha256sum | cut -d' ' -f1)
nowhere=$(printf '%064d' 7)
# Docker takes what is on this host without TLS, Podman where it is told to.
printf '[[registry]]\nlocation = "%s"\ninsecure = true\n' "$AT" >"$WORK/registries.conf"
export CONTAINERS_REGISTRIES_CONF=$WORK/registries.conf

of() { CORDON_ENGINE_IMAGE=$1 && shift && box "$@"; } # IMAGE FLAG…
has() { api "$SOCKET" GET "/images/$1/json" -f >/dev/null; }
forget() { api "$SOCKET" DELETE "/images/$1?force=1" -f >/dev/null; }
id_of() { api "$SOCKET" GET "/images/$1/json" | json Id; }

names() {
	refused "$ENGINE: control: the image is not there" has "$AT/cordon/pulled:1"
	is "$(of "$AT/cordon/pulled:1" -- sh -c 'echo $FROM_IMAGE $PATH')" "yes /usr/bin:/bin" "$ENGINE: a missing image is pulled, and its variables are there"
	is "$(of "$AT/cordon/pulled:1" --env FROM_IMAGE=no -- sh -c 'echo $FROM_IMAGE')" no "$ENGINE: under the policy's"
	status 125 "$ENGINE: an image that no registry has" of "$AT/cordon/pulled:missing" -- true
	like "$ERR" "could not be pulled: ..*hint: load it" "$ENGINE: is an error with the remedy"
	unlike "$ERR" $'\r' "$ENGINE: and no progress where there is no terminal"
	status 125 "$ENGINE: a registry that cannot be reached" of 127.0.0.1:1/x -- true
	like "$ERR" "connection refused.*hint: load it" "$ENGINE: is told"
	status 125 "$ENGINE: what is no name of an image" of UPPER/x -- true
	like "$ERR" "hint: .*small letters" "$ENGINE: is told what one is"
}
digests() {
	local id
	forget "$AT/cordon/told:1" # which is the same
	ok "$ENGINE: the image is forgotten" forget "$AT/cordon/pulled:1"
	refused "$ENGINE: control: it is gone" has "$AT/cordon/pulled@sha256:$digest"
	is "$(of "$AT/cordon/pulled@sha256:$digest" -- sh -c 'echo $FROM_IMAGE')" yes "$ENGINE: a missing image is pulled by its digest"
	ok "$ENGINE: and is there then" has "$AT/cordon/pulled@sha256:$digest"
	is "$(of "$AT/cordon/pulled@sha256:$digest" -- sh -c 'echo $FROM_IMAGE')" yes "$ENGINE: to be used again"
	status 125 "$ENGINE: another digest" of "$AT/cordon/pulled@sha256:$nowhere" -- true
	like "$ERR" "could not be pulled: ..*hint: load it" "$ENGINE: is not taken for it"
	id=$(id_of "$DAEMON_IMAGE") id=${id#sha256:}
	like "$id" '^[0-9a-f]{64}$' "$ENGINE: control: an image has an id"
	is "$(of "$id" -- echo by id) $(of "sha256:$id" -- echo by id) $(of "${id:0:12}" -- echo by id)" "by id by id by id" "$ENGINE: an image by its id, whole, with sha256: and short"
	status 125 "$ENGINE: an id that no image has" of "sha256:$nowhere" -- true
	like "$ERR" "hint: " "$ENGINE: is told"
}
# A failing pull would say that it begins; what has come, and of how much, only one that goes on.
progress() {
	refused "$ENGINE: control: the image is not there" has "$AT/cordon/told:1"
	python3 -c '
import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:], lambda fd: os.read(fd, 65536))))' "$CORDON" run --engine "$ENGINE" --image "$AT/cordon/told:1" -- echo it runs >"$WORK/told" </dev/null
	is $? 0 "$ENGINE: an image is pulled for a run on a terminal"
	like "$(tr '\r\033' '\n ' <"$WORK/told")" "it runs" "$ENGINE: which says what it says"
	like "$(tr '\r\033' '\n ' <"$WORK/told")" "$1" "$ENGINE: and before that how the pull goes"
}

defer eval 'daemon_stop "${DOCKER_PID:-}" "$WORK"; daemon_stop "${PODMAN_PID:-}" "$WORK"'
for ENGINE in docker podman; do
	SOCKET=$WORK/$ENGINE.sock
	command -v "$([ $ENGINE = docker ] && echo dockerd || echo podman)" >/dev/null || { skip "$ENGINE" "there is no $ENGINE"; continue; }
	${ENGINE}_start "$WORK" || { skip "$ENGINE" "it does not start here: $(tail -n 3 "$WORK/$ENGINE.log")"; continue; }
	# Podman tells of layers, not of bytes. First of all: nothing of it is there.
	progress "$([ $ENGINE = docker ] && echo '(Downloading|Extracting) [0-9.]+ .iB of [0-9.]+ MiB' || echo 'Pulling fs layer|Downloading|Download complete')"
	names
	digests
done
exec 8>&-
done_testing
