#!/bin/bash
# Other languages work in a box: perl, ruby, java, and whatever else is installed, with a process, a thread and a file each.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
levels container process

if has perl perl; then
	works "perl: files, processes, pipes, sockets in pairs, time" "hello 3 child pair" -- perl -MSocket -MFile::Temp=tempfile -MPOSIX -MTime::HiRes=sleep -e '
		my ($fh, $name) = tempfile(); print $fh "hello"; close $fh;
		open my $in, "<", $name or die; my $said = <$in>;
		my $n = `printf "1\n2\n3\n" | wc -l` + 0;
		socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, 0) or die;
		pipe(my $r, my $w); my $pid = fork // die;
		if (!$pid) { syswrite $w, "child"; syswrite $b, "pair"; POSIX::_exit(0) }
		sleep 0.01; waitpid $pid, 0; sysread $r, my $c, 5; sysread $a, my $p, 4; print "$said $n $c $p\n";'
	if here; then
		works "perl: a TCP server and its client" "tcp" -- perl -MIO::Socket::INET -e '
			my $s = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1") or die;
			if (!fork) { my $c = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $s->sockport) or die; print $c "tcp\n"; exit }
			print $s->accept->getline; wait;'
	fi
fi
if has ruby ruby; then
	works "ruby: threads, fibers, processes, files" "10 HELLO forked 3" -- ruby -rtempfile -ropen3 -e '
		sum = (1..4).map { |i| Thread.new { sleep 0.01; i } }.sum(&:value)
		up, = Open3.capture2("tr a-z A-Z", stdin_data: "hello")
		r, w = IO.pipe
		Process.wait(fork { w.write "forked" }); w.close
		n = Tempfile.create { |f| f.write "abc"; f.flush; File.size(f.path) }
		puts [sum, up, r.read, n].join(" ")'
	if here; then
		works "ruby: a TCP server and its client" "tcp" -- ruby -rsocket -e '
			s = TCPServer.new("127.0.0.1", 0)
			t = Thread.new { s.accept.puts "tcp" }
			puts TCPSocket.new("127.0.0.1", s.addr[1]).gets; t.join'
	fi
fi
# Java is tried where it is, without a skip where not. It sizes itself by the machine, so the box gets room for its threads.
if command -v javac >/dev/null; then
	cat >"$WORK/Main.java" <<-'END'
		import java.nio.file.*;
		import java.util.concurrent.*;
		import java.util.stream.*;
		public class Main {
			public static void main(String[] args) throws Exception {
				ExecutorService pool = Executors.newFixedThreadPool(4);
				Future<Integer> f = pool.submit(() -> IntStream.range(0, 100).parallel().sum());
				Path p = Files.createTempFile("x", "y");
				Files.writeString(p, "hello");
				Process q = new ProcessBuilder("sh", "-c", "exit 7").start();
				System.out.println(f.get() + " " + Files.readString(p) + " " + q.waitFor());
				pool.shutdown();
			}
		}
	END
	java() {
		result --memory 1G --pids 128 --ro "$WORK/Main.java" -- bash -c "$@"
		# At its start Java asks whether there is IPv6, which process level tells as a denial: no socket of any family is to be had.
		if here; then denials='denials=[]'; else denials='denials=~^\[\]|system call socket'; fi
		expect "java: compiled and run, with threads, files and a process" status=success stdout=$'4950 hello 7\n' "$denials"
	}
	java '
		cd "$HOME" && javac -J-Xmx256m -J-XX:+UseSerialGC -d . "$0" &&
		java -Xmx128m -XX:+UseSerialGC -Djava.io.tmpdir="${TMPDIR:-/tmp}" Main' "$WORK/Main.java"
fi
for pair in "php:echo 42;:-r" "lua5.4:print(42):-e" "lua:print(42):-e" "guile:(display 42):-c" "tclsh:puts 42:"; do
	IFS=: read -r program code flag <<<"$pair"
	command -v "$program" >/dev/null || continue
	if [ -n "$flag" ]; then works "$program" "~^42" -- "$program" "$flag" "$code"; else works "$program" 42 -- bash -c "echo '$code' | $program"; fi
done
done_testing
