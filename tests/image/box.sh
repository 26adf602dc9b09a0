#!/bin/bash
# A box from an image: its files, read-only, its variables under the policy's, and nothing of the host's.
. "$(dirname "$0")/lib.sh"
ok "an image" image import "$IMAGES/docker-new.tar" tiny

is "$(box --image tiny -- tool)" "the image has it" "commands are found by the image's PATH"
is "$(box --root image:tiny -- tool)" "the image has it" "--root image:NAME is the same"
printf 'version: 1\nfiles:\n  root: image:tiny\n' >"$WORK/policy.yaml"
is "$(box --policy "$WORK/policy.yaml" -- tool)" "the image has it" "and so is files.root in a policy"
refused "a request cannot change it" box --policy "$WORK/policy.yaml" --root host -- /bin/true
is "$(printf 'echo $0' | timeout 60 "$CORDON" code sh - --image tiny)" /home/agent/main.sh "cordon code runs in it"
is "$(in_image tiny 'pwd')" /app "it starts in the image's directory"
is "$(box --image tiny --workdir /data -- /bin/pwd)" /data "unless it is told otherwise"
is "$(in_image tiny 'echo $FROM_IMAGE $LANG $HOME')" "yes C /home/agent" "variables come from the image, but never HOME"
is "$(box --image tiny --env FROM_IMAGE=no -- /bin/sh -c 'echo $FROM_IMAGE')" no "and the policy's count more"
is "$(in_image tiny 'id -u; cat /private' | tr '\n' ' ')" "1000 for its owner" "the payload is its own user, and reads what is the image's owner's"
is "$(in_image tiny 'cat /etc/passwd' | grep -c '^agent:')" 1 "/etc/passwd is the box's own"
like "$(in_image tiny 'cat /etc/resolv.conf')" 'no network' "and /etc/resolv.conf, though it was a link in the image"
is "$(in_image tiny 'test -e /usr/bin/python3 || test -e /etc/debian_version || test -e /lib; echo $?')" 1 "nothing of the host's system is seen"

for what in /x /bin/x /data/x /etc/x /app/x /etc/cordon/x; do
	refused "nothing is written: $what" box --image tiny -- /bin/touch $what
done
refused "no file of the image is changed" box --image tiny -- /bin/sh -c 'echo x >/data/kept'
ok "control: the home and /tmp are the payload's" box --image tiny -- /bin/sh -c 'touch ~/x /tmp/x'
is "$(cat "$(root_of tiny)/data/kept")" kept "it is as it was"
mkdir "$WORK/given" && echo hello >"$WORK/given/file" && chmod 755 "$WORK/given"
is "$(box --image tiny --ro "$WORK/given:/mnt/given" -- cat /mnt/given/file)" hello "something can be mounted below an empty directory of it"
is "$(box --image tiny --commands cat -- cat /data/kept)" kept "a command allowlist works in it"
refused "and holds" box --image tiny --commands cat -- tool
refused "the store itself is never mounted" box --rw "$STORE:/x" -- /bin/true
refused "nor what contains it" box --ro "$WORK:/x" -- /bin/true

id=$(image inspect tiny | json id)
is "$(box --image "tiny@$id" -- tool)" "the image has it" "an image can be named with its digest"
refused "another digest is refused" box --image "tiny@sha256:$(printf '%064d' 0)" -- tool
like "$("$CORDON" plan --image tiny -- tool)" "root: image tiny \($id\)" "the plan names it"
is "$("$CORDON" plan --image tiny --json -- tool | json image.id)" "$id" "as JSON, too"
status 125 "level process has no root of its own" "$CORDON" run --level process --image tiny -- tool
refused "--image and --root together are refused" box --image tiny --root host -- tool
ok "NAME finds NAME:latest" image import "$IMAGES/docker-new.tar" other:latest
is "$(box --image other -- tool)" "the image has it" "as elsewhere"

# The same with the runtimes, whose root it is then; tests/engine/ has the rest of them. An ordinary user has them in groups that were given to him alone.
for engine in crun runc runsc; do
	[ "$ME" = root ] || break
	command -v $engine >/dev/null || { skip "$engine" "there is no $engine"; continue; }
	is "$(timeout -k 5 60 "$CORDON" run --engine $engine --image tiny --env FROM_POLICY=too -- /bin/sh -c '
		tool; cat /data/changed; echo; test -e /data/gone || echo gone; cat /opaque/*; echo
		pwd; echo $FROM_IMAGE $FROM_POLICY $LANG $HOME; id -u
		for path in /x /data/x /app/x /bin/x; do touch $path 2>/dev/null && echo wrote $path; done
		(echo x >/data/kept) 2>/dev/null && echo changed
		touch ~/x /tmp/x && echo mine
		test -e /usr/bin/python3 || test -e /lib || echo nothing else' 2>&1)" "the image has it
upper
gone
new
/app
yes too C /home/agent
1000
mine
nothing else" "$engine: its files, its directory, its variables, and it is read-only"
	is "$(cat "$(root_of tiny)/data/kept"; find "$(root_of tiny)" -name x)" kept "$engine: it is as it was"
done
done_testing
