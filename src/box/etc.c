/* The small files of /etc: see etc.h. Runs in init, or in the keeper where another engine builds the box. */
#include "box/etc.h"

#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int etc_make(const struct cordon_plan *plan, uid_t uid, gid_t gid, struct etc_file ret[ETC_FILES])
{
	const char *user = plan->user;
	const struct etc_file files[ETC_FILES] = {
		{ "passwd", str_printf("root:x:0:0:root:/:/usr/sbin/nologin\n%s:x:%u:%u:%s:%s:/bin/sh\n"
				       "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
				       user, uid, gid, user, plan->home) },
		{ "group", str_printf("root:x:0:\n%s:x:%u:\nnogroup:x:65534:\n", user, gid) },
		{ "hosts", strdup("127.0.0.1 localhost cordon\n::1 localhost\n") },
		{ "hostname", strdup("cordon\n") },
		{ "resolv.conf",
		  strdup(plan->network.is_on ? "nameserver " NET_GATEWAY_ADDRESS "\n" : "# no network\n") },
		{ "nsswitch.conf", strdup("passwd: files\ngroup: files\nhosts: files dns\n") },
	};
	int r = 0;

	memcpy(ret, files, sizeof(files));
	for (size_t i = 0; i < ETC_FILES; i++)
		r = ret[i].text ? r : -ENOMEM;
	return r;
}

void etc_done(struct etc_file files[ETC_FILES])
{
	for (size_t i = 0; i < ETC_FILES; i++)
		free(files[i].text);
}
