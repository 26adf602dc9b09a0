#!/bin/bash
# What an image says of itself leads nobody past the limits: volumes lie on the daemon's disk, and an image may ask for one in /tmp, in the home,
# in /dev, or at the end of a link. Nor do its links lead the engine to a program of its own in init's place.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/daemon.sh"
levels container
need curl dockerd
need_root
docker_run "$WORK" && export DOCKER_HOST=unix://$WORK/docker.sock || skip_all "dockerd does not start here: $(tail -n 3 "$WORK/docker.log")"
defer eval 'daemon_stop "$DOCKER_PID" "$WORK"'
SOCKET=$WORK/docker.sock

image() { # NAME CHANGE: an image of little with one line of a Dockerfile more
	api "$SOCKET" POST "/images/create?fromSrc=-&repo=$1&changes=$2" -f -H "Content-Type: application/x-tar" -T "$WORK/image.tar" >/dev/null
}
box() { "$CORDON" run --engine docker --image "$@"; }

mkdir "$WORK/root"
busybox_tar "$WORK/image.tar"
tar -C "$WORK/root" -xf "$WORK/image.tar"
for name in echo grep stat; do ln -s busybox "$WORK/root/bin/$name"; done
mkdir -p "$WORK/root/data" "$WORK/root/tmp/x"
ln -s tmp "$WORK/root/link"
chmod 777 "$WORK/root/data" "$WORK/root/tmp/x"
tar -C "$WORK/root" --owner=0 --group=0 -cf "$WORK/image.tar" .

image plain ENV%20A=b
is "$(box plain -- sh -c 'stat -f -c %T /tmp; touch /tmp/x/f && echo $A' 2>&1)" "tmpfs
touch: /tmp/x/f: No such file or directory" "control: /tmp is the box's own"
image data VOLUME%20/data
is "$(box data -- sh -c 'test -w /data && touch /data/f 2>/dev/null || echo shut')" shut "a volume elsewhere is there, and nobody writes to it"
for place in /tmp/x /home/agent/x /dev/x /link/x; do
	image volume "VOLUME%20$place"
	refused "a volume at $place" box volume -- true
	like "$(box volume -- true 2>&1)" "the image has a volume in" "for that reason"
done
rmdir "$WORK/root/tmp/x"
rmdir "$WORK/root/tmp" && ln -s data "$WORK/root/tmp"
tar -C "$WORK/root" --owner=0 --group=0 -cf "$WORK/image.tar" .
image linked VOLUME%20/data
for _ in 1 2 3 4 5 6; do # which of the two the daemon lays on top is its own choice, each time
	box linked -- stat -f -c %T /tmp 2>&1
done | sort -u >"$WORK/said"
refused "/tmp that is a link to a volume is memory, or no box" grep -vE '^tmpfs$|the image has a volume in|^hint' "$WORK/said"
# ---- a link where init is to lie: to one place for who mounts, to another for who executes ----
rm "$WORK/root/tmp" && mkdir "$WORK/root/tmp" "$WORK/root/theirs"
ln -s /proc/self/cwd/theirs "$WORK/root/.cordon"
printf '#!/bin/sh\n{ id -u; grep -E "^(CapEff|Seccomp_filters)" /proc/self/status; } >/work/theirs\nsleep 1\n' >"$WORK/root/theirs/init"
chmod 755 "$WORK/root/theirs/init"
tar -C "$WORK/root" --owner=0 --group=0 -cf "$WORK/image.tar" .
image instead ENV%20A=b
mkdir -m 777 "$WORK/work"
is "$(box instead --rw "$WORK/work:/work" -- echo ours 2>&1; cat "$WORK/work/theirs" 2>/dev/null)" ours "an image that has a link where init lies: init is ours"
mkdir -m 700 "$WORK/user" && chown 54321:54321 "$WORK/user" "$WORK/work" && chmod 666 "$SOCKET"
is "$(cd / && setpriv --reuid=54321 --regid=54321 --clear-groups env HOME=/nonexistent XDG_RUNTIME_DIR="$WORK/user" "$CORDON" run --engine docker --image instead --allow example.com \
	--rw "$WORK/work:/work" -- echo ours 2>&1; cat "$WORK/work/theirs" 2>/dev/null)" ours "also where init begins as root: an ordinary user's box with a network"
is "$(api "$SOCKET" GET /volumes | grep -o '"Volumes":[^,]*')" '"Volumes":[]' "and no volume is left"
done_testing
