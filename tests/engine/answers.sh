#!/bin/bash
# Which API is spoken with a daemon: its own up to the newest that we know, which is told by its ping or asked for; what answers and is no daemon is refused. What
# daemons say when they cannot make a container comes out with what helps against it.
. "$(dirname "$0")/fake_lib.sh"

# ---- versions ----

# spoken SCENARIO: the versions in the paths of what was asked.
spoken() { echo "$(sed -n 's|^[A-Z]* /v\([0-9.]*\)/.*|\1|p' "$WORK/d/$1.log" | sort -u | tr '\n' ' ')"; }
# beside SCENARIO: whether init's mount, a read-only one, is asked for without what is mounted below it.
beside() { json HostConfig.Mounts <"$WORK/d/$1.body" | grep '/init"' | json BindOptions.NonRecursive; }
known=(1.24 1.40 1.43 1.44 1.45 1.100)
nobody=({html,types,null}.version told.x api.x)
fake "${known[@]/#/api.}" told.1.30 told.1.52 "${nobody[@]}"
all "${known[@]/#/api.}" told.1.30 told.1.52 "${nobody[@]}"
for version in 1.24 1.40 1.43 1.44; do
	is "$(spoken api.$version)$(came api.$version)" "$version $REACHED" "a daemon of $version is spoken to as such"
done
for version in 1.45 1.100; do
	is "$(spoken api.$version)$(came api.$version)" "1.44 $REACHED" "one of $version in what we know, 1.44"
done
is "$(spoken told.1.30), $(spoken told.1.52)" "1.30 , 1.44 " "where a ping does not tell, /version is asked, and counts the same"
is "$(grep -c ' /version$' "$WORK/d/told.1.30.log") $(grep -c ' /version$' "$WORK/d/api.1.40.log")" "1 0" "and only there"
is "$(for version in "${known[@]}"; do beside "api.$version"; done | tr '\n' ' ')" "true true true false false false " \
	"before 1.44 read-only mounts come without what lies below them, which would be writable"
for name in "${nobody[@]}"; do
	is "$(cat "$WORK/d/$name.code") $(grep -c "what answers at $WORK/d/$name.sock is not a daemon of docker" "$WORK/d/$name.err")" "125 1" "$name: what is no daemon is told" ||
		note "$(cat "$WORK/d/$name.err")"
	is "$(spoken "$name")" "" "and asked for nothing else"
done

# ---- what helps ----

# said STEP TEXT HINT: the daemon says so at that step of a run.
said() {
	echo "$2" >"$WORK/d/say.$1.text"
	at "say.$1" -- true
	like "$(cat "$WORK/d/say.$1.code" "$WORK/d/say.$1.err")" "^125.*hint: .*$3" "what helps is told: ${2:0:60}"
	is "$(grep -cF "${2:0:60}" "$WORK/d/say.$1.err")" 1 "with what the daemon said"
}
fake say.create say.start
elsewhere='docker must see this host.s files: it is on another machine'
said create 'invalid mount config for type "bind": bind source path does not exist: /run/cordon/shelf/x' "$elsewhere"
said create 'statfs /run/cordon/shelf/x: no such file or directory' "$elsewhere"
said start 'AppArmor enabled on system but the docker-default profile could not be loaded: running `apparmor_parser apparmor_parser --version` failed with output: : exec: "apparmor_parser": executable file not found in $PATH' \
	'install them \(Debian: apparmor\)'
said start 'OCI runtime error: crun: cgroups in hybrid mode not supported, drop all controllers from cgroupv2' 'have docker take runc'
said start 'failed to create shim task: OCI runtime create failed: container init was OOM-killed (memory limit too low?): unknown' 'memory 64M does'
said create 'Minimum memory limit allowed is 6MB' 'wants 6M at least'
said create 'write /var/lib/docker/x: no space left on device' 'docker system prune'
said create 'invalid reference format: repository name must be lowercase' 'NAME\[:TAG\]'
echo 'something else' >"$WORK/d/say.create.text"
at say.create -- true
like "$(cat "$WORK/d/say.create.err")" 'something else.*hint: the log of docker may know more' "control: what nobody knows comes with where to look"
done_testing
