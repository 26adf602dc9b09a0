# shellcheck shell=bash
# What a terminal in a box of another engine is held to: tests/engine/tty.sh and tty_daemons.sh. After lib.sh, whose FLAGS are of every run.
need script
in_terminal() { SHELL=/bin/bash script -qec "$(printf '%q ' "$@")" /dev/null </dev/null 2>/dev/null | tr -d '\r\b' | sed 's/\^[@D]//g'; }
terminals() { # ENGINE
	local engine=$1 request stories story said
	is "$(in_terminal "$CORDON" run --engine "$engine" "${FLAGS[@]}" --tty -- sh -c 'tty; test -t 0 && test -t 1 && test -t 2 && echo all')" "/dev/pts/0
all" "$engine: a terminal of its own"
	is "$(in_terminal "$CORDON" run --engine "$engine" "${FLAGS[@]}" -- sh -c 'test -t 0 || test -t 1 || test -t 2 || echo none')" none "$engine: and none without --tty"
	is "$("$CORDON" run --engine "$engine" "${FLAGS[@]}" --tty -- sh -c 'echo out; echo err >&2; exit 3' </dev/null | tr -d '\r' | paste -sd' '; echo "${PIPESTATUS[0]}")" "out err
3" "$engine: its output and status, without a terminal outside"
	# what was written last arrives, however much it is
	is "$("$CORDON" run --engine "$engine" "${FLAGS[@]}" --tty -- seq 100000 </dev/null | tr -d '\r' | md5sum)" "$(seq 100000 | md5sum)" "$engine: all of it"
	for request in 0x5412 0x541c 0x5423; do
		is "$(in_terminal "$CORDON" run --engine "$engine" "${FLAGS[@]}" --tty -- python3 -c 'import fcntl, sys
try: fcntl.ioctl(0, int(sys.argv[1], 0), b"x")
except OSError as e: print(e.errno)' $request)" 1 "$engine: ioctl $request is refused"
	done
	# gVisor's terminals send no signals, and control nobody.
	stories="bash line"
	[ "$engine" != runsc ] || stories=plain
	for story in $stories; do
		while IFS= read -r said; do
			case $said in
			"ok "*) pass "$engine, $story: ${said#ok }" ;;
			"not ok "*) fail "$engine, $story: ${said#not ok }" ;;
			*) note "$said" ;;
			esac
		done < <(CORDON_ENGINE=$engine timeout -k 5 100 python3 "$TOP/tests/programs/jobs.py" "$story" 2>&1 || echo "not ok it ended with status $?")
	done
}
