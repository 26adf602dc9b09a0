#!/bin/bash
# The examples of docs/EGRESS.md do what it says: each command is run on this internet, and its output compared. A line with nothing but … stands for any
# lines; numbers may differ (times, versions, bytes).
. "$(dirname "$0")/lib.sh"
if [ -n "$ENGINE" ]; then
	echo "# what another engine says differently is not in it"
	done_testing
fi
mkdir "$WORK/bin" "$WORK/at"
printf '#!/bin/bash\nexec %s "$@"\n' "${UNCAP[*]} $CORDON" >"$WORK/bin/cordon"
chmod 755 "$WORK/bin/cordon"
cat >"$WORK/at/agent.yaml" <<'END'
version: 1
network:
  allow:
    - git.example.com:22/tcp
    - {host: api.example.com, ports: [443], methods: [GET, HEAD], paths: ["/v1/*", /echo], secret: EXAMPLE_KEY}
secrets:
  EXAMPLE_KEY: {from: "env:EXAMPLE_KEY", header: "Authorization: Bearer {}"}
END
cat >"$WORK/at/w.yaml" <<'END'
version: 1
network:
  allow:
    - {host: "*.example.com", ports: [443]}
    - {host: api.example.com, ports: [443], methods: [GET],  paths: ["/v1/*"]}
    - {host: api.example.com, ports: [443], methods: [POST], paths: [/v1/jobs]}
END
cat >"$WORK/compare.py" <<'END'
import json, re, subprocess, sys
text = open(sys.argv[1]).read()
def in_order(got):
    """On a busy machine a connection's end is told late, behind what began after it."""
    try:
        result = json.loads(got)
        result["network"].sort(key=lambda event: event["time"])
    except (ValueError, KeyError, TypeError):
        return got
    return json.dumps(result, indent=2, ensure_ascii=False) + "\n"
for block in re.findall(r"^```\n(\$ .*?)^```$", text, re.S | re.M):
    for example in re.split(r"^\$ ", block, flags=re.M)[1:]:
        command, _, want = example.partition("\n")
        if "# and egress is killed" in command:  # tests/egress/report.sh
            continue
        pattern = "".join(r"(?:.*\n)*?" if line.strip() == "…" else re.sub(r"\d+(?:\\\.\d+)*", "[0-9.]+", re.escape(line)) + r"\n" for line in want.splitlines())
        ran = subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=30)
        got = ran.stdout if ran.stdout.endswith("\n") or not ran.stdout else ran.stdout + "\n"
        got = re.sub(r' *"reason": "reset by the box",\n', "", got)  # whether curl waits for a server's goodbye is a matter of moments
        good = re.fullmatch(pattern, in_order(got))
        print("good" if good else "bad", command)
        if not good:
            print("".join("# " + line + "\n" for line in got.splitlines()), end="")
END
export EXAMPLE_KEY=hunter2-hunter
(cd "$WORK/at" && PATH=$WORK/bin:$PATH $PYTHON "$WORK/compare.py" "$TOP/docs/EGRESS.md") >"$WORK/compared" 2>&1
count=$(grep -c '^good' "$WORK/compared")
while IFS= read -r line; do
	case $line in
	good*) pass "${line#good }" ;;
	bad*) fail "${line#bad }" "$(sed -n "/^bad/,/^good/p" "$WORK/compared" | head -60)" ;;
	esac
done <"$WORK/compared"
ok "control: there are examples ($count)" test "$count" -ge 12
done_testing
