/* control_progress.c - the verb progress: how far other commands are. */
#include "config.h"

#include "ctl/channel.h"
#include "process/counts.h"
#include "xfrd/control.h"
#include "xfrd/xfrd.h"

void
control_progress_of_loader(struct ctl_call *call, struct ctl_progress *progress)
{
	const struct xfrd *xfrd = ctl_hooks(call)->ctx;
	const struct counts_store *store = counts_get_store(
		xfrd->role.server->counts);

	progress->all = __atomic_load_n(&store->to_look, __ATOMIC_RELAXED);
	progress->done = __atomic_load_n(&store->looked, __ATOMIC_RELAXED);
	if (progress->done > progress->all)
		progress->done = progress->all;
}

/* Prints a line for a command that may take long; others are left out. */
static void
progress_print(struct ctl_call *call, void *arg)
{
	struct ctl_progress progress = {.all = 0};
	const char *zone = ctl_argument(call, 0);

	if (call == arg || ctl_hooks(call)->on_progress == NULL)
		return;
	ctl_hooks(call)->on_progress(call, &progress);
	ctl_printf(arg, "%s%s%s: ", ctl_verb_rows[ctl_command(call)->verb].word,
		zone != NULL ? " " : "", zone != NULL ? zone : "");
	if (progress.all > 0)
		ctl_printf(arg, "%llu of %llu zones\n",
			(unsigned long long)progress.done,
			(unsigned long long)progress.all);
	else if (progress.done > 0)
		ctl_printf(arg, "%llu zones\n",
			(unsigned long long)progress.done);
	else
		ctl_printf(arg, "begun\n");
}

void
control_on_progress(struct xfrd *xfrd, struct ctl_call *call)
{
	ctl_channel_walk(xfrd->control.channel, progress_print, call);
	ctl_end(call);
}
