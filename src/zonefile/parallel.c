/*
 * parallel.c - several threads over the pieces of one file.
 *
 * Threads take pieces in order and parse them with an assumed state. The
 * calling thread does the same, and gets the finished pieces in order. All
 * that leaves this layer (findings, progress) leaves it from there.
 */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "zonefile/parse.h"

#define THREADS_MAX 64u

enum slot_state { SLOT_FREE, SLOT_BUSY, SLOT_PARSED };

struct parallel_slot {
	enum slot_state state;
	struct piece piece;
};

struct parallel {
	struct parse_file *file;
	pthread_mutex_t lock;
	pthread_cond_t changed;      /* the state below has changed */
	struct parallel_slot *slots; /* a ring, by sequence number */
	size_t slot_count;
	uint64_t next_read;          /* sequence number of the next piece */
	uint64_t next_commit;
	bool reading;                /* a thread is at the input */
	bool at_end;                 /* no piece left to read */
	enum nsd_err read_err;       /* why, if not for the file's end */
	int read_errno;
	struct reader_state assumed;
	/* Threads by number; 0 is the calling one. */
	struct reader *readers;
	unsigned reader_count;
	struct threads threads;
};

static struct parallel_slot *
parallel_slot(struct parallel *pl, uint64_t n)
{
	return &pl->slots[n % pl->slot_count];
}

static bool
can_read(struct parallel *pl)
{
	return !pl->at_end && !pl->reading
		&& parallel_slot(pl, pl->next_read)->state == SLOT_FREE;
}

/* Reads the next piece; the lock is held before and after, not during. NULL
 * when there was none to be had. */
static struct parallel_slot *
parallel_take_piece(struct parallel *pl)
{
	struct parallel_slot *slot = parallel_slot(pl, pl->next_read);
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
		pl->next_read++;
		pl->at_end |= slot->piece.is_last;
	}
	pthread_cond_broadcast(&pl->changed);
	return slot;
}

/* The lock is held before and after, not during. */
static void
parse_slot(struct parallel *pl, struct reader *r, struct parallel_slot *slot)
{
	pthread_mutex_unlock(&pl->lock);
	piece_parse_assumed(pl->file, r, &slot->piece);
	pthread_mutex_lock(&pl->lock);
	assert(slot->state == SLOT_BUSY);
	slot->state = SLOT_PARSED;
	pthread_cond_broadcast(&pl->changed);
}

static void
run_thread(void *arg, unsigned number)
{
	struct parallel *pl = arg;
	struct parallel_slot *slot;

	assert(number < pl->reader_count);
	pthread_mutex_lock(&pl->lock);
	while (!pl->at_end) {
		if (!can_read(pl)) {
			pthread_cond_wait(&pl->changed, &pl->lock);
			continue;
		}
		slot = parallel_take_piece(pl);
		if (slot != NULL)
			parse_slot(pl, &pl->readers[number], slot);
	}
	pthread_mutex_unlock(&pl->lock);
}

struct piece *
parallel_next(struct parallel *pl)
{
	struct parallel_slot *slot, *taken;

	pthread_mutex_lock(&pl->lock);
	for (;;) {
		slot = parallel_slot(pl, pl->next_commit);
		if (slot->state == SLOT_PARSED
				&& pl->next_commit < pl->next_read)
			break;
		if (can_read(pl)) {
			taken = parallel_take_piece(pl);
			if (taken != NULL)
				parse_slot(pl, &pl->readers[0], taken);
		} else if (pl->at_end && pl->next_commit == pl->next_read) {
			slot = NULL;
			break;
		} else {
			pthread_cond_wait(&pl->changed, &pl->lock);
		}
	}
	pthread_mutex_unlock(&pl->lock);
	return slot != NULL ? &slot->piece : NULL;
}

void
parallel_done(struct parallel *pl)
{
	struct parallel_slot *slot = parallel_slot(pl, pl->next_commit);

	pthread_mutex_lock(&pl->lock);
	assert(slot->state == SLOT_PARSED);
	assert(pl->next_commit < pl->next_read);
	pl->assumed = pl->file->state;
	slot->state = SLOT_FREE;
	pl->next_commit++;
	pthread_cond_broadcast(&pl->changed);
	pthread_mutex_unlock(&pl->lock);
}

enum nsd_err
parallel_check(const struct parallel *pl)
{
	if (pl->read_err != NSD_OK)
		errno = pl->read_errno;
	return pl->read_err;
}

static void
init_reader(struct reader *r, const struct reader *from)
{
	reader_init(r);
	r->kernel = from->kernel;
	r->file = from->file;
	r->pool = from->pool;
	r->file_name = from->file_name;
	r->ttl_fallback = from->ttl_fallback;
	r->is_secondary = from->is_secondary;
}

struct parallel *
parallel_open(struct parse_file *f, unsigned threads)
{
	struct parallel *pl = calloc(1, sizeof(*pl));
	unsigned i;

	if (pl == NULL)
		return NULL;
	if (threads > THREADS_MAX)
		threads = THREADS_MAX;
	assert(threads > 0);
	pthread_mutex_init(&pl->lock, NULL);
	pthread_cond_init(&pl->changed, NULL);
	pl->file = f;
	pl->assumed = f->state;
	pl->slot_count = 2 * (size_t)threads + 1;
	pl->slots = calloc(pl->slot_count, sizeof(*pl->slots));
	pl->readers = calloc(threads, sizeof(*pl->readers));
	if (pl->slots == NULL || pl->readers == NULL
			|| threads_init(&pl->threads, threads - 1, run_thread,
				pl) != NSD_OK) {
		parallel_close(pl);
		return NULL;
	}
	pl->reader_count = threads;
	for (i = 0; i < threads; i++)
		init_reader(&pl->readers[i], &f->reader);
	while (threads_start(&pl->threads))
		;
	return pl;
}

void
parallel_close(struct parallel *pl)
{
	size_t i;

	pthread_mutex_lock(&pl->lock);
	pl->at_end = true;
	pthread_cond_broadcast(&pl->changed);
	pthread_mutex_unlock(&pl->lock);
	threads_join(&pl->threads);
	for (i = 0; i < pl->reader_count; i++)
		reader_fini(&pl->readers[i]);
	for (i = 0; pl->slots != NULL && i < pl->slot_count; i++)
		piece_fini(&pl->slots[i].piece);
	free(pl->readers);
	free(pl->slots);
	pthread_cond_destroy(&pl->changed);
	pthread_mutex_destroy(&pl->lock);
	free(pl);
}
