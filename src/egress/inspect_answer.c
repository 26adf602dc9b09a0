/*
 * Answers of our own, and what is told of requests: see inspect_state.h. An answer says what was refused, by which rule, and what would allow it;
 * an agent reads it and knows. The egress process; no privilege.
 */
#include "egress/inspect_state.h"

#include "base/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *status_text(int status)
{
	switch (status) {
	case 400:
		return "400 Bad Request";
	case 403:
		return "403 Forbidden";
	case 504:
		return "504 Gateway Timeout";
	default:
		return "502 Bad Gateway";
	}
}

static const char *rule_text(const struct inspect *x)
{
	const struct net_rule *rule = x->request.rule ? x->request.rule : x->conn->match.rules[0];

	return rule && rule->text ? rule->text : "";
}

void inspect_tell(struct inspect *x, enum net_event_decision decision, const char *reason, const char *allow)
{
	const struct inspect_request *request = &x->request;
	struct net_event event;

	if (!request->open)
		return;
	x->request.open = false;
	conn_event(x->conn, NET_EVENT_REQUEST, &event);
	event.decision = decision;
	event.time_us = request->time_us;
	event.duration_us = clock_us() - request->started_us;
	event.up_bytes = x->conn->moved[CONN_UP] - request->moved[CONN_UP];
	event.down_bytes = x->conn->moved[CONN_DOWN] - request->moved[CONN_DOWN];
	egress_event_text(event.method, sizeof(event.method), request->method);
	egress_event_text(event.path, sizeof(event.path), request->path);
	egress_event_text(event.rule, sizeof(event.rule), rule_text(x));
	egress_event_text(event.reason, sizeof(event.reason), reason ? reason : "");
	egress_event_text(event.allow, sizeof(event.allow), allow ? allow : "");
	egress_event(x->conn->egress, &event);
}

static void write_answer(struct inspect *x, int status, const char *kind, const char *reason, const char *allow)
{
	struct buffer body = { 0 };

	buffer_addf(&body, "cordon: %s: %s\n", kind, reason);
	if (x->request.method[0])
		buffer_addf(&body, "request: %s %s\n", x->request.method, x->request.path);
	buffer_addf(&body, "host: %s port %u\n", x->name, x->conn->port);
	if (rule_text(x)[0])
		buffer_addf(&body, "rule: %s\n", rule_text(x));
	if (allow)
		buffer_addf(&body, "to allow it: %s\n", allow);
	buffer_addf(&x->client_out,
		    "HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\nCache-Control: no-store\r\n"
		    "Connection: close\r\nContent-Length: %zu\r\n\r\n",
		    status_text(status), body.len);
	if (!x->request.is_head)
		buffer_add(&x->client_out, buffer_data(&body), body.len);
	buffer_done(&body);
}

static enum inspect_step answer(struct inspect *x, int status, enum net_event_decision decision, const char *allow,
				const char *reason)
{
	char shown[160];

	egress_event_text(shown, sizeof(shown), reason);
	inspect_tell(x, decision, shown, allow);
	buffer_done(&x->upstream_out);
	write_answer(x, status, decision == NET_REFUSED ? "refused" : "failed", shown, allow);
	/* A refused request is told by its own event; the connection as such was allowed. */
	return inspect_end(x, true, decision == NET_REFUSED ? NET_ALLOWED : decision,
			   decision == NET_REFUSED ? NULL : shown);
}

enum inspect_step inspect_answer(struct inspect *x, int status, enum net_event_decision decision, const char *allow,
				 const char *fmt, ...)
{
	char reason[320];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(reason, sizeof(reason), fmt, ap);
	va_end(ap);
	return answer(x, status, decision, allow, reason);
}

enum inspect_step inspect_fail(struct inspect *x, int status, const char *fmt, ...)
{
	char reason[320], shown[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(reason, sizeof(reason), fmt, ap);
	va_end(ap);
	egress_event_text(shown, sizeof(shown), reason);
	if (x->response.begun)
		return inspect_reset(x, NET_FAILED, shown);
	return answer(x, status, NET_FAILED, NULL, reason);
}
