#!/bin/bash
# Node works in a box: timers, files, child processes and worker threads; at container level also servers on 127.0.0.1.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
levels container process
has node nodejs || done_testing

works "promises, timers, crypto, zlib, files" "3 5 ba7816bf hello" -- node -e '
	const fs = require("fs/promises"), os = require("os"), path = require("path"), zlib = require("zlib"), crypto = require("crypto");
	(async () => {
		const d = await fs.mkdtemp(path.join(os.tmpdir(), "x-"));
		await fs.writeFile(d + "/f", "hello");
		await new Promise((r) => setTimeout(r, 5));
		const [a] = await Promise.all([Promise.resolve(3), fs.stat(d + "/f")]);
		const n = (await fs.readFile(d + "/f")).length;
		const h = crypto.createHash("sha256").update("abc").digest("hex").slice(0, 8);
		console.log(a, n, h, zlib.gunzipSync(zlib.gzipSync("hello")).toString());
		await fs.rm(d, { recursive: true });
	})();'
works "child processes, with pipes and signals" "HELLO SIGTERM forked" -- node -e '
	const { spawnSync, spawn, fork } = require("child_process"), fs = require("fs");
	const up = spawnSync("tr", ["a-z", "A-Z"], { input: "hello" }).stdout.toString();
	const s = spawn("sleep", ["60"]);
	s.on("exit", (code, signal) => {
		const f = process.env.HOME + "/child.js";
		fs.writeFileSync(f, "process.on(\"message\", () => { process.send(\"forked\"); process.disconnect(); })");
		const c = fork(f);
		c.on("message", (m) => console.log(up, signal, m));
		c.send("go");
	});
	s.kill();'
works "worker threads, with messages and shared memory" "3 21" -- node -e '
	const { Worker } = require("worker_threads");
	const shared = new Int32Array(new SharedArrayBuffer(4));
	const code = "const { workerData, parentPort } = require(\"worker_threads\");" +
		"Atomics.add(workerData, 0, 7); parentPort.postMessage(1);";
	let n = 0;
	for (let i = 0; i < 3; i++)
		new Worker(code, { eval: true, workerData: shared }).on("message", (m) => {
			if ((n += m) == 3) console.log(n, shared[0]);
		});'
works "just-in-time compiled code, and WebAssembly" "4999950000 42" -- node -e '
	let n = 0; for (let i = 0; i < 1e5; i++) n += i;
	const b = new Uint8Array([0,97,115,109,1,0,0,0,1,5,1,96,0,1,127,3,2,1,0,7,5,1,1,97,0,0,10,6,1,4,0,65,42,11]);
	WebAssembly.instantiate(b).then((m) => console.log(n, m.instance.exports.a()));'
here || done_testing

works "watching a file" changed -- node -e '
	const fs = require("fs"), f = process.env.HOME + "/f";
	fs.writeFileSync(f, "1");
	const w = fs.watch(f, () => { console.log("changed"); w.close(); clearInterval(t); });
	const t = setInterval(() => fs.appendFileSync(f, "2"), 20);
	w.once("change", () => w.removeAllListeners());'
works "an HTTP server and its client on 127.0.0.1" "200 hi" -- node -e '
	const http = require("http");
	const s = http.createServer((q, a) => a.end("hi")).listen(0, "127.0.0.1", () =>
		http.get({ host: "127.0.0.1", port: s.address().port }, (r) =>
			r.on("data", (d) => console.log(r.statusCode, d.toString())).on("end", () => s.close())));'
cat >"$WORK/cluster.js" <<'END'
const http = require("http"), net = require("net"), cluster = require("cluster");
if (!cluster.isPrimary) {
	http.createServer((q, a) => a.end("hi")).listen(8123, "localhost");
} else {
	let up = 0;
	for (let i = 0; i < 2; i++) cluster.fork();
	cluster.on("listening", async () => {
		if (++up < 2) return;
		const said = await new Promise((ok) => http.get("http://localhost:8123/", (r) => r.on("data", (d) => ok(d.toString()))));
		net.createServer((c) => c.end("unix")).listen("/tmp/s", () => net.connect("/tmp/s").on("data", (d) => {
			console.log(said, d.toString(), up);
			process.exit(0);
		}));
	});
}
END
works "a cluster of processes, the name localhost, a unix socket" "hi unix 2" --ro "$WORK/cluster.js" -- node "$WORK/cluster.js"
done_testing
