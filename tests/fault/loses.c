/* The control of grind.py: a program, and a child of it, that lose memory and a descriptor each. The child's is of a call that valgrind does
 * not know, and it reads what it must not. */
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void lose(void)
{
	volatile char *p = strdup("lost");

	p = NULL;
	(void)p;
}

int main(void)
{
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC };
	pid_t pid = fork();

	if (pid == 0) {
		volatile char *p = malloc(1);
		long fd = syscall(SYS_openat2, AT_FDCWD, "/dev/null", &how, sizeof(how));

		if (fd >= 0 && p[1] != 7)
			printf("openat2\n");
		fflush(stdout);
		free((void *)p);
		lose();
		_exit(0);
	}
	lose();
	(void)!open("/dev/null", O_RDONLY | O_CLOEXEC);
	waitpid(pid, NULL, 0);
	return 0;
}
