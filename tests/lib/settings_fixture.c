/* settings_fixture.c - makes settings. */
#include <stdlib.h>

#include "lib/settings_fixture.h"
#include "store/writer.h"
#include "zonedb/table_edit.h"

static void
must(enum nsd_err err)
{
	if (err != NSD_OK)
		abort();
}

void
settings_fixture_set(struct store_writer *writer, store_ref entry,
	const struct settings_lists *lists)
{
	struct settings_edit *edit;
	store_ref options;

	must(settings_edit_begin(writer, &edit));
	must(settings_edit_options(edit, lists, &options));
	table_set_options(writer, entry, options);
	settings_edit_end(edit);
}

void
settings_fixture_set_acl(struct store_writer *writer, store_ref entry,
	const struct acl_element *query, uint32_t query_count,
	const struct acl_element *provide, uint32_t provide_count)
{
	struct settings_lists lists = {
		.lists = {[SETTINGS_ALLOW_QUERY] = query,
			[SETTINGS_PROVIDE_XFR] = provide},
		.counts = {[SETTINGS_ALLOW_QUERY] = query_count,
			[SETTINGS_PROVIDE_XFR] = provide_count},
	};

	settings_fixture_set(writer, entry, &lists);
}

void
settings_fixture_publish(struct store_writer *writer,
	const struct settings_setup *setup)
{
	struct settings_edit *edit;

	must(settings_edit_begin(writer, &edit));
	must(settings_edit_publish(edit, setup));
	settings_edit_end(edit);
}
