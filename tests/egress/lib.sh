# shellcheck shell=bash
# The tests of egress: a file of them sources this first, instead of ../lib.sh, and finds itself on a small internet of its own.
#
# That is a network namespace where every address is local, with servers at all of them (internet/), and a mount namespace in which
# /etc/resolv.conf, /etc/hosts and /etc/ssl/certs are that internet's. Root makes both as root; an ordinary user in a user namespace
# that maps the user to itself, so that cordon, which has no capability there, is as unprivileged as outside.
#
# $NET is its directory: ca.pem, dns.log (questions), tcp.log (connections that arrived), http.log (requests), wire.log (every packet that began
# something). Logs are JSON, one object a line; seen LOG TEXT counts lines.
if [ -z "${CORDON_INTERNET:-}" ]; then
	inner=(env CORDON_INTERNET=1 bash "$0" "$@")
	case ${CORDON_LEVEL:-container} in container) ;; *) inner=() ;; esac
	if [ ${#inner[@]} = 0 ]; then
		. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
		levels container
	elif [ "$(id -u)" = 0 ] && unshare --net --mount true 2>/dev/null; then
		# A daemon that is out there already sees what is mounted for it in cordon's state, if that is shared: tools/engines.sh
		if [ -n "${CORDON_ENGINE_IMAGE:-}" ]; then exec unshare --net --mount --propagation unchanged "${inner[@]}"; fi
		exec unshare --net --mount "${inner[@]}"
	elif unshare --user --map-current-user --keep-caps --net --mount true 2>/dev/null; then
		exec unshare --user --map-current-user --keep-caps --net --mount "${inner[@]}"
	else
		. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
		skip_all "no network namespace can be had here"
	fi
fi
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
export PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH # the system's Python, as the box has it
need ip openssl curl setpriv
PYTHON=/usr/bin/python3
[ -x $PYTHON ] || skip_all "there is no $PYTHON"
NET=$WORK/net
API=192.0.2.10

internet_up() {
	[ -z "${CORDON_ENGINE_IMAGE:-}" ] || mount --make-private /
	mkdir -p "$NET/certs" "$NET/www" "$NET/repos"
	chmod 755 "$NET"
	ip link set lo up && ip route add local default dev lo && ip -6 route add local default dev lo 2>/dev/null
	$PYTHON "$TOP/tests/egress/internet" "$NET" >"$NET/said" 2>&1 &
	defer kill "$!"
	until_true 20 test -e "$NET/ready" || { cat "$NET/said" && skip_all "the internet does not come up"; }
	cp "$NET/ca.pem" "$NET/certs/ca-certificates.crt"
	cp "$NET/ca.pem" "$NET/certs/$(openssl x509 -in "$NET/ca.pem" -noout -hash).0"
	echo 'nameserver 192.0.2.53' >"$NET/resolv.conf"
	printf '127.0.0.1 localhost\n::1 localhost\n10.1.2.3 inhosts.example.com\n192.0.2.38 goodhosts.example.com\n' >"$NET/hosts"
	for pair in resolv.conf:/etc/resolv.conf hosts:/etc/hosts certs:/etc/ssl/certs; do
		mount --bind "$NET/${pair%%:*}" "${pair#*:}" || skip_all "${pair#*:} cannot be covered"
	done
}
internet_up
# An image has roots of its own: this internet's are laid over them.
[ -z "${CORDON_ENGINE_IMAGE:-}" ] || export CORDON_ENGINE_CERTS=$NET/certs

# Who lets cordon run has no capability of this namespace; as root it is root.
UNCAP=()
[ "$ME" = root ] || UNCAP=(setpriv --inh-caps=-all --ambient-caps=-all)
box() { timeout -k 5 60 "${UNCAP[@]}" "$CORDON" run --level "$LEVEL" ${ENGINE:+--engine "$ENGINE"} ${CORDON_ENGINE_IMAGE:+--image "$CORDON_ENGINE_IMAGE"} "$@"; }
# seen LOG TEXT…: how many lines of the log have all of these
seen() {
	local log=$NET/$1.log text
	shift
	text=$(cat "$log" 2>/dev/null)
	for want in "$@"; do text=$(grep -F -- "$want" <<<"$text"); done
	[ -n "$text" ] && wc -l <<<"$text" || echo 0
}
# to ADDRESS: connections that arrived at it.
to() { seen tcp "\"to\": \"$1\""; }
asked() { seen dns "\"name\": \"$1\""; }
# sums FIELD: of the rows of network[] of the last result. rows KIND DECISION [HOST]: how many, by their counts.
rows() {
	json network <"$WORK/.result" | $PYTHON -c '
import json, sys
want = sys.argv[1:]
n = 0
for line in sys.stdin:
    row = json.loads(line)
    if all(w in ("", row.get(k)) for k, w in zip(("kind", "decision", "host"), want)):
        n += row.get("count", 1)
print(n)' "$@"
}
# web FLAG… -- URL [CURL FLAG…]: curl in a box; its body, and its status where it failed
web() {
	local flags=()
	while [ "$1" != -- ]; do flags+=("$1") && shift; done
	shift
	box "${flags[@]}" -- curl -sS -m 20 "$@" 2>&1
}
# ask FLAG… -- ARGUMENT…: a Python program on stdin, in a box, with the words of inside.py. What it says is "KEY: VALUE" lines in $GOT; said KEY is
# one of them. The result is there as after result().
ask() {
	{ echo 'from inside import *' && cat; } >"$WORK/program.py"
	local flags=()
	while [ "$1" != -- ]; do flags+=("$1") && shift; done
	shift
	result --ro "$TOP/tests/egress/inside.py:/tmp/inside.py" --ro "$WORK/program.py:/tmp/program.py" "${flags[@]}" -- $PYTHON /tmp/program.py "$@"
	GOT=$(field stdout)
	[ "$RESULT_STATUS" = 0 ] || note "the program failed: $(field error.message) $(field stderr | tail -3)"
}
# policy: a policy on stdin becomes $WORK/policy.yaml, with leave to mount what ask() needs.
policy() {
	{
		echo "engine: ${ENGINE:-native}"
		printf 'version: 1\nfiles: {allowed_read: ["%s", "%s"]%s}\n' "$TOP/tests/egress" "$WORK" "${CORDON_ENGINE_IMAGE:+, root: image:$CORDON_ENGINE_IMAGE}${CORDON_ENGINE_CERTS:+, read: [\"$CORDON_ENGINE_CERTS:/etc/ssl/certs\"]}"
		cat
	} >"$WORK/policy.yaml"
}
said() { sed -n "s/^$1: //p" <<<"$GOT"; }
# say_is KEY WANT DESC, says KEY REGEX DESC
say_is() { is "$(said "$1")" "$2" "$3"; }
says() { like "$(said "$1")" "$2" "$3"; }
# egress_of PID: the egress processes below this cordon
egress_of() {
	$PYTHON - "$1" <<'END'
import os, sys
parents = {}
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        stat = open(f"/proc/{pid}/stat").read()
    except OSError:
        continue
    parents[pid] = (stat.rpartition(")")[2].split()[1], stat.partition("(")[2].rpartition(")")[0])
def below(pid):
    while pid in parents and pid != sys.argv[1]:
        pid = parents[pid][0]
    return pid == sys.argv[1]
print(*[pid for pid in parents if parents[pid][1].startswith("cordon-egress") and below(pid)])
END
}
