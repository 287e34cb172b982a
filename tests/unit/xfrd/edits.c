/* edits.c - an xfrd that makes versions, with a journal on the disk. */
#include "config.h"

#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "edits.h"
#include "fixture.h"
#include "journal/journal.h"

static char folder[64];

void
edits_begin(void **state, const char *conf)
{
	struct journal_options options = {.path = folder};
	struct diag_sink sink = {.on_diag = NULL};

	(void)fixture_begin(state);
	fixture_publish(conf);
	fixture_open();
	snprintf(folder, sizeof(folder), "edits.XXXXXX");
	assert_non_null(mkdtemp(folder));
	assert_int_equal(journal_open(&options, &sink,
		&fixture.xfrd.journal), NSD_OK);
	assert_int_equal(xfrd_edit_init(&fixture.xfrd), NSD_OK);
}

int
edits_end(void **state)
{
	struct xfrd *xfrd = &fixture.xfrd;
	char command[128];

	/* Zones without edits go at the next turn. */
	event_base_loop(xfrd->role.base, EVLOOP_NONBLOCK);
	assert_null(xfrd->edits.zones);
	assert_int_equal(fixture_count_pins(), 0);
	event_free(xfrd->edits.event);
	event_free(xfrd->edits.pause_event);
	journal_close(xfrd->journal);
	fixture_close();
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
	return fixture_end(state);
}
