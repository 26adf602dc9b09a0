/* Masking: every form of a value, at every place, cut at every place. */
#include "egress/mask.h"

#include "tap.h"

static const char value[] = "s3cr3t/Val+ue=\"1\"";

static struct mask *one(const char *text)
{
	struct mask_value v = { text, strlen(text) };

	return mask_new(&v, 1);
}

/* The text in pieces of `first` bytes, then `step` at a time; what comes out. */
static char *pass(const struct mask *m, const char *text, size_t first, size_t step)
{
	size_t len = strlen(text), have = 0, at = 0, out = 0;
	char *buf = calloc(1, len + 1), *result = calloc(1, len + 1);
	struct mask_flow flow = { 0 };

	while (at < len || !len) {
		size_t n = at == 0 ? first : step, ready;

		if (n > len - at)
			n = len - at;
		memcpy(buf + have, text + at, n);
		at += n;
		have += n;
		ready = mask_pass(m, &flow, buf, have, at == len);
		memcpy(result + out, buf, ready);
		out += ready;
		have -= ready;
		memmove(buf, buf + ready, have);
		if (at == len)
			break;
	}
	if (have || out != len)
		result[0] = '!';
	free(buf);
	return result;
}

static bool every_split(const struct mask *m, const char *text, const char *want)
{
	bool good = true;

	for (size_t first = 1; first <= strlen(text); first++) {
		for (size_t step = 1; step <= strlen(text); step = step < 4 ? step + 1 : step * 3) {
			char *got = pass(m, text, first, step);

			if (strcmp(got, want) != 0 && good) {
				good = false;
				note("split %zu then %zu: got %s", first, step, got);
			}
			free(got);
		}
	}
	return good;
}

static void test_forms(void)
{
	struct mask *m = one(value);

	ok(every_split(m, "before s3cr3t/Val+ue=\"1\" after", "before ***************** after"), "the value");
	ok(every_split(m, "s3cr3t/Val+ue=\"1\"", "*****************"), "the value alone");
	ok(every_split(m, "s3cr3t/Val+ue=\"1\"s3cr3t/Val+ue=\"1\"", "**********************************"),
	   "the value twice");
	ok(every_split(m, "s3cr3t/Val+ue=\"1 s3cr3t/Val", "s3cr3t/Val+ue=\"1 s3cr3t/Val"), "not what is only like it");
	ok(every_split(m, "?k=s3cr3t%2FVal%2Bue%3D%221%22&x", "?k=***************************&x"), "percent-encoded");
	ok(every_split(m, "?k=s3cr3t%2fVal%2bue%3d%221%22&x", "?k=***************************&x"), "in small letters");
	ok(every_split(m, "{\"k\":\"s3cr3t/Val+ue=\\\"1\\\"\"}", "{\"k\":\"*******************\"}"), "JSON-escaped");
	ok(every_split(m, "\"s3cr3t\\/Val+ue=\\\"1\\\"\"", "\"********************\""), "with slashes escaped");
	ok(every_split(m, "\"s3cr3t/Val+ue\\u003d\\\"1\\\"\"", "\"************************\""), "for a page");
	ok(every_split(m, "\"s3cr3t/Val\\u002Bue=\\u00221\\u0022\"", "\"********************************\""),
	   "and in capitals");
	/* printf 's3cr3t/Val+ue="1"' | base64 */
	ok(every_split(m, "<czNjcjN0L1ZhbCt1ZT0iMSI=>", "<**********************I=>"), "base64");
	/* printf 'u:s3cr3t/Val+ue="1"' | base64, and with one more byte in front, and behind */
	ok(every_split(m, "dTpzM2NyM3QvVmFsK3VlPSIxIg==", "dTp**********************g=="), "base64 of user:value");
	/* printf 'us:s3cr3t/Val+ue="1";' | base64 */
	ok(every_split(m, "dXM6czNjcjN0L1ZhbCt1ZT0iMSI7", "dXM6**********************I7"), "and of more around it");
	mask_unref(m);
}

static void test_overlap(void)
{
	struct mask *m = one("abab"), *aa = one("a");
	struct mask_value two[] = { { "hunter2", 7 }, { "hunter2-and-more", 16 } };
	struct mask *both = mask_new(two, 2);

	ok(every_split(m, "xabababx", "x******x"), "matches that overlap");
	ok(every_split(m, "xabaxbabab", "xabaxb****"), "and what is none");
	ok(every_split(aa, "banana", "b*n*n*"), "a value of one byte");
	ok(every_split(both, "hunter2-and-less hunter2-and-more", "*******-and-less ****************"),
	   "one value that begins another");
	mask_unref(m);
	mask_unref(aa);
	mask_unref(both);
}

static void test_held(void)
{
	struct mask *m = one("0123456789");
	struct mask_flow flow = { 0 };
	char text[] = "data: hello\n\n", part[] = "xx01234";

	is_num(mask_pass(m, &flow, text, strlen(text), false), strlen(text), "nothing is held back without need");
	is_num(mask_pass(m, &flow, part, strlen(part), false), 2, "a beginning is");
	is_num(mask_pass(m, &flow, part, strlen(part), true), strlen(part), "not at the end");
	is_str(part, "xx01234", "and a beginning alone is no match");
	mask_unref(m);
	m = mask_new(NULL, 0);
	is_num(mask_pass(m, &flow, text, strlen(text), false), strlen(text), "no values: everything passes");
	mask_unref(m);
}

/* A slow reference: every occurrence of the value, by its definition. */
static void test_random(void)
{
	bool good = true;
	unsigned seed = 7;

	for (int round = 0; round < 3000 && good; round++) {
		char secret[8] = { 0 }, text[64] = { 0 }, want[64];
		size_t len = 1 + (unsigned)rand_r(&seed) % 5, total = (unsigned)rand_r(&seed) % 60;
		struct mask *m;
		char *got;

		for (size_t i = 0; i < len; i++)
			secret[i] = "ab"[(unsigned)rand_r(&seed) % 2];
		for (size_t i = 0; i < total; i++)
			text[i] = "abc"[(unsigned)rand_r(&seed) % 3];
		memcpy(want, text, sizeof(want));
		for (size_t i = 0; i + len <= total; i++)
			if (memcmp(text + i, secret, len) == 0)
				memset(want + i, '*', len);
		m = one(secret);
		got = pass(m, text, 1 + (unsigned)rand_r(&seed) % 60, 1 + (unsigned)rand_r(&seed) % 9);
		good = strcmp(got, want) == 0;
		if (!good)
			note("secret %s text %s got %s", secret, text, got);
		free(got);
		mask_unref(m);
	}
	ok(good, "the same as a slow reference, at random");
}

int main(void)
{
	test_forms();
	test_overlap();
	test_held();
	test_random();
	return done_testing();
}
