/*
 * Decisions of the rules against the slow reference of fuzz/net_rule.c, over a few thousand sets of rules out of a generator with a fixed seed: what
 * the fuzzer compares, in every test run. That it would be seen if one decision were another is tried by making one so.
 */
#include "net/rule.h"

#include "tap.h"

#include <sys/wait.h>
#include <unistd.h>

enum { SETS = 3000, LONGEST = 96 };

static struct counts {
	uint64_t allowed, refused, requests, requests_refused, within;
} counts;
static uint64_t flip; /* which decision to turn round; 0: none */

static bool turned(void)
{
	static uint64_t n;

	return flip && ++n == flip;
}

static int counted_connect(const struct net_rules *rules, const char *name, const struct net_address *address,
			   uint16_t port, struct net_match *ret, char *reason, size_t size)
{
	int rc = net_rules_connect(rules, name, address, port, ret, reason, size);

	counts.allowed += rc == 0;
	counts.refused += rc < 0;
	if (turned()) {
		snprintf(reason, size, "turned round");
		return rc < 0 ? 0 : -1;
	}
	return rc;
}

static const struct net_rule *counted_request(const struct net_rules *rules, const struct net_match *match,
					      const char *method, const char *path)
{
	const struct net_rule *rule = net_rules_request(rules, match, method, path);

	counts.requests += rule != NULL;
	counts.requests_refused += !rule;
	return rule;
}

static bool counted_within(const struct net_rules *inner, const struct net_rules *outer)
{
	bool within = net_rules_are_within(inner, outer);

	counts.within += within && inner != outer;
	return within;
}

#define net_rules_connect counted_connect
#define net_rules_request counted_request
#define net_rules_are_within counted_within
#include "../../fuzz/net_rule.c"

/* splitmix64 */
static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static void compare(unsigned sets)
{
	uint64_t state = 20261116;
	uint8_t data[LONGEST];

	for (unsigned i = 0; i < sets; i++) {
		size_t size = next(&state) % (LONGEST + 1);

		for (size_t at = 0; at < size; at++)
			data[at] = (uint8_t)next(&state);
		LLVMFuzzerTestOneInput(data, size);
	}
}

/* How the comparison ends where this decision is another one. */
static int ended(uint64_t which)
{
	pid_t pid;
	int status = -1;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		(void)!freopen("/dev/null", "w", stderr);
		flip = which;
		compare(300);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status;
}

int main(void)
{
	int status;

	compare(SETS); /* ends the program where they differ */
	ok(true, "%d sets of rules are decided as the reference does", SETS);
	ok(counts.allowed > 10000 && counts.refused > 10000,
	   "control: which allow (%" PRIu64 ") and refuse (%" PRIu64 ")", counts.allowed, counts.refused);
	ok(counts.requests > 10000 && counts.requests_refused > 10000,
	   "control: also requests (%" PRIu64 ", %" PRIu64 ")", counts.requests, counts.requests_refused);
	ok(counts.within > 100, "control: and are within each other (%" PRIu64 ")", counts.within);
	is_num(ended(0), 0, "control: a part of them, by itself");
	for (uint64_t which = 1; which <= 10001; which += 5000) {
		status = ended(which);
		ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "decision %" PRIu64 " turned round is noticed",
		   which);
	}
	return done_testing();
}
