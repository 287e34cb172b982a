/*
 * load_text.h - the octets of a transfer (xfr/changes.h), where they lie; and a
 * whole zone of them read as zonefile/zonefile.h reads a file: in batches, with
 * memory that does not depend on the size of the zone.
 */
#ifndef LOADER_LOAD_TEXT_H
#define LOADER_LOAD_TEXT_H

#include <stdint.h>

#include "base/err.h"
#include "zonefile/zonefile.h"

struct journal_entry;

/* The place of the octets. They are read and not mapped, since the writer of
 * the file could still cut it. */
struct load_text {
	int fd; /* borrowed */
	uint64_t offset;
	uint64_t len;
	/* NULL, or an entry of the journal whose folder fd is: its text, each
	 * block of which is checked. Without offset. */
	const struct journal_entry *entry;
	bool has_sums; /* the octets lie as in a journal: each block is checked
			* by its sum behind them (journal_reader_open_text) */
	const uint8_t *data; /* not NULL: the len octets of the text */
	bool is_diffs; /* by its head, the text is differences, to be applied.
			* The reader looks again: the head may have changed
			* since */
	bool is_back; /* of xfrd: see struct ipc_update */
	uint32_t accepted; /* checks that are left out; see struct ipc_update */
	bool is_rest; /* no text here: all entries of the journal beyond the
		       * served version (load_journal_catch_up) */
};

/* Returns the text of an entry, kept, of the journal whose folder dirfd is. It
 * was judged when it came, or it would not be there; its digest is looked at
 * once more, unless an operator has taken it as it is. */
struct load_text load_text_of_entry(int dirfd,
	const struct journal_entry *entry);

/*
 * Reads the records of a text that is XFR_WHOLE. Of options it follows apex,
 * on_batch, take_batch, batch_ctx, pool, on_progress and progress_ctx; all is
 * done in the calling thread.
 * gives *result, also when it fails; zonefile_result_fini releases it. Its one
 * source is no file: it only says that there was one reading.
 * returns NSD_OK; NSD_E_WIRE: the octets are not a whole zone of that apex, or
 * are damaged; NSD_E_SYSTEM: they cannot be read, or there are fewer;
 * NSD_E_MEMORY; or what on_batch or take_batch returned.
 * May block on the file system. Several threads may read one text at once.
 */
enum nsd_err load_text_parse(const struct load_text *text,
	const struct zonefile_options *options,
	struct zonefile_result *result) MUST_USE;

/* Copies the first len octets of a text, or all if len is text->len. data: has
 * room for them. returns as load_text_parse. */
enum nsd_err load_text_copy(const struct load_text *text, uint8_t *data,
	size_t len) MUST_USE;

#endif
