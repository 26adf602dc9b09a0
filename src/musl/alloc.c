/*
 * Memory for programs that live for milliseconds. musl's own allocator maps, touches and unmaps pages for each size of block, which is a fiftieth of
 * a run; this one hands out one region after the other and keeps what is freed by its size, a power of two. Nothing goes back to the
 * kernel but large blocks. No thread but the first allocates in these programs (mk/lite.mk).
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGN = 16, CLASS_MIN = 5, CLASS_MAX = 17, FIRST = 1 << 19, REGION = 1 << 20 };

/* Before each block. `size` is what the class has room for, or of a large block the whole mapping. */
struct head {
	size_t size;
	union {
		struct head *next; /* of those that are free: the next, or LAST */
		size_t is_large;   /* 0 or 1: in use */
	};
};

#define LAST ((struct head *)2)

static _Alignas(ALIGN) char first[FIRST];
static char *at = first, *end = first + FIRST;
static struct head *free_blocks[CLASS_MAX + 1];

/* The class that has room for so much and the head. */
static unsigned class_of(size_t size)
{
	unsigned c = CLASS_MIN;

	while (((size_t)1 << c) - sizeof(struct head) < size)
		c++;
	return c;
}

static void *map(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void *large(size_t size)
{
	size_t whole = (size + sizeof(struct head) + 4095) & ~(size_t)4095;
	struct head *h = whole > size ? map(whole) : NULL;

	if (!h) {
		errno = ENOMEM;
		return NULL;
	}
	*h = (struct head){ .size = whole, .is_large = 1 };
	return h + 1;
}

/* Freed twice, or never ours. */
static void expect_in_use(const struct head *h)
{
	if (h->is_large > 1)
		__builtin_trap();
}

void *malloc(size_t size)
{
	struct head *h;
	unsigned c;

	if (size > ((size_t)1 << CLASS_MAX) - sizeof(*h))
		return large(size);
	c = class_of(size);
	h = free_blocks[c];
	if (h) {
		free_blocks[c] = h->next == LAST ? NULL : h->next;
	} else {
		if ((size_t)(end - at) < (size_t)1 << c) {
			char *more = map(REGION);

			if (!more)
				return NULL;
			at = more;
			end = more + REGION;
		}
		h = (struct head *)(void *)at;
		at += (size_t)1 << c;
	}
	h->size = ((size_t)1 << c) - sizeof(*h);
	h->is_large = 0;
	return h + 1;
}

void free(void *p)
{
	struct head *h = p ? (struct head *)p - 1 : NULL;
	unsigned c;
	int saved = errno;

	if (!h)
		return;
	expect_in_use(h);
	if (h->is_large) {
		(void)munmap(h, h->size);
		errno = saved;
		return;
	}
	c = class_of(h->size);
	h->next = free_blocks[c] ? free_blocks[c] : LAST;
	free_blocks[c] = h;
}

void *calloc(size_t n, size_t size)
{
	size_t all;
	void *p;

	if (__builtin_mul_overflow(n, size, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	p = malloc(all);
	return p && !((struct head *)p - 1)->is_large ? memset(p, 0, all) : p;
}

void *realloc(void *p, size_t size)
{
	struct head *h = p ? (struct head *)p - 1 : NULL;
	size_t room = !h ? 0 : h->is_large ? h->size - sizeof(*h) : h->size;
	void *q;

	if (h)
		expect_in_use(h);
	if (h && size <= room)
		return p;
	q = malloc(size);
	if (q && h) {
		memcpy(q, p, room);
		free(p);
	}
	return q;
}

void *aligned_alloc(size_t align, size_t size);
void *aligned_alloc(size_t align, size_t size)
{
	if (align <= ALIGN)
		return malloc(size);
	errno = EINVAL;
	return NULL;
}
