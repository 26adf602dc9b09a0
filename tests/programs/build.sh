#!/bin/bash
# Compilers and make work in a box: a small C project with a library, in parallel, with debugging symbols and sanitizers; C++.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
levels container process

if has gcc gcc && has make make; then
	mkdir "$WORK/project"
	for i in 1 2 3 4; do echo "int part$i(void); int part$i(void) { return $i; }" >"$WORK/project/part$i.c"; done
	cat >"$WORK/project/main.c" <<-'END'
		#include <pthread.h>
		#include <stdio.h>
		int part1(void), part2(void), part3(void), part4(void);
		static void *run(void *p) { *(int *)p = part1() + part2() + part3() + part4(); return NULL; }
		int main(void)
		{
			pthread_t t;
			int n = 0;
			if (pthread_create(&t, NULL, run, &n) || pthread_join(t, NULL))
				return 1;
			printf("sum %d\n", n);
			return 0;
		}
	END
	# shellcheck disable=SC2016 # for make
	printf '%b\n' 'PARTS := $(patsubst %.c,%.o,$(wildcard part*.c))' 'all: main dynamic' 'libparts.a: $(PARTS)\n\tar rcs $@ $^' \
		'libparts.so: $(PARTS)\n\t$(CC) -shared -o $@ $^' 'main: main.o libparts.a\n\t$(CC) -g -o $@ $^ -pthread' \
		'dynamic: main.o libparts.so\n\t$(CC) -o $@ main.o -L. -lparts -Wl,-rpath,"\\$$ORIGIN" -pthread' \
		'%.o: %.c\n\t$(CC) -O2 -g -fPIC -Wall -Werror -pipe -c $< -o $@' >"$WORK/project/Makefile"
	works "make -j4 of a small project, linked both ways" $'sum 10\nsum 10' --ro "$WORK/project" -- bash -c '
		cp -r "$0" "$HOME/p" && cd "$HOME/p" && make -s -j4 && ./main && ./dynamic' "$WORK/project"
	if can_rw; then
		works "the same in a directory of the host's" $'sum 10\nsum 10' --rw "$WORK/project" --workdir "$WORK/project" -- bash -c 'make -s -j4 && ./main && ./dynamic'
		is "$("$WORK/project/main")" "sum 10" "and what was built there runs outside"
	fi
	works "link-time optimisation, -static and strip" 6 -- bash -c '
		cd "$HOME" && echo "#include <stdio.h>
		int main(void) { puts(\"6\"); return 0; }" >a.c && gcc -O2 -flto -static a.c -o a && strip a && ./a'
	# The leak check of AddressSanitizer stops the other threads with ptrace, which no box has.
	# Its shadow memory is a mapping of terabytes, which RLIMIT_DATA counts: not where limits are watched.
	[ "$(field isolation.limit_source)" = watch ] ||
		works "AddressSanitizer finds a fault" "~heap-use-after-free" -- bash -c '
		cd "$HOME" && printf "%s\n" "#include <stdlib.h>" "int main(void) { char *p = malloc(1); free(p); return *p; }" >a.c &&
		gcc -g -fsanitize=address a.c -o a && ASAN_OPTIONS=detect_leaks=0 ./a 2>&1 | grep -o heap-use-after-free'
fi
if has g++ g++; then
	works "C++ with threads and exceptions" "caught 10" -- bash -c 'cd "$HOME" && cat >a.cc <<-END && g++ -O1 -pthread a.cc -o a && ./a
		#include <future>
		#include <iostream>
		#include <stdexcept>
		int main()
		{
			auto f = std::async(std::launch::async, [] { return 10; });
			try { throw std::runtime_error("caught"); }
			catch (const std::exception &e) { std::cout << e.what() << " " << f.get() << std::endl; }
		}
	END'
fi
done_testing
