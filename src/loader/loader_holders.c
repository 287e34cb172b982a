/* loader_holders.c - readers that keep old versions in the store: the loader's
 * part, as it alone knows. */
#include "config.h"

#include "base/clock.h"
#include "loader/loader.h"
#include "loader/statistics.h"
#include "process/holder_bounds.h"
#include "store/writer.h"

static void
loader_tell_holder(struct loader *loader, const struct store_holder *holder,
	int64_t now_msec)
{
	struct ipc_holder said = {
		.slot = holder->slot,
		.oldest = holder->epoch,
		.look = loader->holder_looks,
		.octets = holder->octets,
		.age_msec = (uint64_t)holder->age_msec,
	};
	uint64_t epoch = store_epoch(loader->writer);
	struct holder_bounds bounds;

	holder_get_bounds(0, &bounds);
	if (holder->octets <= bounds.octets
		&& holder->age_msec <= bounds.age_msec)
		return;
	holder_get_bounds(holder->served, &bounds);
	if (holder->age_msec > bounds.age_msec)
		said.too_old = store_find_epoch(loader->writer,
			bounds.age_msec, now_msec);
	if (holder->octets > bounds.octets && epoch > holder->epoch)
		said.ended = epoch - 1;
	if (said.too_old != 0 || said.ended != 0)
		role_send(&loader->role, IPC_HOLDER, &said, sizeof(said));
}

void
loader_look_at_holders(struct loader *loader)
{
	int64_t now_msec = clock_now_msec();
	unsigned readers = store_get_reader_max(loader->writer);
	struct store_holder holder, oldest = {.age_msec = -1};

	loader->holder_looks++;
	for (unsigned i = 0; i < readers; i++) {
		if (!store_get_holder(loader->writer, i, now_msec, &holder))
			continue;
		loader_tell_holder(loader, &holder, now_msec);
		if (holder.age_msec > oldest.age_msec)
			oldest = holder;
	}
	statistics_warn_holder(oldest.age_msec >= 0 ? &oldest : NULL,
		&loader->holder_warned);
}
