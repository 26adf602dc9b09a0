#!/bin/bash
# curl reaches a server in its own box by 127.0.0.1 and by name, and nothing else.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
levels container
if ! has curl curl || ! has python3 python3; then done_testing; fi

cat >"$WORK/serve.sh" <<'END'
cd "$HOME" && echo hello >file
python3 -m http.server --bind "$1" 8000 >log 2>&1 &
for _ in $(seq 200); do curl -s -o /dev/null "$2" && break; sleep 0.05; done
shift
END
works "curl to python's http.server on 127.0.0.1" $'200 hello' --ro "$WORK/serve.sh:/tmp/serve.sh" -- bash -c '
	. /tmp/serve.sh 127.0.0.1 http://127.0.0.1:8000/; curl -s -o got -w "%{http_code} " http://127.0.0.1:8000/file && cat got'
works "by the name localhost, in parallel, uploading a form that is refused" $'hello\nhello\n501' --ro "$WORK/serve.sh:/tmp/serve.sh" -- bash -c '
	. /tmp/serve.sh 127.0.0.1 http://localhost:8000/; curl -s -Z http://localhost:8000/file http://localhost:8000/file
	curl -s -o /dev/null -w "%{http_code}\n" -F a=b http://localhost:8000/'
works "on ::1" hello --ro "$WORK/serve.sh:/tmp/serve.sh" -- bash -c '
	[ -e /proc/net/if_inet6 ] || { echo hello; exit; }; . /tmp/serve.sh ::1 "http://[::1]:8000/"; curl -s "http://[::1]:8000/file"'
result -- curl -sS -m 5 http://192.0.2.1/
expect "an address outside is unreachable at once, which is no denial but an answer" status=error exit_code=7 'denials=[]' 'wall_ms=<4000'
result -- curl -sS -m 5 http://example.com/
expect "a name outside cannot be resolved" status=error exit_code=6 'denials=[]' 'wall_ms=<4000'
done_testing
