#!/bin/bash
# network: none. No packet and no connection reaches the host or anything beyond, over no family; loopback inside is its own.
. "$(dirname "$0")/../lib.sh"
levels container process
name=cordon-test-$BASHPID-$RANDOM
cat >"$WORK/server.py" <<'PY'
import os, select, socket, sys
work, name = sys.argv[1:]
tcp = socket.create_server(("127.0.0.1", 0))
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("127.0.0.1", 0))
path = socket.socket(socket.AF_UNIX)
path.bind(work + "/docker.sock")
os.chmod(work + "/docker.sock", 0o666)
abstract = socket.socket(socket.AF_UNIX)
abstract.bind("\0" + name)
dgram = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
dgram.bind("\0" + name + "-dgram")
servers = [tcp, path, abstract]
try:
    six = socket.create_server(("::1", tcp.getsockname()[1]), family=socket.AF_INET6)
    servers.append(six)
except OSError:
    pass
for s in (path, abstract):
    s.listen(50)
with open(work + "/ports.tmp", "w") as f:
    print(tcp.getsockname()[1], udp.getsockname()[1], file=f)
os.rename(work + "/ports.tmp", work + "/ports")
log = open(work + "/log", "a", buffering=1)
while True:
    for s in select.select(servers + [udp, dgram], [], [])[0]:
        if s in (udp, dgram):
            data, peer = s.recvfrom(100)
            if s is udp:
                s.sendto(data, peer)
        else:
            s.accept()[0].close()
        print("visited", file=log)
PY
background python3 "$WORK/server.py" "$WORK" "$name"
until_true 10 test -s "$WORK/ports"
read -r tcp udp <"$WORK/ports"
visits() { wc -l <"$WORK/log"; }

is "$(bare connect 127.0.0.1 "$tcp")" ok "control: the TCP server answers outside"
is "$(bare udp 127.0.0.1 "$udp" hello)" ok "control: the UDP server answers outside"
is "$(bare connect-unix "$WORK/docker.sock")" ok "control: the unix server answers outside"
is "$(bare connect-unix "@$name")" ok "control: the abstract unix server answers outside"
sleep 0.2
before=$(visits)
isnt "$before" 0 "control: it keeps a log"
if [ "$LEVEL" = container ]; then
	is "$(probe connect 127.0.0.1 "$tcp")" ECONNREFUSED "TCP to the host's loopback: nobody there"
	is "$(probe connect 127.0.0.1 "$tcp" 262)" ECONNREFUSED "MPTCP: the same"
	like "$(probe connect ::1 "$tcp")" '^(ECONNREFUSED|EADDRNOTAVAIL|ENETUNREACH|EAFNOSUPPORT)$' "IPv6: the same"
	like "$(probe fastopen 127.0.0.1 "$tcp")" '^(ECONNREFUSED|EOPNOTSUPP|EINPROGRESS)$' "TCP fast open: the same"
	like "$(probe udp 127.0.0.1 "$udp" hello)" '^(ECONNREFUSED|ETIMEDOUT)$' "UDP: the same"
	is "$(probe connect-unix "@$name")" ECONNREFUSED "abstract unix: nobody there"
	is "$(probe connect-unix "@$name-dgram" dgram)" ECONNREFUSED "abstract unix datagrams: the same"
	is "$(probe connect-unix "$WORK/docker.sock")" ENOENT "unix by path: no such file"
	is "$(box -- sh -c 'cut -d: -f1 -s /proc/net/dev | xargs')" lo "the only interface is lo"
	is "$(box -- sh -c 'cat /proc/net/route | wc -l')" 1 "there is no route"
	for address in 10.255.255.254 8.8.8.8 169.254.169.254 2001:4860:4860::8888 $(hostname -I 2>/dev/null); do
		like "$(probe connect "$address" "$tcp")" '^(ENETUNREACH|EHOSTUNREACH|EADDRNOTAVAIL|EACCES)$' "$address is unreachable"
		like "$(probe udp "$address" 53 hello)" '^(ENETUNREACH|EHOSTUNREACH|EADDRNOTAVAIL|EACCES)$' "$address over UDP, too"
	done
	is "$(probe own-loopback)" ok "control: a server of its own on loopback works"
	refused "no name is resolved" box -- python3 -c 'import socket; socket.getaddrinfo("example.com", 80)'
	is "$(box -- python3 -c 'import socket; print(socket.gethostbyname("localhost"))')" 127.0.0.1 "control: localhost is"
else
	for act in "connect 127.0.0.1 $tcp" "connect ::1 $tcp" "connect 127.0.0.1 $tcp 262" "fastopen 127.0.0.1 $tcp" "udp 127.0.0.1 $udp x" \
		"connect-unix @$name" "connect-unix $WORK/docker.sock" "connect-unix @$name-dgram dgram" own-loopback; do
		# shellcheck disable=SC2086 # words
		is "$(probe $act)" EAFNOSUPPORT "there is no socket: ${act%% *}"
	done
	PROBE_FLAGS=(--ro "$WORK")
	is "$(probe connect-unix "$WORK/docker.sock")" EAFNOSUPPORT "not even to a socket in a directory that is given"
fi
sleep 0.3
is "$(visits)" "$before" "the servers had no visitor"

# A socket is not a thing to be mounted, nor is an agent's directory.
status 126 "a socket cannot be mounted" box --ro "$WORK/docker.sock" -- true
mkdir "$WORK/agent"
"$PROBE" listen-unix "$WORK/agent/ssh" >/dev/null &
defer kill "$!"
until_true 5 test -S "$WORK/agent/ssh"
agent() { SSH_AUTH_SOCK=$WORK/agent/ssh box "$@"; }
status 126 "nor the directory of SSH_AUTH_SOCK" agent --ro "$WORK/agent" -- true
like "$ERR" "$WORK/agent/ssh" "the error names it"
bus() { DBUS_SESSION_BUS_ADDRESS=unix:path=$WORK/agent/ssh,guid=1 box "$@"; }
status 126 "nor that of the session bus" bus --ro "$WORK/agent" -- true
docker() { DOCKER_HOST=unix://$WORK/agent/ssh box "$@"; }
status 126 "nor that of DOCKER_HOST" docker --ro "$WORK/agent" -- true
status 0 "control: without them it can be mounted" box --ro "$WORK/agent" -- true
done_testing
