/*
 * format.h - the octets of a journal's files. Numbers are in network order. All
 * that stands in a file begins and ends at a multiple of 32 octets, with zeros
 * in between, since the sums (base/sum.h) go over such pieces.
 *
 * A segment: a header, then records.
 *
 *   +0  magic 8      "nsdJseg1"
 *   +8  number 4     of the segment, as in its name
 *   +12 zero 4
 *   +16 salt 16      random; the sum of each record's head begins with it
 *   +32 zero 16
 *   +48 sum 16       of these 64 octets, with zeros in its place
 *
 * A record: a head, then the text with its sums if it is in the record.
 *
 *   +0  magic 4      "Jrec"
 *   +4  head_len 4   octets up to the text
 *   +8  segment 4    where the record is: so what is left of another file
 *   +12 record 1       is no record; 1 text follows, 2 text in a file, 3 dead,
 *                      4 judged
 *   +13 kind 1       of the text (enum journal_kind); 3, 4: 0
 *   +14 source_len 2
 *   +16 offset 8     of the record in the segment
 *   +24 id 8         of the entry; 3, 4: the first one that is
 *   +32 text_len 8   3, 4: the last id that is
 *   +40 time 8
 *   +48 from 4, to 4 serials
 *   +56 apex_len 1
 *   +57 flags 1      1 goes back, 2 doubtful, 4 taken, 8 update
 *                      (struct journal_entry); 3, 4: 0
 *   +58 zero 6
 *   +64 table sum 16 the sum of the table of the text's sums
 *   +80 sum 16       of the head, with zeros in its place
 *   +96 apex, source, zeros
 *
 * A text, in a record or in a file of its own: its octets, zeros; then the
 * table: the sum of each block of 64 KiB (16 octets each), zeros. So a text is
 * checked block by block as it is read, and the table by the record.
 *
 * The salt keeps senders of transfers from making texts in which, after damage,
 * records could be found: without the salt no head can be made.
 */
#ifndef SRC_JOURNAL_FORMAT_H
#define SRC_JOURNAL_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sum.h"
#include "journal/journal_entry.h"

#define FORMAT_ALIGN 32u
#define FORMAT_SEGMENT_HEAD 64u
#define FORMAT_RECORD_HEAD 96u
#define FORMAT_SUM 16u
#define FORMAT_BLOCK 65536u
#define FORMAT_SALT 16u
/* The longest head: 96, apex, source. */
#define FORMAT_HEAD_MAX 1632u
/* The longest text in a record; longer ones have a file. */
#define FORMAT_INLINE_MAX (1u << 20)
#define FORMAT_TEXT_MAX (UINT64_C(1) << 48)
/* A name has ten digits. */
#define FORMAT_ID_MAX UINT64_C(9999999999)
#define FORMAT_SEGMENT_MAX UINT32_C(4294967294)
#define FORMAT_NAME_MAX 24u

enum format_record {
	FORMAT_TEXT_HERE = 1,
	FORMAT_TEXT_IN_FILE = 2,
	FORMAT_DEAD = 3,
	FORMAT_JUDGED = 4, /* entries are not doubtful any more */
};

/* True for a record without an entry, that is about others. */
static inline bool
format_is_note(enum format_record record)
{
	return record >= FORMAT_DEAD;
}

/* The head of a record, decoded. */
struct format_head {
	enum format_record record;
	struct journal_entry entry; /* of a note: id is the first */
	uint64_t last;              /* of a note only: the last id */
	uint8_t apex[NAME_MAX_LEN];
	uint8_t table_sum[FORMAT_SUM];
	uint16_t source_len;
	const uint8_t *source;      /* lent by the buffer it was read from */
};

/* The next multiple of FORMAT_ALIGN. */
static inline uint64_t
format_pad(uint64_t len)
{
	return (len + FORMAT_ALIGN - 1) & ~(uint64_t)(FORMAT_ALIGN - 1);
}

static inline uint64_t
format_blocks(uint64_t text_len)
{
	return (text_len + FORMAT_BLOCK - 1) / FORMAT_BLOCK;
}

/* Octets of block i of a text of padded octets with its zeros. */
static inline size_t
format_block_len(uint64_t padded, uint64_t i)
{
	uint64_t left = padded - i * FORMAT_BLOCK;

	return left < FORMAT_BLOCK ? (size_t)left : FORMAT_BLOCK;
}

/* Octets of a text with its zeros and table. */
static inline uint64_t
format_text_size(uint64_t text_len)
{
	return format_pad(text_len)
		+ format_pad(format_blocks(text_len) * FORMAT_SUM);
}

/* Octets of an entry's record. */
static inline uint64_t
format_record_size(const struct journal_entry *entry)
{
	return entry->head_len
		+ (entry->in_file ? 0 : format_text_size(entry->text_len));
}

/* The sum of octets as it stands in a file. data: aligned to 8; len: a multiple
 * of FORMAT_ALIGN. */
void format_sum(const void *data, size_t len, uint8_t sum[FORMAT_SUM]);
/* As format_sum, over pieces: init, add, and put. */
void format_sum_init(struct sum *sum);
void format_sum_put(const struct sum *sum, uint8_t out[FORMAT_SUM]);

/* Writes the head of a segment; out: aligned to 8. */
void format_put_segment(uint8_t out[FORMAT_SEGMENT_HEAD], uint32_t number,
	const uint8_t salt[FORMAT_SALT]);
/* Checks the head of a segment; data: aligned to 8, altered meanwhile.
 * NSD_E_WIRE: it is not one, or of another number. */
enum nsd_err format_get_segment(uint8_t data[FORMAT_SEGMENT_HEAD],
	uint32_t number, uint8_t salt[FORMAT_SALT]) MUST_USE;

/* Octets that the head will have. */
uint32_t format_head_len(const struct format_head *head);
/* Writes a head of format_head_len octets; out: aligned to 8. entry.segment and
 * .offset say where it will stand. */
void format_put_head(uint8_t *out, const struct format_head *head,
	const uint8_t salt[FORMAT_SALT]);

/*
 * Reads a head. data: len octets, aligned to 8, altered meanwhile. segment,
 * offset: where it stands.
 * returns NSD_OK, NSD_E_AGAIN: it may be one if more octets follow; NSD_E_WIRE.
 */
enum nsd_err format_get_head(uint8_t *data, size_t len,
	const uint8_t salt[FORMAT_SALT], uint32_t segment, uint64_t offset,
	struct format_head *head) MUST_USE;

/* Makes the zeros and the table behind a text in memory, which is aligned to 8
 * and has room for format_text_size. */
void format_put_text(uint8_t *text, uint64_t text_len,
	uint8_t table_sum[FORMAT_SUM]);
/* Are a text in memory and its table whole? text: aligned to 8,
 * format_text_size octets. */
bool format_check_text(const uint8_t *text, uint64_t text_len,
	const uint8_t table_sum[FORMAT_SUM]) MUST_USE;

/* The name of a file; suffix: "seg", "zone" or "tmp". */
void format_print_name(char out[FORMAT_NAME_MAX], uint64_t number,
	const char *suffix);
/* Reads the number in a name of that suffix; false: it is not such a name. */
bool format_parse_name(const char *name, const char *suffix,
	uint64_t *number) MUST_USE;

#endif
