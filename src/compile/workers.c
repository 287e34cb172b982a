/* workers.c - runs a pass in all workers of a build. */
#include <assert.h>

#include "base/threads.h"
#include "compile/build_pass.h"

struct workers_pass {
	struct build *build;
	enum nsd_err (*run)(struct build_worker *);
};

static void
build_worker_main(void *arg, unsigned number)
{
	const struct workers_pass *pass = arg;
	struct build_worker *w = &pass->build->workers[number];

	w->err = pass->run(w);
}

enum nsd_err
workers_run(struct build *b, enum nsd_err (*run)(struct build_worker *))
{
	struct workers_pass pass = {b, run};
	enum nsd_err err = NSD_OK;

	assert(b->worker_count > 0);
	threads_run(b->worker_count, build_worker_main, &pass);
	for (unsigned i = 0; i < b->worker_count && err == NSD_OK; i++)
		err = b->workers[i].err;
	return err;
}
