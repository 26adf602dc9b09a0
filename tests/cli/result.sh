#!/bin/bash
# Results: every status, every field, every exit status, and denials that a model can act on.
. "$(dirname "$0")/../lib.sh"
levels container
works_here || skip_all "no boxes of level $LEVEL here"
need python3

# ---- fields ----
result -- sh -c 'echo out; echo err >&2'
ok "exactly the documented fields, of the documented types" python3 - "$WORK/.result" <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
want = {"status": str, "exit_code": int, "signal": type(None), "limit": type(None), "stdout": str, "stderr": str, "encoding": str,
        "stdout_truncated": bool, "stderr_truncated": bool, "wall_ms": float, "cpu_ms": float, "memory_peak_bytes": int, "denials": list, "network": list,
        "isolation": dict, "error": type(None)}
assert list(r) == list(want), list(r)
for key, kind in want.items():
    assert isinstance(r[key], kind), (key, r[key])
assert set(r["isolation"]) == {"level", "engine", "engine_version", "layers", "degraded", "required", "limit_source"}, r["isolation"]
assert r["wall_ms"] > 0 and r["cpu_ms"] > 0 and r["memory_peak_bytes"] > 10000
assert r["cpu_ms"] < 60000 and r["wall_ms"] < 60000
PY
expect "their values" status=success exit_code=0 stdout=$'out\n' stderr=$'err\n' encoding=utf-8 isolation.level=container isolation.engine=native isolation.degraded='[]'
like "$(field isolation.layers | tr '\n' ' ')" '^userns mountns pidns netns ipcns utsns cgroupns (cgroup )?rlimits no_new_privs landlock seccomp ' "all layers held"
is "$(wc -l <"$WORK/.result.err")" 0 "nothing on stderr"

# ---- each status, with its exit status ----
check() { # STATUS EXIT DESC FIELD=… … :: FLAG… -- COMMAND…
	local want=$1 code=$2 desc=$3 fields=()
	shift 3
	while [ "$1" != :: ]; do
		fields+=("$1")
		shift
	done
	shift
	result "$@"
	expect "$desc" status="$want" "${fields[@]}"
	is "$RESULT_STATUS" "$code" "$desc: exit status $code"
	box --quiet "$@" >/dev/null 2>&1 </dev/null
	is "$?" "$code" "$desc: the same without --json"
}
check success 0 "success" exit_code=0 signal= limit= error= :: -- true
check error 3 "a non-zero exit" exit_code=3 signal= limit= error= :: -- sh -c 'exit 3'
check error 255 "the largest" exit_code=255 :: -- sh -c 'exit 255'
# shellcheck disable=SC2016 # the payload's own pid
{
	check killed 139 "a signal of its own" exit_code= signal=11 limit= :: -- sh -c 'kill -SEGV $$'
	check killed 134 "another" exit_code= signal=6 :: -- sh -c 'kill -ABRT $$'
	check killed 137 "SIGKILL of its own is no limit" exit_code= signal=9 limit= :: -- sh -c 'kill -KILL $$'
}
check timeout 124 "the deadline" exit_code= limit=wall_time :: --timeout 300ms -- sleep 30
check resource_exceeded 137 "too much output" exit_code= limit=output stdout_truncated=true :: --output 1K -- yes
check resource_exceeded 153 "a file too large" exit_code= limit=file_size signal=25 :: --file-size 64K -- sh -c 'exec head -c 1M /dev/zero >/tmp/x'
check denied 127 "a command that is not there" exit_code= error.code=not_found 'error.message=~no-such-thing' 'error.hint=~.' :: -- no-such-thing
check denied 127 "a path that is not there" error.code=not_found :: -- /usr/bin/no-such-thing
printf '#!/no/such/interpreter\n' >"$WORK/script"
chmod 755 "$WORK/script"
check denied 127 "a script whose interpreter is not there" error.code=not_found 'error.message=~script. is there, but the interpreter' :: --ro "$WORK/script:/script" -- /script
check failed 125 "a policy that is not there" error.code=not_found 'error.message=~nope' 'denials=[]' :: --policy nope -- true
result=$("$CORDON" code --json python "$WORK/none.py")
is "$? $(json status <<<"$result") $(json error.code <<<"$result")" "125 failed not_found" "a program text that is not there"
check denied 126 "what cannot be executed" error.code=not_executable :: -- /etc/hostname
check denied 126 "a directory" error.code=not_executable :: -- /usr
check denied 126 "a command that is not allowed" error.code=denied 'error.message=~ls' 'error.hint=~cat' :: --commands cat -- ls
check denied 126 "a line that matches a refused pattern" error.code=denied 'error.message=~refuse_patterns' :: -- sh -c 'rm -rf /'
check failed 125 "a layer that is not there" error.code=invalid :: --require nonsense -- true
check failed 125 "a level that is not built in" error.code=unavailable 'error.message=~vm' :: --level vm -- true
check failed 125 "a wrong flag" error.code=invalid :: --memory 1X -- true
check denied 126 "a forbidden mount" error.code=denied 'error.message=~/etc/shadow' 'denials.0.what=~/etc/shadow' 'denials.0.allow=~mount a directory' :: --ro /etc -- true
check failed 125 "an empty command" error.code=invalid :: -- ""
# More kinds of refusals than the list holds: that there were more is told.
if [ "$LEVEL" = container ] && [ -z "$ENGINE" ]; then
	many=(mount umount2 pivot_root chroot open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr setns ptrace process_vm_readv process_vm_writev kcmp
		pidfd_getfd bpf perf_event_open userfaultfd io_uring_setup add_key request_key keyctl kexec_load reboot init_module finit_module delete_module swapon swapoff
		settimeofday clock_settime sethostname quotactl acct syslog open_by_handle_at fanotify_init)
	result --ro "$PROBE" -- "$PROBE" calls "${many[@]}"
	is "$(python3 -c 'import json, sys; d = json.load(open(sys.argv[1]))["denials"]; print(len(d), d[-1]["what"].split()[0], d[-1]["count"] > 0)' "$WORK/.result")" \
		"33 further True" "what the list of denials does not hold is told"
	result --ro "$PROBE" -- "$PROBE" calls "${many[@]:0:5}"
	is "$(python3 -c 'import json, sys; print(len(json.load(open(sys.argv[1]))["denials"]))' "$WORK/.result")" 5 "control: five are five"
fi
result -- sh -c 'exit 124'
expect "124 of the payload's own is an error, no timeout" status=error exit_code=124 limit=
result -- sh -c 'exit 137'
expect "and 137 no kill" status=error exit_code=137 signal=

# ---- denials ----
result -- python3 -c '
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for _ in range(3):
    assert libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == -1 and ctypes.get_errno() == 1
assert libc.unshare(0x10000000) == -1'
expect "refused system calls are told" status=success 'denials.0.what=~mount' denials.0.count=3 'denials.0.rule=~seccomp' 'denials.0.allow=~.' 'denials.1.what=~unshare'
result -- true
expect "control: and none where none was refused" status=success 'denials=[]'
result --commands sh,python3 -- sh -c 'ls; ls; /usr/bin/id; python3 -c 1'
ok "refused programs are told, counted, with what is allowed" python3 - "$WORK/.result" <<'PY'
import json, sys
d = {x["what"]: x for x in json.load(open(sys.argv[1]))["denials"]}
ls = [x for w, x in d.items() if w.endswith("/ls") or w.endswith(" ls")]
assert ls and sum(x["count"] for x in ls) >= 2, d
assert any("id" in w for w in d), d
assert not any("python3" in w for w in d), d
for x in d.values():
    assert x["rule"] == "process.commands" and "python3" in x["allow"], x
PY
result -- python3 -c '
import ctypes
libc = ctypes.CDLL(None)
for _ in range(20000): libc.mount(b"none", b"/tmp", b"tmpfs", 0, None)'
expect "twenty thousand refusals neither hang nor flood" status='~success|timeout|resource_exceeded' 'denials.0.count=>200'
done_testing
