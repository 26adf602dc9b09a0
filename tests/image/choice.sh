#!/bin/bash
# Who pulls and builds where nobody is named: Docker where its daemon answers, else Podman, else an error that names both. The daemons are tests/engine/fake.py's.
. "$(dirname "$0")/../engine/fake_lib.sh"

# pull DOCKER PODMAN FLAG…: each a scenario, or "none". $asked is who was asked for the image.
pull() {
	local docker=unix://$WORK/d/$1.sock podman=unix://$WORK/d/$2.sock
	shift 2
	for log in "$WORK"/d/*.log; do : >"$log"; done
	DOCKER_HOST=$docker CONTAINER_HOST=$podman timeout -k 5 60 "$CORDON" image pull --no-import "$@" test/image:1 >"$WORK/out" 2>&1
	code=$?
	asked=$(cd "$WORK/d" && grep -l "POST /v1.41/images/create?fromImage=test%2Fimage%3A1\$" -- *.log)
}
fake good.docker good.podman html.version huge.pull say.pull
pull good.docker good.podman
is "$code $asked" "0 good.docker.log" "where both answer, Docker pulls" || cat "$WORK/out"
like "$(cat "$WORK/out")" 'docker has it as test/image:1' "which is said"
is "$(cat "$WORK/d/good.podman.log")" "" "and Podman is not asked at all"
pull none good.podman
is "$code $asked" "0 good.podman.log" "where Docker's daemon is not there, Podman does" || cat "$WORK/out"
like "$(cat "$WORK/out")" 'podman has it as test/image:1' "which is said"
pull html.version good.podman
is "$code $asked" "0 good.podman.log" "so where what answers is no daemon"
pull good.docker good.podman --engine podman
is "$code $asked" "0 good.podman.log" "who is named counts first"
pull good.docker none --engine podman
is "$code $asked" "125 " "and alone"
pull none none
is "$code $asked" "125 " "where there is nobody, nobody pulls"
like "$(cat "$WORK/out")" 'hint: start Docker or Podman.*DOCKER_HOST or CONTAINER_HOST' "and what helps names both"
pull none huge.pull
is "$code" 125 "what goes wrong with Podman"
like "$(cat "$WORK/out")" 'podman answers what cannot be understood' "is told of Podman, and nothing of Docker"
echo 'manifest unknown' >"$WORK/d/say.pull.text"
pull say.pull none
is "$code" 125 "what the registry does not have"
like "$(cat "$WORK/out")" 'docker could not pull the image: manifest unknown.*hint: is it spelled right, .*registry' "is told, and what helps against that"
echo 'write /x: no space left on device' >"$WORK/d/say.pull.text"
pull say.pull none
like "$(cat "$WORK/out")" 'no space left on device.*hint: .*prune' "control: a full disk is another matter"
if [ "$ME" = user ]; then
	chmod 0 "$WORK/d/good.docker.sock"
	pull good.docker good.podman
	is "$code $asked" "0 good.podman.log" "where Docker's socket is not the caller's to use, Podman does"
	pull good.docker none
	is "$code" 125 "and without Podman"
	like "$(cat "$WORK/out")" 'Permission denied.*hint: .*usermod -aG' "he is told how to be let in"
fi
done_testing
