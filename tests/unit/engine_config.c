/* What foreign engines are asked for: always hardened, whatever the specification says; and a specification is read strictly. */
#include "driver/docker.h"
#include "driver/oci.h"
#include "tap.h"

#define SPEC                                                                                                         \
	"{\"owner\":\"cordon-7-9-0123abcd\",\"init\":\"/usr/libexec/cordon/"                                         \
	"cordon-init\",\"image\":\"python:3.12-slim\","                                                              \
	"\"rootfs\":\"/srv/root\",\"env\":[\"A=b\"],\"mounts\":[{\"source\":\"/data\",\"dest\":\"/in\"},"            \
	"{\"source\":\"/out\",\"dest\":\"/out\",\"writable\":true}],\"files\":[{\"source\":\"/x\",\"dest\":\"/etc/"  \
	"hosts\"}],"                                                                                                 \
	"\"tmpfs\":[{\"dest\":\"/tmp\",\"size_bytes\":4096,\"inodes\":10,\"mode\":448,\"exec\":false}],"             \
	"\"limits\":{\"memory_bytes\":1000,\"cpu_milli\":250,\"processes\":9,\"open_files\":64,\"file_size_bytes\":" \
	"4096},"                                                                                                     \
	"\"seccomp\":{\"defaultAction\":\"SCMP_ACT_ERRNO\"},"                                                        \
	"\"userns\":{\"uid\":[{\"inside\":0,\"outside\":700000,\"count\":1}],\"gid\":[{\"inside\":0,\"outside\":"    \
	"700000,"                                                                                                    \
	"\"count\":1}]}}"

#define MASKED                                                                                                      \
	"[\"/proc/acpi\",\"/proc/asound\",\"/proc/interrupts\",\"/proc/kcore\",\"/proc/keys\",\"/proc/key-users\"," \
	"\"/proc/latency_stats\",\"/proc/sched_debug\",\"/proc/scsi\",\"/proc/timer_list\",\"/sys/firmware\"]"
#define READ_ONLY "[\"/proc/bus\",\"/proc/fs\",\"/proc/irq\",\"/proc/sys\",\"/proc/sysrq-trigger\"]"

static bool is_at(const json_t *json, const char *path, const char *expected)
{
	char *text, part[64];
	bool same;

	while (*path) {
		size_t len = strcspn(path, ".");

		snprintf(part, sizeof(part), "%.*s", (int)len, path);
		json = json_is_array(json) ? json_array_get(json, strtoul(part, NULL, 10))
					   : json_object_get(json, part);
		path += len + (path[len] == '.');
	}
	text = json ? json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS) : NULL;
	same = text && strcmp(text, expected) == 0;
	if (!same)
		printf("# got %s\n", text ? text : "nothing");
	free(text);
	return same;
}

static bool is_read(const char *text)
{
	struct cordon_error err = { 0 };
	struct spec spec;
	bool read = spec_parse(&spec, text, strlen(text), &err) == 0;

	spec_done(&spec);
	return read;
}

static void test_spec(void)
{
#define NEED "\"owner\":\"cordon-7-9-0123abcd\",\"init\":\"/i\""
	ok(is_read(SPEC), "control: a whole specification is read");
	ok(is_read("{" NEED "}"), "control: the least one is read");
	ok(!is_read("{\"init\":\"/i\"}"), "without an owner it is not");
	ok(!is_read("{" NEED ",\"privileged\":true}"), "nor with a key that nobody knows");
	ok(!is_read("{" NEED ",\"env\":[],\"env\":[]}"), "nor with one twice");
	ok(!is_read("{\"owner\":\"cordon-1/../x\",\"init\":\"/i\"}"), "an owner is a name");
	ok(!is_read("{" NEED ",\"mounts\":[{\"source\":\"/a/../b\",\"dest\":\"/c\"}]}"), "paths do not climb");
	ok(!is_read("{" NEED ",\"mounts\":[{\"source\":\"/a\",\"dest\":\"c\"}]}"), "paths are absolute");
	ok(!is_read("{" NEED ",\"mounts\":[{\"source\":\"/a\",\"dest\":\"/c\",\"suid\":true}]}"),
	   "a mount has no other keys");
	ok(!is_read("{" NEED ",\"rootfs\":[\"/a:/etc\"]}"), "a directory is one directory");
	ok(!is_read("{" NEED ",\"limits\":{\"memory_bytes\":-1}}"), "limits are not negative");
	ok(!is_read("{" NEED ",\"netns\":\"net\"}"), "a namespace is a path");
	ok(!is_read("{" NEED ",\"userns\":{\"uid\":[{\"inside\":0,\"outside\":4294967296,\"count\":1}],\"gid\":[]}}"),
	   "ids are ids");
}

static void test_oci(const struct spec *spec)
{
	struct oci_config c = { .spec = spec,
				.root = "/r",
				.cgroups_path = "/cordon/x",
				.uid = 1000,
				.gid = 1000,
				.uid_map = spec->uid_map,
				.gid_map = spec->gid_map };
	json_t *j = oci_config_new(&c);

	ok(is_at(j, "process.capabilities",
		 "{\"ambient\":[],\"bounding\":[],\"effective\":[],\"inheritable\":[],\"permitted\":[]}"),
	   "oci: no capability in any set");
	ok(is_at(j, "process.noNewPrivileges", "true"), "oci: no new privileges");
	ok(is_at(j, "process.args", "[\"/.cordon/init\"]"), "oci: init alone");
	ok(is_at(j, "process.user", "{\"gid\":1000,\"uid\":1000}"), "oci: as the user");
	ok(is_at(j, "root", "{\"path\":\"/r\",\"readonly\":true}"), "oci: the root is read-only");
	ok(is_at(j, "linux.namespaces",
		 "[{\"type\":\"pid\"},{\"type\":\"mount\"},{\"type\":\"ipc\"},{\"type\":\"uts\"},{\"type\":\"network\"}"
		 ","
		 "{\"type\":\"cgroup\"},{\"type\":\"user\"}]"),
	   "oci: every namespace is new");
	ok(is_at(j, "linux.uidMappings", "[{\"containerID\":0,\"hostID\":700000,\"size\":1}]"), "oci: ids");
	ok(!json_object_get(json_object_get(j, "linux"), "seccomp"), "oci: no filter, which is init's");
	ok(is_at(j, "linux.maskedPaths", MASKED), "oci: what tells about the host is covered");
	ok(is_at(j, "linux.readonlyPaths", READ_ONLY), "oci: what changes the kernel is read-only");
	ok(is_at(j, "process.rlimits",
		 "[{\"hard\":0,\"soft\":0,\"type\":\"RLIMIT_CORE\"},{\"hard\":64,\"soft\":64,\"type\":\"RLIMIT_"
		 "NOFILE\"},"
		 "{\"hard\":4096,\"soft\":4096,\"type\":\"RLIMIT_FSIZE\"}]"),
	   "oci: limits of every process, hard ones");
	ok(is_at(j, "mounts.3",
		 "{\"destination\":\"/"
		 "tmp\",\"options\":[\"nosuid\",\"nodev\",\"mode=700\",\"size=4096\",\"noexec\",\"uid=1000\","
		 "\"gid=1000\",\"nr_inodes=10\"],\"source\":\"tmpfs\",\"type\":\"tmpfs\"}"),
	   "oci: memory has a size, a number of files and an owner");
	ok(is_at(j, "mounts.4.options.1", "\"ro\"") && is_at(j, "mounts.5.options.1", "\"rw\""),
	   "oci: mounts are read-only unless they are not");
	ok(is_at(j, "mounts.7.destination", "\"/.cordon/init\"") && is_at(j, "mounts.7.options.1", "\"ro\""),
	   "oci: init lies on top, read-only");
	json_decref(j);
}

static void test_oci_network(const struct spec *spec)
{
	struct spec with = *spec;
	struct oci_config c = { .spec = &with, .root = "/r" };
	json_t *j;

	with.netns = "/proc/7/fd/9";
	j = oci_config_new(&c);
	ok(is_at(j, "linux.namespaces.4", "{\"path\":\"/proc/7/fd/9\",\"type\":\"network\"}"),
	   "oci: a network namespace that was made before");
	ok(is_at(j, "linux.namespaces.3", "{\"type\":\"uts\"}"), "oci: the others are new all the same");
	json_decref(j);
}

/* Its /proc is its own, and it would look for what is to be covered on the host. */
static void test_oci_gvisor(const struct spec *spec)
{
	struct oci_config c = { .spec = spec, .root = "/r", .is_gvisor = true };
	json_t *j = oci_config_new(&c);

	ok(is_at(j, "linux",
		 "{\"namespaces\":[{\"type\":\"pid\"},{\"type\":\"mount\"},{\"type\":\"ipc\"},{\"type\":\"uts\"},"
		 "{\"type\":\"network\"},{\"type\":\"cgroup\"}]}"),
	   "gvisor: nothing of /proc is covered, every namespace is new");
	json_decref(j);
}

/* Nothing of it is the host's but what is given. */
static void test_docker_walls(const struct spec *spec)
{
	json_t *j = docker_create_body(spec, &(struct docker_ways){ .keeps_flags = true, .processes_of_user = 33 });
	json_t *own = docker_create_body(spec, &(struct docker_ways){ .inside = "/.cordon-77" });
	json_t *host = json_object_get(j, "HostConfig");

	ok(is_at(host, "MaskedPaths", MASKED), "docker: what tells about the host is covered");
	ok(is_at(host, "ReadonlyPaths", READ_ONLY), "docker: what changes the kernel is read-only");
	ok(is_at(host, "Ulimits",
		 "[{\"Hard\":0,\"Name\":\"core\",\"Soft\":0},{\"Hard\":64,\"Name\":\"nofile\",\"Soft\":64},"
		 "{\"Hard\":33,\"Name\":\"nproc\",\"Soft\":33},{\"Hard\":4096,\"Name\":\"fsize\",\"Soft\":4096}]"),
	   "docker: limits of every process, hard ones");
	ok(is_at(host, "Mounts.3.Target", "\"/.cordon/init\"") && is_at(host, "Mounts.3.ReadOnly", "true"),
	   "docker: init lies on top, read-only");
	ok(is_at(own, "HostConfig.Mounts.3.Target", "\"/.cordon-77/init\"") &&
		   is_at(own, "HostConfig.Mounts.3.ReadOnly", "true") &&
		   is_at(own, "Entrypoint", "[\"/.cordon-77/init\"]"),
	   "docker: also in a place of its own");
	ok(is_at(host, "IpcMode", "\"none\"") && is_at(host, "CgroupnsMode", "\"private\"") &&
		   !json_object_get(host, "PidMode") && !json_object_get(host, "UTSMode") &&
		   !json_object_get(host, "UsernsMode"),
	   "docker: no namespace of the host's");
	json_decref(j);
	json_decref(own);
}

static void test_docker(const struct spec *spec)
{
	json_t *j = docker_create_body(spec, &(struct docker_ways){ .is_nonrecursive = true });
	json_t *p = docker_create_body(spec, &(struct docker_ways){
						     .is_plain_tmpfs = true, .seccomp_path = "/s", .place = "here-1" });
	json_t *r = docker_create_body(spec, &(struct docker_ways){ .keeps_id = true });

	ok(is_at(p, "HostConfig.SecurityOpt.1", "\"mask=/proc/asound:/proc/interrupts:/proc/key-users\""),
	   "podman: what tells about the host is covered, besides what it covers itself");
	ok(is_at(r, "HostConfig.UsernsMode", "\"keep-id\"") &&
		   !json_object_get(json_object_get(j, "HostConfig"), "UsernsMode"),
	   "podman without root: the caller's id");
	json_decref(r);
	ok(is_at(j, "HostConfig.Privileged", "false") && is_at(j, "HostConfig.ReadonlyRootfs", "true"),
	   "docker: not privileged");
	ok(is_at(j, "HostConfig.CapDrop", "[\"ALL\"]"), "docker: no capabilities");
	ok(is_at(j, "HostConfig.NetworkMode", "\"none\""), "docker: no network");
	ok(is_at(j, "HostConfig.SecurityOpt",
		 "[\"no-new-privileges\",\"seccomp={\\\"defaultAction\\\":\\\"SCMP_ACT_ERRNO\\\"}\"]"),
	   "docker: no new privileges, our filter");
	ok(is_at(j, "HostConfig.Memory", "1000") && is_at(j, "HostConfig.MemorySwap", "1000"),
	   "docker: no swap on top");
	ok(is_at(j, "HostConfig.NanoCpus", "250000000") && is_at(j, "HostConfig.PidsLimit", "9"), "docker: limits");
	ok(is_at(j, "HostConfig.Tmpfs",
		 "{\"/tmp\":\"rw,nosuid,nodev,noexec,size=4096,mode=700,uid=1000,gid=1000,nr_inodes=10\"}"),
	   "docker: memory has a size, a number of files and an owner");
	ok(is_at(j, "HostConfig.Mounts.0.ReadOnly", "true") && is_at(j, "HostConfig.Mounts.1.ReadOnly", "false"),
	   "docker: mounts are read-only unless they are not");
	ok(is_at(j, "HostConfig.Mounts.0.BindOptions.NonRecursive", "true"), "docker: nothing writable below them");
	ok(is_at(j, "User", "\"1000:1000\"") && is_at(j, "Entrypoint", "[\"/.cordon/init\"]") && is_at(j, "Cmd", "[]"),
	   "docker: init alone, as the user");
	ok(is_at(j, "Labels", "{\"cordon.owner\":\"cordon-7-9-0123abcd\"}"), "docker: the owner");
	ok(json_string_value(json_object_get(json_object_get(p, "Labels"), "cordon.place")),
	   "podman: and where that is one");
	ok(is_at(p, "HostConfig.SecurityOpt.2", "\"seccomp=/s\""), "podman: the filter is a file");
	ok(json_object_get(json_object_get(json_object_get(p, "HostConfig"), "Tmpfs"), "/var/tmp"),
	   "podman: no memory of its own");
	json_decref(j);
	json_decref(p);
}

static void test_docker_link(const struct spec *spec)
{
	struct spec with = *spec;
	json_t *j, *none;

	with.link = "/run/shelf/net";
	j = docker_create_body(&with, &(struct docker_ways){ .links = true });
	none = docker_create_body(&with, &(struct docker_ways){ 0 });
	ok(is_at(j, "HostConfig.CapAdd", "[\"NET_ADMIN\",\"SETUID\",\"SETGID\",\"SETPCAP\"]") &&
		   is_at(j, "HostConfig.CapDrop", "[\"ALL\"]"),
	   "docker: who lays the link has the rights for it, and no others");
	ok(is_at(j, "User", "\"0:0\"") && is_at(j, "HostConfig.Privileged", "false"),
	   "docker: as root, not privileged");
	ok(is_at(j, "HostConfig.NetworkMode", "\"none\""), "docker: there is no other network");
	ok(is_at(none, "User", "\"1000:1000\"") && !json_object_get(json_object_get(none, "HostConfig"), "CapAdd"),
	   "control: nobody else has any");
	json_decref(j);
	json_decref(none);
}

int main(void)
{
	struct cordon_error err = { 0 };
	struct spec spec;

	test_spec();
	if (ok(spec_parse(&spec, SPEC, strlen(SPEC), &err) == 0, "the specification")) {
		test_oci(&spec);
		test_oci_network(&spec);
		test_oci_gvisor(&spec);
		test_docker_walls(&spec);
		test_docker(&spec);
		test_docker_link(&spec);
	}
	spec_done(&spec);
	return done_testing();
}
