/* Requests whose body and answer are streams: see build.h. Without a deadline: a build takes as long as it takes. */
#include "driver/build.h"

#include <errno.h>
#include <unistd.h>

enum { MESSAGE_MAX = 64 << 10 };

struct flow {
	struct docker_transfer *t;
	CURL *curl;
	struct str message; /* of an answer that is none of 2xx */
	bool is_cut;        /* by us: the reason is known elsewhere */
};

static size_t give(char *buf, size_t size, size_t n, void *arg)
{
	struct flow *f = arg;
	ssize_t got;

	do
		got = read(f->t->body, buf, size * n);
	while (got < 0 && errno == EINTR);
	if (got > 0 || (got == 0 && f->t->is_whole(f->t->arg)))
		return (size_t)got;
	f->is_cut = true;
	return CURL_READFUNC_ABORT;
}

static size_t receive(char *data, size_t size, size_t n, void *arg)
{
	struct flow *f = arg;
	long status = 0;

	curl_easy_getinfo(f->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status / 100 == 2) {
		if (f->t->take(data, size * n, f->t->arg))
			return size * n;
		f->is_cut = true;
		return 0;
	}
	if (f->message.len < MESSAGE_MAX)
		str_add_bytes(&f->message, data, size * n);
	return f->message.failed ? 0 : size * n;
}

static CURLcode perform(struct flow *f, const char *url)
{
	const struct docker_transfer *t = f->t;
	struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/x-tar"), *more;
	CURLcode code = CURLE_OUT_OF_MEMORY;

	more = headers ? curl_slist_append(headers, "Expect:") : NULL;
	if (more && t->body >= 0)
		more = curl_slist_append(headers, "Transfer-Encoding: chunked");
	if (more) {
		curl_easy_setopt(f->curl, CURLOPT_URL, url);
		curl_easy_setopt(f->curl, CURLOPT_HTTPHEADER, headers);
		if (t->body >= 0) {
			curl_easy_setopt(f->curl, CURLOPT_POST, 1L);
			curl_easy_setopt(f->curl, CURLOPT_READFUNCTION, give);
			curl_easy_setopt(f->curl, CURLOPT_READDATA, f);
		} else {
			curl_easy_setopt(f->curl, CURLOPT_CUSTOMREQUEST, t->method);
		}
		curl_easy_setopt(f->curl, CURLOPT_WRITEFUNCTION, receive);
		curl_easy_setopt(f->curl, CURLOPT_WRITEDATA, f);
		code = curl_easy_perform(f->curl);
		curl_easy_getinfo(f->curl, CURLINFO_RESPONSE_CODE, &f->t->answer.status);
	}
	curl_slist_free_all(headers);
	return code;
}

int docker_transfer(struct docker_api *api, struct docker_transfer *t, struct cordon_error *err)
{
	auto_free char *url = str_printf("%s%s%s", api->base, api->prefix, t->path);
	struct flow f = { .t = t, .curl = docker_handle(api, "") };
	CURLcode code = url && f.curl ? perform(&f, url) : CURLE_OUT_OF_MEMORY;

	t->answer.json = f.message.len ? json_loadb(f.message.data, f.message.len, 0, NULL) : NULL;
	str_done(&f.message);
	if (f.curl)
		curl_easy_cleanup(f.curl);
	if (code == CURLE_OK)
		return 0;
	return f.is_cut ? -1 : docker_fail_curl(api, code, err);
}
