/* table_remove.h - removes one zone from the table, and retires its version. */
#ifndef TESTS_LIB_TABLE_REMOVE_H
#define TESTS_LIB_TABLE_REMOVE_H

#include "store/writer.h"
#include "zonedb/retire.h"
#include "zonedb/table_edit.h"

static inline void
table_remove_retire(void *ctx, store_ref ref)
{
	struct store_writer *writer = ctx;
	const struct zone_entry *entry = store_get(store_writer_view(writer),
		ref);

	retire_zone(writer, entry->zone);
}

/* Returns as table_change_remove. */
static inline enum nsd_err
table_remove(struct store_writer *writer, const uint8_t *name)
{
	struct table_change *change;
	enum nsd_err err = table_change_begin(writer, &change);

	if (err != NSD_OK)
		return err;
	err = table_change_remove(change, name);
	table_change_publish(change, table_remove_retire, writer);
	return err;
}

#endif
