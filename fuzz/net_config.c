/* Any bytes as what egress is told: refused with a reason, or the same when written and read again. */
#include "net/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct net_config config = { 0 }, again = { 0 }, copy = { 0 };
	struct cordon_error err = { 0 };
	struct str first = { 0 }, second = { 0 }, third = { 0 };

	if (net_config_decode((const char *)data, size, &config, &err) < 0) {
		must(err.code && err.message[0], "refused without a reason");
		must(!config.rules.v && !config.secrets && !config.proxy_host, "written on failure");
		return 0;
	}
	must(net_config_encode(&config, &first) == 0, "not written");
	must(net_config_decode(first.data, first.len, &again, &err) == 0, err.message);
	must(net_config_encode(&again, &second) == 0, "not written again");
	must(first.len == second.len && memcmp(first.data, second.data, first.len) == 0, "read differently");
	must(net_config_copy(&copy, &config) == 0 && net_config_encode(&copy, &third) == 0, "not copied");
	must(first.len == third.len && memcmp(first.data, third.data, first.len) == 0, "copied differently");
	net_config_done(&config);
	net_config_done(&again);
	net_config_done(&copy);
	str_done(&first);
	str_done(&second);
	str_done(&third);
	return 0;
}
