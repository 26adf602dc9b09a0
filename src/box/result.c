/*
 * Results: what the keeper reported, in words. Status and limit come from the kernel's own account: the wait status, cgroup
 * counters, the state of the file systems.
 */
#include "box/result.h"

#include "base/error.h"
#include "base/json.h"
#include "box/denial.h"
#include "box/traffic.h"
#include "plan/engine.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static const char *const status_names[] = {
	[CORDON_SUCCESS] = "success",
	[CORDON_ERROR] = "error",
	[CORDON_KILLED] = "killed",
	[CORDON_TIMEOUT] = "timeout",
	[CORDON_RESOURCE_EXCEEDED] = "resource_exceeded",
	[CORDON_REFUSED] = "denied",
	[CORDON_CANCELLED] = "cancelled",
	[CORDON_FAILED] = "failed",
};

const char *cordon_status_name(enum cordon_status status)
{
	return (size_t)status < ARRAY_LEN(status_names) ? status_names[status] : "failed";
}

/* ---- status ---- */

static bool failed_itself(const struct cordon_result *r)
{
	return r->signal || r->exit_code != 0;
}

/* Which limit ended it, or NULL. Those that the keeper enforced first, then what the kernel counted. */
static const char *limit_of(const struct cordon_result *r, const struct link_report *p, uint64_t cpu_time_ms)
{
	const struct {
		bool hit;
		const char *limit;
	} rows[] = {
		{ p->over_output, "output" },
		{ p->out_of_cpu, "cpu_time" },
		{ p->over_memory, "memory" },
		{ p->over_disk, "disk" },
		{ p->over_inodes, "inodes" },
		{ p->oom_kills && failed_itself(r), "memory" },
		/* Anybody can send the signal; the time must have been used. */
		{ r->signal == SIGXCPU && p->cpu_us / 900 >= cpu_time_ms, "cpu_time" },
		{ r->signal == SIGXFSZ, "file_size" },
		{ p->process_refusals && failed_itself(r), "processes" },
		{ p->exit.disk_full && failed_itself(r), "disk" },
		{ p->exit.inodes_full && failed_itself(r), "inodes" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].hit)
			return rows[i].limit;
	return NULL;
}

static void set_status(struct cordon_result *r, const struct link_report *p, uint64_t cpu_time_ms)
{
	r->exit_code = -1;
	if (p->has_exit && WIFEXITED(p->exit.status))
		r->exit_code = WEXITSTATUS(p->exit.status);
	if (p->has_exit && WIFSIGNALED(p->exit.status))
		r->signal = WTERMSIG(p->exit.status);
	r->limit = limit_of(r, p, cpu_time_ms);
	if (p->timed_out) {
		r->status = CORDON_TIMEOUT;
		r->limit = "wall_time";
	} else if (r->limit) {
		r->status = CORDON_RESOURCE_EXCEEDED;
	} else if (p->cancelled) {
		r->status = CORDON_CANCELLED;
	} else if (r->signal) {
		r->status = CORDON_KILLED;
	} else {
		r->status = r->exit_code == 0 ? CORDON_SUCCESS : CORDON_ERROR;
	}
	/* The exit of a run that was ended from outside says nothing, be it our SIGKILL or a pipe that was closed. */
	if (r->status == CORDON_TIMEOUT || p->over_output || p->out_of_cpu || p->over_memory || p->over_disk ||
	    p->over_inodes || p->cancelled) {
		r->exit_code = -1;
		r->signal = 0;
	}
}

/* A command or a language that is not there is refused; a policy or a program text that is not there is a wrong call. */
static enum cordon_status status_of_error(const struct cordon_error *e)
{
	bool lacks = e->code == CORDON_NOT_FOUND && (strcmp(e->step, "plan") == 0 || strcmp(e->step, "exec") == 0);

	return e->code == CORDON_DENIED || e->code == CORDON_NOT_EXECUTABLE || lacks ? CORDON_REFUSED : CORDON_FAILED;
}

static void list_layers(unsigned mask, const char **to)
{
	for (int i = 0; i < LAYER_COUNT; i++)
		if (mask & (1u << i))
			*to++ = layer_name((enum layer)i);
	*to = NULL;
}

/* Refusals of the network, as denials. */
static int deny_traffic(struct result *r, const struct cordon_connection *c)
{
	struct cordon_denial *d = &r->denials[r->public.denial_count];
	char *what = c->port ? str_printf("%s %s:%u%s%s%s%s", c->kind, c->host, c->port, c->method ? " " : "",
					  c->method ? c->method : "", c->path ? " " : "", c->path ? c->path : "")
			     : str_printf("%s %s", c->kind, c->host);
	char *rule = str_printf("network: %s", c->reason ? c->reason : "no rule allows it");
	int status = strv_add_take(&r->texts, what); /* both are taken, whatever becomes of the first */

	if (strv_add_take(&r->texts, rule) < 0 || status < 0)
		return -1;
	*d = (struct cordon_denial){ .what = what,
				     .rule = rule,
				     .allow = c->allow ? c->allow : "nothing: it is refused whatever the policy says",
				     .count = c->count };
	r->public.denial_count++;
	return 0;
}

static int list_traffic(struct result *r, struct traffic *t)
{
	r->network = calloc(t->count + 1, sizeof(*r->network));
	if (!r->network)
		return -1;
	r->rows = STEAL(t->rows);
	for (size_t i = 0; i < t->count; i++) {
		traffic_describe(&r->rows[i].event, r->rows[i].count, &r->network[i]);
		if (r->rows[i].event.decision == NET_REFUSED && deny_traffic(r, &r->network[i]) < 0)
			return -1;
	}
	r->public.network = r->network;
	r->public.network_count = t->count;
	r->public.network_lost = t->lost;
	return 0;
}

static int list_denials(struct result *r, const struct cordon_plan *plan, const struct link_report *p, size_t more)
{
	r->denials = calloc(p->denial_count + more + 2, sizeof(*r->denials));
	if (!r->denials)
		return -1;
	for (uint32_t i = 0; i < p->denial_count && i < LINK_DENIALS; i++)
		if (denial_describe(plan, &p->denials[i], &r->texts, &r->denials[r->public.denial_count]) == 0)
			r->public.denial_count++;
	if (p->denials_lost)
		r->denials[r->public.denial_count++] = (struct cordon_denial){
			.what = "further system calls or programs, each once more than the list holds",
			.rule = "the list ends after 32 kinds",
			.allow = "look at those above first",
			.count = p->denials_lost
		};
	r->public.denials = r->denials;
	return 0;
}

struct result *result_new(const struct cordon_plan *plan, const struct link_report *p, struct traffic *traffic)
{
	struct result *r = calloc(1, sizeof(*r));
	struct cordon_result *out;

	if (!r || list_denials(r, plan, p, traffic->count) < 0 || list_traffic(r, traffic) < 0) {
		cordon_result_free(r ? &r->public : NULL);
		return NULL;
	}
	out = &r->public;
	set_status(out, p, plan->limits.cpu_time_ms);
	out->wall_us = p->wall_us;
	out->cpu_us = p->cpu_us;
	out->memory_peak_bytes = p->memory_peak_bytes;
	out->level = plan->level == LEVEL_PROCESS ? "process" : "container";
	out->engine = plan->engine->name;
	if (p->engine_version[0] && strv_add(&r->texts, p->engine_version) == 0)
		out->engine_version = r->texts.v[r->texts.n - 1];
	out->limit_source = p->limits_by_watch ? "watch" : "cgroup";
	list_layers(p->layers, r->layers);
	list_layers(p->degraded, r->degraded);
	list_layers(plan->required, r->required);
	out->required = r->required;
	out->layers = r->layers;
	out->degraded = r->degraded;
	if (p->error.code != CORDON_OK) {
		r->error = p->error;
		out->error = &r->error;
		/* What nobody saw the end of has not failed by itself, nor what was ended because we had, nor what was told to be started and
		 * came no further. */
		if (!p->started || p->failed || strcmp(p->error.step, "started") == 0 ||
		    strcmp(p->error.step, "exec") == 0 || strcmp(p->error.step, "init") == 0 ||
		    (!p->has_exit && out->status == CORDON_ERROR)) {
			out->status = status_of_error(&p->error);
			out->exit_code = -1;
			out->signal = 0;
			out->limit = NULL;
		}
	}
	return r;
}

struct cordon_result *cordon_result_from_error(const struct cordon_error *error)
{
	struct result *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->error = *error;
	r->public.error = &r->error;
	r->public.exit_code = -1;
	r->public.status = status_of_error(error);
	r->public.layers = r->layers;
	r->public.degraded = r->degraded;
	r->public.required = r->required;
	if (error->code == CORDON_DENIED && (r->denials = calloc(1, sizeof(*r->denials)))) {
		*r->denials = (struct cordon_denial){ .what = r->error.message,
						      .rule = "the plan, before anything ran",
						      .allow = r->error.hint[0] ? r->error.hint : "nothing",
						      .count = 1 };
		r->public.denials = r->denials;
		r->public.denial_count = 1;
	}
	return &r->public;
}

void cordon_result_free(struct cordon_result *result)
{
	struct result *r = (struct result *)result;

	if (!r)
		return;
	free(r->public.out.data);
	free(r->public.err.data);
	free(r->denials);
	free(r->network);
	free(r->rows);
	strv_done(&r->texts);
	free(r);
}

int cordon_result_exit_status(const struct cordon_result *r)
{
	if (r->error && r->status == CORDON_REFUSED)
		return r->error->code == CORDON_NOT_FOUND ? 127 : 126;
	if (r->status == CORDON_FAILED)
		return 125;
	if (r->status == CORDON_SUCCESS && r->error)
		return 125; /* the payload did its part, cordon did not: a file could not be copied out */
	if (r->status == CORDON_ERROR && r->error && strcmp(r->error->step, "egress") == 0)
		return 125; /* what it made of a network that broke down is nobody's answer */
	if (r->status == CORDON_TIMEOUT)
		return 124;
	if (r->signal)
		return 128 + r->signal;
	return r->exit_code >= 0 ? r->exit_code : 128 + SIGKILL;
}

/* ---- JSON ---- */

static void json_output(struct json *j, const char *key, const struct cordon_bytes *b, bool text)
{
	if (text)
		json_string_len(j, key, b->data ? b->data : "", b->len);
	else
		json_base64(j, key, b->data, b->len);
}

static void json_isolation(struct json *j, const struct cordon_result *r)
{
	json_object(j, "isolation");
	json_string(j, "level", r->level);
	json_string(j, "engine", r->engine);
	if (r->engine_version)
		json_string(j, "engine_version", r->engine_version);
	json_strings(j, "layers", r->layers);
	json_strings(j, "degraded", r->degraded);
	json_strings(j, "required", r->required);
	json_string(j, "limit_source", r->limit_source);
	json_end_object(j);
}

static void json_error(struct json *j, const struct cordon_error *e)
{
	if (!e) {
		json_null(j, "error");
		return;
	}
	json_object(j, "error");
	json_string(j, "code", cordon_code_name(e->code));
	json_string(j, "step", e->step);
	json_string(j, "message", e->message);
	json_string(j, "hint", e->hint);
	json_end_object(j);
}

static void json_denials(struct json *j, const struct cordon_result *r)
{
	json_array(j, "denials");
	for (size_t i = 0; i < r->denial_count; i++) {
		json_object(j, NULL);
		json_string(j, "what", r->denials[i].what);
		json_string(j, "rule", r->denials[i].rule);
		json_string(j, "allow", r->denials[i].allow);
		json_uint(j, "count", r->denials[i].count);
		json_end_object(j);
	}
	json_end_array(j);
}

static void json_text(struct json *j, const char *key, const char *value)
{
	if (value)
		json_string(j, key, value);
}

static void json_connection(struct json *j, const struct cordon_connection *c)
{
	json_object(j, NULL);
	json_string(j, "kind", c->kind);
	json_string(j, "decision", c->decision);
	json_string(j, "host", c->host);
	if (c->port)
		json_uint(j, "port", c->port);
	json_text(j, "address", c->address);
	json_text(j, "method", c->method);
	json_text(j, "path", c->path);
	json_text(j, "rule", c->rule);
	json_text(j, "reason", c->reason);
	json_text(j, "allow", c->allow);
	json_uint(j, "count", c->count);
	json_double(j, "time", (double)c->time_us / 1e6);
	json_double(j, "duration_ms", (double)c->duration_us / 1000);
	json_uint(j, "up_bytes", c->up_bytes);
	json_uint(j, "down_bytes", c->down_bytes);
	json_end_object(j);
}

static void json_network(struct json *j, const struct cordon_result *r)
{
	json_array(j, "network");
	for (size_t i = 0; i < r->network_count; i++)
		json_connection(j, &r->network[i]);
	json_end_array(j);
	if (r->network_lost)
		json_uint(j, "network_lost", r->network_lost);
}

char *cordon_connection_json(const struct cordon_connection *connection)
{
	struct json j = { 0 };

	json_connection(&j, connection);
	return json_take(&j);
}

char *cordon_result_json(const struct cordon_result *r)
{
	struct json j = { .pretty = true };
	bool text = json_is_utf8(r->out.data ? r->out.data : "", r->out.len) &&
		    json_is_utf8(r->err.data ? r->err.data : "", r->err.len);

	json_object(&j, NULL);
	json_string(&j, "status", cordon_status_name(r->status));
	if (r->exit_code >= 0)
		json_int(&j, "exit_code", r->exit_code);
	else
		json_null(&j, "exit_code");
	if (r->signal)
		json_int(&j, "signal", r->signal);
	else
		json_null(&j, "signal");
	json_string(&j, "limit", r->limit);
	json_output(&j, "stdout", &r->out, text);
	json_output(&j, "stderr", &r->err, text);
	json_string(&j, "encoding", text ? "utf-8" : "base64");
	json_bool(&j, "stdout_truncated", r->out.truncated);
	json_bool(&j, "stderr_truncated", r->err.truncated);
	json_double(&j, "wall_ms", (double)r->wall_us / 1000);
	json_double(&j, "cpu_ms", (double)r->cpu_us / 1000);
	json_uint(&j, "memory_peak_bytes", r->memory_peak_bytes);
	json_denials(&j, r);
	json_network(&j, r);
	json_isolation(&j, r);
	if (r->kept)
		json_string(&j, "kept", r->kept);
	json_error(&j, r->error);
	json_end_object(&j);
	return json_take(&j);
}
