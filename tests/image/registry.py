"""A registry with one image, box/pulled:1, for daemons of this host: registry.py BUSYBOX PORT-FILE. Plain HTTP on loopback, which Docker allows there."""
import gzip, hashlib, http.server, io, json, os, sys, tarfile


def layer(busybox):
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for name in ("bin", "etc"):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        tar.add(busybox, "bin/busybox", filter=lambda e: (setattr(e, "type", tarfile.REGTYPE), e)[1])
        entry = tarfile.TarInfo("bin/sh")
        entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
        tar.addfile(entry)
    return raw.getvalue()


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


tar = layer(os.path.realpath(sys.argv[1]))
packed = gzip.compress(tar, 1)
config = json.dumps({"architecture": {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, "amd64"), "os": "linux", "config": {"Env": ["PULLED=yes", "PATH=/bin"]},
                     "rootfs": {"type": "layers", "diff_ids": [digest(tar)]}, "history": [{"created_by": "test"}]}).encode()
KIND = "application/vnd.docker.distribution.manifest.v2+json"
manifest = json.dumps({"schemaVersion": 2, "mediaType": KIND,
                       "config": {"mediaType": "application/vnd.docker.container.image.v1+json", "size": len(config), "digest": digest(config)},
                       "layers": [{"mediaType": "application/vnd.docker.image.rootfs.diff.tar.gzip", "size": len(packed), "digest": digest(packed)}]}).encode()
ANSWERS = {"/v2/": (b"{}", "application/json")}
for name in ("1", digest(manifest)):
    ANSWERS["/v2/box/pulled/manifests/" + name] = (manifest, KIND)
for blob in (config, packed):
    ANSWERS["/v2/box/pulled/blobs/" + digest(blob)] = (blob, "application/octet-stream")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body, kind = ANSWERS.get(self.path, (b'{"errors":[{"code":"MANIFEST_UNKNOWN","message":"no such image"}]}', "application/json"))
        self.send_response(200 if self.path in ANSWERS else 404)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Docker-Content-Digest", digest(body))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(sys.argv[2] + ".new", "w") as f:
    f.write(str(server.server_address[1]))
os.rename(sys.argv[2] + ".new", sys.argv[2])
server.serve_forever()
