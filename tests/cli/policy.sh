#!/bin/bash
# Policies, presets and the configuration from the command line: check, show, schema, narrowing, every source.
. "$(dirname "$0")/../lib.sh"
levels container
works_here || skip_all "no boxes of level $LEVEL here"
need python3
cd "$WORK" || exit 1
mkdir data other
echo x >data/x
cat >p.yaml <<YAML
version: 1
limits: {memory: 128M, wall_time: 20s, processes: 32, output: 100K}
files: {allowed_read: [$WORK/data], tmp: 16M}
YAML

# ---- narrowing ----
status 0 "control: the policy alone" "$CORDON" run --policy ./p.yaml -- true
for flag in "--memory 64M" "--timeout 5s" "--pids 16" "--output 10K" "--ro $WORK/data:/data" "--env A=b" "--protect /home/agent/x" "--require seccomp"; do
	# shellcheck disable=SC2086
	status 0 "narrower: $flag" "$CORDON" run --policy ./p.yaml $flag -- true
done
for flag in "--memory 256M" "--timeout 10m" "--pids 64" "--output 1M" "--ro $WORK/other:/other" "--rw $WORK/data:/data" "--degrade landlock" \
	"--pass-env HOME" "--tmp 1G" "--level process" "--root $WORK/other" "--cpus 8" "--cpu-time 1h" "--open-files 100000" "--grace 1h"; do
	# shellcheck disable=SC2086
	status 125 "wider: $flag is refused" "$CORDON" run --policy ./p.yaml $flag -- true
	[ "$flag" = "--memory 256M" ] && like "$ERR" 'limits.memory.*256M.*128M' "and says which and why"
done
status 0 "control: without --policy the same flags are the policy" "$CORDON" run --memory 256M --timeout 10m --ro "$WORK/other:/other" -- true

# ---- check, show, schema, list ----
bad() { # NAME TEXT REGEX
	printf '%s\n' "$2" >bad.yaml
	status 1 "policy check: $1" "$CORDON" policy check ./bad.yaml
	like "$ERR" "$3" "policy check: $1, and says so"
}
bad "an unknown key" $'version: 1\nlimits:\n  memroy: 1G' 'bad.yaml:3:3.*memroy(.|\n)*limits.memory'
bad "a wrong unit" $'version: 1\nlimits: {memory: 5X}' 'bad.yaml:2:18'
bad "a negative number" $'version: 1\nlimits: {processes: -1}' 'bad.yaml:2:'
bad "overflow" $'version: 1\nlimits: {memory: 99999999999999999999G}' 'bad.yaml:2:'
bad "a key twice" $'version: 1\nlimits: {memory: 1G, memory: 2G}' 'bad.yaml:2:'
bad "a wrong type" $'version: 1\nlimits: [1]' 'bad.yaml:2:'
bad "a relative path" $'version: 1\nfiles: {tmpfs: ["x:1M"]}' 'bad.yaml:2:'
bad "no version" $'limits: {memory: 1G}' 'version'
bad "bad YAML" $'version: 1\nlimits: {memory' 'bad.yaml:'
bad "a preset that is not there" $'version: 1\nextends: nothing' 'nothing'
bad "an address for a name" $'version: 1\nnetwork:\n  allow:\n  - host: "0x7f.1"' "bad.yaml:4:11: network.allow.host: '0x7f.1' is an address, not a name(.|\n)*address: 127.0.0.1"
bad "a port without a protocol" $'version: 1\nnetwork: {allow: [{host: a.b, ports: [22]}]}' "bad.yaml:2:19: network.allow: .*port 22 needs a protocol"
bad "an unknown key of a rule" $'version: 1\nnetwork: {allow: [{hots: a.b}]}' "bad.yaml:2:20: no such key in a rule: 'hots'(.|\n)*did you mean host"
bad "a secret that is not there" $'version: 1\nnetwork: {allow: [{host: a.b, secret: KYE}]}\nsecrets: {KEY: {from: "env:KEY"}}' "bad.yaml:2:18: network.allow: .*'KYE'(.|\n)*did you mean KEY"
bad "a secret from nowhere" $'version: 1\nsecrets: {KEY: {from: KEY}}' "bad.yaml:2:23: secrets.from: 'KEY' says not where"
bad "a network that is none" $'version: 1\nnetwork: host' "bad.yaml:2:10: network.mode: 'host' is not one of none, allow, open"
printf '{"version": 1, "limits": {"memory": "64M"}}' >ok.json
status 0 "JSON is fine, too" "$CORDON" policy check ./ok.json
status 0 "policy show" "$CORDON" policy show ./p.yaml --memory 64M
like "$OUT" 'memory: 64M +# flag --memory' "tells the flag"
like "$OUT" 'processes: 32 +# .*p.yaml:2' "the file and line"
like "$OUT" 'open_files: 1024 +# default' "and the default"
status 0 "policy show --json" "$CORDON" policy show ./p.yaml --json
ok "is JSON" python3 -c 'import json, sys; json.loads(sys.argv[1])' "$OUT"
cat >net.yaml <<'YAML'
version: 1
network:
  allow: [api.github.com, {host: "*.pypi.org", ports: [443]}, {host: api.example.com, methods: [GET], paths: ["/v1/*"], secret: KEY}]
  download: 10M/s
secrets: {KEY: {from: "env:KEY", header: "Authorization: Bearer {}"}}
YAML
status 0 "policy check: a network" "$CORDON" policy check ./net.yaml
status 0 "policy show: a network" "$CORDON" policy show ./net.yaml --connections 5
like "$OUT" 'mode: allow +# ./net.yaml:3' "rules make the mode"
like "$OUT" 'allow: \[api.github.com, \{host: "\*.pypi.org", ports: \[443\]\}' "and are told"
like "$OUT" 'connections: 5 +# flag --connections' "beside the flag"
printf '%s\n' "$OUT" >again.yaml
status 0 "which is a policy again" "$CORDON" policy check ./again.yaml
status 0 "policy show: flags" "$CORDON" policy show --allow 'EXAMPLE.com.' --allow git.example.com:22/tcp --allow-cidr 10.1.2.0/24:5432 \
	--secret KEY=env:KEY@api.example.com --net-read-only
like "$OUT" 'allow: \[example.com, \{host: git.example.com, ports: \[22\], protocol: tcp\}, \{address: 10.1.2.0/24, ports: \[5432\], protocol: tcp\}, \{host: api.example.com, ports: \[443\], secret: KEY\}\]' "name hosts"
like "$OUT" 'read_only: true' "read only"
for flag in "--allow 10.1" "--allow a.b:22" "--allow-cidr 10.0.0.0/8" "--secret KEY=env:KEY" "--net host" "--upstream-proxy p:80"; do
	# shellcheck disable=SC2086
	status 1 "$flag is refused" "$CORDON" policy show $flag
done
for flag in "--allow api.github.com:443" "--allow x.pypi.org:443" "--net none" "--net-read-only" "--download 1M/s"; do
	# shellcheck disable=SC2086
	status 0 "narrower: $flag" "$CORDON" policy show ./net.yaml $flag
done
for flag in "--allow other.org" "--allow pypi.org" "--allow api.example.com" "--net open" "--download 20M/s" "--private allow" \
	"--secret KEY=env:OTHER@api.example.com" "--upstream-proxy http://p.example:80" "--allow-cidr 10.0.0.0/8:22"; do
	# shellcheck disable=SC2086
	status 1 "wider: $flag" "$CORDON" policy show ./net.yaml $flag
done
# Types are those of the schema: nothing is guessed.
for bad in 'process: {subuids: "false"}' 'network: {read_only: "true"}' 'process: {commands: [1]}' 'files: {read: [true, /usr]}' 'process: {user: 5}' 'files: {protect: [1.5]}' \
	'files: {allowed_read: [false]}' 'network: {allow: [true]}' 'network: {allow: [{host: true}]}' 'extends: 1'; do
	printf 'version: 1\n%s\n' "$bad" >types.yaml
	status 1 "a wrong type: $bad" "$CORDON" policy check types.yaml
	like "$ERR" 'types.yaml:2:[0-9]+: .*(a text is wanted|true or false is wanted)' "and where"
done
for good in 'process: {subuids: true}' 'process: {commands: ["1", 7z, 2to3]}' 'process: {env: {PORT: 8080, DEBUG: true}}' 'network: {read_only: false}'; do
	printf 'version: 1\n%s\n' "$good" >types.yaml
	status 0 "control: $good" "$CORDON" policy check types.yaml
done
status 0 "policy show strict" "$CORDON" policy show strict
like "$OUT" '# preset strict' "tells the preset" || true
status 0 "policy schema" "$CORDON" policy schema
printf '%s' "$OUT" >schema.json
cat >presets.py <<'PY'
import glob, json, sys
import jsonschema, yaml
schema = json.load(open("schema.json"))
assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema", schema["$schema"]
assert schema["properties"]["limits"]["properties"]["memory"] and schema.get("additionalProperties") is False
jsonschema.Draft202012Validator.check_schema(schema)
check = jsonschema.Draft202012Validator(schema)
for path in glob.glob(sys.argv[1] + "/profiles/*.yaml"):
    check.validate(yaml.safe_load(open(path)))
check.validate(yaml.safe_load(open("net.yaml")))
check.validate(yaml.safe_load(open("again.yaml")))
for good in ("none", {"allow": ["a.b:22/tcp", {"address": "10.0.0.0/8", "ports": [22, "80-90"], "protocol": "tcp"}], "mode": "open"}):
    check.validate({"version": 1, "network": good})
for bad in ("host", {"allow": ["a b"]}, {"allow": [{}]}, {"allow": [{"host": "a.b", "ports": [0]}]}, {"allow": [{"hots": "a.b"}]}, {"allow": "a.b"}):
    assert not check.is_valid({"version": 1, "network": bad}), bad
for bad in ({"version": 1, "secrets": {"K": {"from": "K"}}}, {"version": 1, "limits": {"memroy": "1G"}}, {"version": 1, "limits": [1]}, {"version": 2}, {"version": 1, "level": "none"}):
    assert not check.is_valid(bad), bad
PY
if /usr/bin/python3 -c 'import jsonschema, yaml' 2>/dev/null; then # Debian's packages are for Debian's python3
	ok "the schema takes the presets and what is shown" /usr/bin/python3 presets.py "$TOP"
else
	skip "the schema takes the presets and what is shown" "no python3-jsonschema and python3-yaml here"
fi
status 0 "policy list" "$CORDON" policy list

# ---- the presets run ----
for profile in "$TOP"/profiles/*.yaml; do
	name=$(basename "$profile" .yaml)
	like "$OUT" "(^|
)$name " "policy list has $name" || true
	ok "$name: valid" "$CORDON" policy check "$name"
	got=$(cd "$WORK/data" && "$CORDON" run --policy "$name" --json -- python3 -c 'print(6 * 7)' 2>&1)
	printf '%s' "$got" >"$WORK/.result"
	: >"$WORK/.result.err"
	expect "$name: Python answers" status=success stdout=$'42\n' 'denials=[]'
done
status 126 "strict: no other program" "$CORDON" run --policy strict -- ls
status 1 "strict: not from within either" "$CORDON" run --policy strict -q -- python3 -c 'import subprocess; subprocess.run(["ls"])'
status 0 "control: shell runs ls" "$CORDON" run --policy shell -- ls
status 0 "judge: compiles and runs" "$CORDON" code c --policy judge -e 'int main(void) { return 0; }'
status 124 "judge: ends what loops" "$CORDON" run --policy judge --timeout 1s -q -- sleep 30
mkdir project && chmod 777 project && (cd project && git init -q . 2>/dev/null; mkdir -p .git/hooks)
printf 'version: 1\nextends: build\nfiles: {write: [%s:/project]}\n' "$WORK/project" >b.yaml
status 0 "build: writes the project" "$CORDON" run --policy ./b.yaml --workdir /project -- sh -c 'echo x >made'
ok "which is there" test -e project/made
refused "build: but no hook" "$CORDON" run --policy ./b.yaml --workdir /project -- sh -c 'echo x >.git/hooks/pre-commit'
refused "build: and nothing that an editor runs" "$CORDON" run --policy ./b.yaml --workdir /project -- sh -c 'mkdir -p .vscode && echo x >.vscode/tasks.json'
refused "build: or direnv" "$CORDON" run --policy ./b.yaml --workdir /project -- sh -c 'echo x >.envrc'

# ---- configuration ----
status 0 "config show" env -u CORDON_CONFIG HOME="$WORK/nohome" "$CORDON" config show
like "$OUT" 'scratch_dir.*# default' "tells defaults"
printf 'version: 1\nscratch_dir: %s\ncolour: never\n' "$WORK" >c.yaml
status 0 "CORDON_CONFIG" env CORDON_CONFIG="$WORK/c.yaml" "$CORDON" config show
like "$OUT" "scratch_dir: \"?$WORK\"? +# .*c.yaml:2" "is a source with its line"
mkdir -p home/.config/cordon
printf 'version: 1\npolicy: judge\n' >home/.config/cordon/config.yaml
status 0 "a file of the home directory" env -u CORDON_CONFIG -u XDG_CONFIG_HOME HOME="$WORK/home" "$CORDON" config show
if [ "$ME" = user ]; then
	like "$OUT" 'policy: "?judge"? +# .*config.yaml:2' "is a source"
fi
printf 'version: 1\npolicy: judge\n' >d.yaml
status 0 "the default policy of the configuration" env CORDON_CONFIG="$WORK/d.yaml" "$CORDON" policy show
like "$OUT" 'processes: 16 ' "holds where none is named"
printf 'version: 1\ncolour: never\npolicy: jugde\n' >n.yaml
status 125 "a default policy that is not there" env CORDON_CONFIG="$WORK/n.yaml" "$CORDON" run -- true
like "$ERR" "$WORK/n.yaml:3:9: no preset is called 'jugde'(.|
)*did you mean judge" "is told with the place that names it"
printf 'version: 1\nscratchdir: /tmp\n' >e.yaml
status 125 "an unknown key of the configuration" env CORDON_CONFIG="$WORK/e.yaml" "$CORDON" config show
like "$ERR" 'e.yaml:2:1.*scratchdir(.|
)*scratch_dir' "is refused with its place and a guess"
status 125 "and nothing runs with it" env CORDON_CONFIG="$WORK/e.yaml" "$CORDON" run -- true
status 125 "a configuration that is not there" env CORDON_CONFIG="$WORK/none.yaml" "$CORDON" run -- true
printf 'version: 1\n' >w.yaml
chmod o+w w.yaml
status 125 "one that anyone may write" env CORDON_CONFIG="$WORK/w.yaml" "$CORDON" run -- true || true
status 0 "config show --json" "$CORDON" config show --json
ok "is JSON" python3 -c 'import json, sys; json.loads(sys.argv[1])' "$OUT"

# ---- doctor ----
status 0 "doctor" "$CORDON" doctor
for layer in userns mountns pidns netns ipcns utsns cgroup seccomp landlock rlimits no_new_privs; do
	like "$OUT" "(ok|warn|no|fail)[a-z]* +$layer " "doctor speaks of $layer" || true
done
status 0 "doctor --json" "$CORDON" doctor --json
ok "is JSON with a state and a detail each" python3 -c '
import json, sys
r = json.loads(sys.argv[1])
layers = r["layers"]
assert len(layers) > 10 and all(l["name"] and l["state"] and "detail" in l and "remedy" in l for l in layers), layers
assert r["levels"]' "$OUT"
done_testing
