/* What cordon-init is to do: see job.h. */
#include "stream/job.h"

#include "stream/pack.h"

#include <errno.h>
#include <stdlib.h>

void stream_job_put(struct str *out, const struct stream_job *job)
{
	pack_u32(out, job->flags);
	pack_u64(out, job->open_files);
	pack_u64(out, job->file_size_bytes);
	pack_u64(out, job->cpu_seconds);
	pack_u64(out, job->processes);
	pack_u32(out, job->window);
	pack_u32(out, job->uid);
	pack_u32(out, job->gid);
	pack_u64(out, job->copy_bytes);
	pack_u64(out, job->copy_files);
	pack_u64(out, job->out_bytes);
	pack_text(out, job->workdir);
	pack_text(out, job->path);
	pack_texts(out, &job->argv);
	pack_texts(out, &job->env);
	pack_texts(out, &job->grants);
	pack_texts(out, &job->ins);
	pack_texts(out, &job->outs);
	pack_texts(out, &job->disks);
	pack_texts(out, &job->checks);
}

int stream_job_get(const void *data, size_t len, struct stream_job *ret)
{
	struct unpack u = { .at = data, .left = len };

	*ret = (struct stream_job){ .flags = unpack_u32(&u) };
	ret->open_files = unpack_u64(&u);
	ret->file_size_bytes = unpack_u64(&u);
	ret->cpu_seconds = unpack_u64(&u);
	ret->processes = unpack_u64(&u);
	ret->window = unpack_u32(&u);
	ret->uid = unpack_u32(&u);
	ret->gid = unpack_u32(&u);
	ret->copy_bytes = unpack_u64(&u);
	ret->copy_files = unpack_u64(&u);
	ret->out_bytes = unpack_u64(&u);
	ret->workdir = unpack_new_text(&u);
	ret->path = unpack_new_text(&u);
	unpack_texts(&u, &ret->argv);
	unpack_texts(&u, &ret->env);
	unpack_texts(&u, &ret->grants);
	unpack_texts(&u, &ret->ins);
	unpack_texts(&u, &ret->outs);
	unpack_texts(&u, &ret->disks);
	unpack_texts(&u, &ret->checks);
	if (unpack_end(&u) == 0 && len <= STREAM_JOB_MAX)
		return 0;
	stream_job_done(ret);
	return -EPROTO;
}

void stream_job_done(struct stream_job *job)
{
	free(job->workdir);
	free(job->path);
	strv_done(&job->argv);
	strv_done(&job->env);
	strv_done(&job->grants);
	strv_done(&job->ins);
	strv_done(&job->outs);
	strv_done(&job->disks);
	strv_done(&job->checks);
	*job = (struct stream_job){ 0 };
}
