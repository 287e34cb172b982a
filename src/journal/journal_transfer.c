/* journal_transfer.c - takes the text of an entry: into memory, and on to a
 * file when it is long. */
#include "journal/journal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "journal/state.h"

struct journal_transfer *
journal_begin(struct journal *journal, const uint8_t *apex)
{
	struct journal_transfer *transfer;

	if (journal->id_next > FORMAT_ID_MAX)
		return NULL;
	transfer = calloc(1, sizeof(*transfer));
	if (transfer == NULL)
		return NULL;
	/* The job is made now, so that the end needs no memory. */
	transfer->job = jobs_create(JOB_TEXT, JOURNAL_SOURCE_MAX);
	if (transfer->job == NULL) {
		free(transfer);
		return NULL;
	}
	transfer->journal = journal;
	memcpy(transfer->job->head.apex, apex, name_len(apex));
	name_lower(transfer->job->head.apex);
	cds_list_add_tail(&transfer->node, &journal->transfers);
	return transfer;
}

/* Gives the block to the thread that writes it. */
static enum nsd_err
transfer_spill(struct journal_transfer *transfer)
{
	struct journal *journal = transfer->journal;
	struct journal_job *job = jobs_create(JOB_BLOCK, 0);

	if (job == NULL)
		return NSD_E_MEMORY;
	if (transfer->text == NULL) {
		transfer->text = calloc(1, sizeof(*transfer->text));
		if (transfer->text == NULL) {
			jobs_destroy(job);
			return NSD_E_MEMORY;
		}
		spool_init(&transfer->text->spool, journal->spool_next++);
	}
	job->text = transfer->text;
	job->data = transfer->data;
	job->len = job->weight = transfer->used;
	transfer->data = NULL;
	transfer->used = transfer->room = 0;
	commit_push(&journal->commit, job);
	return NSD_OK;
}

static bool
has_failed(const struct journal_transfer *transfer)
{
	int error = transfer->text != NULL
		? atomic_load(&transfer->text->failed) : 0;

	if (error != 0)
		errno = error;
	return error != 0;
}

enum nsd_err
journal_put(struct journal_transfer *transfer, const void *data, size_t len)
{
	const uint8_t *from = data;

	if (has_failed(transfer))
		return NSD_E_SYSTEM;
	commit_wait_room(&transfer->journal->commit);
	while (len > 0) {
		size_t n = FORMAT_BLOCK - transfer->used;
		uint8_t *room;

		if (n == 0) {
			enum nsd_err err = transfer_spill(transfer);

			if (err != NSD_OK)
				return err;
			continue;
		}
		if (n > len)
			n = len;
		/* The zeros behind a text fit, too. */
		room = grow_octets(transfer->data,
			(size_t)format_pad(transfer->used + n),
			&transfer->room);
		if (room == NULL)
			return NSD_E_MEMORY;
		transfer->data = room;
		memcpy(room + transfer->used, from, n);
		transfer->used += n;
		transfer->text_len += n;
		from += n;
		len -= n;
	}
	return NSD_OK;
}

bool
journal_is_full(const struct journal *journal)
{
	/* The lock of the count changes, so commit is not const. */
	return commit_is_full((struct commit *)&journal->commit);
}

static void
put_source(struct journal_job *job, const char *source)
{
	size_t len = source != NULL ? strlen(source) : 0;

	if (len > JOURNAL_SOURCE_MAX)
		len = JOURNAL_SOURCE_MAX;
	if (len > 0)
		memcpy(job->source, source, len);
	job->head.source = (const uint8_t *)job->source;
	job->head.source_len = (uint16_t)len;
}

uint64_t
journal_end(struct journal_transfer *transfer, const struct journal_end *end)
{
	struct journal *journal = transfer->journal;
	struct journal_job *job = transfer->job;
	struct journal_entry *entry = &job->head.entry;
	uint64_t id = journal->id_next++;

	assert(transfer->text_len > 0);
	entry->id = id;
	entry->text_len = transfer->text_len;
	entry->time_sec = end->time_sec;
	entry->kind = end->kind;
	entry->is_back = end->kind == JOURNAL_WHOLE && end->is_back;
	entry->is_doubtful = end->is_doubtful;
	entry->is_taken = end->is_taken;
	entry->is_update = end->is_update;
	entry->from = end->kind == JOURNAL_DIFFS || entry->is_back ? end->from
								   : 0;
	entry->to = end->to;
	entry->in_file = transfer->text_len > FORMAT_INLINE_MAX;
	job->head.record = entry->in_file ? FORMAT_TEXT_IN_FILE
					  : FORMAT_TEXT_HERE;
	put_source(job, end->source);
	job->text = transfer->text;
	job->data = transfer->data;
	job->len = transfer->used;
	job->weight = transfer->room + sizeof(*job) + JOURNAL_SOURCE_MAX;
	cds_list_del(&transfer->node);
	free(transfer);
	cds_list_add_tail(&job->pending, &journal->pending);
	commit_push(&journal->commit, job);
	return id;
}

void
journal_abandon(struct journal_transfer *transfer)
{
	struct journal_job *job;

	if (transfer == NULL)
		return;
	job = transfer->job;
	job->kind = JOB_ABANDON;
	job->text = transfer->text;
	if (job->text != NULL)
		commit_push(&transfer->journal->commit, job);
	else
		jobs_destroy(job);
	cds_list_del(&transfer->node);
	free(transfer->data);
	free(transfer);
}
