#!/bin/bash
# Sockets: unix, TCP, UDP and the routing netlink at container level; none at all at process level but unix pairs.
. "$(dirname "$0")/../lib.sh"
levels container process
no=EAFNOSUPPORT
# family type protocol
check() { # NAME FAMILY TYPE PROTOCOL
	local said
	is "$(probe socket "$2" "$3" "$4")" $no "$1 is refused"
	is "$(probe socket-high "$2" "$3" "$4")" $no "$1 with high bits is refused"
	said=$(bare socket "$2" "$3" "$4")
	case $said in
	ok) pass "control: $1 outside" ;;
	*) note "control: $1 outside says $said" ;;
	esac
}
check "AF_PACKET" 17 3 0
check "AF_PACKET dgram" 17 2 0
check "AF_VSOCK" 40 1 0
check "AF_ALG" 38 5 0
check "AF_KEY" 15 3 2
check "AF_BLUETOOTH" 31 3 0
check "AF_CAN" 29 3 1
check "AF_TIPC" 30 1 0
check "AF_RDS" 21 5 0
check "AF_SMC" 43 1 0
check "AF_XDP" 44 3 0
check "AF_KCM" 41 2 0
check "AF_X25" 9 5 0
check "NETLINK_NETFILTER" 16 3 12
check "NETLINK_XFRM" 16 3 6
check "NETLINK_AUDIT" 16 3 9
check "NETLINK_SOCK_DIAG" 16 3 4
check "NETLINK_KOBJECT_UEVENT" 16 3 15
check "NETLINK_GENERIC" 16 3 16
check "raw IPv4" 2 3 1
check "raw IPv4, protocol 255" 2 3 255
check "raw IPv6" 10 3 58
check "ping socket" 2 2 1
check "SCTP" 2 1 132
check "DCCP" 2 6 33
isnt "$(bare socket 16 3 15)" $no "control: netlink is there outside"
is "$(bare socket 2 1 0)" ok "control: TCP is there outside"
is "$(probe socketpair 1 1)" ok "socketpair of unix works"
is "$(probe socketpair 2 1)" $no "of others does not"
if [ "$LEVEL" = container ]; then want=ok; else want=$no; fi
is "$(probe socket 1 1 0)" $want "unix stream: $want"
is "$(probe socket 2 1 0)" $want "TCP: $want"
is "$(probe socket 2 1 262)" $want "MPTCP: $want" || note "this kernel: $(bare socket 2 1 262)"
is "$(probe socket 2 2 0)" $want "UDP: $want"
is "$(probe socket 10 1 0)" $want "TCP over IPv6: $want"
is "$(probe socket 16 3 0)" $want "NETLINK_ROUTE: $want"

# Programs for sockets: compiled they are memory of nobody's, and of all users together there may be only so much.
options='import ctypes, os, socket, struct
libc = ctypes.CDLL(None, use_errno=True)
code = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0xffff))
program = struct.pack("HL", 1, ctypes.addressof(code))
numbers = {"x86_64": 54, "aarch64": 208}[os.uname().machine]
a, b = socket.socketpair()
for level, name in ((1, 26), (1, 51), ((1 << 32) + 1, (1 << 32) + 26), (1, 50), (1, 52)):
    r = libc.syscall(ctypes.c_long(numbers), ctypes.c_long(a.fileno()), ctypes.c_long(level), ctypes.c_long(name), program, ctypes.c_long(16))
    print("ok" if r == 0 else os.strerror(ctypes.get_errno()))
a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
print("set")'
if command -v python3 >/dev/null; then
	is "$(python3 -c "$options" | sed -n '1p;3p' | tr '\n' ' ')" "ok ok " "control: outside a socket can have a program"
	is "$(box -- python3 -c "$options" | uniq | tr '\n' ' ')" "Operation not permitted set " "inside none can; other options can be set"
fi
done_testing
