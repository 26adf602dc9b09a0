#!/bin/bash
# Engines that cannot be had are refused, by name and at once.
. "$(dirname "$0")/../lib.sh"
levels container
for engine in docker podman; do
	status 125 "--engine $engine without an image" "$CORDON" run --engine $engine -- true
	like "$ERR" "--image NAME" "is told what to name"
	status 125 "--engine $engine with a directory" "$CORDON" run --engine $engine --root /usr -- true
	like "$ERR" "its own images" "is refused"
	status 125 "--engine $engine without its daemon" env DOCKER_HOST=unix:///nowhere CONTAINER_HOST=unix:///nowhere "$CORDON" run --engine $engine --image x -- true
	like "$ERR" "start it" "is told the remedy"
	status 0 "its plan" env DOCKER_HOST=unix:///nowhere CONTAINER_HOST=unix:///nowhere "$CORDON" plan --engine $engine --image x -- true
	like "$OUT" "not available here: the daemon of $engine at /nowhere" "says so"
	like "$(DOCKER_HOST=unix:///nowhere CONTAINER_HOST=unix:///nowhere "$CORDON" doctor)" "no +$engine [^"$'\n'"]*"$'\n'" +remedy: start it" "doctor has the remedy on a line of its own"
done
# ---- what daemons cannot hold, before any of them is asked ----
for engine in docker podman; do
	for flags in "--disk-read 4M/s" "--disk-write 4M/s" "--storage disk" "--storage disk --keep" "--in /bin/true:/usr/x" "--in /bin/true:/etc/x"; do
		# shellcheck disable=SC2086 # flags and their values
		status 125 "--engine $engine $flags" env DOCKER_HOST=unix:///nowhere CONTAINER_HOST=unix:///nowhere "$CORDON" run --engine $engine --image x $flags -- true
		like "$ERR" "engine '$engine' cannot (give|copy in to).*hint: " "is refused, with what to do instead"
	done
	status 125 "--engine $engine --keep" "$CORDON" run --engine $engine --image x --keep -- true
	like "$ERR" "keeps the scratch directory" "has nothing to keep"
	status 0 "control: what can be had is planned" env DOCKER_HOST=unix:///nowhere CONTAINER_HOST=unix:///nowhere "$CORDON" plan --engine $engine --image x --storage memory --in /bin/true:/tmp/x -- true
done
status 125 "an engine that is none" "$CORDON" run --engine nosuch -- true
result --engine native --require userns -- true
is "$(field isolation.engine) $(field isolation.required)" "native userns" "control: our own is there"
like "$(field isolation.engine_version)" '^cordon [0-9]' "and has a version"
# ---- what an engine cannot give is said to be the engine's ----
status 125 "--require userns of docker" "$CORDON" run --engine docker --image x --require userns -- true
like "$ERR" "engine 'docker' does not give it" "is refused by name"
status 125 "another engine than a preset's" "$CORDON" run --policy strict --engine docker --image x -- true
like "$ERR" "extends: strict, engine: docker, files: .root: .image:NAME" "is told what to write"
printf 'version: 1\nextends: strict\n' >"$WORK/mine.yaml"
status 125 "another engine than a file's" "$CORDON" run --policy "$WORK/mine.yaml" --engine crun -- true
like "$ERR" "extends: $WORK/mine.yaml, engine: crun" "is told to extend that"
# ---- an image that is not there is cordon's failure ----
result --image nosuch -- true
is "$RESULT_STATUS $(field status) $(field error.code)" "125 failed unavailable" "an image that is not there"
like "$(field error.hint)" "cordon image pull nosuch.*--engine" "is told where it may come from"
status 125 "image rm of one that is not there" "$CORDON" image rm nosuch
unlike "$ERR" "import FILE" "is told nothing of importing"
# ---- what the installation allows ----
printf 'version: 1\nengines: [native]\n' >"$WORK/config.yaml"
status 126 "an engine that the installation does not want" env CORDON_CONFIG="$WORK/config.yaml" "$CORDON" run --engine crun -- true
like "$ERR" "not one of this installation's" "is refused"
is "$(CORDON_CONFIG="$WORK/config.yaml" "$CORDON" run --json -- true | json isolation.engine)" native "control: the one it wants is there"
printf 'version: 1\nengines: [docker, native]\n' >"$WORK/config.yaml"
status 125 "where the first is another, it is taken" env CORDON_CONFIG="$WORK/config.yaml" "$CORDON" run -- true
like "$ERR" docker "and named"
is "$(CORDON_CONFIG="$WORK/config.yaml" "$CORDON" run --json --engine native -- true | json isolation.engine)" native "unless somebody names another of them"
done_testing
