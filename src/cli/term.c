/*
 * The caller's terminal while a payload has a terminal of its own: raw, so that every key reaches the payload, and always
 * restored, also when cordon itself crashes.
 */
#include "cli/cli.h"

#include <errno.h>
#include <termios.h>
#include <unistd.h>

static int raw_fd = -1;
static struct termios before, raw;

void cli_term_restore(void)
{
	int saved = errno;

	if (raw_fd >= 0)
		tcsetattr(raw_fd, TCSANOW, &before);
	raw_fd = -1;
	errno = saved;
}

void cli_term_again(void)
{
	if (raw_fd >= 0)
		tcsetattr(raw_fd, TCSANOW, &raw);
}

static void on_crash(int sig)
{
	cli_term_restore();
	raise(sig); /* SA_RESETHAND: now it kills */
}

static void guard(void)
{
	static const int crashes[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS };
	struct sigaction action = { .sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND | SA_NODEFER };

	for (size_t i = 0; i < ARRAY_LEN(crashes); i++)
		sigaction(crashes[i], &action, NULL);
}

void cli_term_raw(int fd)
{
	if (tcgetattr(fd, &before) < 0)
		return;
	raw = before;
	cfmakeraw(&raw);
	guard();
	raw_fd = fd;
	tcsetattr(fd, TCSANOW, &raw);
}

int cli_term_find(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (isatty(fd))
			return fd;
	return -1;
}
