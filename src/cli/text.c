/* Text to people: errors, colours, and what payloads wrote made harmless for a terminal. */
#include "cli/cli.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

volatile sig_atomic_t cli_interrupted;

int cli_write(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n >= 0) {
			p += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			struct pollfd wait = { .fd = fd, .events = POLLOUT };

			poll(&wait, 1, -1);
		} else if (errno != EINTR) {
			return -errno;
		}
		if (cli_interrupted && len)
			return -EINTR;
	}
	return 0;
}

int cli_print(char *text, int status)
{
	struct cordon_error err;
	size_t len;
	int rc;

	if (!text) {
		fail_memory(&err);
		cli_warn(&err);
		return STATUS_FAILED;
	}
	len = strlen(text);
	rc = cli_write(STDOUT_FILENO, text, len);
	if (rc == 0 && len && text[len - 1] != '\n')
		rc = cli_write(STDOUT_FILENO, "\n", 1);
	free(text);
	if (rc == -EPIPE)
		return STATUS_PIPE;
	if (rc < 0) {
		cordon_fail(&err, CORDON_SYSTEM, -rc, "write to stdout");
		cli_warn(&err);
		return STATUS_FAILED;
	}
	return status;
}

/* How many bytes a character has that a terminal only shows; 0: none, or one that it obeys: controls (C1 ones as well), what turns the
 * direction of what follows, and what is no UTF-8. */
static size_t shown_bytes(const char *text)
{
	static const struct {
		uint32_t from, to;
	} obeyed[] = { { 0, 0x1f },        { 0x7f, 0x9f },     { 0x61c, 0x61c },
		       { 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x2069 } };
	uint32_t c;
	size_t n = str_decode(text, strlen(text), &c);

	for (size_t i = 0; i < ARRAY_LEN(obeyed); i++)
		if (c >= obeyed[i].from && c <= obeyed[i].to)
			return 0;
	return n;
}

void cli_add_clean(struct str *s, const char *text)
{
	while (*text) {
		size_t n = shown_bytes(text);

		if (n)
			str_add_bytes(s, text, n);
		else
			str_addf(s, "\\x%02x", (unsigned char)*text);
		text += n ? n : 1;
	}
}

const struct cli_colours *cli_colours(void)
{
	static const struct cli_colours plain = { "", "", "" }, colours = { "\033[1;31m", "\033[2m", "\033[0m" };
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	if ((no_color && *no_color) || !term || strcmp(term, "dumb") == 0)
		return &plain;
	return isatty(STDERR_FILENO) && cordon_config_colour() ? &colours : &plain;
}

void cli_warn(const struct cordon_error *err)
{
	const struct cli_colours *c = cli_colours();
	auto_str struct str s = { 0 };

	str_addf(&s, "%scordon:%s ", c->bad, c->end);
	cli_add_clean(&s, err->message);
	if (err->step[0] && (err->code == CORDON_SYSTEM || err->code == CORDON_INTERNAL)) {
		str_addf(&s, " %s(step ", c->dim);
		cli_add_clean(&s, err->step);
		str_addf(&s, ")%s", c->end);
	}
	str_add_char(&s, '\n');
	if (err->hint[0]) {
		str_addf(&s, "%shint:%s ", c->dim, c->end);
		cli_add_clean(&s, err->hint);
		str_add_char(&s, '\n');
	}
	if (!s.failed)
		cli_write(STDERR_FILENO, s.data, s.len);
}

static int fail_with(const struct cordon_error *err, bool json, bool usage)
{
	struct cordon_result *result = json || !usage ? cordon_result_from_error(err) : NULL;
	int status = result && !usage ? cordon_result_exit_status(result) : STATUS_FAILED;

	if (json && result)
		status = cli_print(cordon_result_json(result), status);
	else
		cli_warn(err);
	cordon_result_free(result);
	return status;
}

int cli_fail(const struct cordon_error *err, bool json)
{
	return fail_with(err, json, false);
}

int cli_fail_usage(const struct cordon_error *err, bool json)
{
	return fail_with(err, json, true);
}
