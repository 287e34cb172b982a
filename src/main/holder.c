/* holder.c - readers that keep old versions in the store: main's part. */
#include "config.h"

#include <assert.h>
#include <string.h>

#include "base/log.h"
#include "ipc/channel.h"
#include "main/child.h"
#include "main/children.h"
#include "main/holder.h"
#include "main/watch.h"

struct holder_search {
	const struct generation *generation;
	uint64_t slot;
	struct child *found;
};

static void
holder_compare(struct child *child, void *arg)
{
	struct holder_search *search = arg;

	if (child->is_reader && child->generation == search->generation
		&& child->reader_slot == search->slot)
		search->found = child;
}

static void
holder_tell(struct child *child, const struct ipc_holder *holder)
{
	const struct ipc_let_go let_go = {.epoch = child->told.epoch};

	log_notice("%s (pid %ld) has kept %llu octets of old versions for %lld"
		   " s; %s",
		child_name(child), (long)child->pid,
		(unsigned long long)holder->octets,
		(long long)(holder->age_msec / 1000),
		child->told_stop ? "it has been told to end"
				 : "telling it to let go of them");
	/* A child that has been told to end takes no message any more, and lets
	 * go of everything as it ends. A writer may take an hour to end, so it
	 * counts as told. */
	if (!child->told_stop)
		(void)child_send(child, IPC_LET_GO, &let_go, sizeof(let_go),
			NULL, 0);
}

static void
holder_replace(struct child *child, const struct ipc_holder *holder)
{
	bool replace = child->supervisor->server.conf->server.replace_hung;

	if (!child->told.given_up)
		log_error("%s (pid %ld) keeps %llu octets of old versions and"
			  " does not let go of them%s",
			child_name(child), (long)child->pid,
			(unsigned long long)holder->octets,
			replace ? "; killing it" : "");
	child->told.given_up = true;
	if (replace)
		watch_replace(child);
}

void
holder_on_holder(struct supervisor *s, struct child *loader,
	const struct ipc_message *m)
{
	struct ipc_holder holder;
	struct holder_search search = {.generation = loader->generation};
	struct child *child;

	assert(loader->role == ROLE_LOADER && m->len == sizeof(holder));
	memcpy(&holder, m->payload, sizeof(holder));
	search.slot = holder.slot;
	children_walk(s, holder_compare, &search);
	child = search.found;
	/* The reader may have died since the loader looked. */
	if (child == NULL || child->reaped || child->hung)
		return;
	switch (holder_check(&child->told, &holder)) {
	case HOLDER_WAITS:
		break;
	case HOLDER_TELL:
		holder_tell(child, &holder);
		break;
	case HOLDER_REPLACE:
		holder_replace(child, &holder);
		break;
	}
}
