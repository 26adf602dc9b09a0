/* What a daemon answers: taken where it is well-formed, left where it is not; the frames of its stream. */
#include "driver/docker.h"
#include "tap.h"

#define READ(reader, text, ...)                                        \
	({                                                             \
		json_t *json_ = json_loads(text, 0, NULL);             \
		bool read_ = reader(json_ __VA_OPT__(, ) __VA_ARGS__); \
		json_decref(json_);                                    \
		read_;                                                 \
	})

static bool read_pull(const char *line, struct engine_progress *p, char *error)
{
	return docker_read_pull(line, strlen(line), p, error);
}

static void test_answers(void)
{
	char id[DOCKER_ID_MAX] = "", owner[64] = "", error[DOCKER_TEXT_MAX];
	struct docker_version v;
	struct docker_state s;
	struct docker_stats n;
	struct engine_progress p;
	unsigned lacks = 0;
	int code = 0;

	ok(READ(docker_read_version, "{\"Version\":\"20.10\",\"ApiVersion\":\"1.41\"}", &v), "a version");
	is_str(v.api, "1.41", "its API's");
	v = (struct docker_version){ 0 };
	docker_read_header("Server: Docker/20.10.24 (linux)\r\n", 33, &v);
	docker_read_header("API-VERSION: 1.41\r\n", 19, &v);
	ok(strcmp(v.version, "20.10.24") == 0 && strcmp(v.api, "1.41") == 0, "in headers, too");
	docker_read_header("Libpod-Api-Version: 4.3.1", 25, &v);
	docker_read_header("Api-Version: 1/../x\r\n", 21, &v);
	ok(strcmp(v.version, "4.3.1") == 0 && strcmp(v.api, "1.41") == 0, "Podman's, and nothing that leads elsewhere");
	ok(!READ(docker_read_version, "{\"Version\":\"1\",\"ApiVersion\":\"1/../x\"}", &v),
	   "what would change a path is none");
	ok(READ(docker_read_created,
		"{\"Id\":\"0123456789abcdef\",\"Warnings\":[\"Your kernel does not support memory limit\"]}", id,
		&lacks),
	   "a container");
	is_num(lacks, ENGINE_LACKS_MEMORY, "and what the daemon does not hold of it");
	ok(!READ(docker_read_created, "{\"Id\":\"../../images/x\"}", id, &lacks), "an id is an id");
	ok(!READ(docker_read_created, "[]", id, &lacks), "a list is no container");
	ok(READ(docker_read_state, "{\"State\":{\"ExitCode\":137,\"OOMKilled\":true,\"Pid\":7}}", &s) && s.is_oom &&
		   s.exit_code == 137 && s.pid == 7,
	   "a state");
	ok(!READ(docker_read_state, "{\"State\":{\"ExitCode\":1,\"Pid\":99999999999}}", &s), "a pid is a pid");
	ok(READ(docker_read_wait, "{\"StatusCode\":3}", &code) && code == 3, "an end");
	ok(!READ(docker_read_wait, "{\"StatusCode\":\"3\"}", &code), "a string is none");
	ok(READ(docker_read_stats,
		"{\"memory_stats\":{\"max_usage\":9},\"cpu_stats\":{\"cpu_usage\":{\"total_usage\":5000}}}", &n) &&
		   n.memory_peak_bytes == 9 && n.cpu_us == 5,
	   "numbers");
	ok(READ(docker_read_listed,
		"{\"Id\":\"0123456789abcdef\",\"Labels\":{\"cordon.owner\":\"cordon-1\",\"cordon.place\":\"here\"}}",
		"here", id, owner, sizeof(owner)),
	   "one of a list");
	ok(!READ(docker_read_listed, "{\"Id\":\"0123456789abcdef\",\"Labels\":{\"cordon.place\":\"here\"}}", "here", id,
		 owner, sizeof(owner)),
	   "is ours by its label");
	ok(!READ(docker_read_listed,
		 "{\"Id\":\"0123456789abcdef\",\"Labels\":{\"cordon.owner\":\"cordon-1\",\"cordon.place\":\"there\"}}",
		 "here", id, owner, sizeof(owner)),
	   "and by its place");
	ok(read_pull("{\"status\":\"Pulling\",\"progressDetail\":{\"current\":1,\"total\":2}}", &p, error) &&
		   p.total_bytes == 2,
	   "progress of a pull");
	ok(!read_pull("{\"error\":\"no\\u001b[31m\\u009b1m route\"}", &p, error), "a pull that failed");
	is_str(error, "no [31m  1m route", "says why, and nothing to the terminal");
}

static void test_frames(void)
{
	static const unsigned char good[] = "\1\0\0\0\0\0\0\3abc\2\0\0\0\0\0\0\2xx\1\0\0\0\0\0\0\2de";
	unsigned char buf[sizeof(good)];
	struct docker_mux mux = { 0 };
	char out[16] = "";
	size_t len = 0;

	memcpy(buf, good, sizeof(good) - 1);
	is_num(docker_mux_feed(&mux, buf, sizeof(good) - 1), 5, "stdout of a stream");
	ok(memcmp(buf, "abcde", 5) == 0, "and nothing else");
	mux = (struct docker_mux){ 0 };
	for (size_t i = 0; i < sizeof(good) - 1; i++) {
		buf[0] = good[i];
		if (docker_mux_feed(&mux, buf, 1) == 1)
			out[len++] = (char)buf[0];
	}
	is_str(out, "abcde", "also byte by byte");
	mux = (struct docker_mux){ 0 };
	memcpy(buf, "HTTP/1.1", 8);
	ok(docker_mux_feed(&mux, buf, 8) < 0, "what is no frame is refused");
}

int main(void)
{
	test_answers();
	test_frames();
	return done_testing();
}
