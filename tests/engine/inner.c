/*
 * In the place of cordon-init in a container: does what the lines on stdin say and prints what came of it, one answer each. Static.
 * It allocates nothing before it is told to, so that limits meet only what a line asks for.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void show(const char *path)
{
	char buf[65536];
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);

	if (n < 0) {
		printf("%s: %s\n", path, strerror(errno));
	} else {
		buf[n] = '\0';
		printf("%s\n", buf);
	}
	close(fd);
}

static void put(const char *path, size_t bytes)
{
	static char block[65536];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	size_t done = 0;

	while (fd >= 0 && done < bytes) {
		ssize_t n = write(fd, block, bytes - done < sizeof(block) ? bytes - done : sizeof(block));

		if (n <= 0)
			break;
		done += (size_t)n;
	}
	if (fd < 0 || done < bytes)
		printf("%s after %zu\n", strerror(errno), done);
	else
		printf("written\n");
	close(fd);
}

/* In a child, so that what dies of it is not us. */
static void eat(size_t bytes)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		char *p = malloc(bytes);

		for (size_t i = 0; p && i < bytes; i += 4096)
			p[i] = 1;
		_exit(p ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		printf("signal %d\n", WTERMSIG(status));
	else
		printf("exit %d\n", WEXITSTATUS(status));
}

static void breed(int count)
{
	int made = 0;

	for (; made < count; made++) {
		pid_t pid = fork();

		if (pid < 0)
			break;
		if (pid == 0) {
			pause();
			_exit(0);
		}
	}
	printf("%d children\n", made);
}

static void spin(long ms)
{
	clock_t end = clock() + ms * (CLOCKS_PER_SEC / 1000);

	while (clock() < end)
		;
	printf("spun\n");
}

static void files(const char *dir, int count)
{
	char path[256];
	int made = 0;

	for (; made < count; made++) {
		int fd;

		snprintf(path, sizeof(path), "%s/f%d", dir, made);
		fd = open(path, O_WRONLY | O_CREAT, 0600);
		if (fd < 0)
			break;
		close(fd);
	}
	printf("%d files\n", made);
}

/* gVisor says EAGAIN now and then although the stream is to block. */
static bool get_line(char *line, size_t size)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };
	static char buf[4096];
	static size_t at, end;
	size_t n = 0;

	for (;;) {
		while (at < end && n < size - 1) {
			if (buf[at] == '\n') {
				at++;
				line[n] = '\0';
				return true;
			}
			line[n++] = buf[at++];
		}
		ssize_t got = n < size - 1 ? read(0, buf, sizeof(buf)) : 0;

		if (got < 0 && errno == EAGAIN)
			(void)poll(&in, 1, -1);
		else if (got <= 0)
			return false;
		at = 0;
		end = got > 0 ? (size_t)got : 0;
	}
}

int main(int argc, char **argv)
{
	char line[4096], *arg, *second;

	signal(SIGXFSZ, SIG_IGN);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready argc=%d argv0=%s pid=%d uid=%d gid=%d\n", argc, argv[0], (int)getpid(), (int)getuid(),
	       (int)getgid());
	while (get_line(line, sizeof(line))) {
		arg = strchr(line, ' ');
		if (arg)
			*arg++ = '\0';
		else
			arg = line + strlen(line);
		second = strrchr(arg, ' ');
		if (second && (strcmp(line, "put") == 0 || strcmp(line, "files") == 0))
			*second++ = '\0';
		if (strcmp(line, "exit") == 0)
			return (int)strtol(arg, NULL, 10);
		else if (strcmp(line, "raise") == 0)
			kill(getpid(), (int)strtol(arg, NULL, 10));
		else if (strcmp(line, "cat") == 0)
			show(arg);
		else if (strcmp(line, "eat") == 0)
			eat(strtoul(arg, NULL, 10));
		else if (strcmp(line, "breed") == 0)
			breed((int)strtol(arg, NULL, 10));
		else if (strcmp(line, "spin") == 0)
			spin(strtol(arg, NULL, 10));
		else if (strcmp(line, "put") == 0)
			put(arg, strtoul(second, NULL, 10));
		else if (strcmp(line, "files") == 0)
			files(arg, (int)strtol(second, NULL, 10));
		else if (strcmp(line, "mount") == 0)
			printf("%s\n", mount("none", "/tmp", "tmpfs", 0, NULL) < 0 ? strerror(errno) : "mounted");
		else if (strcmp(line, "socket") == 0)
			printf("%s\n", socket(AF_INET, SOCK_STREAM, 0) < 0 ? strerror(errno) : "made");
		else if (strcmp(line, "stat") == 0) {
			struct stat st;

			if (stat(arg, &st) < 0)
				printf("%s\n", strerror(errno));
			else
				printf("mode %o uid %u\n", st.st_mode, st.st_uid);
		} else
			printf("%s %s\n", line, arg);
	}
	return 0;
}
