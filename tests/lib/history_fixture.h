/* history_fixture.h - differences between versions of a zone, from text. */
#ifndef TESTS_LIB_HISTORY_FIXTURE_H
#define TESTS_LIB_HISTORY_FIXTURE_H

#include <stdint.h>

#include "store/store.h"
#include "zonedb/history_edit.h"

struct store_writer;

/* Adds the records of a text (of a zone file, whole) to a draft. */
void history_fixture_add(struct history_draft *draft, const char *text);

/* Makes a changeset of what is removed and what is added, each beginning with
 * an SOA, and pushes it. The apex is the entry's. */
void history_fixture_push(struct store_writer *writer, store_ref entry,
	const struct history_limits *limits, const char *removed,
	const char *added);

#endif
