/*
 * journal.h - transfers on disk, kept until zone files hold them: for the one
 * writer (xfrd). Readers have journal_index.h.
 *
 * A journal is a folder:
 *
 *   NNNNNNNNNN.seg   a segment: records of many zones, only ever appended to
 *   NNNNNNNNNN.zone  the text of the entry of that id, if it is over a MiB
 *   NNNNNNNNNN.tmp   a text that is being received
 *   lock             held by the writer
 *
 * An entry is one transfer of one zone: its text (the octets of the transfer,
 * opaque here), the serials that it leads from and to, the time and the
 * primary. Entries have ids, in the order in which they ended. A text lies in
 * one piece: descriptor, offset and length are all that its reader needs.
 * src/journal/format.h has the layout, and the sums by which damage is noticed.
 *
 * An entry's life: begin, put, end; journal_next says that it is durable; it is
 * published; then it is accepted or refused. It is live until it is refused,
 * until the zone file holds it (forget), until a later whole zone of the same
 * zone is accepted, or until the zone is dropped. The end of an entry's life is
 * written to the log without haste: after a power cut it may be live again,
 * unless its place was used up.
 *
 * Nothing here waits for a disk but journal_open and journal_close, and
 * journal_put of a caller that ignores journal_is_full. All functions are for
 * one thread. Two threads of the journal's own do the writing; one makes all
 * entries that have ended meanwhile durable at once. They take no signals. A
 * forked child has neither them nor the lock, and leaves the journal alone.
 *
 * Disk use: texts in progress, and at most 3 times the live entries (with 200
 * octets for each) and 4 segments. The oldest segment is removed first; its
 * live entries are copied forward when that bound is reached. Live entries of a
 * zone grow until it is written to its file, or a whole zone is put here.
 *
 * Memory: some 200 octets a live entry with its zone; of a transfer at most 64
 * KiB and 16 octets for each 64 KiB received; octets that wait for the disk, 8
 * MiB.
 */
#ifndef JOURNAL_JOURNAL_H
#define JOURNAL_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/err.h"
#include "journal/journal_entry.h"

struct journal;
struct journal_transfer;

struct journal_options {
	const char *path;      /* of the folder; it is made if it is not there,
				* its parent is not */
	uint64_t segment_size; /* octets after which a new segment is begun;
				* 0: JOURNAL_SEGMENT_SIZE */
};

#define JOURNAL_SEGMENT_SIZE (16u << 20)

/* Makes the folder of a journal, durably, if it is not there, as journal_open
 * does. NSD_E_SYSTEM with errno. */
enum nsd_err journal_make_folder(const char *path) MUST_USE;

/*
 * Opens a journal, or makes one. Remains of a writer that died are put in
 * order: texts in progress are removed, a torn end is cut off. Damage goes to
 * the sink, a warning each: a damaged record is skipped, and never trusted; so
 * is a record that the disk cannot give (EIO), which stays where it is as long
 * as there is room. A file that keeps the journal from being opened is an error
 * to the sink, with the text of errno. Borrows the arguments. Reads every
 * segment once.
 * returns NSD_OK and gives *journal (journal_close); NSD_E_SYSTEM with errno
 *     (EWOULDBLOCK: another writer has it open); NSD_E_MEMORY;
 *     NSD_E_LIMIT: no number is left for another segment.
 */
enum nsd_err journal_open(const struct journal_options *options,
	struct diag_sink *sink, struct journal **journal) MUST_USE;

/* Waits until all entries that have ended are durable, and ends the journal.
 * Transfers that have not ended are lost; their handles are invalid. NULL is
 * fine. */
void journal_close(struct journal *journal);

/* A descriptor that can be read while journal_next has something; lent until
 * journal_close. Only the journal reads from it. */
int journal_fd(const struct journal *journal) MUST_USE;

/* ---- an entry comes */

/* Begins the text of a transfer. Borrows apex. NULL: without memory. The
 * transfer is the caller's until journal_end or journal_abandon. */
struct journal_transfer *journal_begin(struct journal *journal,
	const uint8_t *apex) MUST_USE;

/*
 * Adds octets to the text. Borrows them.
 * returns NSD_OK; NSD_E_MEMORY; NSD_E_SYSTEM with errno: an earlier part could
 *     not be written. The caller then abandons the transfer.
 */
enum nsd_err journal_put(struct journal_transfer *transfer, const void *data,
	size_t len) MUST_USE;

/* True: the disk does not keep up. journal_put may then wait for it; a caller
 * that must not wait reads no more from primaries until journal_fd can be
 * read. */
bool journal_is_full(const struct journal *journal) MUST_USE;

/* False: the folder of the journal was removed, and with it all entries. */
bool journal_is_there(const struct journal *journal) MUST_USE;

/* True if a text that grows from `before` octets to `after` would take more
 * than half of the disk's room, which is left then for others, and for the
 * zone's file. The disk is looked at once in 16 MiB: smaller texts never do. */
bool journal_fills_disk(const struct journal *journal, uint64_t before,
	uint64_t after) MUST_USE;

struct journal_end {
	enum journal_kind kind;
	uint32_t from;      /* serial: see struct journal_entry */
	bool is_back;       /* see struct journal_entry; JOURNAL_WHOLE only */
	bool is_doubtful;   /* see struct journal_entry; journal_accept ends
			     * it */
	bool is_update;     /* see struct journal_entry */
	bool is_taken;      /* see struct journal_entry */
	uint32_t to;        /* serial */
	int64_t time_sec;   /* of the epoch: received at */
	const char *source; /* for the comment of a zone file, such as
			     * "127.0.0.1 TSIG verified with key K"; cut at
			     * JOURNAL_SOURCE_MAX octets */
};

/* Ends a text, which is to be made durable. Takes transfer, borrows end.
 * Returns the entry's id; journal_next reports the result. The text has at
 * least one octet. */
uint64_t journal_end(struct journal_transfer *transfer,
	const struct journal_end *end) MUST_USE;

/* Throws a text away. Takes transfer; NULL is fine. */
void journal_abandon(struct journal_transfer *transfer);

/* The result of an entry that journal_end ended. */
struct journal_done {
	uint64_t id;
	uint8_t apex[NAME_MAX_LEN];
	/* NSD_OK: the entry is durable. NSD_E_SYSTEM: it could not be written,
	 * error is the errno; the entries before it are as they were.
	 * NSD_E_NOT_FOUND: the zone was dropped meanwhile. */
	enum nsd_err err;
	int error;
	struct journal_entry entry; /* only with NSD_OK */
};

/* Gets the next entry that is durable, or has failed. Entries of one zone come
 * in the order in which they ended. False: there is none for now. */
bool journal_next(struct journal *journal, struct journal_done *done) MUST_USE;

/*
 * Opens the text of a live entry to be read: entry.text_len octets from *offset
 * on. An entry may move while it is live: so it is opened when it is needed;
 * *fd stays valid when the entry moves or ends. Nothing is checked: see
 * journal_reader_open_text.
 * returns NSD_OK and gives *fd (close); NSD_E_NOT_FOUND: it is not live (any
 *     more); NSD_E_SYSTEM with errno.
 */
enum nsd_err journal_open_text(struct journal *journal, const uint8_t *apex,
	uint64_t id, int *fd, uint64_t *offset) MUST_USE;

/* ---- an entry goes
 *
 * A change is effective in this process at once, and on disk soon. An apex that
 * the journal does not know is fine. */

/* Accepts an entry that was published: it is not doubtful any more; if it is a
 * whole zone, earlier entries end. To be repeated after a restart for the
 * version that is served then: until then earlier entries stay. */
void journal_accept(struct journal *journal, const uint8_t *apex, uint64_t id);

/* Refuses an entry that does not apply: it and the later entries of the zone
 * end. */
void journal_refuse(struct journal *journal, const uint8_t *apex, uint64_t id);
/* Refuses a durable entry alone: later ones do not lead on from it. */
void journal_refuse_one(struct journal *journal, const uint8_t *apex,
	uint64_t id);

/*
 * Ends the entries up to a serial that the zone's file holds, durably. Does
 * nothing and returns false if no entry leads to it.
 */
bool journal_forget(struct journal *journal, const uint8_t *apex,
	uint32_t serial);

/* Ends the entries of a zone that is removed, and its transfers under way. */
void journal_drop(struct journal *journal, const uint8_t *apex);

/* Drops each zone with live entries for which `keeps` returns false. Returns
 * their count. Cost: a call for each zone. */
size_t journal_drop_others(struct journal *journal,
	bool (*keeps)(void *ctx, const uint8_t *apex), void *ctx);

/* ---- look-ups */

/* The zone's newest live entry, and how many octets its live entries have on
 * disk. False: there are none. */
bool journal_find_newest(const struct journal *journal, const uint8_t *apex,
	struct journal_entry *entry, uint64_t *octets) MUST_USE;

/* The zone's oldest live entry: the first that its file does not hold. False:
 * there are none. */
bool journal_find_oldest(const struct journal *journal, const uint8_t *apex,
	struct journal_entry *entry) MUST_USE;

/* Calls fn for the live entries of a zone, the oldest first, until it returns
 * false. fn changes nothing in the journal. Returns fn's last result; true: the
 * zone has none. */
bool journal_each(const struct journal *journal, const uint8_t *apex,
	bool (*fn)(void *ctx, const struct journal_entry *entry), void *ctx);

/* Finds the newest live entry of a zone that leads to this serial. False: there
 * is none. Cost: the entries behind it. */
bool journal_find_serial(const struct journal *journal, const uint8_t *apex,
	uint32_t serial, struct journal_entry *entry) MUST_USE;

/*
 * Reads where a live entry came from: journal_end's source, with a final NUL.
 * returns NSD_OK; NSD_E_NOT_FOUND: it is not live (any more); NSD_E_WIRE: it is
 *     damaged; NSD_E_SYSTEM with errno. Blocks as long as reading a few hundred
 *     octets does.
 */
enum nsd_err journal_read_source(struct journal *journal, const uint8_t *apex,
	uint64_t id, char source[JOURNAL_SOURCE_MAX + 1]) MUST_USE;

struct journal_usage {
	uint64_t entries;       /* live */
	uint64_t live_octets;   /* on disk, of live entries */
	uint64_t disk_octets;   /* of segments and files, live or not */
	uint64_t segments;
	uint64_t syncs;         /* of the log since it was opened */
};

void journal_get_usage(const struct journal *journal,
	struct journal_usage *usage);

#endif
