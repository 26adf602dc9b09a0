#!/bin/bash
# Real clients, unchanged and without proxy variables: with TLS that is passed on, and with TLS that is looked into.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../programs/lib.sh"

# ---- what they find: a repository, an index of Python packages, a registry of npm ----
git init -q --bare -b main "$NET/repos/a.git"
git init -q -b main "$WORK/src" && echo hello >"$WORK/src/file"
git -C "$WORK/src" -c user.name=t -c user.email=t@example.com -c commit.gpgsign=false add file
git -C "$WORK/src" -c user.name=t -c user.email=t@example.com -c commit.gpgsign=false commit -qm first
git -C "$WORK/src" push -q "$NET/repos/a.git" main
mkdir -p "$NET/www/simple/hello" "$NET/www/npm" "$NET/www/files" "$WORK/npm/package"
$PYTHON - "$NET/www/files" <<'END'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1] + "/hello-1.0-py3-none-any.whl", "w") as z:
    z.writestr("hello.py", "print('hello from a package')\n")
    z.writestr("hello-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: hello\nVersion: 1.0\n")
    z.writestr("hello-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    z.writestr("hello-1.0.dist-info/RECORD", "hello.py,,\nhello-1.0.dist-info/METADATA,,\nhello-1.0.dist-info/WHEEL,,\nhello-1.0.dist-info/RECORD,,\n")
END
echo '<a href="/files/hello-1.0-py3-none-any.whl">hello-1.0-py3-none-any.whl</a>' >"$NET/www/simple/hello/index.html"
echo '{"name":"hello","version":"1.0.0","main":"index.js"}' >"$WORK/npm/package/package.json"
echo 'console.log("hello from npm")' >"$WORK/npm/package/index.js"
tar -C "$WORK/npm" -czf "$NET/www/files/hello-1.0.0.tgz" package
cat >"$NET/www/npm/hello" <<END
{"name":"hello","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"hello","version":"1.0.0","main":"index.js",
"dist":{"tarball":"https://api.example.com/files/hello-1.0.0.tgz","shasum":"$(sha1sum <"$NET/www/files/hello-1.0.0.tgz" | cut -d' ' -f1)"}}}}
END
policy <<'END'
network:
  mode: allow
  allow:
    - {host: api.example.com, ports: [443], methods: [GET, HEAD, POST], paths: ["/*"]}
    - {host: h2.example.com, ports: [443], methods: [GET]}
END
real=/etc/ssl/certs/ca-certificates.crt
passed=(--allow api.example.com --allow h2.example.com --env "NODE_EXTRA_CA_CERTS=$real")
looked=(--policy "$WORK/policy.yaml")

# try DESC WANT COMMAND…: both ways
try() {
	local desc=$1 want=$2 mode
	shift 2
	for mode in passed looked; do
		local -n flags=$mode
		result "${flags[@]}" -- "$@"
		if [[ $(field stdout) =~ $want ]] && [ "$RESULT_STATUS" = 0 ]; then
			pass "$desc, $mode"
		else
			fail "$desc, $mode" "status $RESULT_STATUS; $(field stdout | tail -5); $(field stderr | tail -8); $(field error)"
		fi
	done
}
U=https://api.example.com
if has curl curl; then
	try "curl, HTTP/1.1" '^ok GET /x' curl -sS --http1.1 $U/x
	try "curl, two names at once" $'200 200' curl -sS -o /dev/null -o /dev/null -w '%{http_code} ' -Z $U/x https://h2.example.com/x
	try "curl uploads a form" '"length": [0-9]{3}' curl -sS -F a=b -F c=@/etc/hostname $U/echo
	result "${passed[@]}" -- curl -sS --http2 https://h2.example.com/x
	expect "curl, HTTP/2, passed on" status=success $'stdout=over h2\n'
	result "${looked[@]}" -- curl -sS --http2 -o /dev/null -w '%{http_version} %{http_code}' https://h2.example.com/x
	expect "curl offers HTTP/2 and gets HTTP/1.1 where it is looked into" status=success 'stdout=1.1 200'
fi
if has wget wget; then
	try "wget" '^ok GET /x' wget -q -O - $U/x
	try "wget, in chunks" '^one two three' wget -q -O - $U/chunked
fi
try "Python's urllib" "^b'ok GET /x" "$PYTHON" -c "import urllib.request as u; print(u.urlopen('$U/x').read())"
try "Python's http.client, twice on one connection" '^200 200' "$PYTHON" -c "
import http.client
c = http.client.HTTPSConnection('api.example.com')
for _ in range(2):
    c.request('GET', '/x'); r = c.getresponse(); r.read(); print(r.status, end=' ')"
try "Python posts" "^b'3'" "$PYTHON" -c "import urllib.request as u; print(u.urlopen('$U/sink', data=b'abc').read())"
if has node nodejs; then
	try "Node's fetch" '^ok GET /x' node -e "fetch('$U/x').then(r => r.text()).then(t => console.log(t)).catch(e => { console.error(e); process.exit(1) })"
	try "Node's https" '^ok GET /x' node -e "require('https').get('$U/x', r => r.on('data', d => process.stdout.write(d)))"
fi
if has git git; then
	try "git clone" '^hello' bash -c "git clone -q $U/git/a.git /tmp/a && cat /tmp/a/file"
	try "git ls-remote" 'refs/heads/main' git ls-remote $U/git/a.git
fi
try "openssl s_client" 'Verify return code: 0' bash -c "printf 'GET /x HTTP/1.0\r\nHost: api.example.com\r\n\r\n' |
	openssl s_client -connect api.example.com:443 -servername api.example.com -CAfile \${SSL_CERT_FILE:-$real} -ign_eof 2>/dev/null"
if ! $PYTHON -m pip --version >/dev/null 2>&1; then
	skip "pip install" "there is no pip: apt-get install python3-pip"
elif ! box -- $PYTHON -m pip --version >/dev/null 2>&1; then
	skip "pip install" "the boxes have no pip"
else
	try "pip install" '^hello from a package' bash -c "$PYTHON -m pip install -q --disable-pip-version-check --no-cache-dir --cert \${SSL_CERT_FILE:-$real} \
		--index-url $U/simple --target /tmp/p hello && cd /tmp/p && $PYTHON -m hello"
fi
if has npm npm; then
	# shellcheck disable=SC2016
	try "npm install" '^hello from npm' bash -c "mkdir -p /tmp/n && cd /tmp/n && export HOME=/tmp/n && npm install --silent --no-audit --no-fund --no-update-notifier --registry $U/npm/ hello &&
		node node_modules/hello/index.js"
fi
if has perl perl; then
	result --allow api.example.com -- perl -e 'use IO::Socket::INET; my $s = IO::Socket::INET->new("api.example.com:80") or die; print $s "GET /x HTTP/1.0\r\nHost: api.example.com\r\n\r\n"; print <$s>'
	expect "a socket of perl's, plain HTTP" status=success 'stdout=~ok GET /x'
fi
if has java default-jdk-headless && command -v keytool >/dev/null; then
	mkdir -p "$NET/certs/java"
	keytool -importcert -storetype JKS -noprompt -alias t -file "$NET/ca.pem" -keystore "$NET/certs/java/cacerts" -storepass changeit >/dev/null 2>&1
	cat >"$WORK/Get.java" <<END
import java.net.URI; import java.net.http.*;
public class Get { public static void main(String[] a) throws Exception {
	System.out.print(HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create("$U/x")).build(), HttpResponse.BodyHandlers.ofString()).body()); } }
END
	for mode in passed looked; do
		declare -n flags=$mode
		result "${flags[@]}" --in "$WORK/Get.java:/tmp/Get.java" -- java -Xmx160m -XX:-UsePerfData /tmp/Get.java
		expect "Java, $mode" status=success $'stdout=ok GET /x\n'
	done
fi
if [ -x "$TOP/build/get-go" ]; then
	cp "$TOP/build/get-go" "$WORK"
	for mode in passed looked; do
		declare -n flags=$mode
		result "${flags[@]}" --in "$WORK/get-go:/tmp/get-go" -- /tmp/get-go $U/x
		expect "a static Go program, $mode" status=success $'stdout=ok GET /x\n'
	done
else
	skip "a static Go program" "there is no go to build it with: apt-get install golang-go"
fi
for mode in passed looked; do
	declare -n flags=$mode
	ask "${flags[@]}" -- <<'END'
say("websocket", tried(websocket, "api.example.com"))
END
	say_is websocket hello "a WebSocket client, $mode"
done
# ---- and each is refused elsewhere ----
for command in "curl -sS -m 5 https://other.example.com/" "wget -q -T 5 -t 1 -O - https://other.example.com/" "git ls-remote https://other.example.com/git/a.git" \
	"$PYTHON -c 'import urllib.request as u; u.urlopen(\"https://other.example.com/\")'"; do
	refused "refused: ${command:0:50}" box "${passed[@]}" -- bash -c "$command"
done
is "$(to 192.0.2.12)$(asked other.example.com)" 00 "none of which arrived"
done_testing
