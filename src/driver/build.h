/*
 * The parts of cordon-build: images that Docker or Podman builds or pulls, and their way into the store. Runs in cordon-build, with the
 * caller's rights.
 */
#ifndef ENGINE_BUILD_H
#define ENGINE_BUILD_H

#include "base/str.h"
#include "driver/docker.h"

/* ---- .dockerignore (build_ignore.c, pure) ---- */

struct build_ignore {
	struct strv patterns; /* cleaned; an exception begins with "!" */
	bool has_exceptions;
};
int build_ignore_parse(struct build_ignore *ignore, const char *text); /* 0 or -ENOMEM */
/* A path below the context, without "/" at either end: whether it is left out. */
bool build_ignores(const struct build_ignore *ignore, const char *path);
void build_ignore_done(struct build_ignore *ignore);

/* ---- what is sent (build_context.c) ---- */

/* The Dockerfile has this name in a context that it does not lie in. */
#define BUILD_DOCKERFILE ".dockerfile.cordon"

struct build_context {
	const char *dir;        /* NULL: nothing but the Dockerfile */
	const char *dockerfile; /* a path; NULL: DIR/Dockerfile */
	char name[1024];        /* the Dockerfile's in the tar: build_context_find() fills it */
	bool is_outside;        /* it is not below dir */
};
int build_context_find(struct build_context *context, struct cordon_error *err);
/* Writes the tar to fd. */
int build_context_write(const struct build_context *context, int fd, struct cordon_error *err);

/* ---- what is answered (build_line.c, pure) ---- */

struct build_line {
	enum { BUILD_NOTHING, BUILD_TEXT, BUILD_STATUS, BUILD_ID, BUILD_ERROR } kind;
	char text[2048];                  /* printable; of a BUILD_TEXT also newlines and tabs */
	uint64_t done_bytes, total_bytes; /* BUILD_STATUS: of what it is about; 0: unknown */
};
void build_read_line(const char *line, size_t len, struct build_line *ret);

/* ---- talking (docker_transfer.c) ---- */

/* A request whose body and answer are streams. */
struct docker_transfer {
	const char *method, *path;
	int body;                    /* fd; -1: none */
	bool (*is_whole)(void *arg); /* at the end of the body: whether it may be taken for one */
	bool (*take)(const char *data, size_t len, void *arg); /* of an answer of 2xx; false ends it */
	void *arg;
	struct docker_answer answer; /* status; and JSON where it is none of 2xx */
};
/* -1 where there was no answer, or it was cut short. */
int docker_transfer(struct docker_api *api, struct docker_transfer *transfer, struct cordon_error *err);

/* ---- the commands (build.c) ---- */

struct build_options {
	const char *engine; /* NULL: Docker, or else Podman */
	const char *name;   /* of the image */
	struct strv args;   /* K=V */
	bool no_import;     /* it stays in the engine */
	bool no_net;        /* the build has no network */
	struct build_context context;
};
int build_run(struct build_options *options, struct cordon_error *err);
int build_pull(struct build_options *options, struct cordon_error *err);

#endif
