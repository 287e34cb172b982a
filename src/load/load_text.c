/* load_text.c - reads a whole zone that a transfer has brought. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "load/load_records.h"
#include "load/load_text.h"
#include "load/load_update.h"

/* Octets that are read at a time: always more than one record has. */
#define BUFFER_SIZE ((size_t)256 << 10)
#define BATCH_ROOM ((size_t)256 << 10)
/* What stands for a file in the result: findings name it. */
#define SOURCE_NAME "transfer"

_Static_assert(BUFFER_SIZE > LOAD_RECORD_MAX && BATCH_ROOM
	> LOAD_RECORD_MAX + sizeof(struct rrbatch_rr) + 3, "a record fits");

struct text_reader {
	const struct load_text *text;
	const struct zonefile_options *options;
	struct zonefile_result *result;
	uint64_t read; /* octets of the text that are or were in the buffer */
	struct cursor cursor; /* what is left in the buffer */
	struct rrbatch *batch;
	struct rrbatch **tail; /* of the batches that are kept */
	size_t last_len;       /* of the owner before; 0: none in the batch */
	uint8_t last[NAME_MAX_LEN];
	uint8_t buffer[];
};

enum nsd_err
load_text_read(const struct load_text *text, uint64_t at, uint8_t *data,
	size_t len)
{
	if (at > text->len || len > text->len - at
		|| text->offset > INT64_MAX - text->len)
		return NSD_E_SYSTEM;
	while (len > 0) {
		ssize_t n = pread(text->fd, data, len,
			(off_t)(text->offset + at));

		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			return NSD_E_SYSTEM;
		data += n;
		at += (uint64_t)n;
		len -= (size_t)n;
	}
	return NSD_OK;
}

/* ---- octets -------------------------------------------------------------- */

/* Has a whole record in the buffer, or all that is left of the text. */
static enum nsd_err
text_fill(struct text_reader *t)
{
	size_t left = cursor_left(&t->cursor), want;
	enum nsd_err err;

	if (left >= LOAD_RECORD_MAX || t->read == t->text->len)
		return NSD_OK;
	memmove(t->buffer, t->cursor.at, left);
	want = BUFFER_SIZE - left;
	if (want > t->text->len - t->read)
		want = (size_t)(t->text->len - t->read);
	err = load_text_read(t->text, t->read, t->buffer + left, want);
	if (err != NSD_OK)
		return err;
	t->read += want;
	cursor_init(&t->cursor, t->buffer, left + want);
	if (t->options->on_progress != NULL)
		t->options->on_progress(t->options->progress_ctx, t->read,
			t->text->len);
	return NSD_OK;
}

/* ---- batches ------------------------------------------------------------- */

static enum nsd_err
text_flush(struct text_reader *t)
{
	const struct zonefile_options *o = t->options;
	struct rrbatch *batch = t->batch;
	enum nsd_err err = NSD_OK;

	if (batch == NULL || batch->count == 0)
		return NSD_OK;
	t->last_len = 0;
	t->result->rr_count += batch->count;
	if (o->on_batch != NULL) {
		err = o->on_batch(o->batch_ctx, batch);
		batch->count = 0;
		batch->len = 0;
		return err;
	}
	t->batch = NULL;
	if (o->take_batch != NULL)
		return o->take_batch(o->batch_ctx, batch);
	*t->tail = batch;
	t->tail = &batch->next;
	return NSD_OK;
}

static enum nsd_err
text_make_room(struct text_reader *t, size_t need)
{
	enum nsd_err err;

	if (t->batch != NULL && t->batch->capacity - t->batch->len >= need)
		return NSD_OK;
	err = text_flush(t);
	if (err != NSD_OK || t->batch != NULL)
		return err;
	t->batch = rrbatch_pool_take(t->options->pool, BATCH_ROOM);
	return t->batch != NULL ? NSD_OK : NSD_E_MEMORY;
}

static enum nsd_err
text_append(struct text_reader *t, const struct load_record *record)
{
	const struct rrbatch_rr head = {
		.ttl_sec = record->rr.ttl_sec,
		.type = record->rr.type,
		.rdlen = record->rr.rdlen,
	};
	const uint8_t *owner = record->owner;
	enum nsd_err err = text_make_room(t, sizeof(head) + NAME_MAX_LEN
		+ head.rdlen + 3);

	if (err != NSD_OK)
		return err;
	if (t->last_len == record->owner_len
		&& memcmp(t->last, owner, t->last_len) == 0) {
		owner = NULL;
	} else {
		t->last_len = record->owner_len;
		memcpy(t->last, owner, t->last_len);
	}
	return rrbatch_append(t->batch, &head, owner, record->rr.rdata);
}

/* ---- records ------------------------------------------------------------- */

static bool
text_wants(const struct text_reader *t, const struct load_record *record)
{
	const struct zonefile_options *o = t->options;

	return o->wants_owner == NULL || record->rr.type == TYPE_SOA
		|| o->wants_owner(o->wants_ctx, record->owner,
			record->owner_len);
}

static enum nsd_err
text_read_head(struct text_reader *t)
{
	uint8_t kind, apex[NAME_MAX_LEN];
	enum nsd_err err = text_fill(t);

	if (err == NSD_OK)
		err = load_records_read_head(&t->cursor, &kind, apex);
	if (err == NSD_OK && (kind != LOAD_UPDATE_WHOLE
			|| !name_equal(apex, t->options->apex)))
		err = NSD_E_WIRE;
	return err;
}

static enum nsd_err
text_read_all(struct text_reader *t)
{
	enum nsd_err err = text_read_head(t);
	struct load_record record;

	while (err == NSD_OK && (err = text_fill(t)) == NSD_OK
		&& load_records_read(&t->cursor, &record)) {
		if (record.action != LOAD_UPDATE_ADD)
			return NSD_E_WIRE;
		if (!text_wants(t, &record))
			continue;
		if (!load_records_check(&record))
			return NSD_E_WIRE;
		err = text_append(t, &record);
	}
	if (err == NSD_OK && t->cursor.failed)
		err = NSD_E_WIRE;
	return err == NSD_OK ? text_flush(t) : err;
}

static enum nsd_err
text_add_source(const struct load_text *text, struct zonefile_result *result)
{
	result->sources = calloc(1, sizeof(*result->sources));
	if (result->sources == NULL)
		return NSD_E_MEMORY;
	result->sources->path = strdup(SOURCE_NAME);
	result->sources->size = text->len;
	result->source_count = 1;
	return result->sources->path != NULL ? NSD_OK : NSD_E_MEMORY;
}

enum nsd_err
load_text_parse(const struct load_text *text,
	const struct zonefile_options *options, struct zonefile_result *result)
{
	struct text_reader *t = malloc(sizeof(*t) + BUFFER_SIZE);
	enum nsd_err err;

	memset(result, 0, sizeof(*result));
	if (t == NULL)
		return NSD_E_MEMORY;
	*t = (struct text_reader){
		.text = text,
		.options = options,
		.result = result,
		.tail = &result->batches,
	};
	cursor_init(&t->cursor, t->buffer, 0);
	err = text_add_source(text, result);
	if (err == NSD_OK)
		err = text_read_all(t);
	rrbatch_destroy(t->batch);
	free(t);
	return err;
}
