# shellcheck shell=bash
# cordon image build and pull, which tests/image/build_ENGINE.sh are held to: a daemon of the test's own builds and pulls without a registry of the
# world; the image is in the engine and in the store, and a native box runs from it. `builder ENGINE` runs all of it.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
. "$(dirname "${BASH_SOURCE[0]}")/../engine/daemon.sh"
levels container
need python3 busybox curl
need_root
DIR=$WORK/context
printf 'version: 1\nimages_dir: %s\n' "$WORK/store" >"$WORK/config.yaml"
export CORDON_CONFIG=$WORK/config.yaml
image() { timeout -k 5 120 "$CORDON" image "$@" </dev/null; }

# Something of every kind, and a file outside that a link leads to.
context() {
	mkdir -p "$DIR/src/deep" "$DIR/skip/sub" "$DIR/part"
	echo in >"$DIR/src/deep/file"
	chmod 751 "$DIR/src/deep/file"
	touch "$DIR/src/a.tmp" "$DIR/src/deep/b.tmp" "$DIR/skip/sub/x" "$DIR/part/no" "$DIR/part/yes" "$DIR/$(printf 'long%.0s' {1..50})"
	echo "outside-$$" >"$WORK/outside"
	ln -s "$WORK/outside" "$DIR/link"
	mkfifo "$DIR/fifo"
	printf '# not sent\nskip\npart/*\n!part/yes\n**/*.tmp\n' >"$DIR/.dockerignore"
	cat >"$DIR/Dockerfile" <<END
ARG BASE
FROM \$BASE
ARG SAY=nothing
COPY . /app
RUN echo "\$SAY" >/app/said; id -u >/app/uid; cat /proc/net/route | wc -l >/app/routes
ENV WHO=built
WORKDIR /app
END
}

arguments() {
	status 125 "an image needs a name" image build "$DIR"
	like "$ERR" "-t NAME" "and that is said"
	status 125 "one that can be one" image build -t '../x' "$DIR"
	status 125 "no Dockerfile" image build -t x "$WORK"
	like "$ERR" "Dockerfile" "is told"
	status 125 "another engine" image build --engine crun -t x "$DIR"
	like "$ERR" "docker and podman" "does not build"
	status 125 "a flag that is none" image build --privileged -t x "$DIR"
	status 125 "two directories" image build -t x "$DIR" "$DIR"
	status 125 "a build argument without a value" image build -t x --build-arg X "$DIR"
	status 125 "pull wants a name" image pull
	DOCKER_HOST=unix://$WORK/none.sock status 125 "a daemon that is not there" image build --engine docker -t x "$DIR"
	like "$ERR" "DOCKER_HOST" "is told, with the remedy"
}

builds() { # ENGINE
	status 0 "$1 builds" image build --engine "$1" --net none -t "test/$1:1" --build-arg BASE="$DAEMON_IMAGE" --build-arg SAY="two words & more" "$DIR"
	like "$ERR" "with $1 [0-9.].*its sandbox, not cordon's; without a network" "it says with whom, and in whose sandbox"
	like "$ERR" "(Step|STEP) .*COPY" "and what is done"
	like "$OUT" "test/$1:1 " "the image is in the store"
	is "$(box --image "test/$1:1" -- sh -c 'cat said; echo $WHO; pwd; stat -c %a src/deep/file; cat src/deep/file' | tr '\n' ' ')" \
		"two words & more built /app 751 in " "a native box has its files, variables and directory"
	is "$(box --image "test/$1:1" -- cat uid)" 0 "control: the build itself was root, in the engine's container"
	is "$(box --image "test/$1:1" -- sh -c 'find . ! -name "long*" | sort | tr "\n" " "')" \
		". ./.dockerignore ./Dockerfile ./link ./part ./part/yes ./routes ./said ./src ./src/deep ./src/deep/file ./uid " \
		"what .dockerignore names is left out, and so are FIFOs"
	is "$(box --image "test/$1:1" -- sh -c 'ls | grep -c longlonglong; readlink link')" "1
$WORK/outside" "long names come through, and links as links"
	refused "nothing outside of the directory was sent" box --image "test/$1:1" -- grep -r "outside-$$" /app
	is "$(box --image "test/$1:1" -- cat routes)" 1 "--net none is a build without a network"
}

fails() { # ENGINE
	printf 'FROM %s\nRUN echo before; exit 3\n' "$DAEMON_IMAGE" >"$WORK/Failing"
	status 125 "$1: a step that fails" image build --engine "$1" --net none -t failing -f "$WORK/Failing" "$DIR"
	like "$ERR" "could not build the image: .*3" "says so"
	status 125 "and there is no image" image inspect failing
	printf 'FROM no.such.registry.invalid/x\n' >"$WORK/Nobase"
	status 125 "$1: a base that is nowhere" image build --engine "$1" --net none -t nobase -f "$WORK/Nobase" "$DIR"
	like "$ERR" "no.such.registry.invalid|no such host|Temporary failure" "is named"
	printf 'FROM %s\nCOPY . /x\n' "$DAEMON_IMAGE" >"$WORK/Elsewhere"
	status 0 "$1: a Dockerfile from elsewhere, not imported" image build --engine "$1" --net none --no-import -t elsewhere:1 -f "$WORK/Elsewhere" "$DIR"
	like "$ERR" "$1 has it" "says where it is"
	status 125 "it is not in the store" image inspect elsewhere:1
	status 0 "$1: and again, into the store" image build --engine "$1" --net none -t elsewhere:1 -f "$WORK/Elsewhere" "$DIR"
	is "$(box --image elsewhere:1 -- sh -c 'ls -A /x | grep -c dockerfile')" 0 "the Dockerfile itself is no part of it"
	image rm elsewhere:1
}

# A build whose caller goes: Docker ends it, and nothing of it is left. Podman's service goes on to the end of the step, and nothing says not to.
interrupted() { # ENGINE
	local pid before
	if [ "$1" = podman ]; then
		echo "# NOT HELD: Podman ends an interrupted build only with the step at work"
		return
	fi
	printf 'FROM %s\nRUN echo begun; sleep 4242\n' "$DAEMON_IMAGE" >"$WORK/Slow"
	before=$(find "$WORK/store" | wc -l)
	"$CORDON" image build --engine "$1" --net none -t slow -f "$WORK/Slow" "$DIR" >/dev/null 2>"$WORK/slow.err" </dev/null &
	pid=$!
	for _ in $(seq 200); do pgrep -f '^sleep 4242$' >/dev/null && break; sleep 0.1; done
	ok "$1: a step is running" pgrep -f '^sleep 4242$'
	kill -TERM "$pid"
	wait "$pid" 2>/dev/null
	for _ in $(seq 200); do pgrep -f '^sleep 4242$' >/dev/null || break; sleep 0.1; done
	refused "an interrupted build ends" pgrep -f '^sleep 4242$'
	is "$(find "$WORK/store" | wc -l)" "$before" "and the store is as it was"
}

# Our own image. Its packages come from the world: what is held here is that it parses, and every step that needs none.
agent() { # ENGINE
	status 0 "$1: Dockerfile.agent, without packages" image build --engine "$1" --net none --build-arg BASE="$DAEMON_IMAGE" --build-arg PACKAGES= --build-arg PIP_PACKAGES=
	like "$OUT" "cordon-agent" "is called cordon-agent"
	is "$(image inspect cordon-agent | json config.user) $(image inspect cordon-agent | json config.workdir)" "1000:1000 /home/agent" "has its user and directory"
	is "$(box --image cordon-agent -- sh -c 'echo $PYTHONUNBUFFERED; pwd; python3 -c "print(6 * 7)"' | tr '\n' ' ')" "1 /home/agent 42 " "and runs Python"
	image rm cordon-agent
	status 125 "$1: its default base needs a registry" image build --engine "$1" -t agent-world
	like "$ERR" "python" "which is told"
	echo "# NOT COVERED: apt-get and pip of Dockerfile.agent, and its base python:3.12-slim, need the world's mirrors and registry"
}

pulls() { # ENGINE
	status 125 "$1: an image that is nowhere" image pull --engine "$1" no.such.registry.invalid/x:1
	like "$ERR" "could not pull the image: .*hint: .*registry" "says why, and what helps"
}

registry() {
	background python3 "$TOP/tests/image/registry.py" "$(command -v busybox)" "$WORK/port"
	for _ in $(seq 100); do [ ! -s "$WORK/port" ] || break; sleep 0.1; done
	local from
	from=127.0.0.1:$(cat "$WORK/port")
	status 0 "docker pulls from a registry of the test's own" image pull --engine docker "$from/box/pulled:1"
	like "$ERR" "Pull complete" "and tells how far it is"
	is "$(box --image "$from/box/pulled:1" -- sh -c 'echo $PULLED')" yes "a native box runs from it"
	status 0 "an ordinary user of the socket's group pulls, too" user_image image pull --engine docker "$from/box/pulled:1"
	is "$(user_image run --image "$from/box/pulled:1" -- sh -c 'echo $PULLED')" yes "into his own store"
	status 125 "control: a tag that is not there" image pull --engine docker "$from/box/pulled:2"
}

# Without a name in the request: the engine that is there. An ordinary user needs nothing but the socket, and has the image in his own store.
unnamed() { # ENGINE
	local host=CONTAINER_HOST
	[ "$1" = docker ] || host=DOCKER_HOST
	local -x "$host=unix://$WORK/none.sock"
	status 0 "$1 builds where nobody is named" image build --net none --no-import -t unnamed:1 -f "$WORK/Elsewhere" "$DIR"
	like "$ERR" "with $1 [0-9.]" "and is named then"
}
groups=(--clear-groups)
user_image() { setpriv --reuid=54321 --regid=54321 "${groups[@]}" env HOME="$WORK/user" CORDON_CONFIG="$WORK/user.yaml" timeout -k 5 120 "$CORDON" "$@" </dev/null; }
ordinary_user() { # ENGINE
	local socket=$WORK/daemon/$1.sock
	mkdir "$WORK/user" && cp -a "$DIR" "$WORK/user/context" && chown -R 54321:54321 "$WORK/user"
	printf 'version: 1\nimages_dir: %s\n' "$WORK/user/store" >"$WORK/user.yaml"
	chgrp 54322 "$socket" && chmod 660 "$socket"
	groups=(--clear-groups)
	status 125 "$1: a user who may not use the socket" user_image image build --engine "$1" --net none -t mine:1 -f "$WORK/Elsewhere" "$WORK/user/context"
	like "$ERR" "Permission denied.*hint: .*usermod -aG" "is told, with the remedy"
	groups=(--groups 54322)
	status 0 "$1: one of its group builds" user_image image build --engine "$1" --net none -t mine:1 -f "$WORK/Elsewhere" "$WORK/user/context"
	is "$(user_image run --image mine:1 -- cat /x/src/deep/file)" in "has it in his own store, and boxes from it"
	is "$(stat -c %u "$WORK/user/store") $(find "$WORK/store" -name 'mine*')" "54321 " "which is his, and root's has nothing"
	status 125 "$1: what he may not read is not sent for him" user_image image build --engine "$1" --net none -t mine:2 -f "$WORK/Elsewhere" "$DIR"
	like "$ERR" "src/deep/file.*Permission denied" "which is told"
}

builder() { # ENGINE
	local pid=${1^^}_PID
	command -v "${1/docker/dockerd}" >/dev/null || skip_all "there is no $1"
	context
	arguments
	mkdir "$WORK/daemon"
	"$1_start" "$WORK/daemon" || {
		fail "$1 starts" "$(tail -3 "$WORK/daemon/$1.log")"
		done_testing
	}
	defer daemon_stop "${!pid}" "$WORK/daemon"
	builds "$1"
	fails "$1"
	interrupted "$1"
	agent "$1"
	pulls "$1"
	unnamed "$1"
	ordinary_user "$1"
	[ "$1" != docker ] || registry
	done_testing
}
