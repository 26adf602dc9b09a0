#!/bin/bash
# The tools that an agent's shell lines use work in a box: archives, sqlite3, find, sort, xargs, ps, top, locale, attributes, FIFOs, locks.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
levels container process

tar_works() { # FLAG NAME
	works "tar with $2: packed, listed and unpacked, with links and modes" $'d/ d/exec d/file d/link\n755 hello file' -- bash -c '
		cd "$HOME" && mkdir d && echo hello >d/file && ln -s file d/link && printf "#!/bin/sh\n" >d/exec && chmod 755 d/exec &&
		tar "c${0}f" a.tar d && rm -r d && tar tf a.tar | sort | paste -sd" " && tar xf a.tar &&
		echo "$(stat -c %a d/exec) $(cat d/link) $(readlink d/link)"' "$1"
}
if has gzip gzip; then tar_works z gzip; fi
if has xz xz-utils; then tar_works J xz; fi
if has zstd zstd; then works "zstd with threads" 3000000 -- bash -c 'head -c 3000000 /dev/zero | zstd -q -T2 | zstd -dq | wc -c'; fi
if has xz xz-utils; then works "xz with threads" 3000000 -- bash -c 'head -c 3000000 /dev/zero | xz -T2 --memlimit=200M | xz -d | wc -c'; fi
if has bzip2 bzip2; then works bzip2 hello -- bash -c 'echo hello | bzip2 | bunzip2'; fi

if has sqlite3 sqlite3; then
	works "sqlite3: a database file in WAL mode, read by two at once" $'wal\n1000\n500500\nok' -- bash -c '
		cd "$HOME" && sqlite3 db "pragma journal_mode=wal; create table t(n integer primary key);
			with recursive c(n) as (select 1 union all select n + 1 from c where n < 1000) insert into t select n from c;" &&
		{ sqlite3 db "select count(*) from t" & wait; } && sqlite3 db "select sum(n) from t; pragma integrity_check"'
fi

works "pipes, process substitution, here documents, traps, arithmetic, job ids" $'a b c\n6\nsame\ntrapped' -- bash -c '
	printf "c\nb\na\n" | sort | paste -sd" "; n=0; while read -r x; do ((n += x)); done < <(printf "1\n2\n3\n"); echo $n
	diff <(seq 5) <(seq 5) && echo same; trap "echo trapped" EXIT; sleep 0.01 & wait $!'
works "find, xargs -P, sort in parallel with temporary files, awk, sed, cut" $'200\n19900\n49999' -- bash -c '
	cd "$HOME" && seq 200 | xargs -P4 -n20 touch && find . -type f -newer /etc/passwd | wc -l &&
	find . -type f -printf "%f\n" | awk "{ n += \$1 - 1 } END { print n }" &&
	seq 0 49999 | sort -R --random-source=/dev/zero | sort -n -S 100K --parallel=2 | tail -n 1'
works "mkfifo" through -- bash -c 'cd "$HOME" && mkfifo f && { echo through >f & cat f; }'
works "flock keeps others out" $'busy\nfree' -- bash -c '
	cd "$HOME" && exec 9>lock && flock 9 && { flock -n lock echo taken || echo busy; } && flock -u 9 && flock -n lock echo free'
works "mktemp, ln, stat, touch -d, chmod, truncate, cp -a, install, df, du" "640 1000 2001-09-09" -- bash -c '
	f=$(mktemp) && truncate -s 1000 "$f" && chmod 640 "$f" && touch -d @1000000000 "$f" && cp -a "$f" "$HOME/copy" && ln "$HOME/copy" "$HOME/hard" &&
	head -c 10K /dev/zero >"$HOME/z" && install -m 755 "$HOME/z" "$HOME/y" && df "$HOME" >/dev/null && du -s "$HOME" >/dev/null &&
	stat -c "%a %s %y" "$HOME/hard" | cut -d" " -f1-3'
works "date, uname, nproc, whoami or id, getconf, env, seq, timeout, nice, nohup" $'Linux\n124' -- bash -c '
	date >/dev/null && nproc >/dev/null && id >/dev/null && getconf PAGESIZE >/dev/null && nice -n 5 true && nohup true 2>/dev/null && uname -s
	timeout 0.1 sleep 60; echo $?'
works "/dev: null, zero, full, random, urandom, fd" $'0 10 20\nhere\nfull' -- bash -c '
	echo "$(wc -c </dev/null) $(head -c 10 /dev/zero | wc -c) $(cat <(head -c 10 /dev/urandom) <(head -c 10 /dev/random) | wc -c)"
	cat /dev/fd/3 3<<<here; echo x 2>/dev/null >/dev/full || echo full'
echo typed >"$WORK/typed"
works "/dev/stdin, /dev/stdout and /dev/stderr open again" $'typed\nout' -- bash -c '
	cat /dev/stdin; echo out >/dev/stdout; echo err | tee /dev/stderr >/dev/null' <"$WORK/typed"
is "$(field stderr)" err "and what goes to each arrives there"
if has locale libc-bin; then
	works "the locale is C.UTF-8, and wide characters are characters" $'UTF-8\n3' -- bash -c 'locale charmap; printf "äöü" | wc -m'
	works "and there is nothing that locale has to say against it" "" -- bash -c 'locale 2>&1 >/dev/null'
fi
works "a program that asks for the user's name and home" "~^/" -- perl -e 'print $ENV{HOME} // (getpwuid $<)[7], "\n"'

here || done_testing
# The host's processes and /dev/shm are not for process level, and neither is a terminal's /dev/pts.
if has ps procps; then
	works "ps sees the processes of the box" $'bash\nps' -- bash -c 'ps -eo comm= >"$HOME/list"; sort "$HOME/list"'
	works "ps aux, pgrep, pkill, free, uptime, vmstat" "~^ok" -- bash -c '
		ps aux >/dev/null && sleep 60 & sleep 0.05; pgrep -x sleep >/dev/null && pkill -x sleep && free -m >/dev/null && uptime >/dev/null && vmstat >/dev/null && echo ok'
	works "top" "~PID USER.*top" -- top -b -n 1
fi
works "/dev/shm: a file, its mode, its size" $'1777\n1000' -- bash -c 'head -c 1000 /dev/zero >/dev/shm/x && stat -c %a /dev/shm && stat -c %s /dev/shm/x'
works "whoami, hostname, groups, getent" $'agent\nagent\n127.0.0.1 localhost' -- bash -c '
	whoami; groups; hostname >/dev/null 2>&1; getent hosts 127.0.0.1 | awk "{ print \$1, \$2 }"; getent passwd agent >/dev/null'
works "SysV IPC and POSIX queues of the box's own" "~^[0-9]+" -- python3 -c '
import ctypes
c = ctypes.CDLL(None, use_errno=True)
i = c.shmget(0, 4096, 0o1600)
assert i >= 0 and c.shmctl(i, 0, None) == 0 and c.semget(0, 1, 0o1600) >= 0 and c.msgget(0, 0o1600) >= 0
print(i)'
if has setfattr attr; then
	# A tmpfs has user attributes since kernel 6.6.
	if box -- python3 -c 'import os; os.setxattr(os.environ["HOME"], "user.x", b"1")' >/dev/null 2>&1; then
		works "extended attributes, kept by cp and tar" $'value\nvalue' -- bash -c '
			cd "$HOME" && touch f && setfattr -n user.note -v value f && cp --preserve=xattr f g && getfattr --only-values -n user.note g && echo &&
			tar --xattrs -cf a.tar f && rm f && tar --xattrs -xf a.tar && getfattr --only-values -n user.note f && echo'
	else
		note "this kernel's tmpfs has no user attributes"
	fi
fi
done_testing
