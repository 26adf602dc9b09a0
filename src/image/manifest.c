/*
 * The JSON of bundles: see manifest.h. What an OCI layout refers to by digest is held against it; a configuration's digest is the
 * image's id, and the diff ids in it are what its layers must be when they are unpacked. Thus a whole image hangs on one digest.
 */
#include "image/manifest.h"

#include "base/yaml.h"
#include "policy/policy.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

enum { IMAGES_MAX = 64, LAYERS_MAX = 512, INDEX_DEPTH = 4, VALUES_MAX = 4096 };

struct reading {
	struct bundle *b;
	struct manifest *list;
	size_t count;
	const char *architecture;
	bool other; /* there were images, but for other machines */
	struct cordon_error *err;
};

static void node_done(struct yaml_node **node)
{
	yaml_free(*node);
}
#define auto_node __attribute__((cleanup(node_done)))

/* ---- pieces ---- */

static struct yaml_node *parse(struct reading *r, const char *path, const char *text, size_t len)
{
	auto_free char *name = str_printf("%.200s%s", path, str_ends(path, ".json") ? "" : ".json");
	struct yaml_node *node = NULL;

	if (!name)
		fail_memory(r->err);
	return name && yaml_parse(&node, name, text, len, r->err) == 0 ? node : NULL;
}

static const struct yaml_node *get(const struct yaml_node *map, const char *key)
{
	for (const struct yaml_node *n = map && map->kind == YAML_MAP ? map->child : NULL; n; n = n->next)
		if (strcmp(n->key, key) == 0)
			return n;
	return NULL;
}

/* The first of a list, or NULL. */
static const struct yaml_node *items(const struct yaml_node *list)
{
	return list && list->kind == YAML_LIST ? list->child : NULL;
}

static const char *string(const struct yaml_node *node)
{
	return node && node->kind == YAML_SCALAR && !node->plain ? node->text : NULL;
}

static const char *text_of(const struct yaml_node *map, const char *key)
{
	const char *text = string(get(map, key));

	return text && *text ? text : NULL;
}

static int wrong(struct reading *r, const char *path, const char *what)
{
	return cordon_fail(r->err, CORDON_INVALID, 0, "'%.200s': %s", path, what);
}

static bool digest_is_valid(const char *digest)
{
	return digest && str_starts(digest, "sha256:") && store_hex_is_valid(digest + 7);
}

/* The blob behind a digest, which must be its own. */
static struct yaml_node *load_digest(struct reading *r, const char *digest)
{
	auto_free char *path = NULL, *text = NULL;
	char hex[STREAM_HEX];
	size_t len;

	if (!digest_is_valid(digest)) {
		wrong(r, digest ? digest : "a descriptor", "a digest must be sha256 and 64 digits");
		return NULL;
	}
	path = str_printf("blobs/sha256/%s", digest + 7);
	if (!path || bundle_text(r->b, path, &text, &len, r->err) < 0)
		return NULL;
	if (stream_digest(text, len, hex) < 0 || strcmp(hex, digest + 7) != 0) {
		cordon_fail(r->err, CORDON_DENIED, 0, "'%s' is not what its digest says", path);
		return NULL;
	}
	return parse(r, path, text, len);
}

static struct manifest *add_image(struct reading *r)
{
	struct manifest *bigger;

	if (r->count == IMAGES_MAX) {
		cordon_fail(r->err, CORDON_DENIED, 0, "there are more than %d images in it", IMAGES_MAX);
		return NULL;
	}
	bigger = realloc(r->list, (r->count + 1) * sizeof(*bigger));
	if (!bigger) {
		fail_memory(r->err);
		return NULL;
	}
	r->list = bigger;
	bigger[r->count] = (struct manifest){ 0 };
	return &bigger[r->count++];
}

/* ---- the configuration ---- */

static int put_list(struct strv *to, const struct yaml_node *from, bool (*wanted)(const char *),
		    struct cordon_error *err)
{
	for (const struct yaml_node *n = items(from); n && to->n < VALUES_MAX; n = n->next)
		if (string(n) && (!wanted || wanted(n->text)) && strv_add(to, n->text) < 0)
			return fail_memory(err);
	return 0;
}

static bool is_variable(const char *text)
{
	const char *eq = strchr(text, '=');

	return eq && env_name_is_valid(text, (size_t)(eq - text));
}

static int put_text(char **to, const char *text, struct cordon_error *err)
{
	if (text && !(*to = strdup(text)))
		return fail_memory(err);
	return 0;
}

static int read_diff_ids(struct reading *r, struct manifest *m, const char *path, const struct yaml_node *config)
{
	for (const struct yaml_node *n = items(get(get(config, "rootfs"), "diff_ids")); n; n = n->next) {
		if (!digest_is_valid(string(n)))
			return wrong(r, path, "a diff_id must be sha256 and 64 digits");
		if (strv_add(&m->image.layers, n->text + 7) < 0)
			return fail_memory(r->err);
	}
	if (m->image.layers.n != m->blobs.n || !m->blobs.n || m->blobs.n > LAYERS_MAX)
		return wrong(r, path, "as many diff_ids are wanted as there are layers, and at least one");
	return 0;
}

static int read_config(struct reading *r, struct manifest *m, const char *path, const struct yaml_node *config)
{
	const struct yaml_node *run = get(config, "config");
	const char *os = text_of(config, "os"), *architecture = text_of(config, "architecture");
	struct store_image *image = &m->image;

	if (os && strcmp(os, "linux") != 0)
		return wrong(r, path, "an image for Linux is wanted");
	image->platform = str_printf("linux/%s", architecture ? architecture : "unknown");
	if (!image->platform || put_text(&image->workdir, text_of(run, "WorkingDir"), r->err) < 0 ||
	    put_text(&image->user, text_of(run, "User"), r->err) < 0 ||
	    put_list(&image->env, get(run, "Env"), is_variable, r->err) < 0 ||
	    put_list(&image->entrypoint, get(run, "Entrypoint"), NULL, r->err) < 0 ||
	    put_list(&image->cmd, get(run, "Cmd"), NULL, r->err) < 0)
		return fail_memory(r->err);
	return read_diff_ids(r, m, path, config);
}

/* ---- docker save ---- */

static int read_docker_image(struct reading *r, const struct yaml_node *entry)
{
	const char *path = text_of(entry, "Config");
	auto_free char *text = NULL;
	auto_node struct yaml_node *config = NULL;
	struct manifest *m = add_image(r);
	char hex[STREAM_HEX];
	size_t len;

	if (!m)
		return -1;
	if (!path)
		return wrong(r, "manifest.json", "an image without Config");
	if (put_list(&m->names, get(entry, "RepoTags"), NULL, r->err) < 0 ||
	    put_list(&m->blobs, get(entry, "Layers"), NULL, r->err) < 0 ||
	    bundle_text(r->b, path, &text, &len, r->err) < 0)
		return -1;
	config = parse(r, path, text, len);
	if (!config || read_config(r, m, path, config) < 0)
		return -1;
	m->image.id = stream_digest(text, len, hex) < 0 ? NULL : str_printf("sha256:%s", hex);
	return m->image.id ? 0 : fail_memory(r->err);
}

static int read_docker(struct reading *r)
{
	auto_free char *text = NULL;
	auto_node struct yaml_node *list = NULL;
	size_t len;

	if (bundle_text(r->b, "manifest.json", &text, &len, r->err) < 0)
		return -1;
	list = parse(r, "manifest.json", text, len);
	if (!list)
		return -1;
	if (list->kind != YAML_LIST)
		return wrong(r, "manifest.json", "a list is wanted");
	for (const struct yaml_node *n = list->child; n; n = n->next)
		if (read_docker_image(r, n) < 0)
			return -1;
	return 0;
}

/* ---- OCI ---- */

static int put_layers(struct reading *r, struct manifest *m, const struct yaml_node *layers)
{
	for (const struct yaml_node *layer = items(layers); layer; layer = layer->next) {
		const char *digest = text_of(layer, "digest");

		if (!digest_is_valid(digest))
			return wrong(r, "a manifest", "a layer's digest must be sha256 and 64 digits");
		if (strv_add_take(&m->blobs, str_printf("blobs/sha256/%s", digest + 7)) < 0)
			return fail_memory(r->err);
	}
	return 0;
}

static int read_oci_image(struct reading *r, const struct yaml_node *manifest, const char *name)
{
	const char *digest = text_of(get(manifest, "config"), "digest");
	struct manifest *m = add_image(r);
	auto_node struct yaml_node *config = NULL;

	if (!m)
		return -1;
	config = load_digest(r, digest);
	if (!config)
		return -1;
	if (put_layers(r, m, get(manifest, "layers")) < 0 || read_config(r, m, digest, config) < 0)
		return -1;
	if (name && strv_add(&m->names, name) < 0)
		return fail_memory(r->err);
	return put_text(&m->image.id, digest, r->err);
}

/* An image for another machine is passed over, and so is what is none (attestations). */
static bool is_for_us(const struct reading *r, const struct yaml_node *descriptor)
{
	const struct yaml_node *platform = get(descriptor, "platform");
	const char *os = text_of(platform, "os"), *architecture = text_of(platform, "architecture");

	return (!os || strcmp(os, "linux") == 0) && (!architecture || strcmp(architecture, r->architecture) == 0);
}

static const char *name_of(const struct yaml_node *descriptor)
{
	const struct yaml_node *notes = get(descriptor, "annotations");
	const char *name = text_of(notes, "io.containerd.image.name");

	return name ? name : text_of(notes, "org.opencontainers.image.ref.name");
}

static int read_index(struct reading *r, const struct yaml_node *index, const char *name, int depth)
{
	const struct yaml_node *list = get(index, "manifests");

	if (!list || list->kind != YAML_LIST || depth > INDEX_DEPTH)
		return wrong(r, "an index", "a list of manifests is wanted, not nested too deep");
	for (const struct yaml_node *descriptor = list->child; descriptor; descriptor = descriptor->next) {
		const char *own = name_of(descriptor) ? name_of(descriptor) : name;
		auto_node struct yaml_node *j = NULL;
		int status;

		if (!is_for_us(r, descriptor)) {
			r->other = true;
			continue;
		}
		j = load_digest(r, text_of(descriptor, "digest"));
		if (!j)
			return -1;
		status = get(j, "manifests") ? read_index(r, j, own, depth + 1) : read_oci_image(r, j, own);
		if (status < 0)
			return -1;
	}
	return 0;
}

static int read_oci(struct reading *r)
{
	auto_free char *text = NULL;
	auto_node struct yaml_node *index = NULL;
	size_t len;

	if (bundle_text(r->b, "index.json", &text, &len, r->err) < 0)
		return -1;
	index = parse(r, "index.json", text, len);
	return index ? read_index(r, index, NULL, 0) : -1;
}

/* ---- the whole ---- */

/* The machine's name in images. */
static const char *architecture(void)
{
	static struct utsname host;

	if (uname(&host) < 0)
		return "unknown";
	return strcmp(host.machine, "x86_64") == 0    ? "amd64"
	       : strcmp(host.machine, "aarch64") == 0 ? "arm64"
						      : host.machine;
}

int manifest_read(struct bundle *b, struct manifest **ret, size_t *ret_count, struct cordon_error *err)
{
	struct reading r = { .b = b, .architecture = architecture(), .err = err };
	int status = bundle_kind(b) == BUNDLE_DOCKER ? read_docker(&r) : read_oci(&r);

	if (status == 0 && !r.count)
		status = cordon_fail(err, CORDON_NOT_FOUND, 0, "there is no image in it%s%s",
				     r.other ? " for linux/" : "", r.other ? r.architecture : "");
	if (status < 0) {
		manifest_free(r.list, r.count);
		return -1;
	}
	*ret = r.list;
	*ret_count = r.count;
	return 0;
}

void manifest_free(struct manifest *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		strv_done(&list[i].names);
		strv_done(&list[i].blobs);
		store_image_done(&list[i].image);
	}
	free(list);
}
