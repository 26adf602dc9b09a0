#!/bin/bash
# crun and runc on a host with cgroup v2 alone: limits are the kernel's in the unified tree, what cannot be held is refused, and nothing is left
# there after a normal end and after kill -9. Run by suite.sh, in the guest.
. "$(dirname "$0")/engine_lib.sh"
need crun runc
: "${v2:?}" "${own:?}" # engine_lib.sh's

hog=(sh -c 'dd bs=200M count=1 if=/dev/zero of=/dev/null')
# A place of one's own with nobody else in it, as systemd-run --scope -p Delegate=yes makes.
alone_in_a_scope() {
	local scope=${own%/*}/alone-$$.scope
	mkdir "$scope"
	# shellcheck disable=SC2016 # for the inner shell
	sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$scope" "$CORDON" run --engine "$ENGINE" --json --memory 64M -- "${hog[@]}" >"$WORK/.result" 2>"$WORK/.result.err"
	expect "$ENGINE: alone in a delegated scope, limits hold" status=resource_exceeded limit=memory
	is "$(find "$scope" -mindepth 2 -type d)" "" "$ENGINE: and nothing is left in it"
	rmdir "$scope"/*/ "$scope"
}
# Root in a container: the tree's top is not the host's, and processes are in it.
in_a_container() {
	local top=$v2/system.slice/container-$$
	mkdir "$top"
	# shellcheck disable=SC2016 # for the inner shells
	sh -c 'echo $$ >"$0/cgroup.procs" && exec unshare --cgroup --mount sh -c '"'"'umount -l /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup && exec "$@"'"'"' sh "$@"' \
		"$top" "$CORDON" run --engine "$ENGINE" --json --memory 64M -- "${hog[@]}" >"$WORK/.result" 2>"$WORK/.result.err"
	expect "$ENGINE: as root of a container, limits hold" status=resource_exceeded limit=memory
	is "$(find "$top" -mindepth 2 -type d)" "" "$ENGINE: and nothing is left in its tree"
	rmdir "$top"/*/ "$top"
}

if [ ! -w "$own/cgroup.procs" ]; then
	for ENGINE in crun runc; do
		result --memory 64M -- true
		expect "$ENGINE: without a delegated group, limits that nobody holds are refused" status=failed error.code=unavailable 'error.message=~limits.memory' 'error.hint=~Delegate=yes'
		is "$RESULT_STATUS" 125 "$ENGINE: with status 125"
	done
	ENGINE=
	result --memory 64M -- true
	expect "control: a box of our own is had, its limits watched" status=success isolation.limit_source=watch
	done_testing
fi
for ENGINE in crun runc; do
	results
	[ "$ME$ENGINE" != rootcrun ] || more_results
	nothing ""
	killed
	nothing " after kill -9 and a sweep"
	if [ "$ME" = root ]; then in_a_container; elif [ "$ENGINE" = crun ]; then alone_in_a_scope; fi
done
done_testing
