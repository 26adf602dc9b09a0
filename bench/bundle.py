"""A bundle for an OCI runtime's own command: the container that a box of cordon's defaults is. bundle.py DIR [gvisor] <MOUNTS

MOUNTS is /proc/mounts as a native box sees it: what the host gives is bound here as it is there. The rest is config.json as
src/driver/oci_config.c writes it, with the limits of the plan; the runtime makes the control group, as it does for everybody else.
"""
import json
import os
import sys

top = sys.argv[1]
gvisor = sys.argv[2:] == ["gvisor"]
root = os.path.join(top, "rootfs")


def mount(dest, kind, source, *options):
    return {"destination": dest, "type": kind, "source": source, "options": list(options)}


def place(path, is_file=False):
    path = root + path
    os.makedirs(os.path.dirname(path) if is_file else path, exist_ok=True)
    if is_file:
        open(path, "a").close()


def bound():
    """What the host gives: everything in /usr, /etc and /sys."""
    for line in sys.stdin:
        dest = line.split()[1]
        if dest.split("/")[1] in ("usr", "etc", "sys") and os.path.exists(dest):
            place(dest, not os.path.isdir(dest))
            recursive = ["rro"] if os.path.isdir(dest) and not gvisor else []
            yield mount(dest, "bind", dest, "rbind", "ro", "nosuid", "nodev", "rprivate", *recursive)


def skeleton():
    for dest in ("/proc", "/dev", "/tmp", "/home/agent"):
        place(dest)
    for name in ("bin", "sbin", "lib", "lib32", "lib64"):
        if os.path.islink("/" + name) and not os.path.lexists(os.path.join(root, name)):
            os.symlink(os.readlink("/" + name), os.path.join(root, name))


def disks(rate):
    """Each whole disk, as the plan's rates are for all of them."""
    with open("/proc/partitions") as f:
        rows = [line.split() for line in f.readlines()[2:]]
    return [{"major": int(row[0]), "minor": int(row[1]), "rate": rate} for row in rows if os.path.exists("/sys/block/" + row[3])]


skeleton()
mounts = [mount("/proc", "proc", "proc", "nosuid", "nodev", "noexec"),
          mount("/dev", "tmpfs", "tmpfs", "nosuid", "noexec", "strictatime", "mode=755", "size=64k"),
          mount("/dev/pts", "devpts", "devpts", "nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"),
          mount("/dev/shm", "tmpfs", "tmpfs", "nosuid", "nodev", "size=159744k"),
          mount("/tmp", "tmpfs", "tmpfs", "nosuid", "nodev", "size=102400k", "mode=1777"),
          mount("/home/agent", "tmpfs", "tmpfs", "nosuid", "nodev", "size=159744k", "mode=700", "uid=1000", "gid=1000")] + list(bound())
ids = [{"containerID": 0, "hostID": 0x60100001, "size": 1}, {"containerID": 1000, "hostID": 0x60100000, "size": 1}]
masked = ["acpi", "asound", "interrupts", "kcore", "keys", "key-users", "latency_stats", "sched_debug", "scsi", "timer_list"]
config = {
    "ociVersion": "1.0.2",
    "process": {"terminal": False, "user": {"uid": 1000, "gid": 1000}, "args": ["/bin/true"], "env": ["PATH=/usr/bin"], "cwd": "/",
                "noNewPrivileges": True, "capabilities": {k: [] for k in ("bounding", "effective", "inheritable", "permitted", "ambient")},
                "rlimits": [{"type": "RLIMIT_NOFILE", "hard": 1024, "soft": 1024}]},
    "root": {"path": "rootfs", "readonly": True}, "hostname": "cordon", "mounts": mounts,
    "linux": {"namespaces": [{"type": t} for t in ("pid", "mount", "ipc", "uts", "network", "cgroup", "user")],
              "uidMappings": ids, "gidMappings": ids,
              "resources": {"memory": {"limit": 512 << 20, "swap": 512 << 20}, "pids": {"limit": 65}, "cpu": {"quota": 100000, "period": 100000}}}}
if not gvisor:
    config["linux"]["resources"]["blockIO"] = {"throttleReadBpsDevice": disks(100 << 20), "throttleWriteBpsDevice": disks(50 << 20)}
    config["linux"].update(maskedPaths=["/proc/" + m for m in masked],
                           readonlyPaths=["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"])
with open(os.path.join(top, "config.json"), "w") as f:
    json.dump(config, f)
