# shellcheck shell=bash disable=SC2154
# What the wall costs; sourced by bench.sh, whose words it uses.
#
# The other side is bench/serve.c at a documentation address in a network namespace of its own, with a mount namespace in which
# /etc/hosts knows it (in a copy of all of /etc: a file that is mounted over goes away when the host replaces what is below). Everything
# that is measured enters both: "direct" is the same client there, over that namespace's loopback. Root makes them as root, for both
# users; an ordinary user makes them in a user namespace that maps the user to itself, where cordon has no capability and is as
# unprivileged as outside.
wall_address=192.0.2.1
wall_name=bench.example.com
wall_bytes=$((256 << 20))
wall_held=1000
into=() # what puts a command into these namespaces

wall_certificate() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$wall_name" \
		-addext "subjectAltName=DNS:$wall_name" -keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null && chmod 644 "$work/cert.pem"
}

# The server is what holds the namespaces: they end with it. Few connections are remembered after their end: with thousands of them it takes
# the kernel longer to find a port than to connect.
wall_up() {
	local make=(unshare --net --mount)
	[ -z "$server" ] || return 0
	[ "$(id -u)" -eq 0 ] || make=(unshare --user --map-current-user --keep-caps --net --mount)
	wall_certificate || return 1
	cp -a /etc "$work" 2>/dev/null # some of it is not for everybody
	printf '127.0.0.1 localhost\n%s %s\n' "$wall_address" "$wall_name" >"$work/etc/hosts" || return 1
	# shellcheck disable=SC2016  # for the shell inside
	"${make[@]}" sh -c 'ip link set lo up && ip address add "$2/32" dev lo && mount --bind "$1/etc" /etc &&
		echo 64 >/proc/sys/net/ipv4/tcp_max_tw_buckets &&
		exec "$1/serve" "$2" "$1/cert.pem" "$1/key.pem"' sh "$work" "$wall_address" >"$work/served" 2>&1 &
	server=$!
	for _ in $(seq 200); do
		if grep -qx ready "$work/served"; then
			into=(nsenter "--target=$server" --net --mount)
			[ "$(id -u)" -eq 0 ] || into+=(--user --preserve-credentials)
			return 0
		fi
		kill -0 "$server" 2>/dev/null || break
		sleep 0.02
	done
	note "the wall: not measured: $(head -1 "$work/served")"
	return 1
}

# A large file, by each way through the wall and the same without it. Only what is printed counts: neither the box's start nor the client's.
wall_download() {
	local get=(get "$wall_name") direct=(/usr/bin/env "SSL_CERT_FILE=$work/cert.pem" "$work/wire")
	add tcp-direct "${direct[@]}" "${get[@]}" 7000 "$wall_bytes"
	add tcp-wall "${box[@]}" --allow "$wall_name:7000/tcp" -- /wire "${get[@]}" 7000 "$wall_bytes"
	add http-direct "${direct[@]}" "${get[@]}" 80 "$wall_bytes"
	add http-wall "${box[@]}" --allow "$wall_name" -- /wire "${get[@]}" 80 "$wall_bytes"
	add tls-direct "${direct[@]}" "${get[@]}" 443 "$wall_bytes" tls
	add tls-wall "${box[@]}" --ro "$work/cert.pem:/cert.pem" --env SSL_CERT_FILE=/cert.pem --allow "$wall_name" -- \
		/wire "${get[@]}" 443 "$wall_bytes" tls
	add tls-intercepted "${box[@]}" --net-read-only --ca-file "$work/cert.pem" --allow "$wall_name" -- \
		/wire "${get[@]}" 443 "$wall_bytes" tls
	measure "download-$suffix" -o -n $((rounds / 10 + 3))
}

wall_connect() {
	add direct "$work/wire" connect "$wall_address" 7001 200
	add address "${box[@]}" --allow-cidr "$wall_address/32:7001" -- /wire connect "$wall_address" 7001 200
	add name "${box[@]}" --allow "$wall_name:7001/tcp" -- /wire connect "$wall_name" 7001 200
	measure "connect-$suffix" -o -n $((rounds / 5 + 3))
}

# The egress process below this one.
find_egress() {
	local child
	# shellcheck disable=SC2013  # they are words
	for child in $(cat "/proc/$1/task/"*/children 2>/dev/null); do
		if [[ $(cat "/proc/$child/comm" 2>/dev/null) == cordon-egress* ]]; then
			echo "$child"
		else
			find_egress "$child"
		fi
	done
}

# wall_hold NAME FLAG… -- PORT [tls]: what egress is made of while it holds them
wall_hold() {
	local name=$1 flags=() run egress=''
	shift
	while [ "$1" != -- ]; do flags+=("$1") && shift; done
	shift
	mkfifo "$work/end" && : >"$work/held" && chmod 666 "$work/end" "$work/held"
	(cd / && exec "${as[@]}" "${box[@]}" --open-files 2048 --connections 1100 "${flags[@]}" -- \
		/wire hold "$wall_name" "$1" "$wall_held" "${@:2}") <"$work/end" >"$work/held" 2>&1 &
	run=$!
	exec 9>"$work/end"
	for _ in $(seq 600); do
		if grep -q . "$work/held" || ! kill -0 "$run" 2>/dev/null; then break; fi
		sleep 0.1
	done
	grep -qx held "$work/held" && egress=$(find_egress "$run")
	if [ -n "$egress" ]; then
		awk -v name="$name" '/^VmRSS|^VmHWM/ { print name, $1, $2 }' "/proc/$egress/status" >>"$build/held-$suffix.txt"
	else
		note "held-$suffix, $name: not measured: $(head -1 "$work/held")"
	fi
	exec 9>&-
	wait "$run"
	rm -f "$work/end"
}

wall_held() {
	say "  held-$suffix"
	wall_hold tcp --allow "$wall_name:7001/tcp" -- 7001
	wall_hold tls-intercepted --net-read-only --ca-file "$work/cert.pem" --allow "$wall_name" -- 443 tls
}

# A box with a network that does nothing with it, against one without.
wall_start() {
	add none "$cordon" run --net none -- /bin/true
	add network "$cordon" run --allow example.com -- /bin/true
	add intercepting "$cordon" run --net-read-only --allow example.com -- /bin/true
	measure "network-$suffix" -n "$rounds"
}

# Boxes whose payload asks for a name, which is refused: as its first act, and as soon as an interpreter is there.
wall_use() {
	local shell='getent hosts refused.example; :' python='import socket
try: socket.getaddrinfo("refused.example", 80)
except OSError: pass'
	add none-shell "$cordon" run --quiet --net none -- sh -c "$shell"
	add shell "$cordon" run --quiet --allow example.com -- sh -c "$shell"
	add none-python "$cordon" run --quiet --net none -- /usr/bin/python3 -c "$python"
	add python "$cordon" run --quiet --allow example.com -- /usr/bin/python3 -c "$python"
	measure "use-$suffix" -n "$rounds"
}

wall() {
	local outside=("${as[@]}") box=("$cordon" run --memory 2G --pids 512 --timeout 10m --cpu-time 10m --cpus "$(nproc)" --ro "$work/wire:/wire")
	wall_up || return
	as=("${into[@]}" "${as[@]}")
	wall_download
	wall_connect
	wall_held
	as=("${outside[@]}")
	wall_start
	wall_use
}
