#!/usr/bin/env python3
"""Images for the tests, in every format: make.py DIR BUSYBOX. Nothing is fetched.

Two layers. The lower one is a tiny root from busybox; the upper one adds, replaces and takes away. DIR gets root.tar, root.tar.gz (and so
on), docker-old.tar, docker-new.tar, oci/ (a layout), oci.tar, and hostile/*.tar, each of which must be refused.
"""
import bz2, gzip, hashlib, io, json, lzma, os, platform, subprocess, sys, tarfile

top, busybox = sys.argv[1:3]
os.makedirs(top + "/hostile", exist_ok=True)
ARCH = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
TOOLS = "sh ls cat echo id pwd env true false stat test touch mkdir wc sleep find readlink head".split()


def sha(data):
    return hashlib.sha256(data).hexdigest()


def entry(name, kind=tarfile.REGTYPE, data=b"", mode=0o644, link="", mtime=1500000000, dev=(0, 0)):
    info = tarfile.TarInfo(name)
    info.type, info.mode, info.mtime, info.linkname, info.uid, info.gid = kind, mode, mtime, link, 1234, 1234
    info.size = len(data) if kind == tarfile.REGTYPE else 0
    info.devmajor, info.devminor = dev
    return info, data


def directory(name, mode=0o755):
    return entry(name, tarfile.DIRTYPE, mode=mode)


def symlink(name, target):
    return entry(name, tarfile.SYMTYPE, link=target, mode=0o777)


def pack(entries, fmt=tarfile.PAX_FORMAT):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=fmt) as tar:
        for info, data in entries:
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def write(path, data):
    os.makedirs(os.path.dirname(os.path.join(top, path)), exist_ok=True)
    with open(os.path.join(top, path), "wb") as f:
        f.write(data)


with open(busybox, "rb") as f:
    program = f.read()
lower = [directory("./"), directory("bin"), entry("bin/busybox", data=program, mode=0o4755), directory("etc"), directory("dev"),
         entry("dev/null", tarfile.CHRTYPE, mode=0o666, dev=(1, 3)), directory("tmp", 0o1777), directory("mnt"), directory("usr/bin"),
         symlink("etc/resolv.conf", "/run/nowhere/resolv.conf"), directory("data"), entry("data/gone", data=b"lower"),
         entry("data/kept", data=b"kept"), entry("data/changed", data=b"lower"), directory("opaque"), entry("opaque/old", data=b"old"),
         directory("opaque/deep"), entry("opaque/deep/old", data=b"old"), directory("turns"), entry("turns/inside", data=b"x"),
         symlink("link", "data"), entry("data/first", data=b"same file"), entry("data/second", tarfile.LNKTYPE, link="data/first"),
         entry("private", data=b"for its owner", mode=0o600), entry("data/\u00fcmlaut", data=b"name")]
lower += [symlink("bin/" + tool, "busybox") for tool in TOOLS]
upper = [directory("data"), entry("data/.wh.gone"), entry("data/changed", data=b"upper"), directory("opaque"), entry("opaque/.wh..wh..opq"),
         entry("opaque/new", data=b"new"), entry("turns", data=b"now a file"), directory("link"), entry("link/real", data=b"a directory"),
         directory("app"), entry("app/tool", data=b"#!/bin/sh\necho the image has it\n", mode=0o755)]
layers = [pack(lower), pack(upper)]
config = json.dumps({
    "architecture": ARCH, "os": "linux",
    "config": {"Env": ["PATH=/app:/bin:/usr/bin", "FROM_IMAGE=yes", "LANG=C", "HOME=/root", "bad name=1"], "WorkingDir": "/app",
               "User": "nobody", "Entrypoint": ["/bin/false"], "Cmd": ["x\u001b[31m"]},
    "rootfs": {"type": "layers", "diff_ids": ["sha256:" + sha(layer) for layer in layers]}}).encode()

# ---- root file systems ----
for suffix, data in (("", layers[0]), (".gz", gzip.compress(layers[0])), (".bz2", bz2.compress(layers[0])), (".xz", lzma.compress(layers[0]))):
    write("root.tar" + suffix, data)
try:
    write("root.tar.zst", subprocess.run(["zstd", "-q", "-c"], input=layers[0], stdout=subprocess.PIPE, check=True).stdout)
except OSError:
    pass

# ---- docker save, as it was and as it is ----
ids = [sha(b"layer%d" % i) for i in range(2)]
old = [entry(sha(config) + ".json", data=config)]
for i, layer in enumerate(layers):
    old += [directory(ids[i]), entry(ids[i] + "/VERSION", data=b"1.0"), entry(ids[i] + "/layer.tar", data=layer)]
twin = sha(b"twin")
old += [directory(twin), symlink(twin + "/layer.tar", "../" + ids[1] + "/layer.tar")]
old += [entry("manifest.json", data=json.dumps([{"Config": sha(config) + ".json", "RepoTags": ["tiny:old", "docker.io/library/tiny:old"],
                                                 "Layers": [ids[0] + "/layer.tar", twin + "/layer.tar"]}]).encode()),
        entry("repositories", data=b"{}")]
write("docker-old.tar", pack(old))
new = [directory("blobs"), directory("blobs/sha256"), entry("blobs/sha256/" + sha(config), data=config)]
new += [entry("blobs/sha256/" + sha(layer), data=layer) for layer in layers]
new += [entry("index.json", data=b'{"schemaVersion":2,"manifests":[]}'), entry("oci-layout", data=b'{"imageLayoutVersion":"1.0.0"}'),
        entry("manifest.json", data=json.dumps([{"Config": "blobs/sha256/" + sha(config), "RepoTags": ["tiny:new"],
                                                 "Layers": ["blobs/sha256/" + sha(layer) for layer in layers]}]).encode())]
write("docker-new.tar", pack(new))
write("docker-new.tar.gz", gzip.compress(pack(new)))

# ---- OCI ----
blobs = {}


def blob(data):
    blobs[sha(data)] = data
    return {"digest": "sha256:" + sha(data), "size": len(data)}


packed = [blob(gzip.compress(layer, mtime=0)) for layer in layers]
manifest = json.dumps({"schemaVersion": 2, "config": dict(blob(config), mediaType="application/vnd.oci.image.config.v1+json"),
                       "layers": [dict(p, mediaType="application/vnd.oci.image.layer.v1.tar+gzip") for p in packed]}).encode()
inner = json.dumps({"schemaVersion": 2, "manifests": [
    dict(blob(manifest), platform={"os": "linux", "architecture": ARCH}),
    dict(digest="sha256:" + "0" * 64, size=1, platform={"os": "linux", "architecture": "s390x"}),
    dict(digest="sha256:" + "1" * 64, size=1, platform={"os": "unknown", "architecture": "unknown"})]}).encode()
index = json.dumps({"schemaVersion": 2, "manifests": [dict(blob(inner), annotations={"org.opencontainers.image.ref.name": "tiny:oci"})]}).encode()
files = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}', "index.json": index}
files.update({"blobs/sha256/" + name: data for name, data in blobs.items()})
for name, data in files.items():
    write("oci/" + name, data)
write("oci.tar", pack([entry(name, data=data) for name, data in files.items()]))
damaged = dict(files)
damaged["blobs/sha256/" + packed[1]["digest"][7:]] = gzip.compress(pack([entry("evil", data=b"x")]), mtime=0)
write("hostile/oci-layer-changed.tar", pack([entry(name, data=data) for name, data in damaged.items()]))
damaged = dict(files)
damaged["blobs/sha256/" + sha(config)] = config.replace(b"FROM_IMAGE=yes", b"FROM_IMAGE=bad")
write("hostile/oci-config-changed.tar", pack([entry(name, data=data) for name, data in damaged.items()]))
damaged = dict(files)
del damaged["blobs/sha256/" + packed[0]["digest"][7:]]
write("hostile/oci-layer-missing.tar", pack([entry(name, data=data) for name, data in damaged.items()]))
write("hostile/oci-not-json.tar", pack([entry("oci-layout", data=b"{}"), entry("index.json", data=b"[" * 100000)]))
write("hostile/docker-layer-outside.tar", pack([entry("c.json", data=config), entry("manifest.json", data=json.dumps(
    [{"Config": "c.json", "RepoTags": None, "Layers": ["../../../etc/passwd", "/etc/passwd"]}]).encode())]))

# ---- hostile ----
outside = "../" * 20 + "tmp/cordon-image-escaped"
first = [directory("etc"), entry("etc/x", data=b"x")]
hostile = {
    "absolute": [entry("/tmp/cordon-image-escaped", data=b"x")],
    "dotdot": [entry(outside, data=b"x")],
    "dotdot-inside": [entry("etc/../../x", data=b"x")],
    "symlink-parent": [symlink("out", "/tmp"), entry("out/cordon-image-escaped", data=b"x")],
    "symlink-parent-relative": [symlink("out", outside[:-len("cordon-image-escaped")]), entry("out/cordon-image-escaped", data=b"x")],
    "symlink-in-the-middle": [directory("a"), symlink("a/b", "../.."), directory("a/b/c"), entry("a/b/c/x", data=b"x")][:2]
    + [entry("a/b/c/x", data=b"x")],
    "hardlink-absolute": [entry("passwd", tarfile.LNKTYPE, link="/etc/passwd")],
    "hardlink-dotdot": [entry("passwd", tarfile.LNKTYPE, link="../" * 20 + "etc/passwd")],
    "hardlink-through-symlink": [symlink("e", "/etc"), entry("passwd", tarfile.LNKTYPE, link="e/passwd")],
    "hardlink-missing": [entry("a", tarfile.LNKTYPE, link="nothing")],
    "hardlink-directory": [directory("d"), entry("a", tarfile.LNKTYPE, link="d")],
    "device": [entry("etc/sda", tarfile.BLKTYPE, dev=(8, 0))],
    "device-char": [entry("null", tarfile.CHRTYPE, dev=(1, 3))],
    "device-whiteout": [entry("gone", tarfile.CHRTYPE, dev=(0, 0))],
    "fifo": [entry("etc/pipe", tarfile.FIFOTYPE)],
    "whiteout-of-parent": [directory("d"), entry("d/.wh...")],
    "whiteout-of-itself": [directory("d"), entry("d/.wh..")],
    "whiteout-of-nothing": [entry(".wh.")],
    "below-a-whiteout": [entry(".wh.x/y", data=b"x")],
    "file-for-top": [entry("./", data=b"x")],
    "directory-replaced": [directory("d"), entry("d/x", data=b"x"), symlink("d", "/tmp")],
    "deep": [entry("d/" * 500 + "x", data=b"x")],
    "long-name": [entry("n" * 300, data=b"x")],
}
for name, entries in hostile.items():
    write("hostile/%s.tar" % name, pack(first + entries))
write("hostile/truncated.tar", layers[0][:len(layers[0]) // 2])
write("hostile/truncated.tar.gz", gzip.compress(layers[0])[:100000])
write("hostile/garbage.tar", b"not an archive at all\n" * 1000)
write("bomb.tar.gz", gzip.compress(pack([directory("etc"), entry("etc/zeros", data=bytes(300 << 20))]), 9))
write("many.tar.gz", gzip.compress(pack([directory("etc")] + [entry("etc/%d" % i) for i in range(2000)])))
write("later.tar", pack(first + [entry("etc/x", data=b"later"), symlink("etc/l", "/etc/passwd"), entry("etc/l", data=b"file"),
                                 directory("etc/d"), symlink("etc/d", "x")]))
