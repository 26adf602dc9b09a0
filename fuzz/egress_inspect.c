/*
 * The inspecting engine between a hostile box and a hostile server. The input is cut at 0xff: a piece that begins with 0xfe is said by the server,
 * others by the box. Whatever happens, what the server got must read as requests that the rules allow, one after the other.
 */
#include "../tests/unit/inspect_world.h"

#include "egress/http.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_request(const struct http_head *head)
{
	char path[65536];

	if (strcmp(head->host, host) != 0 || head->host_is_address)
		abort();
	if (!(head->method.len == 3 && memcmp(head->method.data, "GET", 3) == 0) &&
	    !(head->method.len == 4 && memcmp(head->method.data, "POST", 4) == 0))
		abort();
	if (net_path_normalise(head->path.data, head->path.len, path, sizeof(path)) < 0 ||
	    strncmp(path, "/v1/", 4) != 0)
		abort();
}

static void check_server(const char *data, size_t len)
{
	while (len) {
		struct http_head head;
		struct http_flow flow;
		const char *why;
		size_t n;

		switch (http_request_parse(data, len, &head, &why)) {
		case HTTP_MORE:
			return;
		case HTTP_BAD:
			abort();
		case HTTP_OK:
			break;
		}
		check_request(&head);
		data += head.len;
		len -= head.len;
		if (head.is_websocket)
			return;
		http_flow_init(&flow, &head);
		while (!flow.done && len) {
			if (http_flow_pass(&flow, data, len, &n, &why) == HTTP_BAD)
				abort();
			data += n;
			len -= n;
			if (!n)
				break;
		}
		if (!flow.done)
			return;
	}
}

static void tell(const uint8_t *data, size_t len)
{
	struct peer *p = len && data[0] == 0xfe ? &w.server : &w.box;

	if (p == &w.server) {
		data++;
		len--;
	}
	if (p->fd >= 0 && len)
		(void)!send(p->fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	for (int i = 0; i < 4; i++)
		turn();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!w.egress.loop) {
		world_ms = 0;
		add_rule("api.example.com:80", "GET,POST", "/v1/*", NULL);
		world_open();
	}
	box_connect(false);
	turn();
	while (size) {
		const uint8_t *end = memchr(data, 0xff, size);
		size_t len = end ? (size_t)(end - data) : size;

		tell(data, len);
		data += len + (end != NULL);
		size -= len + (end != NULL);
	}
	check_server(w.server.got, w.server.len);
	box_close();
	while (w.egress.conns)
		conn_reset(w.egress.conns, NET_ALLOWED, "the end");
	return 0;
}
