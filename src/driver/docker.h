/* The parts of driving Docker and Podman over the Engine API. Runs in cordon-engine-docker, with the caller's rights. */
#ifndef ENGINE_DOCKER_H
#define ENGINE_DOCKER_H

#include "driver/driver.h"

#include <curl/curl.h>

enum { DOCKER_ANSWER_MAX = 4 << 20, DOCKER_ID_MAX = 80, DOCKER_TEXT_MAX = 512, DOCKER_PLACE_MAX = 72 };

/* ---- what is said (docker_json.c, pure) ---- */

struct docker_ways {
	bool is_nonrecursive; /* the daemon would leave mounts below a read-only one writable: they are left out */
	bool keeps_flags;     /* Docker: a mount that it is not asked to make read-only stays as it is */
	bool is_plain_tmpfs;  /* Podman knows no ids and no number of files there, but whose the container is */
	/* Podman would raise both to numbers that not every host allows. 0: not said. */
	uint64_t open_files, processes_of_user;
	bool links;               /* init lays the link of its network: stream/link.h */
	bool keeps_id;            /* Podman without root: the caller has his own id in the container */
	const char *place;        /* ENGINE_PLACE_LABEL; NULL: none */
	const char *inside;       /* the directory of init in the container; NULL: ENGINE_INIT_DIR */
	const char *seccomp_path; /* Podman wants a file where Docker wants the text; NULL: the text */
};
/* The body of containers/create; NULL: memory ran out. */
json_t *docker_create_body(const struct spec *spec, const struct docker_ways *ways);

/* What an answer says. Answers are a daemon's and still not trusted: each reader takes any JSON and returns false where it is not what it
 * should be; strings are cut to their buffers and printable. */
struct docker_version {
	char version[48], api[16];
};
struct docker_state {
	bool is_running, is_oom;
	int exit_code, pid;
};
struct docker_stats {
	uint64_t memory_bytes, memory_peak_bytes, cpu_us, processes;
};
/* One line of the head of an answer to a ping: the daemon's version and its API's. */
void docker_read_header(const char *line, size_t len, struct docker_version *version);
bool docker_read_version(const json_t *json, struct docker_version *ret);
/* ENGINE_LACKS_* from the warnings. */
bool docker_read_created(const json_t *json, char id[DOCKER_ID_MAX], unsigned *ret_lacks);
bool docker_read_state(const json_t *json, struct docker_state *ret);
bool docker_read_stats(const json_t *json, struct docker_stats *ret);
bool docker_read_wait(const json_t *json, int *ret_code);
void docker_read_message(const json_t *json, char text[DOCKER_TEXT_MAX]);
/* One of a list of containers: its id and owner; false also where it is of another place. */
bool docker_read_listed(const json_t *entry, const char *place, char id[DOCKER_ID_MAX], char *owner, size_t size);
/* A line of a pull; false with the message where it failed. */
bool docker_read_pull(const char *line, size_t len, struct engine_progress *ret_progress, char error[DOCKER_TEXT_MAX]);

/* ---- the stream (docker_mux.c, pure) ---- */

/* Takes stdout out of the frames of an attached container. Begin with zeroes. */
struct docker_mux {
	unsigned char head[8];
	size_t head_len, left;
	bool is_out;
};
/* Moves what is stdout's to the front of data; how much that is, or -EPROTO. */
ssize_t docker_mux_feed(struct docker_mux *mux, unsigned char *data, size_t len);

/* ---- talking (docker_http.c) ---- */

struct docker_api {
	struct driver *d;
	CURL *curl;
	char socket[256]; /* "": tcp */
	char base[256];   /* "http://localhost" */
	char prefix[32];  /* "/v1.41" */
	bool is_local;
	bool is_rootless;      /* the socket is not root's: nor is the daemon */
	bool is_first;         /* its headers tell who answers */
	const char *otherwise; /* what helps where what it says is not known; NULL: its log */
	uint64_t until_us;     /* all requests together, but a pull; 0: each has its own time */
	struct docker_version version;
};
struct docker_answer {
	long status;
	json_t *json; /* NULL where there was none */
};
int docker_open(struct docker_api *api, struct driver *d, struct cordon_error *err);
void docker_close(struct docker_api *api);
/* One request; -1 where there was no answer. 4xx and 5xx are answers. */
int docker_ask(struct docker_api *api, const char *method, const char *path, const json_t *body,
	       struct docker_answer *ret_answer, struct cordon_error *err);
/* The same where the answer has to be one of 2xx or 304. *ret_json may be NULL. */
int docker_do(struct docker_api *api, const char *method, const char *path, const json_t *body, json_t **ret_json,
	      const char *what, struct cordon_error *err);
/* An error from an answer's message. */
int docker_fail(const struct docker_api *api, const struct docker_answer *answer, const char *what,
		struct cordon_error *err);
/* By id or name; 0 also where there is none of it. */
int docker_remove(struct docker_api *api, const char *id);
/* Containers of this place whose owner is gone. */
void docker_sweep(struct docker_api *api);
/* The errands of driver.h (docker_aside.c). */
int docker_probe(struct driver *d, char version[DRIVER_VERSION_MAX], struct cordon_error *err);
int docker_remove_of(struct driver *d, const char *owner, struct cordon_error *err);
int docker_sweep_now(struct driver *d, struct cordon_error *err);
int docker_pull(struct docker_api *api, const char *image, struct cordon_error *err);
/* A handle for `url`, with everything that reaches the daemon set. */
CURL *docker_handle(const struct docker_api *api, const char *path);
/* The keeper is gone or has said kill. Looks without taking: what it says while a container is being made is answered once it runs. */
bool docker_is_unwanted(const struct driver *d);
/* For engines that do not answer: why, and what helps. */
int docker_fail_curl(const struct docker_api *api, CURLcode code, struct cordon_error *err);

/* ---- the process that it names (docker_named.c) ---- */

enum docker_whose {
	DOCKER_OURS,   /* runs the file `init`, which is at `inside` in its container */
	DOCKER_OTHERS, /* runs something else */
	DOCKER_GONE,   /* there is no such process, or not as a program */
	DOCKER_UNSEEN, /* not the caller's to see */
};
enum docker_whose docker_whose(int pid, const char *inside, const char *init);
/* The same where a container was just started: its runtime may be about to become init. */
enum docker_whose docker_await(int pid, const char *inside, const char *init);

/* ---- the attached stream and the end (docker_relay.c) ---- */

struct docker_relay {
	struct docker_api *api;
	const char *id;
	CURL *attached;
	int exit_code;
	bool has_exit_code;
	bool is_left;             /* nobody asks how the container ends */
	struct cordon_error lost; /* why the daemon did not hear that it is to be ended: there is nothing to wait for */
};
int docker_attach(struct docker_relay *relay, struct cordon_error *err);
/* Until the container has ended. -1 where the daemon went meanwhile. */
int docker_relay(struct docker_relay *relay, struct cordon_error *err);
void docker_relay_done(struct docker_relay *relay);

#endif
