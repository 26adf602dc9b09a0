#!/bin/bash
# What the documents show is what happens: README's commands, the manual pages, the completion scripts.
. "$(dirname "$0")/../lib.sh"
levels container
works_here || skip_all "no boxes of level $LEVEL here"
need python3

# ---- README ----
mkdir "$WORK/readme"
cat >"$WORK/readme.py" <<'PY'
"""Runs each "$ cordon …" of README.md where it can be run and looks for the lines that stand below it."""
import os, re, shutil, subprocess, sys
readme, work, cordon, me = sys.argv[1:]
text = open(readme, encoding="utf-8").read()
os.chdir(work)
home = os.path.expanduser("~")
blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.S | re.M)
for kind, body in blocks:  # files that the examples speak of
    if kind == "python" and "6 * 7" in body:
        open("try.py", "w").write(body)
    if kind == "yaml" and "extends" in body:
        open("agent.yaml", "w").write(body.replace("./work:", f"{work}/work:"))
os.makedirs("work", exist_ok=True)
os.makedirs(".git/hooks", exist_ok=True)
open("bad.yaml", "w").write("version: 1\nlimits:\n  memory: 1G\n  memry: 1G\n")
open("data.csv", "w").write("a,1\nb,2\n")
open("sum.py", "w").write("print(sum(int(l.split(',')[1]) for l in open('/tmp/data.csv')), file=open('/tmp/sum.txt', 'w'))\n")
open("job.py", "w").write("print(1)\n")
os.chmod(".", 0o777)
def plain(s):
    s = s.replace(work, "/srv/project").replace(home, "/home/you")
    return re.sub(r"\s+", " ", re.sub(r"[0-9.]+", "N", s)).strip()
n = 0
for kind, body in blocks:
    for command, said in re.findall(r"^\$ (cordon .*?(?:\\\n.*?)*)\n((?:(?!\$ ).*\n)*)", body, re.M):
        if "cordon plan" in command and me != "root":
            said = "\n".join(l for l in said.splitlines() if not re.match("(layers|user|limits) ", l)) + "\n"  # those are root's
        engine = re.search(r"--engine (\w+)", command)  # an ordinary user's needs more than a program
        if engine and (me != "root" or not shutil.which(engine[1], path=os.environ["PATH"] + ":/usr/sbin:/sbin")):
            continue
        if "~/.ssh" in command or "--memory 64M" in command and me != "root" or "bad.yaml" in command or "curl" in command and not shutil.which("curl"):
            continue
        p = subprocess.run(["bash", "-c", command.replace("cordon ", f"{cordon} ", 1)], capture_output=True, text=True, timeout=60,
                           stdin=subprocess.DEVNULL)
        out = plain(p.stdout + p.stderr)
        lines = [l for l in said.splitlines() if l.strip() and "…" not in l and "[Errno 1]" not in l]
        if said.lstrip().startswith("{"):
            lines = [l for l in lines if re.match(r'  "\w+":', l) and "stderr" not in l and "layers" not in l]
        missing = [l for l in lines if plain(l) not in out]
        good = not missing or p.returncode == 0 and not lines
        n += 1
        print(("ok" if good else "not ok"), f"- README: {command.splitlines()[0][:70]}")
        for l in missing if not good else []:
            print("# missing:", l)
        if not good:
            print("# said:", (p.stdout + p.stderr)[:1500].replace("\n", "\n# "))
print(("ok" if n >= 5 else "not ok"), f"- README: {n} commands")
PY
while IFS= read -r line; do
	case $line in
	"ok - "*) pass "${line#ok - }" ;;
	"not ok - "*) fail "${line#not ok - }" ;;
	*) echo "$line" ;;
	esac
done < <(python3 "$WORK/readme.py" "$TOP/README.md" "$WORK/readme" "$CORDON" "$ME" 2>&1)

# ---- manual pages ----
for page in cordon.1 cordon-policy.5; do
	if command -v man >/dev/null && command -v groff >/dev/null; then
		text=$(MANWIDTH=100 man -l "$TOP/man/$page" 2>"$WORK/err" | sed 's/.\x08//g')
		is "$(cat "$WORK/err")" "" "$page renders without a warning"
		like "$text" NAME "$page has text"
	elif command -v mandoc >/dev/null; then
		ok "$page renders" mandoc -T utf8 "$TOP/man/$page"
	else
		skip "$page renders" "there is neither man nor mandoc"
	fi
done
for flag in $("$CORDON" help options | awk 'NR > 1 && $2 ~ /^--/ { print $2 }') --json --quiet --tty --keep --in --out --policy; do
	grep -qF -- "${flag#--}" <(sed 's/\\-/-/g' "$TOP/man/cordon.1") && pass "cordon.1 speaks of $flag" || fail "cordon.1 speaks of $flag"
	"$CORDON" run --help | grep -qF -- "$flag " || "$CORDON" run --help | grep -qE -- "$flag(,|\$| )" && pass "run --help has $flag" || fail "run --help has $flag"
done
for key in $("$CORDON" help options | awk 'NR > 1 { print $1 }'); do
	grep -qF -- "${key##*.}" "$TOP/man/cordon-policy.5" && pass "cordon-policy.5 speaks of $key" || fail "cordon-policy.5 speaks of $key"
done

# ---- the table of engines ----
rows=$(sed -nE 's/^\| ((promise|limits|life|egress)\/[a-z_0-9]+) \|.*/\1/p' "$TOP/docs/ENGINES.md")
is "$(for name in $rows; do [ -e "$TOP/tests/$name.sh" ] || echo "$name"; done)" "" "every test of docs/ENGINES.md is there"
unlike "$(cat "$TOP/docs/ENGINES.md")" 'Not explained' "and every difference has its reason"
like "$rows" 'promise/view.*limits/memory.*egress/names' "control: it has such rows"
is "$("$TOP/tools/engines.sh" --tests | grep -vxF "$rows")" "" "every test that tools/engines.sh runs has a row"
is "$(sed -n 's/^| test | //p' "$TOP/docs/ENGINES.md" | sed -E 's/([a-z]) [0-9][^|]*\|/\1 N |/g')" "native | crun N | runc N | docker N | podman N | runsc N |" "and every engine a version"
# table WHAT STATUS SAYS: how tools/engines.py ends with a run of native and crun that is good but for the one file that was changed.
printf '= A reason.\ncrun promise/a known\n' >"$WORK/why"
table() {
	status "$2" "the table of a run: $1" python3 "$TOP/tools/engines.py" "$WORK/logs" "$WORK/why" native crun
	like "$OUT" "^\| test \| native \| crun.*\| promise/a \| " "it is printed"
	like "$ERR" "$3" "and why it cannot stand: ${3:-it can}"
}
good_run() {
	mkdir -p "$WORK"/logs/{native,crun}/promise
	echo native >"$WORK/logs/native/version"
	echo crun 1.8 >"$WORK/logs/crun/version"
	printf 'ok 1 - one\nok 2 - known\n' >"$WORK/logs/native/promise/a"
	printf 'ok 1 - one\nnot ok 2 - known\n' >"$WORK/logs/crun/promise/a"
}
good_run
table "good" 0 '^$'
echo "not ok 3 - other" >>"$WORK/logs/crun/promise/a"
table "what has no reason" 1 '^engines.py: 1 not explained$'
good_run
echo "ok 3 - other # SKIP no reason" >>"$WORK/logs/crun/promise/a"
table "left out without a reason" 1 '1 not explained$'
good_run
echo '.* promise/a .*' >>"$WORK/why"
echo "not ok 3 - other" >>"$WORK/logs/native/promise/a"
table "native, with a reason" 1 '^engines.py: native, promise/a: 1 did not hold$'
good_run
: >"$WORK/logs/crun/promise/a"
table "a test that said nothing" 1 '^engines.py: crun, promise/a: nothing ran$'
good_run
: >"$WORK/logs/crun/version"
table "no version" 1 '^engines.py: crun has no version$'

# ---- completion ----
for shell in bash zsh fish; do
	"$CORDON" completion $shell >"$WORK/completion.$shell"
	if ! command -v $shell >/dev/null; then
		skip "$shell completion loads" "there is no $shell"
		continue
	fi
	case $shell in
	bash) ok "bash completion loads" bash -euc ". '$WORK/completion.bash'" ;;
	zsh) ok "zsh completion loads" zsh -fc "autoload -U compinit && compinit -u -d '$WORK/dump' && . '$WORK/completion.zsh'" ;;
	fish) ok "fish completion loads" env HOME="$WORK" fish --no-config -c "source '$WORK/completion.fish'" ;;
	esac
done
done_testing
