/* edits.c - an xfrd that makes versions, with a journal on the disk. */
#include "config.h"

#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "edits.h"
#include "fixture.h"
#include "lib/journal_fixture.h"

static char folder[JOURNAL_FIXTURE_PATH];

void
edits_begin(void **state, const char *conf)
{
	(void)fixture_begin(state);
	fixture_publish(conf);
	fixture_open();
	journal_fixture_folder(folder);
	fixture.xfrd.journal = journal_fixture_open(folder, 0, NULL);
	assert_int_equal(xfrd_edit_init(&fixture.xfrd), NSD_OK);
}

int
edits_end(void **state)
{
	struct xfrd *xfrd = &fixture.xfrd;

	/* Zones without edits go at the next turn. */
	event_base_loop(xfrd->role.base, EVLOOP_NONBLOCK);
	assert_null(xfrd->edits.zones);
	assert_int_equal(fixture_count_pins(), 0);
	event_free(xfrd->edits.event);
	event_free(xfrd->edits.pause_event);
	journal_close(xfrd->journal);
	fixture_close();
	journal_fixture_remove(folder);
	return fixture_end(state);
}
