/*
 * parallel.c - several threads over the pieces of one file.
 *
 * Threads take pieces in order and parse them with an assumed state. The
 * calling thread does the same, and joins the finished pieces in order; all
 * that leaves this layer (findings, progress) leaves it from there.
 */
#include "zonefile/parse.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MAX 64u

enum slot_state { SLOT_FREE, SLOT_BUSY, SLOT_PARSED };

struct slot {
	enum slot_state state;
	uint64_t end; /* offset in the input behind the piece */
	struct piece piece;
};

struct parallel {
	struct parse_file *file;
	pthread_mutex_t lock;
	pthread_cond_t changed;     /* anything below */
	struct slot *slots;         /* a ring, by sequence number */
	size_t slot_count;
	uint64_t next_read;         /* sequence number of the next piece */
	uint64_t next_commit;
	bool reading;               /* a thread is at the input */
	bool at_end;                /* no piece left to read */
	enum nsd_err read_err;      /* why, if not for the file's end */
	int read_errno;
	struct reader_state assumed;
};

static struct slot *
slot_of(struct parallel *pl, uint64_t n)
{
	return &pl->slots[n % pl->slot_count];
}

static bool
can_read(struct parallel *pl)
{
	return !pl->at_end && !pl->reading
		&& slot_of(pl, pl->next_read)->state == SLOT_FREE;
}

/* Reads the next piece; the lock is held before and after, not during. NULL
 * when there was none to be had. */
static struct slot *
take_piece(struct parallel *pl)
{
	struct slot *slot = slot_of(pl, pl->next_read);
	enum nsd_err err;

	slot->state = SLOT_BUSY;
	slot->piece.assumed = pl->assumed;
	pl->reading = true;
	pthread_mutex_unlock(&pl->lock);
	err = piece_read(pl->file, &slot->piece,
		pl->file->parse->piece_size);
	pthread_mutex_lock(&pl->lock);
	pl->reading = false;
	if (err != NSD_OK) {
		pl->at_end = true;
		pl->read_err = err;
		pl->read_errno = errno;
		slot->state = SLOT_FREE;
		slot = NULL;
	} else {
		slot->end = pl->file->in.at - pl->file->carry_len;
		pl->next_read++;
		pl->at_end |= slot->piece.is_last;
	}
	pthread_cond_broadcast(&pl->changed);
	return slot;
}

static void
parse_slot(struct parallel *pl, struct reader *r, struct slot *slot)
{
	pthread_mutex_unlock(&pl->lock);
	piece_parse_assumed(pl->file, r, &slot->piece);
	pthread_mutex_lock(&pl->lock);
	slot->state = SLOT_PARSED;
	pthread_cond_broadcast(&pl->changed);
}

struct worker {
	struct parallel *parallel;
	struct reader reader;
	pthread_t thread;
};

static void *
worker_run(void *arg)
{
	struct worker *w = arg;
	struct parallel *pl = w->parallel;
	struct slot *slot;

	pthread_mutex_lock(&pl->lock);
	while (!pl->at_end) {
		if (!can_read(pl)) {
			pthread_cond_wait(&pl->changed, &pl->lock);
			continue;
		}
		slot = take_piece(pl);
		if (slot != NULL)
			parse_slot(pl, &w->reader, slot);
	}
	pthread_mutex_unlock(&pl->lock);
	return NULL;
}

static void
worker_init(struct worker *w, struct parallel *pl)
{
	const struct reader *r = &pl->file->reader;

	reader_init(&w->reader);
	w->parallel = pl;
	w->reader.kernel = r->kernel;
	w->reader.file = r->file;
	w->reader.file_name = r->file_name;
	w->reader.ttl_fallback = r->ttl_fallback;
	w->reader.is_secondary = r->is_secondary;
	w->reader.wants_owner = r->wants_owner;
	w->reader.wants_ctx = r->wants_ctx;
}

/* Joins the piece that is next in order; the lock is held before and after. */
static enum reader_stop
commit_slot(struct parallel *pl, struct slot *slot)
{
	struct parse_file *f = pl->file;
	const struct zonefile_options *o = f->parse->options;
	enum reader_stop stop;

	pthread_mutex_unlock(&pl->lock);
	stop = piece_commit(f, &slot->piece);
	if (o->on_progress != NULL)
		o->on_progress(o->progress_ctx, slot->end, f->in.size);
	pthread_mutex_lock(&pl->lock);
	pl->assumed = f->state;
	slot->state = SLOT_FREE;
	pl->next_commit++;
	pthread_cond_broadcast(&pl->changed);
	return stop;
}

/* What the calling thread does until all pieces are joined. */
static enum reader_stop
coordinate(struct parallel *pl, struct worker *self)
{
	enum reader_stop stop = READER_END;

	pthread_mutex_lock(&pl->lock);
	while (stop == READER_END) {
		struct slot *slot = slot_of(pl, pl->next_commit);

		if (slot->state == SLOT_PARSED
				&& pl->next_commit < pl->next_read) {
			stop = commit_slot(pl, slot);
		} else if (can_read(pl)) {
			slot = take_piece(pl);
			if (slot != NULL)
				parse_slot(pl, &self->reader, slot);
		} else if (pl->at_end && pl->next_commit == pl->next_read) {
			break;
		} else {
			pthread_cond_wait(&pl->changed, &pl->lock);
		}
	}
	pl->at_end = true;
	pthread_cond_broadcast(&pl->changed);
	pthread_mutex_unlock(&pl->lock);
	return stop;
}

/* Reads the rest of the file with the calling thread and more; fewer than
 * asked for if the system gives no more. */
static enum reader_stop
run_threads(struct parallel *pl, unsigned threads)
{
	struct worker *workers = calloc(threads, sizeof(*workers));
	enum reader_stop stop;
	unsigned started = 0, i;

	if (workers == NULL)
		return parse_fail(pl->file->parse, NSD_E_MEMORY);
	for (i = 0; i < threads; i++)
		worker_init(&workers[i], pl);
	while (started + 1 < threads && pthread_create(
			&workers[started + 1].thread, NULL, worker_run,
			&workers[started + 1]) == 0)
		started++;
	stop = coordinate(pl, &workers[0]);
	for (i = 1; i <= started; i++)
		pthread_join(workers[i].thread, NULL);
	for (i = 0; i < threads; i++)
		reader_fini(&workers[i].reader);
	free(workers);
	if (stop == READER_END && pl->read_err != NSD_OK) {
		errno = pl->read_errno;
		return parse_fail(pl->file->parse, pl->read_err);
	}
	return stop;
}

static bool
parallel_init(struct parallel *pl, struct parse_file *f, unsigned threads)
{
	memset(pl, 0, sizeof(*pl));
	pl->file = f;
	pl->assumed = f->state;
	pl->slot_count = 2 * (size_t)threads + 1;
	pl->slots = calloc(pl->slot_count, sizeof(*pl->slots));
	if (pl->slots == NULL)
		return false;
	pthread_mutex_init(&pl->lock, NULL);
	pthread_cond_init(&pl->changed, NULL);
	return true;
}

static void
parallel_fini(struct parallel *pl)
{
	size_t i;

	for (i = 0; i < pl->slot_count; i++)
		piece_fini(&pl->slots[i].piece);
	free(pl->slots);
	pthread_cond_destroy(&pl->changed);
	pthread_mutex_destroy(&pl->lock);
}

/* The front of the file, where directives stand, in the calling thread: the
 * state behind it is the one to assume. */
static enum reader_stop
run_head(struct parse_file *f, bool *is_last)
{
	struct piece head = { 0 };
	enum reader_stop stop;
	enum nsd_err err;

	err = piece_read(f, &head, f->parse->tuning->head_size);
	if (err == NSD_OK) {
		*is_last = head.is_last;
		stop = piece_parse(f, head.text, head.len, head.line,
			head.is_last);
	} else {
		stop = parse_fail(f->parse, err);
	}
	piece_fini(&head);
	return stop;
}

enum reader_stop
parse_pieces_parallel(struct parse_file *f, unsigned threads)
{
	struct parallel pl;
	enum reader_stop stop;
	bool is_last = false;

	if (threads > THREADS_MAX)
		threads = THREADS_MAX;
	stop = run_head(f, &is_last);
	if (stop != READER_END || is_last)
		return stop;
	if (!parallel_init(&pl, f, threads))
		return parse_fail(f->parse, NSD_E_MEMORY);
	stop = run_threads(&pl, threads);
	parallel_fini(&pl);
	return stop;
}
