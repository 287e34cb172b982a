/* load_text.c - reads the text of a transfer. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ipc/message.h"
#include "journal/journal_index.h"
#include "loader/load_text.h"
#include "xfr/changes.h"

/* Octets that are read at a time: always more than one record has. */
#define BUFFER_SIZE ((size_t)256 << 10)
#define BATCH_ROOM ((size_t)256 << 10)
/* A text below this length has a batch that is cheap to get. */
#define SMALL_TEXT ((size_t)16 << 10)
#define SMALL_ROOM ((size_t)64 << 10)
/* The name in the place of a file's: findings name it. */
#define SOURCE_NAME "transfer"

_Static_assert(BUFFER_SIZE > CHANGES_HEAD_MAX + CHANGES_RECORD_MAX
	&& BATCH_ROOM > CHANGES_RECORD_MAX + sizeof(struct rrbatch_rr) + 3,
	"a record fits");
_Static_assert(SMALL_ROOM > SMALL_TEXT + NAME_MAX_LEN
	+ sizeof(struct rrbatch_rr) + 3, "so does one of a small text");

struct load_text
load_text_of_entry(int dirfd, const struct journal_entry *entry)
{
	return (struct load_text){
		.fd = dirfd,
		.len = entry->text_len,
		.entry = entry,
		.accepted = entry->is_taken ? IPC_CHECK_ALL
			: IPC_CHECK_ALL & ~(uint32_t)IPC_CHECK_DIGEST,
	};
}

/* ---- octets -------------------------------------------------------------- */

/* A text that is read from its begin to its end. */
struct text_source {
	const struct load_text *text;
	uint64_t at;
	struct journal_reader *reader; /* of a text that is checked */
	const uint8_t *block;          /* of reader: what is left of it */
	size_t block_len;
};

static enum nsd_err
octets_open(struct text_source *s, const struct load_text *text)
{
	*s = (struct text_source){.text = text};
	if (text->entry != NULL)
		return journal_reader_open(text->fd, text->entry, &s->reader);
	if (text->offset > INT64_MAX || text->len > INT64_MAX - text->offset)
		return NSD_E_SYSTEM;
	return text->has_sums
		? journal_reader_open_text(text->fd, text->offset, text->len,
			&s->reader)
		: NSD_OK;
}

static void
octets_close(struct text_source *s)
{
	journal_reader_close(s->reader);
}

/* Reads at most len octets of a file. */
static enum nsd_err
octets_read_file(struct text_source *s, uint8_t *data, size_t len,
	size_t *got)
{
	ssize_t n;

	do
		n = pread(s->text->fd, data, len,
			(off_t)(s->text->offset + s->at));
	while (n == -1 && errno == EINTR);
	if (n <= 0)
		return NSD_E_SYSTEM;
	*got = (size_t)n;
	return NSD_OK;
}

/* Reads at most len octets of a text that is checked. */
static enum nsd_err
octets_read_checked(struct text_source *s, uint8_t *data, size_t len,
	size_t *got)
{
	enum nsd_err err = NSD_OK;

	if (s->block_len == 0)
		err = journal_reader_next(s->reader, &s->block,
			&s->block_len);
	if (err != NSD_OK)
		return err;
	if (s->block_len == 0)
		return NSD_E_WIRE;
	*got = len < s->block_len ? len : s->block_len;
	memcpy(data, s->block, *got);
	s->block += *got;
	s->block_len -= *got;
	return NSD_OK;
}

/* Reads the next len octets, which the text has. */
static enum nsd_err
octets_read(struct text_source *s, uint8_t *data, size_t len)
{
	assert(len <= s->text->len - s->at);
	if (s->text->data != NULL) {
		memcpy(data, s->text->data + s->at, len);
		s->at += len;
		return NSD_OK;
	}
	while (len > 0) {
		size_t got;
		enum nsd_err err = s->reader != NULL
			? octets_read_checked(s, data, len, &got)
			: octets_read_file(s, data, len, &got);

		if (err != NSD_OK)
			return err;
		data += got;
		s->at += got;
		len -= got;
	}
	return NSD_OK;
}

enum nsd_err
load_text_copy(const struct load_text *text, uint8_t *data, size_t len)
{
	struct text_source source;
	enum nsd_err err;

	if (len > text->len)
		return NSD_E_SYSTEM;
	err = octets_open(&source, text);
	if (err == NSD_OK)
		err = octets_read(&source, data, len);
	octets_close(&source);
	return err;
}

/* ---- batches ------------------------------------------------------------- */

struct text_reader {
	const struct zonefile_options *options;
	struct zonefile_result *result;
	struct text_source source;
	struct changes changes;
	struct rrbatch *batch;
	struct rrbatch **tail; /* of the batches that are kept */
	size_t last_len;       /* of the owner before; 0: none in the batch */
	uint8_t last[NAME_MAX_LEN];
	size_t size;           /* of buffer: the text, or BUFFER_SIZE */
	uint8_t buffer[];
};

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
	t->batch = rrbatch_pool_take(t->options->pool,
		t->size < SMALL_TEXT ? SMALL_ROOM : BATCH_ROOM);
	return t->batch != NULL ? NSD_OK : NSD_E_MEMORY;
}

static enum nsd_err
text_append(struct text_reader *t, const struct changes_rr *rr)
{
	const struct rrbatch_rr head = {
		.ttl_sec = rr->ttl_sec,
		.type = rr->type,
		.rdlen = rr->rdlen,
	};
	const uint8_t *owner = rr->owner;
	enum nsd_err err = text_make_room(t, sizeof(head) + NAME_MAX_LEN
		+ head.rdlen + 3);

	if (err != NSD_OK)
		return err;
	assert(t->batch != NULL && rr->owner_len <= NAME_MAX_LEN);
	if (t->last_len == rr->owner_len
		&& memcmp(t->last, owner, t->last_len) == 0) {
		owner = NULL;
	} else {
		t->last_len = rr->owner_len;
		memcpy(t->last, owner, t->last_len);
	}
	return rrbatch_append(t->batch, &head, owner, rr->rdata);
}

/* ---- records ------------------------------------------------------------- */

/* Fills the buffer behind the octets that are left in it. *len: how many there
 * are then. */
static enum nsd_err
text_fill(struct text_reader *t, size_t left, size_t *len)
{
	const struct zonefile_options *o = t->options;
	struct text_source *s = &t->source;
	size_t want = t->size - left;
	enum nsd_err err;

	if (want > s->text->len - s->at)
		want = (size_t)(s->text->len - s->at);
	err = octets_read(s, t->buffer + left, want);
	*len = left + want;
	if (err == NSD_OK && o->on_progress != NULL)
		o->on_progress(o->progress_ctx, s->at, s->text->len);
	return err;
}

static enum nsd_err
text_begin(struct text_reader *t)
{
	size_t len;
	enum nsd_err err = text_fill(t, 0, &len);

	if (err == NSD_OK)
		err = changes_open(&t->changes, t->buffer, len);
	if (err == NSD_OK && (t->changes.kind != XFR_WHOLE
			|| !name_equal(t->changes.apex, t->options->apex)))
		err = NSD_E_WIRE;
	return err;
}

static enum nsd_err
text_go_on(struct text_reader *t)
{
	size_t left = changes_left(&t->changes), len;
	enum nsd_err err;

	assert(left < t->size); /* or no more would come */
	memmove(t->buffer, t->changes.cursor.at, left);
	err = text_fill(t, left, &len);
	if (err == NSD_OK)
		changes_feed(&t->changes, t->buffer, len);
	return err;
}

static enum nsd_err
text_read_all(struct text_reader *t)
{
	enum nsd_err err = text_begin(t);
	struct changes_rr rr;
	bool ended = false;

	while (err == NSD_OK && !ended) {
		err = changes_read(&t->changes, &rr);
		if (err == NSD_E_AGAIN) {
			ended = t->source.at == t->source.text->len;
			err = ended ? NSD_OK : text_go_on(t);
		} else if (err == NSD_OK) {
			err = text_append(t, &rr);
		}
	}
	if (err != NSD_OK)
		return err;
	err = changes_close(&t->changes, NULL);
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
	size_t size = text->len < BUFFER_SIZE ? (size_t)text->len
					      : BUFFER_SIZE;
	struct text_reader *t = malloc(sizeof(*t) + size);
	enum nsd_err err;

	memset(result, 0, sizeof(*result));
	if (t == NULL)
		return NSD_E_MEMORY;
	memset(t, 0, sizeof(*t));
	t->options = options;
	t->result = result;
	t->size = size;
	t->tail = &result->batches;
	err = octets_open(&t->source, text);
	if (err == NSD_OK)
		err = text_add_source(text, result);
	if (err == NSD_OK)
		err = text_read_all(t);
	octets_close(&t->source);
	rrbatch_destroy(t->batch);
	free(t);
	return err;
}
