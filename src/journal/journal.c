/* journal.c - the writer of a journal: opens it, takes entries that have become
 * durable, and ends those that are not needed. */
#include "config.h"

#include "journal/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "journal/clean.h"
#include "journal/fetch.h"
#include "journal/recover.h"
#include "journal/state.h"

/* ---- opening */

enum nsd_err
journal_make_folder(const char *path)
{
	int fd, parent, error;

	if (mkdir(path, 0700) == -1)
		return errno == EEXIST ? NSD_OK : NSD_E_SYSTEM;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1)
		return NSD_E_SYSTEM;
	parent = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	close(fd);
	if (parent == -1)
		return errno == EACCES ? NSD_OK : NSD_E_SYSTEM;
	error = fsync(parent) == 0 ? 0 : errno;
	close(parent);
	errno = error;
	return error == 0 ? NSD_OK : NSD_E_SYSTEM;
}

/* Octets after which a text is compared with the disk's room. */
#define ROOM_OCTETS (UINT64_C(16) << 20)

/* Reports the file in the folder that keeps the journal from being opened. */
static enum nsd_err
fail_at(const char *name, struct diag_sink *sink)
{
	int saved_errno = errno;

	diag_emit(sink, DIAG_ERROR, name, 0, 0, "%s", strerror(saved_errno));
	errno = saved_errno;
	return NSD_E_SYSTEM;
}

/* Opens and locks the folder. The lock is of the process: a child that it forks
 * does not have it. */
static enum nsd_err
open_folder(struct journal *journal, const char *path, struct diag_sink *sink)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	enum nsd_err err = journal_make_folder(path);

	if (err != NSD_OK)
		return err;
	journal->dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (journal->dirfd == -1)
		return NSD_E_SYSTEM;
	journal->lock_fd = openat(journal->dirfd, "lock", O_RDWR | O_CREAT
		| O_CLOEXEC | O_NOFOLLOW, 0600);
	if (journal->lock_fd == -1)
		return fail_at("lock", sink);
	if (fcntl(journal->lock_fd, F_SETLK, &lock) == 0)
		return NSD_OK;
	if (errno == EACCES)
		errno = EWOULDBLOCK;
	return fail_at("lock", sink);
}

/* The ids of live entries with a file, in order. NULL: without memory. */
static uint64_t *
list_files(const struct journal *journal, size_t *count)
{
	uint64_t *ids = calloc(journal->live.entry_count + 1, sizeof(*ids));
	struct live_segment *segment;
	struct live_entry *entry;

	*count = 0;
	if (ids == NULL)
		return NULL;
	cds_list_for_each_entry(segment, &journal->live.segments, node)
		cds_list_for_each_entry(entry, &segment->entries, in_segment)
			if (entry->entry.in_file)
				ids[(*count)++] = entry->entry.id;
	qsort(ids, *count, sizeof(*ids), recover_compare_numbers);
	return ids;
}

/* Removes the files of a suffix but those of these numbers. */
static enum nsd_err
remove_files(struct journal *journal, const char *suffix,
	const uint64_t *keep, size_t keep_count, struct diag_sink *sink)
{
	char name[FORMAT_NAME_MAX];
	uint64_t *numbers;
	size_t count;
	enum nsd_err err = recover_list(journal->dirfd, suffix, &numbers,
		&count);

	if (err != NSD_OK)
		return err;
	for (size_t i = 0; i < count && err == NSD_OK; i++) {
		if (keep_count > 0 && bsearch(&numbers[i], keep, keep_count,
			sizeof(*keep), recover_compare_numbers) != NULL)
			continue;
		format_print_name(name, numbers[i], suffix);
		if (unlinkat(journal->dirfd, name, 0) == -1)
			err = fail_at(name, sink);
	}
	free(numbers);
	return err;
}

/* Removes files of a writer that died. If some records cannot be read, texts
 * without a record may be theirs, and stay. */
static enum nsd_err
remove_strays(struct journal *journal, bool knows_all, struct diag_sink *sink)
{
	size_t count;
	uint64_t *ids = list_files(journal, &count);
	enum nsd_err err;

	if (ids == NULL)
		return NSD_E_MEMORY;
	err = remove_files(journal, "tmp", NULL, 0, sink);
	if (err == NSD_OK && knows_all)
		err = remove_files(journal, "zone", ids, count, sink);
	free(ids);
	return err;
}

/* Goes on in the last segment, if it is sound and not full. */
static enum nsd_err
begin_append(struct journal *journal, const struct recover_result *found,
	struct diag_sink *sink)
{
	struct append *append = &journal->commit.append;
	char name[FORMAT_NAME_MAX];
	enum nsd_err err = append_init(append, journal->dirfd,
		journal->segment_size, found->segment_last);
	int fd;

	if (err != NSD_OK || !found->can_append
		|| found->end >= journal->segment_size)
		return err;
	format_print_name(name, found->segment_last, "seg");
	fd = openat(journal->dirfd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd == -1) {
		append_fini(append);
		return fail_at(name, sink);
	}
	append_resume(append, fd, found->end, found->salt);
	return NSD_OK;
}

static enum nsd_err
open_journal(struct journal *journal, const char *path, struct diag_sink *sink)
{
	struct recover_result found;
	enum nsd_err err = open_folder(journal, path, sink);

	if (err == NSD_OK)
		err = recover_segments(journal->dirfd, RECOVER_REPAIR, sink,
			&journal->live, &found);
	if (err == NSD_OK)
		err = remove_strays(journal, found.ids_lost == 0, sink);
	if (err == NSD_OK && fsync(journal->dirfd) == -1)
		err = NSD_E_SYSTEM;
	if (err != NSD_OK)
		return err;
	journal->id_next = found.id_last + 1;
	journal->spool_next = 1;
	err = begin_append(journal, &found, sink);
	return err == NSD_OK ? commit_start(&journal->commit, journal->dirfd)
			     : err;
}

static void
free_journal(struct journal *journal)
{
	int saved_errno = errno;

	live_fini(&journal->live);
	jobs_destroy(journal->spare);
	fetch_close_segment(&journal->near);
	if (journal->dirfd != -1)
		close(journal->dirfd);
	if (journal->lock_fd != -1)
		close(journal->lock_fd);
	free(journal);
	errno = saved_errno;
}

enum nsd_err
journal_open(const struct journal_options *options, struct diag_sink *sink,
	struct journal **result)
{
	struct journal *journal = calloc(1, sizeof(*journal));
	enum nsd_err err;

	if (journal == NULL)
		return NSD_E_MEMORY;
	journal->dirfd = journal->lock_fd = -1;
	fetch_init_segment(&journal->near);
	journal->segment_size = options->segment_size != 0
		? options->segment_size : JOURNAL_SEGMENT_SIZE;
	CDS_INIT_LIST_HEAD(&journal->transfers);
	CDS_INIT_LIST_HEAD(&journal->pending);
	CDS_INIT_LIST_HEAD(&journal->ready);
	err = live_init(&journal->live);
	journal->spare = jobs_create(JOB_DEAD, 0);
	if (journal->spare == NULL)
		err = NSD_E_MEMORY;
	if (err == NSD_OK)
		err = open_journal(journal, options->path, sink);
	if (err != NSD_OK) {
		free_journal(journal);
		return err == NSD_E_NOT_FOUND ? NSD_E_AGAIN : err;
	}
	clean_run(journal);
	*result = journal;
	return NSD_OK;
}

void
journal_close(struct journal *journal)
{
	struct journal_transfer *transfer, *next_transfer;
	struct journal_job *job, *next;

	if (journal == NULL)
		return;
	cds_list_for_each_entry_safe(transfer, next_transfer,
		&journal->transfers, node)
		journal_abandon(transfer);
	commit_stop(&journal->commit);
	cds_list_for_each_entry_safe(job, next, &journal->ready, node)
		jobs_destroy(job);
	free_journal(journal);
}

int
journal_fd(const struct journal *journal)
{
	return journal->commit.event;
}

/* ---- entries that have become durable */

/* Notes a record in the log, and the length of its segment. */
static void
note_record(struct journal *journal, const struct journal_job *job)
{
	const struct journal_entry *entry = &job->head.entry;
	struct live_segment *segment = live_get_segment(&journal->live,
		entry->segment);
	uint64_t end = entry->offset + (format_is_note(job->head.record)
		? entry->head_len : format_record_size(entry));

	if (segment != NULL && segment->octets < end)
		live_set_octets(&journal->live, segment, end);
}

/* Takes the end of an entry, with or without success. */
static void
on_text(struct journal *journal, struct journal_job *job)
{
	const struct format_head *head = &job->head;

	cds_list_del(&job->pending);
	if (job->err == NSD_OK) {
		journal->paused = false;
		job->err = live_add(&journal->live, head->apex, &head->entry);
		if (job->err == NSD_OK && job->unwanted)
			job->err = NSD_E_NOT_FOUND;
	}
	/* The record may be on the disk all the same. */
	if (job->err != NSD_OK)
		clean_kill(journal, head->apex, head->entry.id,
			head->entry.id);
}

static void
on_commit_done(struct journal *journal, struct journal_job *job)
{
	bool is_record = job->kind == JOB_TEXT || job->kind == JOB_DEAD
		|| job->kind == JOB_COPY;
	bool told = job->kind == JOB_TEXT;

	if (is_record && job->err == NSD_OK)
		note_record(journal, job);
	if (job->kind == JOB_TEXT)
		on_text(journal, job);
	else
		told = clean_on_done(journal, job);
	if (told)
		cds_list_add_tail(&job->node, &journal->ready);
	else
		jobs_destroy(job);
}

bool
journal_next(struct journal *journal, struct journal_done *done)
{
	struct journal_job *job, *next;
	CDS_LIST_HEAD(list);

	if (cds_list_empty(&journal->ready)) {
		commit_take_done(&journal->commit, &list);
		cds_list_for_each_entry_safe(job, next, &list, node)
			on_commit_done(journal, job);
		clean_run(journal);
	}
	if (cds_list_empty(&journal->ready))
		return false;
	job = cds_list_first_entry(&journal->ready, struct journal_job, node);
	cds_list_del(&job->node);
	done->id = job->head.entry.id;
	memcpy(done->apex, job->head.apex, NAME_MAX_LEN);
	done->err = job->err;
	done->error = job->error;
	done->entry = job->head.entry;
	jobs_destroy(job);
	return true;
}

bool
journal_is_there(const struct journal *journal)
{
	struct stat st;

	return fstat(journal->dirfd, &st) == -1 || st.st_nlink > 0;
}

bool
journal_fills_disk(const struct journal *journal, uint64_t before,
	uint64_t after)
{
	struct statfs st;

	return before / ROOM_OCTETS != after / ROOM_OCTETS
		&& fstatfs(journal->dirfd, &st) == 0
		&& after > (uint64_t)st.f_bavail * (uint64_t)st.f_bsize;
}

enum nsd_err
journal_open_text(struct journal *journal, const uint8_t *apex, uint64_t id,
	int *fd, uint64_t *offset)
{
	_Alignas(8) uint8_t buffer[FORMAT_HEAD_MAX];
	const struct live_entry *entry = live_find(&journal->live, apex, id);
	struct format_head head;

	if (entry == NULL)
		return NSD_E_NOT_FOUND;
	if (entry->entry.in_file) {
		*offset = 0;
		return fetch_file(journal->dirfd, id, fd);
	}
	*offset = entry->entry.offset + entry->entry.head_len;
	return fetch_head_near(journal->dirfd, &journal->near, &entry->entry,
		buffer, fd, &head);
}

/* ---- an entry goes */

/* Marks the entries of a zone that are under way, from an id on, as
 * unwanted. */
static void
drop_unwanted(struct journal *journal, const uint8_t *apex, uint64_t first)
{
	struct journal_job *job;

	cds_list_for_each_entry(job, &journal->pending, pending)
		if (job->head.entry.id >= first
			&& name_equal(job->head.apex, apex))
			job->unwanted = true;
}

static void
kill_live(struct journal *journal, const uint8_t *apex, uint64_t first,
	uint64_t last)
{
	if (live_find_between(&journal->live, apex, first, last) == NULL)
		return;
	clean_kill(journal, apex, first, last);
	clean_run(journal);
}

void
journal_accept(struct journal *journal, const uint8_t *apex, uint64_t id)
{
	const struct live_entry *entry = live_find(&journal->live, apex, id);

	if (entry != NULL && entry->entry.is_doubtful)
		clean_note_judged(journal, apex, id);
	if (entry != NULL && entry->entry.kind == JOURNAL_WHOLE)
		kill_live(journal, apex, 0, id - 1);
}

void
journal_refuse(struct journal *journal, const uint8_t *apex, uint64_t id)
{
	drop_unwanted(journal, apex, id);
	kill_live(journal, apex, id, journal->id_next - 1);
}

void
journal_refuse_one(struct journal *journal, const uint8_t *apex, uint64_t id)
{
	kill_live(journal, apex, id, id);
}

bool
journal_forget(struct journal *journal, const uint8_t *apex, uint32_t serial)
{
	const struct live_zone *zone = live_find_zone(&journal->live, apex);
	const struct live_entry *entry;

	if (zone == NULL)
		return false;
	cds_list_for_each_entry_reverse(entry, &zone->entries, in_zone)
		if (entry->entry.to == serial) {
			kill_live(journal, apex, 0, entry->entry.id);
			return true;
		}
	return false;
}

void
journal_drop(struct journal *journal, const uint8_t *apex)
{
	struct journal_transfer *transfer;

	cds_list_for_each_entry(transfer, &journal->transfers, node)
		if (name_equal(transfer->job->head.apex, apex))
			transfer->job->unwanted = true;
	drop_unwanted(journal, apex, 0);
	kill_live(journal, apex, 0, journal->id_next - 1);
}

size_t
journal_drop_others(struct journal *journal,
	bool (*keeps)(void *ctx, const uint8_t *apex), void *ctx)
{
	uint8_t apex[NAME_MAX_LEN];
	size_t dropped = 0;

	for (size_t i = 0; i < journal->live.bucket_count; i++) {
		struct live_zone *zone = journal->live.buckets[i], *next;

		for (; zone != NULL; zone = next) {
			next = zone->next;
			if (keeps(ctx, zone->apex))
				continue;
			/* The zone goes with its last entry, so its apex is
			 * copied. */
			memcpy(apex, zone->apex, name_len(zone->apex));
			journal_drop(journal, apex);
			dropped++;
		}
	}
	return dropped;
}

/* ---- look-ups */

bool
journal_each(const struct journal *journal, const uint8_t *apex,
	bool (*fn)(void *ctx, const struct journal_entry *entry), void *ctx)
{
	const struct live_zone *zone = live_find_zone(&journal->live, apex);
	const struct live_entry *live;

	if (zone == NULL)
		return true;
	cds_list_for_each_entry(live, &zone->entries, in_zone)
		if (!fn(ctx, &live->entry))
			return false;
	return true;
}

bool
journal_find_serial(const struct journal *journal, const uint8_t *apex,
	uint32_t serial, struct journal_entry *entry)
{
	const struct live_zone *zone = live_find_zone(&journal->live, apex);
	const struct live_entry *live;

	if (zone == NULL)
		return false;
	cds_list_for_each_entry_reverse(live, &zone->entries, in_zone)
		if (live->entry.to == serial) {
			*entry = live->entry;
			return true;
		}
	return false;
}

enum nsd_err
journal_read_source(struct journal *journal, const uint8_t *apex,
	uint64_t id, char source[JOURNAL_SOURCE_MAX + 1])
{
	_Alignas(8) uint8_t buffer[FORMAT_HEAD_MAX];
	const struct live_entry *entry = live_find(&journal->live, apex, id);
	struct format_head head;
	enum nsd_err err;
	int fd;

	if (entry == NULL)
		return NSD_E_NOT_FOUND;
	err = fetch_head(journal->dirfd, &entry->entry, buffer, &fd, &head);
	if (err != NSD_OK)
		return err;
	close(fd);
	memcpy(source, head.source, head.source_len);
	source[head.source_len] = '\0';
	return NSD_OK;
}

bool
journal_find_newest(const struct journal *journal, const uint8_t *apex,
	struct journal_entry *entry, uint64_t *octets)
{
	const struct live_zone *zone = live_find_zone(&journal->live, apex);

	if (zone == NULL)
		return false;
	*entry = live_newest(zone)->entry;
	*octets = zone->octets;
	return true;
}

bool
journal_find_oldest(const struct journal *journal, const uint8_t *apex,
	struct journal_entry *entry)
{
	const struct live_zone *zone = live_find_zone(&journal->live, apex);

	if (zone == NULL)
		return false;
	*entry = cds_list_entry(zone->entries.next, struct live_entry,
		in_zone)->entry;
	return true;
}

void
journal_get_usage(const struct journal *journal, struct journal_usage *usage)
{
	const struct live *live = &journal->live;

	usage->entries = live->entry_count;
	usage->live_octets = live->record_octets + live->file_octets;
	usage->disk_octets = live->segment_octets + live->file_octets;
	usage->segments = live->segment_count;
	usage->syncs = atomic_load(&journal->commit.syncs);
}
