/*
 * journal_index.h - the contents of a journal, for processes that only read it:
 * the loader when it starts. The writer may be at work meanwhile.
 */
#ifndef JOURNAL_JOURNAL_INDEX_H
#define JOURNAL_JOURNAL_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/err.h"
#include "journal/journal_entry.h"

struct journal_index;

/*
 * Reads all segments of the folder behind dirfd, and remembers the live
 * entries that are not doubtful. Writes nothing. Warnings about damage go to
 * the sink (NULL: to none). Octets behind the last whole record of the newest
 * segment may be of a record that is being written: they are not looked at.
 * Keeps dirfd until journal_index_close. Memory: some 200 octets a live entry
 * with its zone.
 * returns NSD_OK and gives *index; NSD_E_SYSTEM with errno; NSD_E_MEMORY;
 *     NSD_E_AGAIN: segments were replaced as fast as they were read.
 */
enum nsd_err journal_index_open(int dirfd, struct diag_sink *sink,
	struct journal_index **index) MUST_USE;
/* NULL is fine. */
void journal_index_close(struct journal_index *index);

/* The count of live entries. */
uint64_t journal_index_count(const struct journal_index *index);

struct journal_query {
	const uint8_t *apex;
	bool has_serial; /* false: no version is there; a whole zone is
			  * needed */
	uint32_t serial; /* of the version that is there */
	uint64_t before; /* only entries with smaller ids; 0: all. So a chain up
			  * to an entry that did not apply can be found */
};

/* The entries to apply, in this order. */
struct journal_chain {
	struct journal_entry *entries;
	size_t count;
};

/*
 * Finds the entries that lead from a serial, or from nothing, to the newest
 * entry of a zone: differences from that serial on, each from the serial
 * before, or the last whole zone and differences from there. Serials are
 * compared for equality only: a zone that is newer than the journal finds a way
 * back if there is a whole zone. A caller with a serial calls
 * journal_index_newest first.
 *
 * returns NSD_OK and gives *chain (journal_chain_fini); count 0: the serial is
 *     that of the newest entry. NSD_E_NOT_FOUND: no entries lead there.
 *     NSD_E_MEMORY.
 * Cost: the entries of the zone.
 */
enum nsd_err journal_find(const struct journal_index *index,
	const struct journal_query *query, struct journal_chain *chain)
	MUST_USE;
void journal_chain_fini(struct journal_chain *chain);

/* The newest live entry of a zone, lent until journal_index_close; NULL: there
 * is none. */
const struct journal_entry *journal_index_newest(
	const struct journal_index *index, const uint8_t *apex);

/* The oldest, in the same way. */
const struct journal_entry *journal_index_oldest(
	const struct journal_index *index, const uint8_t *apex);

/*
 * True if the zone was transferred back to an older version after it had this
 * serial: then the version with this serial is out of date, though newer than
 * those in the journal. Cost: the entries of the zone.
 */
bool journal_index_went_back(const struct journal_index *index,
	const uint8_t *apex, uint32_t serial);

/* ---- texts */

struct journal_reader;

/*
 * Begins to read the text of an entry. Each block is checked before it is
 * handed out. Keeps dirfd until journal_reader_close (a folder's; that of an
 * index, for one). Memory: 70 KiB.
 * returns NSD_OK and gives *reader; NSD_E_NOT_FOUND: it has moved or is gone;
 *     look into the journal again. NSD_E_WIRE: it is damaged. NSD_E_SYSTEM with
 *     errno; NSD_E_MEMORY.
 * Cost: the sums of the text's blocks are read and checked, 16 octets for each
 *     64 KiB.
 */
enum nsd_err journal_reader_open(int dirfd, const struct journal_entry *entry,
	struct journal_reader **reader) MUST_USE;

/*
 * The same for a text that journal_open_text has opened, perhaps in another
 * process: of text_len octets, from the offset on. Its sums lie behind it;
 * their own sum is in the record, and is not looked at: damage to one of them
 * shows as damage to its block. Borrows fd. Reads nothing yet.
 * returns NSD_OK and gives *reader; NSD_E_SYSTEM with errno; NSD_E_MEMORY.
 */
enum nsd_err journal_reader_open_text(int fd, uint64_t offset,
	uint64_t text_len, struct journal_reader **reader) MUST_USE;

/*
 * Reads the next octets of the text, at most 64 KiB; *len 0: the end. *data:
 * lent until the next call with this reader.
 * returns NSD_OK; NSD_E_WIRE: the block is damaged, or the file too short;
 *     NSD_E_SYSTEM with errno. The reader then only closes.
 */
enum nsd_err journal_reader_next(struct journal_reader *reader,
	const uint8_t **data, size_t *len) MUST_USE;

/* NULL is fine. */
void journal_reader_close(struct journal_reader *reader);

#endif
