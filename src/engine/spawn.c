/* Starting a keeper and waiting for its end: see spawn.h. */
#include "engine/spawn.h"

#include "base/owner.h"
#include "box/lasting.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int spawn_init(struct spawned *s)
{
	s->owner = mmap(NULL, OWNER_NAME_MAX, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s->owner == MAP_FAILED)
		s->owner = NULL;
	return s->owner ? 0 : -ENOMEM;
}

/* fork() rather than clone3: glibc then puts its own locks in order for the child. Signals wait until it has its own handlers. */
int spawn_keeper(struct spawned *s, const struct cordon_plan *given, struct keeper_fds *fds)
{
	sigset_t all, before;
	int error;

	fds->owner = s->owner;
	sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	s->pid = fork();
	error = errno;
	if (s->pid == 0)
		keeper_main((struct cordon_plan *)(uintptr_t)given,
			    fds); /* its own since the fork: it may degrade it */
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return s->pid < 0 ? -error : 0;
}

void spawn_wait(struct spawned *s, const struct cordon_plan *plan, bool reported)
{
	int status = 0;
	pid_t gone;

	do
		gone = waitpid(s->pid, &status, 0);
	while (gone < 0 && errno == EINTR);
	/* Where the caller ignores SIGCHLD, or has waited for it, nobody knows: what is gone already is left out. */
	if (s->owner[0] && (!reported || gone < 0 || status != 0))
		(void)lasting_undo(plan, s->owner, reported && plan->keep);
}

void spawn_done(struct spawned *s)
{
	if (s->owner)
		(void)munmap(s->owner, OWNER_NAME_MAX);
	s->owner = NULL;
}
