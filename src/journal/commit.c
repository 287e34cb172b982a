/* commit.c - the two threads of a journal's writer. */
#include "config.h"

#include "journal/commit.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void
signal_event(struct commit *commit)
{
	uint64_t one = 1;

	/* The write fails only if the event was signalled 2^64 times. */
	if (write(commit->event, &one, sizeof(one)) == -1)
		return;
}

/* ---- octets that wait */

void
commit_wait_room(struct commit *commit)
{
	pthread_mutex_lock(&commit->lock);
	while (commit->waiting > COMMIT_WAIT)
		pthread_cond_wait(&commit->room, &commit->lock);
	pthread_mutex_unlock(&commit->lock);
}

static void
wait_add(struct commit *commit, struct journal_job *job)
{
	pthread_mutex_lock(&commit->lock);
	commit->waiting += job->weight;
	pthread_mutex_unlock(&commit->lock);
}

/* Takes a job's octets off those that wait: they are written, or lost. */
static void
wait_end(struct commit *commit, struct journal_job *job)
{
	bool was_full;

	pthread_mutex_lock(&commit->lock);
	was_full = commit->waiting > COMMIT_FULL;
	commit->waiting -= job->weight;
	was_full = was_full && commit->waiting <= COMMIT_FULL;
	pthread_cond_signal(&commit->room);
	pthread_mutex_unlock(&commit->lock);
	if (was_full)
		signal_event(commit);
	job->weight = 0;
}

bool
commit_is_full(struct commit *commit)
{
	bool full;

	pthread_mutex_lock(&commit->lock);
	full = commit->waiting > COMMIT_FULL;
	pthread_mutex_unlock(&commit->lock);
	return full;
}

/* ---- texts in files */

static void
text_fail(struct journal_text *text, enum nsd_err err)
{
	int error = err == NSD_E_SYSTEM ? errno : 0;

	text->err = err;
	atomic_store(&text->failed, error != 0 ? error : EIO);
}

static void
text_write(struct commit *commit, struct journal_job *job)
{
	struct journal_text *text = job->text;
	enum nsd_err err;

	if (text->err != NSD_OK || job->len == 0)
		return;
	err = spool_write(commit->dirfd, &text->spool, job->data, job->len);
	if (err != NSD_OK)
		text_fail(text, err);
}

static void
text_destroy(struct commit *commit, struct journal_job *job)
{
	if (job->text == NULL)
		return;
	spool_fini(commit->dirfd, &job->text->spool);
	free(job->text);
	job->text = NULL;
}

/* Ends a text with a file, which is kept if it is too long for the log. */
static void
text_end(struct commit *commit, struct journal_job *job)
{
	struct journal_text *text = job->text;
	enum nsd_err err;

	text_write(commit, job);
	if (text->err == NSD_OK && job->head.record == FORMAT_TEXT_IN_FILE) {
		err = spool_keep(commit->dirfd, &text->spool,
			job->head.entry.id, job->head.table_sum);
		if (err != NSD_OK)
			text_fail(text, err);
	}
	job->err = text->err;
	job->error = atomic_load(&text->failed);
}

static void
spool_job(struct commit *commit, struct journal_job *job)
{
	switch (job->kind) {
	case JOB_BLOCK:
		text_write(commit, job);
		wait_end(commit, job);
		jobs_destroy(job);
		break;
	case JOB_ABANDON:
		text_destroy(commit, job);
		jobs_destroy(job);
		break;
	default:
		text_end(commit, job);
		jobs_push(&commit->logging, job);
		break;
	}
}

static void
spooling_main(void *arg, unsigned number)
{
	struct commit *commit = arg;
	struct journal_job *job, *next;
	CDS_LIST_HEAD(list);

	while (jobs_take(&commit->spooling, true, &list)) {
		cds_list_for_each_entry_safe(job, next, &list, node)
			spool_job(commit, job);
		CDS_INIT_LIST_HEAD(&list);
	}
}

/* ---- the log */

static enum nsd_err
log_text(struct commit *commit, struct journal_job *job)
{
	if (job->head.record == FORMAT_TEXT_IN_FILE)
		return append_bare(&commit->append, &job->head);
	return append_text(&commit->append, &job->head, job->data,
		job->text != NULL ? job->text->spool.fd : -1);
}

/* Appends the record of a job. *lost: no more can be appended before the
 * records so far are taken back. */
static void
log_job(struct commit *commit, struct journal_job *job, bool *lost)
{
	switch (job->kind) {
	case JOB_TEXT:
		job->err = log_text(commit, job);
		break;
	case JOB_DEAD:
		job->err = append_bare(&commit->append, &job->head);
		break;
	case JOB_COPY:
		job->err = append_copy(&commit->append, &job->from,
			&job->head);
		if (job->err == NSD_E_WIRE || job->err == NSD_E_NOT_FOUND)
			return;
		break;
	default:
		break;
	}
	*lost = job->err != NSD_OK;
	if (*lost)
		job->error = job->err == NSD_E_SYSTEM ? errno : ENOSPC;
}

/* True if a job has to be durable before it is done. A death becomes durable
 * with the next job that needs it. A move has to be at once: the file that a
 * copy was made from is removed later, and by then a failed sync may have lost
 * the copy. */
static bool
job_needs_sync(const struct journal_job *job)
{
	return job->kind != JOB_DEAD && job->err == NSD_OK;
}

/* Logs a job by itself, after a failure together with others. */
static void
log_alone(struct commit *commit, struct journal_job *job, bool *sync_failed)
{
	bool lost;

	job->err = NSD_OK;
	log_job(commit, job, &lost);
	if (job->err != NSD_OK) {
		append_undo(&commit->append);
		return;
	}
	job->err = append_commit(&commit->append, job_needs_sync(job),
		sync_failed);
	if (job->err != NSD_OK)
		job->error = errno;
}

/* Logs each job by itself, so that only those fail for which there is no room.
 * After a failed sync no more is tried. */
static void
log_each(struct commit *commit, struct cds_list_head *list)
{
	bool sync_failed = false;
	int error = 0;
	struct journal_job *job;

	append_undo(&commit->append);
	cds_list_for_each_entry(job, list, node) {
		if (job->text != NULL && job->text->err != NSD_OK)
			continue;
		if (sync_failed) {
			job->err = NSD_E_SYSTEM;
			job->error = error;
			continue;
		}
		log_alone(commit, job, &sync_failed);
		error = job->error;
	}
}

/* True if all jobs are in the log. */
static bool
log_together(struct commit *commit, struct cds_list_head *list)
{
	bool sync = false, lost = false, sync_failed;
	struct journal_job *job;

	cds_list_for_each_entry(job, list, node) {
		if (job->err != NSD_OK)
			continue;
		log_job(commit, job, &lost);
		if (lost)
			return false;
		sync |= job_needs_sync(job);
	}
	return append_commit(&commit->append, sync, &sync_failed) == NSD_OK;
}

/* Does what has to wait until the log is durable, or has failed. */
static void
after_log(struct commit *commit, struct journal_job *job)
{
	bool is_segment = job->kind == JOB_REMOVE_SEGMENT;
	char name[FORMAT_NAME_MAX];

	if (job->kind == JOB_TEXT) {
		bool has_file = job->head.record == FORMAT_TEXT_IN_FILE;

		format_print_name(name, job->head.entry.id, "zone");
		if (has_file && job->err != NSD_OK)
			unlinkat(commit->dirfd, name, 0);
		text_destroy(commit, job);
		free(job->data);
		job->data = NULL;
	}
	if ((!is_segment && job->kind != JOB_REMOVE_FILE)
		|| job->err != NSD_OK)
		return;
	if (is_segment)
		format_print_name(name, job->head.entry.segment, "seg");
	else
		format_print_name(name, job->head.entry.id, "zone");
	/* Segments go in the order of their age, whatever comes: a later one
	 * has the deaths of entries in an earlier one. */
	if ((unlinkat(commit->dirfd, name, 0) == -1 && errno != ENOENT)
		|| (is_segment && fsync(commit->dirfd) == -1)) {
		job->err = NSD_E_SYSTEM;
		job->error = errno;
	}
}

static void
logging_main(void *arg, unsigned number)
{
	struct commit *commit = arg;
	struct journal_job *job;
	CDS_LIST_HEAD(list);

	while (jobs_take(&commit->logging, true, &list)) {
		if (!log_together(commit, &list))
			log_each(commit, &list);
		atomic_store(&commit->syncs, commit->append.syncs);
		cds_list_for_each_entry(job, &list, node) {
			after_log(commit, job);
			wait_end(commit, job);
		}
		jobs_push_all(&commit->done, &list);
		signal_event(commit);
	}
}

/* ---- threads */

/* Signals are for the thread that started these. */
static bool
start_threads(struct commit *commit)
{
	sigset_t all, before;
	bool started;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	started = threads_start(&commit->spooler)
		&& threads_start(&commit->logger);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}

static void
commit_fini(struct commit *commit)
{
	append_fini(&commit->append);
	jobs_fini(&commit->spooling);
	jobs_fini(&commit->logging);
	jobs_fini(&commit->done);
	pthread_cond_destroy(&commit->room);
	pthread_mutex_destroy(&commit->lock);
	close(commit->event);
}

enum nsd_err
commit_start(struct commit *commit, int dirfd)
{
	enum nsd_err err;

	commit->dirfd = dirfd;
	commit->waiting = 0;
	memset(&commit->spooler, 0, sizeof(commit->spooler));
	memset(&commit->logger, 0, sizeof(commit->logger));
	atomic_init(&commit->syncs, 0);
	commit->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (commit->event == -1) {
		append_fini(&commit->append);
		return NSD_E_SYSTEM;
	}
	pthread_mutex_init(&commit->lock, NULL);
	pthread_cond_init(&commit->room, NULL);
	jobs_init(&commit->spooling);
	jobs_init(&commit->logging);
	jobs_init(&commit->done);
	err = threads_init(&commit->spooler, 1, spooling_main, commit);
	if (err == NSD_OK)
		err = threads_init(&commit->logger, 1, logging_main, commit);
	if (err == NSD_OK && !start_threads(commit))
		err = NSD_E_SYSTEM;
	if (err == NSD_OK)
		return NSD_OK;
	commit_stop(commit);
	errno = EAGAIN; /* no thread */
	return err;
}

void
commit_stop(struct commit *commit)
{
	/* The first thread gives jobs to the second one until it has ended. */
	jobs_end(&commit->spooling);
	threads_join(&commit->spooler);
	jobs_end(&commit->logging);
	threads_join(&commit->logger);
	commit_fini(commit);
}

void
commit_push(struct commit *commit, struct journal_job *job)
{
	wait_add(commit, job);
	jobs_push(job->text != NULL ? &commit->spooling : &commit->logging,
		job);
}

void
commit_take_done(struct commit *commit, struct cds_list_head *list)
{
	uint64_t count;

	jobs_take(&commit->done, false, list);
	if (!cds_list_empty(list))
		return;
	/* Jobs that come from here on signal again. */
	if (read(commit->event, &count, sizeof(count)) == -1)
		return;
	jobs_take(&commit->done, false, list);
}
