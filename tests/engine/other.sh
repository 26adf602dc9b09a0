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
done
status 125 "an engine that is none" "$CORDON" run --engine nosuch -- true
is "$("$CORDON" run --json --engine native -- true | json isolation.engine)" native "control: our own is there"
done_testing
