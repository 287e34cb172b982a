/*
 * clean.c - removes from the disk what entries leave that are not live any
 * more.
 *
 * Segments go from the oldest on. So the record of a death is there as long as
 * the dead entry, and an entry is never copied behind the record that ends it.
 */
#include "journal/clean.h"

#include <string.h>

/* Copies under way at a time: others wait for them. */
#define COPIES_MAX 64u
#define COPY_OCTETS_MAX (1u << 20)

static void
remove_file(struct journal *journal, uint64_t id)
{
	struct journal_job *job = jobs_create(JOB_REMOVE_FILE, 0);

	if (job == NULL)
		return; /* the next journal_open removes it */
	job->head.entry.id = id;
	commit_push(&journal->commit, job);
}

void
clean_note_judged(struct journal *journal, const uint8_t *apex, uint64_t id)
{
	struct journal_job *job = jobs_create(JOB_DEAD, 0);

	live_clear_doubt(&journal->live, apex, id, id);
	if (job == NULL)
		return; /* the entry is judged again, if this process ends */
	job->head.record = FORMAT_JUDGED;
	memcpy(job->head.apex, apex, name_len(apex));
	name_lower(job->head.apex);
	job->head.entry.id = job->head.last = id;
	commit_push(&journal->commit, job);
}

void
clean_kill(struct journal *journal, const uint8_t *apex, uint64_t first,
	uint64_t last)
{
	struct journal_job *job = jobs_create(JOB_DEAD, 0);
	struct live_entry *entry;

	if (job == NULL) {
		job = journal->spare;
		journal->spare = NULL;
	} else if (journal->spare == NULL) {
		journal->spare = jobs_create(JOB_DEAD, 0);
	}
	if (job != NULL) {
		job->head.record = FORMAT_DEAD;
		memcpy(job->head.apex, apex, name_len(apex));
		name_lower(job->head.apex);
		job->head.entry.id = first;
		job->head.last = last;
		commit_push(&journal->commit, job);
	}
	while ((entry = live_find_between(&journal->live, apex, first, last))
		!= NULL) {
		if (entry->entry.in_file && job != NULL)
			remove_file(journal, entry->entry.id);
		live_remove(&journal->live, entry);
	}
}

/* ---- segments go */

static struct live_segment *
segment_oldest(const struct journal *journal)
{
	const struct cds_list_head *head = &journal->live.segments;

	return head->next == head ? NULL : cds_list_entry(head->next,
		struct live_segment, node);
}

/* The segment with the largest number may still be written to. */
static bool
is_newest(const struct journal *journal, const struct live_segment *segment)
{
	return segment->node.next == &journal->live.segments;
}

/* True if so much is garbage that segments should go. */
static bool
clean_is_due(const struct journal *journal)
{
	const struct live *live = &journal->live;

	return live->segment_octets > 2 * live->record_octets
		+ 2 * journal->segment_size;
}

static void
remove_oldest(struct journal *journal)
{
	struct live_segment *segment = segment_oldest(journal);
	struct journal_job *job;

	if (segment == NULL || is_newest(journal, segment) || journal->removing
		|| !cds_list_empty(&segment->entries)
		|| (segment->is_lost && !clean_is_due(journal)))
		return;
	job = jobs_create(JOB_REMOVE_SEGMENT, 0);
	if (job == NULL)
		return;
	job->head.entry.segment = segment->number;
	if (journal->near.number == segment->number)
		fetch_close_segment(&journal->near);
	journal->removing = true;
	commit_push(&journal->commit, job);
}

static void
on_removed(struct journal *journal, struct journal_job *job)
{
	struct live_segment *segment = segment_oldest(journal);

	journal->removing = false;
	if (job->err != NSD_OK) {
		journal->paused = true;
		return;
	}
	if (segment != NULL && segment->number == job->head.entry.segment
		&& cds_list_empty(&segment->entries))
		live_remove_segment(&journal->live, segment);
}

/* ---- entries move */

static bool
entry_copy(struct journal *journal, struct live_entry *entry)
{
	struct journal_job *job = jobs_create(JOB_COPY, 0);

	if (job == NULL)
		return false;
	memcpy(job->head.apex, entry->zone->apex, name_len(entry->zone->apex));
	job->head.entry.id = entry->entry.id;
	job->from = entry->entry;
	journal->copies++;
	commit_push(&journal->commit, job);
	return true;
}

/* Moves some live entries of the oldest segment. */
static void
copy_oldest(struct journal *journal)
{
	struct live_segment *segment = segment_oldest(journal);
	struct live_entry *entry;
	uint64_t octets = 0;

	if (segment == NULL || is_newest(journal, segment))
		return;
	cds_list_for_each_entry(entry, &segment->entries, in_segment) {
		octets += format_record_size(&entry->entry);
		if (!entry_copy(journal, entry) || journal->copies >= COPIES_MAX
			|| octets >= COPY_OCTETS_MAX)
			return;
	}
}

/* Returns the live entry of a copy, if it is still where the copy was made
 * from. */
static struct live_entry *
find_copied(struct journal *journal, const struct journal_job *job)
{
	struct live_entry *entry = live_find(&journal->live, job->head.apex,
		job->from.id);

	return entry != NULL && entry->entry.segment == job->from.segment
		&& entry->entry.offset == job->from.offset ? entry : NULL;
}

static bool
on_copied(struct journal *journal, struct journal_job *job)
{
	const struct live_entry *copied = find_copied(journal, job);

	journal->copies--;
	if (copied == NULL)
		return false;
	/* The entry may have been judged meanwhile: the note is behind the
	 * copy. */
	job->head.entry.is_doubtful = copied->entry.is_doubtful;
	switch (job->err) {
	case NSD_OK:
		/* Without memory the entry stays where it is. */
		if (live_add(&journal->live, job->head.apex, &job->head.entry)
			!= NSD_OK)
			journal->paused = true;
		return false;
	case NSD_E_WIRE:
	case NSD_E_NOT_FOUND:
		clean_kill(journal, job->head.apex, job->from.id,
			job->from.id);
		job->head.entry = job->from;
		job->err = NSD_E_WIRE;
		return true;
	default:
		journal->paused = true;
		return false;
	}
}

/* ---- a step */

bool
clean_on_done(struct journal *journal, struct journal_job *job)
{
	if (job->kind == JOB_COPY)
		return on_copied(journal, job);
	if (job->kind == JOB_REMOVE_SEGMENT)
		on_removed(journal, job);
	return false;
}

/* True if the bound is reached that journal.h names. */
static bool
must_copy(const struct journal *journal)
{
	const struct live *live = &journal->live;

	return live->segment_octets > 3 * live->record_octets
		+ 4 * journal->segment_size;
}

void
clean_run(struct journal *journal)
{
	if (journal->paused)
		return;
	remove_oldest(journal);
	if (journal->copies == 0 && must_copy(journal))
		copy_oldest(journal);
}
