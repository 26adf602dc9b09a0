"""registry.py TAR: a registry on 127.0.0.1 with one image of one layer, for pulls. Prints its port. Ends with its stdin."""
import gzip, hashlib, http.server, json, sys, threading

layer_tar = open(sys.argv[1], "rb").read()
layer = gzip.compress(layer_tar, 1)


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


config = json.dumps({"architecture": "amd64", "os": "linux", "config": {"Env": ["PATH=/usr/bin:/bin", "FROM_IMAGE=yes"]},
                     "rootfs": {"type": "layers", "diff_ids": [digest(layer_tar)]}}).encode()
KIND = "application/vnd.docker.distribution.manifest.v2+json"
manifest = json.dumps({"schemaVersion": 2, "mediaType": KIND,
                       "config": {"mediaType": "application/vnd.docker.container.image.v1+json", "size": len(config), "digest": digest(config)},
                       "layers": [{"mediaType": "application/vnd.docker.image.rootfs.diff.tar.gzip", "size": len(layer), "digest": digest(layer)}]}).encode()
blobs = {digest(d): d for d in (config, layer, manifest)}


class Registry(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, body):
        parts = self.path.split("/")
        found, kind = b"{}", "application/json"
        if "manifests" in parts and parts[-2:] != ["manifests", "missing"]:
            found, kind = manifest, KIND
        elif "blobs" in parts:
            found, kind = blobs.get(parts[-1]), "application/octet-stream"
        elif self.path != "/v2/":
            found = None
        self.send_response(200 if found is not None else 404)
        found = found if found is not None else b'{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}'
        self.send_header("Content-Type", kind)
        self.send_header("Docker-Distribution-Api-Version", "registry/2.0")
        self.send_header("Docker-Content-Digest", digest(found))
        self.send_header("Content-Length", str(len(found)))
        self.end_headers()
        if body:
            self.wfile.write(found)

    def do_GET(self):
        self.answer(True)

    def do_HEAD(self):
        self.answer(False)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
sys.stdin.read()
