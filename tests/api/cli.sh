#!/bin/bash
# The command line: flags, errors, exit statuses, output, completion. Walls are tested in tests/promise. TAP.
set -u
cd "$(dirname "$0")/../.." || exit 1
cordon=${CORDON:-build/cordon}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=0 failed=0

# t NAME STATUS OUT ERR COMMAND…: OUT and ERR are extended regular expressions for the whole text; "" wants silence.
t() {
	local title=$1 want=$2 out=$3 err=$4 status problem=
	shift 4
	count=$((count + 1))
	timeout 60 "$@" >"$work/out" 2>"$work/err" </dev/null
	status=$?
	[ "$status" = "$want" ] || problem="status $status, not $want"
	matches "$out" "$work/out" || problem="$problem; stdout"
	matches "$err" "$work/err" || problem="$problem; stderr"
	if [ -z "$problem" ]; then
		echo "ok $count - $title"
		return
	fi
	echo "not ok $count - $title"
	echo "# $problem"
	sed 's/^/# out: /' "$work/out" | head -20
	sed 's/^/# err: /' "$work/err" | head -20
	failed=$((failed + 1))
}
matches() { # REGEX FILE
	if [ -z "$1" ]; then [ ! -s "$2" ]; else tr '\n' '~' <"$2" | grep -qE -- "$1"; fi
}

# subcommands and help
t 'no command shows help' 0 '^usage: cordon COMMAND.*run .*code .*doctor' '' "$cordon"
t '--help' 0 '^usage: cordon COMMAND' '' "$cordon" --help
t '--version' 0 '^cordon [0-9.]+~$' '' "$cordon" --version
t 'version' 0 '^cordon [0-9.]+~$' '' "$cordon" version
t 'a mistyped command' 125 '' 'no such command: rnu.*did you mean .cordon run' "$cordon" rnu
t 'a forgotten "run"' 125 '' 'cordon run -- python3' "$cordon" python3
t 'a flag before the command' 125 '' 'flags come after the command' "$cordon" --memory 1G run
t 'run --help' 0 'limits:.*--memory SIZE.*\[512M\].*files:.*--ro PATH' '' "$cordon" run --help
t 'help run is the same' 0 'limits:.*--memory SIZE' '' "$cordon" help run
t 'code --help has -e' 0 '-e, --eval CODE' '' "$cordon" code --help
t 'help options' 0 'limits.memory +--memory +512M' '' "$cordon" help options
t 'help on nothing' 125 '' "no help on 'polcy'.*cordon help policy" "$cordon" help polcy
for command in plan policy config doctor languages sweep completion; do
	t "$command --help" 0 "^usage: cordon $command" '' "$cordon" $command --help
done

# flags
t 'an unknown flag' 125 '' 'no such flag: --memroy~hint: did you mean --memory' "$cordon" run --memroy 1G -- true
t 'an unknown flag near none' 125 '' 'no such flag: --xyzzy~hint: --help' "$cordon" run --xyzzy -- true
t 'an unknown flag, as JSON' 125 '"status": ?"failed".*no such flag' '' "$cordon" run --xyzzy --json -- true
t 'a very long flag' 125 '' 'no such flag' "$cordon" run "--$(printf 'x%.0s' {1..300})" -- true
t 'a flag without its value' 125 '' '--memory wants a value: --memory SIZE' "$cordon" run --memory -- true
t 'a switch with a value' 125 '' '--quiet takes no value' "$cordon" run --quiet=yes -- true
t 'a wrong value names the flag' 125 '' '--memory: ' "$cordon" run --memory 1X -- true
t '--flag=value' 0 'memory: 64M +# flag --memory' '' "$cordon" policy show --memory=64M
t '--flag value' 0 'memory: 64M +# flag --memory' '' "$cordon" policy show --memory 64M
t 'the last of two wins' 0 'memory: 32M +# flag --memory' '' "$cordon" policy show --memory 64M --memory 32M
t 'lists take commas and repetition' 0 'commands: \[ls, cat, sh\]' '' "$cordon" policy show --commands ls,cat --commands sh
t 'an empty name in a list' 125 '' 'an empty name' "$cordon" run --commands ls,,cat -- true
t 'an empty list is no list' 125 '' 'an empty name' "$cordon" run --commands '' -- true
t '--env NAME=VALUE and --env NAME' 0 'env: \{A: b\}.*pass_env: \[HOME\]' '' "$cordon" policy show --env A=b --env HOME
t 'no command to run' 125 '' 'no command to run~hint: cordon run' "$cordon" run --memory 64M
t 'flags of the command are its own' 0 '^--json -q~$' '' "$cordon" run -- echo --json -q
t 'the command ends the flags' 0 '^--json~$' '' "$cordon" run echo --json

# policies
t 'policy list' 0 '(^|~)strict +[^~]+~' '' "$cordon" policy list
t 'policy check' 0 '^strict: valid~$' '' "$cordon" policy check strict
t 'policy check: not found' 1 '' 'cordon: .*nope' "$cordon" policy check nope
printf 'version: 1\nlimits: {memroy: 1G}\n' >"$work/bad.yaml"
t 'policy check: an unknown key' 1 '' 'bad.yaml:2:10: .*memroy.*memory' "$cordon" policy check "$work/bad.yaml"
t 'policy schema is JSON' 0 '2020-12' '' "$cordon" policy schema
t 'policy what' 125 '' 'cordon policy check' "$cordon" policy
t 'policy shwo' 125 '' 'did you mean .cordon policy show' "$cordon" policy shwo
t 'policy show: one too many' 125 '' "'b' is one argument too many" "$cordon" policy show strict b
t 'policy show twice' 125 '' 'two policies' "$cordon" policy show strict --policy judge
t 'a preset that is not there' 125 '' 'nope' "$cordon" run --policy nope -- true
t 'flags narrow a policy' 0 'memory: 64M +# flag --memory' '' "$cordon" policy show strict --memory 64M
t 'flags cannot widen a policy' 1 '' 'limits.memory: .1T. was asked for' "$cordon" policy show strict --memory 1T
t 'config show' 0 'scratch_dir' '' "$cordon" config show
t 'config' 125 '' 'usage: cordon config show' "$cordon" config

# run and code
t 'exit status' 7 '' '' "$cordon" run -- sh -c 'exit 7'
t 'a signal of its own' 139 '' 'cordon: killed by SIGSEGV~$' "$cordon" run -- sh -c 'kill -SEGV $$'
t '--quiet' 139 '' '' "$cordon" run --quiet -- sh -c 'kill -SEGV $$'
t 'the deadline' 124 '' 'cordon: timeout after 0.[2-9] s \(limits.wall_time\); give it more with --timeout 2s~' \
	"$cordon" run --timeout 200ms -- sleep 20
printf 'version: 1\nlimits: {wall_time: 200ms}\n' >"$work/short.yaml"
t 'the deadline under a policy' 124 '' 'timeout after .* the policy .*/short.yaml decides' "$cordon" run -p "$work/short.yaml" -- sleep 20
t 'a command that is not there' 127 '' 'cordon: .*no-such-thing' "$cordon" run -- no-such-thing
t 'a command that is not executable' 126 '' 'cordon: ' "$cordon" run -- /etc/hostname
t '--verbose' 0 'hello' 'cordon: success in .* ms.*layers:' "$cordon" run -v -- echo hello
t 'both streams' 0 '^out~$' '^err~$' "$cordon" run -- sh -c 'echo out; echo err >&2'
t '--json' 0 '"status": ?"success".*"stdout": ?"out\\n".*"stderr": ?"err\\n"' '' "$cordon" run --json -- sh -c 'echo out; echo err >&2'
t '--json keeps the exit status' 3 '"status": ?"error".*"exit_code": ?3' '' "$cordon" run --json -- sh -c 'exit 3'
# shellcheck disable=SC2016  # $0 is for the inner shell
{
	t 'stdin is passed on' 0 '^3~$' '' bash -c 'printf "1\n2\n3\n" | $0 run -- tail -n 1' "$cordon"
	t 'nobody reads the output' 141 '^y~$' '' bash -c 'set -o pipefail; $0 run -- yes | head -n 1' "$cordon"
	t 'stdin, stdout and stderr closed' 0 '' '' bash -c '$0 run -- true <&- >&- 2>&-' "$cordon"
	t 'code -' 0 '^42~$' '' bash -c 'echo "print(6 * 7)" | $0 code python -' "$cordon"
}
echo 'import sys; print(sys.argv[1:]); undefined' >"$work/app.py"
t 'code FILE: tracebacks speak of it' 1 "\['a', '-b'\]" 'app.py.*NameError' "$cordon" code python "$work/app.py" -- a -b
t 'code -e' 0 '^42~$' '' "$cordon" code python -e 'print(6 * 7)'
t 'code -e before the language' 0 '^42~$' '' "$cordon" code -e 'print(6 * 7)' --memory 128M python
t 'code without a language' 125 '' 'no language' "$cordon" code
t 'code without a program' 125 '' 'no program~hint: cordon code python FILE' "$cordon" code python
t 'code with one word too many' 125 '' "'b' is one argument too many~hint: .*after --" "$cordon" code python a b
t 'code: no such file' 125 '' "read '.*/none.py': No such file" "$cordon" code python "$work/none.py"
t 'code: a directory' 125 '' "read '.*': Is a directory" "$cordon" code python "$work"
t 'code: an unknown language' 127 '' 'cordon: .*pythn.*python' "$cordon" code pythn -e 1
head -c 17000000 /dev/zero >"$work/large.py"
t 'code: a program too large' 125 '' 'more than 16 MiB' "$cordon" code python "$work/large.py"
t 'languages' 0 '(^|~)python +.*(^|~)bash ' '' "$cordon" languages

# plan
t 'plan' 0 '.' '' "$cordon" plan -- true
t 'plan --json' 0 '^\{' '' "$cordon" plan --json -- true
t 'plan code' 0 'python' '' "$cordon" plan code python -e 1
t 'plan run' 0 '.' '' "$cordon" plan run -- true
t 'plan of nothing' 125 '' 'no command to run' "$cordon" plan

# completion
for shell in bash zsh fish; do
	t "completion $shell" 0 'completion words' '' "$cordon" completion $shell
done
t 'completion for no shell' 125 '' 'for which shell' "$cordon" completion
t 'completion for another shell' 125 '' 'bash\|zsh\|fish' "$cordon" completion tcsh
t 'words: commands' 0 '(^|~)run	.*(^|~)code	' '' "$cordon" completion words ''
t 'words: flags' 0 '(^|~)--json	.*(^|~)--memory	' '' "$cordon" completion words run --
t 'words: a flag of choices' 0 '(^|~)container	' '' "$cordon" completion words run --level ''
t 'words: presets' 0 '(^|~)strict	.*:files' '' "$cordon" completion words run --policy ''
t 'words: languages' 0 '(^|~)python	' '' "$cordon" completion words code ''
t 'words: files' 0 '^:files~$' '' "$cordon" completion words run --ro ''
t 'words: behind --' 0 ':commands' '' "$cordon" completion words run -- ''
t 'words: flags of image build' 0 '(^|~)--build-arg	.*(^|~)--no-import	' '' "$cordon" completion words image build --
t 'words: engines of image build' 0 '^docker	~podman	~$' '' "$cordon" completion words image build --engine ''
t 'words: a file of image build' 0 '^:files~$' '' "$cordon" completion words image build --engine docker -f ''
t 'words: flags of image import' 0 '(^|~)--max-size	' '' "$cordon" completion words image import --
t 'image --help explains its flags' 0 '--max-ratio NUMBER +import: .*--build-arg NAME=VALUE +build: ' '' "$cordon" image --help
t 'words: plan code' 0 '(^|~)python	' '' "$cordon" completion words plan code ''
cat >"$work/complete.bash" <<'BASH'
source completions/cordon.bash
COMP_WORDS=("$1" run --memo) COMP_CWORD=2
_cordon
echo "${COMPREPLY[*]}"
BASH
t 'bash completes' 0 '^--memory~$' '' bash "$work/complete.bash" "$cordon"
if command -v fish >/dev/null 2>&1; then
	t 'fish completes' 0 '^--memory	' '' env PATH="$(realpath "$(dirname "$cordon")"):$PATH" \
		fish -c 'source completions/cordon.fish; complete -C "cordon run --memo"'
fi

# nothing of a payload's reaches the terminal as an escape sequence
t 'escapes in messages are made harmless' 127 '' '\\x1b\[31m' "$cordon" run -- $'no\e[31mthing'
t 'what turns the direction of a line, too' 127 '' 'a\\xe2\\x80\\xaeb' "$cordon" run -- $'a\xe2\x80\xaeb'
t 'and what is no UTF-8' 127 '' 'a\\xffb' "$cordon" run -- $'a\xffb'
t 'control: other letters are shown' 127 '' 'aüб字' "$cordon" run -- 'aüб字'

echo "1..$count"
[ $failed -eq 0 ]
