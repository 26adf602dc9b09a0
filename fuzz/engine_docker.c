/*
 * What a daemon answers, as any bytes: the first chooses the reader. JSON goes through every reader, a line of a pull through its own, and a stream
 * of frames gives the same however it is cut. Strings that come out are whole, printable and, where they go into a path, harmless.
 */
#include "driver/docker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

static void is_clean(const char *text, size_t size)
{
	size_t len = strnlen(text, size);

	must(len < size, "a string has its end");
	for (size_t i = 0; i < len; i++)
		must((unsigned char)text[i] >= ' ' && text[i] != 0x7f, "a string is printable");
}

static void read_all(const json_t *json)
{
	char id[DOCKER_ID_MAX], owner[64], text[DOCKER_TEXT_MAX];
	struct docker_version version;
	struct docker_state state;
	struct docker_stats stats;
	unsigned lacks;
	int code;

	if (docker_read_version(json, &version)) {
		is_clean(version.version, sizeof(version.version));
		must(strspn(version.api, "0123456789.") == strlen(version.api), "a version fits into a path");
	}
	if (docker_read_created(json, id, &lacks))
		must(strspn(id, "0123456789abcdef") == strlen(id), "an id fits into a path");
	if (docker_read_listed(json, "here", id, owner, sizeof(owner)))
		is_clean(owner, sizeof(owner));
	if (docker_read_state(json, &state))
		must(state.pid >= 0 && state.exit_code >= 0 && state.exit_code < 256, "numbers of a state");
	if (docker_read_wait(json, &code))
		must(code >= 0 && code < 256, "an exit status");
	(void)docker_read_stats(json, &stats);
	docker_read_message(json, text);
	is_clean(text, sizeof(text));
}

static void read_frames(const uint8_t *data, size_t size, size_t cut)
{
	struct docker_mux whole = { 0 }, parts = { 0 };
	unsigned char *a = malloc(size + 1), *b = malloc(size + 1);
	ssize_t n, m = 0, out = 0;

	must(a && b, "memory");
	memcpy(a, data, size);
	n = docker_mux_feed(&whole, a, size);
	for (size_t at = 0; at < size && m >= 0; at += cut) {
		size_t len = size - at < cut ? size - at : cut;

		memcpy(b + out, data + at, len);
		m = docker_mux_feed(&parts, b + out, len);
		out += m > 0 ? m : 0;
	}
	must((n < 0) == (m < 0), "a stream is bad however it is cut");
	must(n < 0 || (n == out && memcmp(a, b, (size_t)n) == 0), "a stream is the same however it is cut");
	free(a);
	free(b);
}

static void read_header(const uint8_t *data, size_t size)
{
	struct docker_version version = { 0 };

	docker_read_header((const char *)data, size, &version);
	is_clean(version.version, sizeof(version.version));
	must(strspn(version.api, "0123456789.") == strlen(version.api), "a version fits into a path");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct engine_progress progress;
	char error[DOCKER_TEXT_MAX] = "";
	struct cordon_error err = { 0 };
	struct spec spec;
	json_t *json;

	if (size < 2)
		return 0;
	switch (data[0] & 3) {
	case 0:
		json = json_loadb((const char *)data + 1, size - 1, 0, NULL);
		read_all(json);
		json_decref(json);
		break;
	case 1:
		read_header(data + 1, size - 1);
		(void)docker_read_pull((const char *)data + 1, size - 1, &progress, error);
		is_clean(progress.text, sizeof(progress.text));
		is_clean(error, sizeof(error));
		break;
	case 2:
		read_frames(data + 2, size - 2, (size_t)data[1] + 1);
		break;
	default:
		if (spec_parse(&spec, (const char *)data + 1, size - 1, &err) == 0) {
			json = docker_create_body(&spec, &(struct docker_ways){ .is_plain_tmpfs = data[0] & 4 });
			must(!spec.image || json, "what is well-formed makes a body");
			json_decref(json);
		}
		spec_done(&spec);
		break;
	}
	return 0;
}
