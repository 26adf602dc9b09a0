#!/bin/bash
# Engines that cannot be had are refused, by name and at once.
. "$(dirname "$0")/../lib.sh"
levels container
for engine in docker podman; do
	status 125 "--engine $engine is refused" "$CORDON" run --engine $engine -- true
	like "$ERR" "'$engine' is not built in" "as not built in"
done
status 125 "an engine that is none" "$CORDON" run --engine nosuch -- true
if [ "$ME" = user ]; then
	status 125 "an ordinary user has no other engine" "$CORDON" run --engine crun -- true
	like "$ERR" "only driven as root" "and is told"
fi
is "$("$CORDON" run --json --engine native -- true | json isolation.engine)" native "control: our own is there"
done_testing
