/* The allocator of programs that are linked with musl (src/musl/alloc.c), under other names: what is handed out is aligned, apart and kept. */
#include "tap.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define malloc own_malloc
#define free own_free
#define calloc own_calloc
#define realloc own_realloc
#define aligned_alloc own_aligned_alloc
void *own_malloc(size_t size);
void own_free(void *p);
void *own_calloc(size_t n, size_t size);
void *own_realloc(void *p, size_t size);
#include "../../src/musl/alloc.c"
#undef malloc
#undef free
#undef calloc
#undef realloc
#undef aligned_alloc

enum { BLOCKS = 500, TURNS = 20000, SIZE_MAX_HERE = 300000 };

struct block {
	unsigned char *p, mark;
	size_t size;
};

static bool is_whole(const struct block *b)
{
	for (size_t i = 0; i < b->size; i++)
		if (b->p[i] != b->mark)
			return false;
	return true;
}

/* Most are small, some are not. */
static size_t some_size(void)
{
	return (size_t)rand() % (rand() % 50 ? 600 : SIZE_MAX_HERE);
}

static void test_many(void)
{
	static struct block blocks[BLOCKS];
	size_t bad = 0, odd = 0;

	srand(7);
	for (int turn = 0; turn < TURNS; turn++) {
		struct block *b = &blocks[rand() % BLOCKS];
		size_t size = some_size(), kept = b->size < size ? b->size : size;

		bad += b->p && !is_whole(b);
		if (b->p && rand() % 3 == 0) {
			own_free(b->p);
			*b = (struct block){ 0 };
			continue;
		}
		b->p = own_realloc(b->p, size);
		odd += !b->p || (uintptr_t)b->p % ALIGN;
		b->size = kept;
		bad += !is_whole(b);
		b->size = size;
		b->mark = (unsigned char)turn;
		memset(b->p, b->mark, size);
	}
	for (int i = 0; i < BLOCKS; i++)
		own_free(blocks[i].p);
	is_num(bad, 0, "no block is written by another, and what grows or shrinks keeps what it had");
	is_num(odd, 0, "each is aligned");
}

static void test_zero(void)
{
	size_t bad = 0;

	for (size_t size = 1; size < SIZE_MAX_HERE; size = size * 3 / 2 + 1) {
		unsigned char *p = own_malloc(size);

		memset(p, 0xff, size);
		own_free(p);
		p = own_calloc(1, size);
		for (size_t i = 0; i < size; i++)
			bad += p[i] != 0;
		own_free(p);
	}
	is_num(bad, 0, "calloc() gives zeros, also of what was used before");
}

static void test_edges(void)
{
	void *p, *q;

	own_free(NULL);
	p = own_malloc(0);
	q = own_malloc(0);
	ok(p && q && p != q, "nothing has an address of its own");
	own_free(p);
	ok(own_malloc(1) == p, "control: what is freed is given again");
	errno = 0;
	ok(!own_malloc(SIZE_MAX) && errno == ENOMEM, "more than there is: refused");
	ok(!own_malloc(SIZE_MAX - 8), "also where the head would make it overflow");
	errno = 0;
	ok(!own_calloc(SIZE_MAX / 2, 3) && errno == ENOMEM, "also as a product");
	p = own_calloc(1, 100);
	errno = 0;
	ok(!own_realloc(p, SIZE_MAX / 2) && errno == ENOMEM, "what cannot grow");
	ok(*(char *)p == 0, "stays");
	errno = EINTR;
	q = own_malloc(1 << 20);
	own_free(q);
	is_num(errno, EINTR, "free() leaves errno alone");
	ok(!own_aligned_alloc(4096, 1), "larger alignments nobody asks for are refused");
}

/* How a process ends that frees a block `times`, the second time also by realloc(); others freed before and after it, or none. */
static int end_of(int times, bool is_last, bool by_realloc)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		void *p = own_malloc(40), *other = own_malloc(40);

		if (!is_last)
			own_free(other);
		own_free(p);
		if (times > 1 && by_realloc)
			(void)!own_realloc(p, 50);
		else if (times > 1)
			own_free(p);
		_exit(0);
	}
	(void)waitpid(pid, &status, 0);
	return status;
}

static void test_twice(void)
{
	ok(end_of(1, false, false) == 0, "control: freed once it goes on");
	ok(WIFSIGNALED(end_of(2, false, false)), "freed twice it ends");
	ok(WIFSIGNALED(end_of(2, true, false)), "also where it is the only one that is free");
	ok(WIFSIGNALED(end_of(2, false, true)), "and where it is to grow");
}

int main(void)
{
	test_twice();
	test_many();
	test_zero();
	test_edges();
	return done_testing();
}
