/*
 * Requests: read, checked against the rules, rewritten: see inspect_state.h.
 *
 * Theory of operation: what was decided on is what is sent. The head goes out written anew from what was parsed: one Host, one way to frame the
 * body, no header that belongs to the hop; the path as the rules saw it where a rule looked at paths. A request that two readers could
 * take differently never gets here (http.c refuses it). Secrets come last, when everything has passed.
 *
 * The egress process; no privilege.
 */
#include "egress/inspect_state.h"

#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* A request while its head is looked at. */
struct asked {
	struct http_head head;
	char method[20];
	char path[INSPECT_PATH]; /* normalised */
	bool is_normal;          /* it could be */
	bool by_path;            /* a rule that looks at paths has decided on it */
	const struct net_rule *rule;
	struct secret_use uses[16];
	size_t use_count;
};

/* Headers that belong to the hop, or that are written anew. */
static const char *const own_fields[] = {
	"Host",           "Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authorization", "Transfer-Encoding",
	"Content-Length", "TE",         "Upgrade",    "HTTP2-Settings"
};
/* By which some servers take another method or path than the one that was checked. */
static const char *const override_fields[] = { "X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override",
					       "X-Original-URL",         "X-Rewrite-URL", "X-Original-Method" };
/* Hosts with a secret: responses must be readable, or they could not be masked. */
static const char *const opaque_fields[] = { "Accept-Encoding", "Sec-WebSocket-Extensions" };

static bool is_one_of(const struct http_field *field, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (http_name_like(field, names[i], strlen(names[i])))
			return true;
	}
	return false;
}

static bool span_is(struct http_span span, const char *text)
{
	return span.len == strlen(text) && strncasecmp(span.data, text, span.len) == 0;
}

/* ---- what is asked ---- */

static void copy_span(char *to, size_t size, struct http_span from)
{
	char text[512];
	size_t len = from.len < sizeof(text) - 1 ? from.len : sizeof(text) - 1;

	memcpy(text, from.data, len);
	text[len] = '\0';
	egress_event_text(to, size, text);
}

static void open_request(struct inspect *x)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	x->request = (struct inspect_request){
		.open = true,
		.time_us = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000,
		.started_us = clock_us(),
		.moved = { x->conn->moved[0], x->conn->moved[1] },
	};
}

static void note_request(struct inspect *x, const struct asked *asked)
{
	const struct http_head *head = &asked->head;
	struct http_span path = head->path;
	const char *query = memchr(path.data, '?', path.len);

	if (query)
		path.len = (size_t)(query - path.data);
	copy_span(x->request.method, sizeof(x->request.method), head->method);
	if (asked->is_normal)
		egress_event_text(x->request.path, sizeof(x->request.path), asked->path);
	else
		copy_span(x->request.path, sizeof(x->request.path), path);
	x->request.is_head = span_is(head->method, "HEAD");
	x->request.keep_alive = head->keep_alive && head->minor > 0;
}

/* Those of the rules that say nothing of paths: all that a path which means different things to different servers can pass. */
static struct net_match without_paths(const struct net_match *match)
{
	struct net_match some = *match;

	some.n = 0;
	for (size_t i = 0; i < match->n; i++) {
		if (!match->rules[i]->paths.n)
			some.rules[some.n++] = match->rules[i];
	}
	return some;
}

static const struct net_rule *decide(const struct inspect *x, const struct net_match *match, const struct asked *asked)
{
	const struct net_rules *rules = &x->conn->egress->config.rules;
	struct net_match some;

	if (asked->is_normal)
		return net_rules_request(rules, match, asked->method, asked->path);
	some = without_paths(match);
	return some.n ? net_rules_request(rules, &some, asked->method, "/") : NULL;
}

/* ---- what is refused ---- */

static enum inspect_step refuse(struct inspect *x, const char *why)
{
	return inspect_answer(x, 403, NET_REFUSED, NULL, "%s", why);
}

static const char *check_host(const struct inspect *x, const struct http_head *head)
{
	struct net_address address;

	if (head->host_port >= 0 && head->host_port != x->conn->port)
		return "Host names another port than the one that was connected to";
	/* "http://…" or "https://…": the parser knows no others. */
	if (head->absolute && ((head->target.data[4] | 0x20) == 's') != x->tls)
		return "the target names another scheme than that of the connection";
	if (x->conn->name)
		return !head->host_is_address && strcmp(head->host, x->name) == 0
			       ? NULL
			       : "Host is not the name that was connected to";
	if (!head->host_is_address || address_parse(head->host, strlen(head->host), &address) < 0 ||
	    address.family != x->conn->address.family ||
	    memcmp(address.bytes, x->conn->address.bytes, address.family == AF_INET ? 4 : 16) != 0)
		return "Host is not the address that was connected to";
	return NULL;
}

/* Options of a connection name headers that end with it. Those that clients use are known; another could take away what was checked. */
static const char *check_connection(const struct http_head *head)
{
	static const char *const known[] = { "close", "keep-alive", "upgrade", "te", "http2-settings" };

	for (size_t i = 0; i < head->field_count; i++) {
		struct http_span rest = head->fields[i].value;

		if (!http_name_is(&head->fields[i], "Connection"))
			continue;
		while (rest.len) {
			const char *comma = memchr(rest.data, ',', rest.len);
			struct http_span option = { rest.data, comma ? (size_t)(comma - rest.data) : rest.len };
			bool found = false;

			rest.data += option.len + (comma != NULL);
			rest.len -= option.len + (comma != NULL);
			while (option.len && (*option.data == ' ' || *option.data == '\t')) {
				option.data++;
				option.len--;
			}
			while (option.len &&
			       (option.data[option.len - 1] == ' ' || option.data[option.len - 1] == '\t'))
				option.len--;
			for (size_t k = 0; k < sizeof(known) / sizeof(*known); k++)
				found |= span_is(option, known[k]);
			if (option.len && !found)
				return "a Connection option that is not known";
		}
	}
	return NULL;
}

/* HTTP/2 over cleartext is an offer that may be left unanswered; other protocols than WebSocket would leave the rules behind. */
static const char *check_upgrade(struct inspect *x, const struct http_head *head)
{
	const struct http_field *upgrade = http_find(head, "Upgrade");

	if (!head->upgrade && !head->is_websocket)
		return NULL;
	if (!head->is_websocket)
		return upgrade && span_is(upgrade->value, "h2c") ? NULL
								 : "an upgrade to another protocol than WebSocket";
	if (x->conn->egress->config.rules.read_only)
		return "the network is read-only, and a WebSocket could write";
	if (head->body != HTTP_BODY_NONE || !span_is(head->method, "GET") || head->minor < 1)
		return "a malformed WebSocket upgrade";
	x->request.is_websocket = true;
	return NULL;
}

static const char *check_form(struct inspect *x, const struct http_head *head)
{
	const char *why;

	if (span_is(head->method, "CONNECT"))
		return "CONNECT: this is no proxy";
	if (head->method.len >= sizeof(x->request.method))
		return "a method of that length";
	if (x->has_secret && span_is(head->method, "TRACE"))
		return "TRACE would show the secret of this host";
	why = check_host(x, head);
	why = why ? why : check_connection(head);
	return why ? why : check_upgrade(x, head);
}

static enum inspect_step refuse_by_rules(struct inspect *x, const struct asked *asked)
{
	const struct net_rules *rules = &x->conn->egress->config.rules;
	char allow[1024]; /* the event takes what fits */
	const char *method = asked->method;

	if (rules->read_only && strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0 &&
	    strcmp(method, "OPTIONS") != 0)
		return inspect_answer(x, 403, NET_REFUSED, "run without --net-read-only",
				      "the network is read-only: %s is not GET, HEAD or OPTIONS", method);
	if (!asked->is_normal)
		return refuse(x,
			      "the path is ambiguous (encoded slashes, backslashes, dots above the root and the like), "
			      "and the rule looks at paths");
	snprintf(allow, sizeof(allow), "a rule for %s with methods: [%s] and paths: [\"%s\"]", x->name, method,
		 x->request.path);
	return inspect_answer(x, 403, NET_REFUSED, allow, "no rule for this host takes this method and path");
}

/* ---- secrets ---- */

/* Is there anything to put the value into? */
static bool wants_secret(const struct net_secret *secret, const struct http_head *head)
{
	if (secret->header || secret_in_text(secret, head->path))
		return true;
	for (size_t i = 0; i < head->field_count; i++) {
		if (secret_in_field(secret, &head->fields[i]))
			return true;
	}
	return false;
}

/* 0, -EAGAIN or -EACCES: see secrets_get(). */
static int collect_secrets(struct inspect *x, struct asked *asked, const char **ret_name, const char **ret_why)
{
	const struct net_match *match = &x->conn->match;

	for (size_t i = 0; i < match->n; i++) {
		struct net_match one = { .rules = { match->rules[i] }, .n = 1, .protocol = match->protocol };
		const char *name = match->rules[i]->secret;
		const struct net_secret *secret;
		bool again = false;
		int r;

		one.inspect = match->inspect;
		one.needs_address = match->needs_address;
		if (!name || !decide(x, &one, asked))
			continue;
		*ret_name = name;
		*ret_why = "it is not configured";
		secret = net_config_secret(&x->conn->egress->config, name);
		if (!secret)
			return -EACCES;
		for (size_t k = 0; k < asked->use_count; k++)
			again |= asked->uses[k].secret == secret;
		if (again || !wants_secret(secret, &asked->head))
			continue;
		r = secrets_get(x->shared->secrets, name, clock_us(), &asked->uses[asked->use_count], ret_why);
		if (r < 0)
			return r;
		asked->use_count++;
		asked->by_path |= match->rules[i]->paths.n > 0;
	}
	return 0;
}

/* ---- what is sent ---- */

static bool carries_placeholder(const struct asked *asked, const struct http_field *field)
{
	for (size_t i = 0; i < asked->use_count; i++) {
		if (secret_in_field(asked->uses[i].secret, field))
			return true;
	}
	return false;
}

static bool is_configured(const struct asked *asked, const struct http_field *field)
{
	for (size_t i = 0; i < asked->use_count; i++) {
		if (secret_sets_field(asked->uses[i].secret, field))
			return true;
	}
	return false;
}

static bool passes(const struct inspect *x, const struct asked *asked, const struct http_field *field)
{
	if (is_one_of(field, own_fields, sizeof(own_fields) / sizeof(*own_fields)) ||
	    is_one_of(field, override_fields, sizeof(override_fields) / sizeof(*override_fields)))
		return false;
	if (!x->has_secret)
		return true;
	if (is_one_of(field, opaque_fields, sizeof(opaque_fields) / sizeof(*opaque_fields)))
		return false;
	if (secret_is_credential(field) || is_configured(asked, field))
		return carries_placeholder(asked, field);
	return true;
}

static void write_line(struct inspect *x, const struct asked *asked)
{
	const struct http_head *head = &asked->head;
	struct buffer *out = &x->upstream_out;
	struct http_span target = head->path, query = { NULL, 0 };

	/* Where a rule has looked at the path, what it saw is sent; else what the client wrote. */
	if (asked->by_path) {
		query.data = memchr(target.data, '?', target.len);
		query.len = query.data ? target.len - (size_t)(query.data - target.data) : 0;
		target = (struct http_span){ asked->path, strlen(asked->path) };
	}
	buffer_add(out, head->method.data, head->method.len);
	buffer_add_text(out, " ");
	secret_add_target(out, target, asked->uses, asked->use_count);
	if (query.len)
		secret_add_target(out, query, asked->uses, asked->use_count);
	buffer_addf(out, " HTTP/1.%d\r\nHost: ", head->minor);
	if (strchr(x->name, ':'))
		buffer_addf(out, "[%s]", x->name);
	else
		buffer_add_text(out, x->name);
	if (head->host_port >= 0)
		buffer_addf(out, ":%d", head->host_port);
	buffer_add_text(out, "\r\n");
}

static void write_fields(struct inspect *x, const struct asked *asked)
{
	struct buffer *out = &x->upstream_out;

	for (size_t i = 0; i < asked->head.field_count; i++) {
		const struct http_field *field = &asked->head.fields[i];

		if (!passes(x, asked, field))
			continue;
		buffer_add(out, field->name.data, field->name.len);
		buffer_add_text(out, ": ");
		secret_add_value(out, field, asked->uses, asked->use_count);
		buffer_add_text(out, "\r\n");
	}
	if (x->has_secret)
		buffer_add_text(out, "Accept-Encoding: identity\r\n");
	for (size_t i = 0; i < asked->use_count; i++) {
		const struct secret_use *use = &asked->uses[i];
		bool there = !use->secret->header;

		/* Where the client put the placeholder into this very header, its form of it counts: "Basic" for git, say. */
		for (size_t k = 0; k < asked->head.field_count && !there; k++)
			there = secret_sets_field(use->secret, &asked->head.fields[k]) &&
				carries_placeholder(asked, &asked->head.fields[k]);
		if (!there)
			secret_add_header(out, use);
	}
}

static void write_end(struct inspect *x, const struct http_head *head)
{
	struct buffer *out = &x->upstream_out;

	if (head->body == HTTP_BODY_CHUNKED)
		buffer_add_text(out, "Transfer-Encoding: chunked\r\n");
	else if (head->body == HTTP_BODY_LENGTH)
		buffer_addf(out, "Content-Length: %llu\r\n", (unsigned long long)head->body_len);
	if (x->request.is_websocket)
		buffer_add_text(out, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
	else if (!x->request.keep_alive)
		buffer_add_text(out, "Connection: close\r\n");
	buffer_add_text(out, "\r\n");
}

/* ---- all of it ---- */

static enum inspect_step send_request(struct inspect *x, const struct asked *asked)
{
	write_line(x, asked);
	write_fields(x, asked);
	write_end(x, &asked->head);
	if (x->upstream_out.len > INSPECT_HEAD_MOST)
		return inspect_answer(x, 400, NET_REFUSED, NULL,
				      "the head of the request is too long with its secrets");
	http_flow_init(&x->request.flow, &asked->head);
	x->request.done =
		asked->head.body == HTTP_BODY_NONE || (asked->head.body == HTTP_BODY_LENGTH && !asked->head.body_len);
	buffer_take(&x->client_in, asked->head.len);
	x->scanned = 0;
	x->requests++;
	if (x->upstream.fd < 0)
		return inspect_dial(x);
	x->stage = INSPECT_EXCHANGE;
	return STEP_MORE;
}

static enum inspect_step check_request(struct inspect *x, struct asked *asked)
{
	const char *why, *name = "";
	int r;

	r = net_path_normalise(asked->head.path.data, asked->head.path.len, asked->path, sizeof(asked->path));
	asked->is_normal = r == 0;
	note_request(x, asked);
	why = check_form(x, &asked->head);
	if (why)
		return refuse(x, why);
	memcpy(asked->method, asked->head.method.data, asked->head.method.len);
	asked->method[asked->head.method.len] = '\0';
	asked->rule = decide(x, &x->conn->match, asked);
	if (!asked->rule)
		return refuse_by_rules(x, asked);
	x->request.rule = asked->rule;
	asked->by_path = asked->rule->paths.n > 0;
	r = collect_secrets(x, asked, &name, &why);
	if (r == -EAGAIN) {
		x->request.open = false; /* told when it is really looked at */
		x->stage = INSPECT_SECRET;
		secrets_wait(x->shared->secrets, &x->wait);
		return STEP_IDLE;
	}
	if (r < 0)
		return inspect_fail(x, 502, "the secret %s cannot be had: %s", name, why);
	return send_request(x, asked);
}

enum inspect_step inspect_request_head(struct inspect *x)
{
	struct asked asked;
	const char *why = "";

	if (!inspect_head_is_there(&x->client_in, &x->scanned))
		return STEP_IDLE;
	memset(&asked, 0, sizeof(asked));
	switch (http_request_parse(buffer_data(&x->client_in), x->client_in.len, &asked.head, &why)) {
	case HTTP_MORE:
		if (x->client_in.len < HTTP_HEAD_MAX)
			return STEP_IDLE;
		why = "the head of the request is too long";
		break;
	case HTTP_OK:
		open_request(x);
		return check_request(x, &asked);
	case HTTP_BAD:
		break;
	}
	open_request(x);
	return inspect_answer(x, 400, NET_REFUSED, NULL, "not a request that can be checked: %s", why);
}

enum inspect_step inspect_request_body(struct inspect *x)
{
	const char *why = "";
	size_t n = 0;

	if (!x->client_in.len || !inspect_has_room(&x->upstream, &x->upstream_out))
		return STEP_IDLE;
	if (http_flow_pass(&x->request.flow, buffer_data(&x->client_in), x->client_in.len, &n, &why) == HTTP_BAD) {
		/* What was sent of it so far is a request without its end, which no server takes for a whole one. */
		if (x->response.begun)
			return inspect_reset(x, NET_REFUSED, why);
		return inspect_answer(x, 400, NET_REFUSED, NULL, "the body of the request: %s", why);
	}
	x->request.done = x->request.flow.done;
	inspect_move(&x->client_in, &x->upstream_out, n);
	return n || x->request.done ? STEP_MORE : STEP_IDLE;
}
