/*
 * journal_fixture.h - journals for tests: texts that tell by themselves what
 * they should be, and waiting with a deadline.
 */
#ifndef TESTS_LIB_JOURNAL_FIXTURE_H
#define TESTS_LIB_JOURNAL_FIXTURE_H

#include "base/diag.h"
#include "journal/journal.h"
#include "journal/journal_index.h"

#define JOURNAL_FIXTURE_PATH 32

/* Makes a folder, in memory if there is a place for it. */
void journal_fixture_folder(char path[JOURNAL_FIXTURE_PATH]);
/* Removes a folder and the files in it. */
void journal_fixture_remove(const char *path);

/* The messages of a journal, a line each: the file, and the text. */
struct journal_fixture_told {
	struct diag_sink sink; /* with journal_fixture_on_diag */
	char text[8192];
};
void journal_fixture_on_diag(struct diag_sink *sink, const struct diag *d);

/* The name of zone n; a static buffer for each of 4 calls. */
const uint8_t *journal_fixture_apex(unsigned n);

/* Opens; a failure ends the program. sink: may be NULL. */
struct journal *journal_fixture_open(const char *path, uint64_t segment_size,
	struct diag_sink *sink);

/* The text of what leads a zone to a serial, in any pieces. */
void journal_fixture_fill(uint8_t *out, size_t len, uint64_t at, unsigned zone,
	uint32_t to);

/* A whole transfer: from 0 is a whole zone. Returns the id; 0: it could not be
 * put, and was abandoned. */
uint64_t journal_fixture_send(struct journal *journal, unsigned zone,
	uint32_t from, uint32_t to, uint64_t len);

/* Waits for the next entry to be done; the program ends after a minute. */
void journal_fixture_wait(struct journal *journal, struct journal_done *done);

/* Sends, waits, and accepts a whole zone. Returns the id; 0: it failed. */
uint64_t journal_fixture_commit(struct journal *journal, unsigned zone,
	uint32_t from, uint32_t to, uint64_t len);

/* Reads an entry's text; false: it is not what was sent. */
bool journal_fixture_check(int dirfd, const struct journal_entry *entry,
	unsigned zone);

#endif
