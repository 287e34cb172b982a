/* format.c - the octets of a journal's files. */
#include "journal/format.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/octets.h"

static const char segment_magic[8] = "nsdJseg1";
static const char record_magic[4] = "Jrec";

#define AT_SEGMENT_SUM 48u
#define AT_RECORD_SUM 80u

/* Of an entry. */
#define FLAG_BACK 1u
#define FLAG_DOUBTFUL 2u
#define FLAG_TAKEN 4u
#define FLAG_UPDATE 8u

static void
put_u64(uint8_t *p, uint64_t v)
{
	octets_put_u32(p, (uint32_t)(v >> 32));
	octets_put_u32(p + 4, (uint32_t)v);
}

static uint64_t
get_u64(const uint8_t *p)
{
	return (uint64_t)octets_get_u32(p) << 32 | octets_get_u32(p + 4);
}

/* Not zero: a hole in a file must not have the sum that stands in a hole. */
void
format_sum_init(struct sum *sum)
{
	memset(sum, 0xff, sizeof(*sum));
}

void
format_sum_put(const struct sum *sum, uint8_t out[FORMAT_SUM])
{
	for (unsigned k = 0; k < SUM_LANES; k++)
		octets_put_u32(out + 4 * k, sum->lanes[k]);
}

void
format_sum(const void *data, size_t len, uint8_t out[FORMAT_SUM])
{
	struct sum sum;

	format_sum_init(&sum);
	sum_add(&sum, data, len);
	format_sum_put(&sum, out);
}

/* Computes the sum of a head, which has zeros in the place of the sum; begins
 * with the salt. */
static void
head_sum(const uint8_t *head, size_t len, const uint8_t salt[FORMAT_SALT],
	uint8_t out[FORMAT_SUM])
{
	struct sum sum;

	for (unsigned k = 0; k < SUM_LANES; k++)
		sum.lanes[k] = octets_get_u32(salt + 4 * k);
	sum_add(&sum, head, len);
	format_sum_put(&sum, out);
}

/* True if the sum of a head is the one in its place. */
static bool
head_is_whole(uint8_t *head, size_t len, size_t place,
	const uint8_t salt[FORMAT_SALT])
{
	uint8_t is[FORMAT_SUM], said[FORMAT_SUM];

	memcpy(said, head + place, FORMAT_SUM);
	memset(head + place, 0, FORMAT_SUM);
	head_sum(head, len, salt, is);
	memcpy(head + place, said, FORMAT_SUM);
	return memcmp(is, said, FORMAT_SUM) == 0;
}

/* ---- segments */

/* The head of a segment is summed with ones: its salt is in it. */
static const uint8_t ones[FORMAT_SALT] = {
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
};

void
format_put_segment(uint8_t out[FORMAT_SEGMENT_HEAD], uint32_t number,
	const uint8_t salt[FORMAT_SALT])
{
	memset(out, 0, FORMAT_SEGMENT_HEAD);
	memcpy(out, segment_magic, sizeof(segment_magic));
	octets_put_u32(out + 8, number);
	memcpy(out + 16, salt, FORMAT_SALT);
	head_sum(out, FORMAT_SEGMENT_HEAD, ones, out + AT_SEGMENT_SUM);
}

enum nsd_err
format_get_segment(uint8_t data[FORMAT_SEGMENT_HEAD], uint32_t number,
	uint8_t salt[FORMAT_SALT])
{
	if (memcmp(data, segment_magic, sizeof(segment_magic)) != 0
		|| octets_get_u32(data + 8) != number
		|| !head_is_whole(data, FORMAT_SEGMENT_HEAD, AT_SEGMENT_SUM,
			ones))
		return NSD_E_WIRE;
	memcpy(salt, data + 16, FORMAT_SALT);
	return NSD_OK;
}

/* ---- heads of records */

uint32_t
format_head_len(const struct format_head *head)
{
	return (uint32_t)format_pad(FORMAT_RECORD_HEAD + name_len(head->apex)
		+ head->source_len);
}

void
format_put_head(uint8_t *out, const struct format_head *head,
	const uint8_t salt[FORMAT_SALT])
{
	const struct journal_entry *entry = &head->entry;
	uint32_t head_len = format_head_len(head);
	size_t apex_len = name_len(head->apex);
	bool note = format_is_note(head->record);

	assert(head->source_len <= JOURNAL_SOURCE_MAX);
	memset(out, 0, head_len);
	memcpy(out, record_magic, sizeof(record_magic));
	octets_put_u32(out + 4, head_len);
	octets_put_u32(out + 8, entry->segment);
	out[12] = (uint8_t)head->record;
	out[13] = note ? 0 : (uint8_t)entry->kind;
	octets_put_u16(out + 14, head->source_len);
	put_u64(out + 16, entry->offset);
	put_u64(out + 24, entry->id);
	put_u64(out + 32, note ? head->last : entry->text_len);
	put_u64(out + 40, (uint64_t)entry->time_sec);
	octets_put_u32(out + 48, entry->from);
	octets_put_u32(out + 52, entry->to);
	out[56] = (uint8_t)apex_len;
	out[57] = note ? 0 : (uint8_t)(entry->is_back * FLAG_BACK
		| entry->is_doubtful * FLAG_DOUBTFUL
		| entry->is_taken * FLAG_TAKEN
		| entry->is_update * FLAG_UPDATE);
	memcpy(out + 64, head->table_sum, FORMAT_SUM);
	memcpy(out + FORMAT_RECORD_HEAD, head->apex, apex_len);
	if (head->source_len > 0)
		memcpy(out + FORMAT_RECORD_HEAD + apex_len, head->source,
			head->source_len);
	head_sum(out, head_len, salt, out + AT_RECORD_SUM);
}

/* Reads the apex and the source, behind the fixed part. */
static bool
get_names(const uint8_t *data, uint32_t head_len, struct format_head *head)
{
	struct cursor c;
	size_t apex_len;

	cursor_init(&c, data + FORMAT_RECORD_HEAD,
		head_len - FORMAT_RECORD_HEAD);
	if (name_read_uncompressed(&c, head->apex, &apex_len) != NSD_OK
		|| apex_len != data[56])
		return false;
	name_lower(head->apex);
	head->source = cursor_read_octets(&c, head->source_len);
	return head->source != NULL && format_head_len(head) == head_len;
}

static bool
entry_is_sound(const struct format_head *head)
{
	const struct journal_entry *entry = &head->entry;

	if (format_is_note(head->record))
		return entry->id <= head->last && head->last <= FORMAT_ID_MAX;
	if (entry->kind != JOURNAL_WHOLE && entry->kind != JOURNAL_DIFFS)
		return false;
	if (entry->id < 1 || entry->id > FORMAT_ID_MAX || entry->text_len < 1)
		return false;
	return entry->text_len <= (entry->in_file ? FORMAT_TEXT_MAX
						  : FORMAT_INLINE_MAX);
}

/* Reads all fields of a head whose sum is right. */
static enum nsd_err
get_fields(const uint8_t *data, uint32_t head_len, struct format_head *head)
{
	struct journal_entry *entry = &head->entry;

	memset(head, 0, sizeof(*head));
	if (data[12] < FORMAT_TEXT_HERE || data[12] > FORMAT_JUDGED)
		return NSD_E_WIRE;
	head->record = data[12];
	head->source_len = octets_get_u16(data + 14);
	head->last = get_u64(data + 32);
	memcpy(head->table_sum, data + 64, FORMAT_SUM);
	entry->kind = data[13];
	entry->segment = octets_get_u32(data + 8);
	entry->offset = get_u64(data + 16);
	entry->id = get_u64(data + 24);
	entry->text_len = head->last;
	entry->time_sec = (int64_t)get_u64(data + 40);
	entry->from = octets_get_u32(data + 48);
	entry->to = octets_get_u32(data + 52);
	entry->head_len = head_len;
	entry->in_file = head->record == FORMAT_TEXT_IN_FILE;
	entry->is_back = (data[57] & FLAG_BACK) != 0;
	entry->is_doubtful = (data[57] & FLAG_DOUBTFUL) != 0;
	entry->is_taken = (data[57] & FLAG_TAKEN) != 0;
	entry->is_update = (data[57] & FLAG_UPDATE) != 0;
	if (head->source_len > JOURNAL_SOURCE_MAX || !entry_is_sound(head)
		|| !get_names(data, head_len, head))
		return NSD_E_WIRE;
	return NSD_OK;
}

enum nsd_err
format_get_head(uint8_t *data, size_t len, const uint8_t salt[FORMAT_SALT],
	uint32_t segment, uint64_t offset, struct format_head *head)
{
	uint32_t head_len;

	if (len < FORMAT_RECORD_HEAD)
		return NSD_E_AGAIN;
	head_len = octets_get_u32(data + 4);
	if (memcmp(data, record_magic, sizeof(record_magic)) != 0
		|| octets_get_u32(data + 8) != segment
		|| get_u64(data + 16) != offset
		|| head_len < FORMAT_RECORD_HEAD || head_len > FORMAT_HEAD_MAX
		|| head_len % FORMAT_ALIGN != 0)
		return NSD_E_WIRE;
	if (len < head_len)
		return NSD_E_AGAIN;
	if (!head_is_whole(data, head_len, AT_RECORD_SUM, salt))
		return NSD_E_WIRE;
	return get_fields(data, head_len, head);
}

/* ---- texts */

void
format_put_text(uint8_t *text, uint64_t text_len, uint8_t table_sum[FORMAT_SUM])
{
	uint64_t padded = format_pad(text_len);
	uint64_t blocks = format_blocks(text_len);
	uint8_t *table = text + padded;

	memset(text + text_len, 0, padded - text_len);
	memset(table, 0, format_pad(blocks * FORMAT_SUM));
	for (uint64_t i = 0; i < blocks; i++)
		format_sum(text + i * FORMAT_BLOCK,
			format_block_len(padded, i), table + i * FORMAT_SUM);
	format_sum(table, format_pad(blocks * FORMAT_SUM), table_sum);
}

bool
format_check_text(const uint8_t *text, uint64_t text_len,
	const uint8_t table_sum[FORMAT_SUM])
{
	uint64_t padded = format_pad(text_len);
	uint64_t blocks = format_blocks(text_len);
	const uint8_t *table = text + padded;
	uint8_t sum[FORMAT_SUM];

	format_sum(table, format_pad(blocks * FORMAT_SUM), sum);
	if (memcmp(sum, table_sum, FORMAT_SUM) != 0)
		return false;
	for (uint64_t i = 0; i < blocks; i++) {
		format_sum(text + i * FORMAT_BLOCK,
			format_block_len(padded, i), sum);
		if (memcmp(sum, table + i * FORMAT_SUM, FORMAT_SUM) != 0)
			return false;
	}
	return true;
}

/* ---- names of files */

void
format_print_name(char out[FORMAT_NAME_MAX], uint64_t number,
	const char *suffix)
{
	snprintf(out, FORMAT_NAME_MAX, "%010" PRIu64 ".%s", number, suffix);
}

bool
format_parse_name(const char *name, const char *suffix, uint64_t *number)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < 10; i++) {
		if (name[i] < '0' || name[i] > '9')
			return false;
		value = value * 10 + (uint64_t)(name[i] - '0');
	}
	if (name[10] != '.' || strcmp(name + 11, suffix) != 0)
		return false;
	*number = value;
	return true;
}
