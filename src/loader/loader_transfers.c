/* loader_transfers.c - whole zones that transfers have brought, and differences
 * that would hold up the loop, from transfers or from the journal: threads of
 * their own read them, beside those of a pass over the files
 * (doc/decisions/0094, 0146). */
#include "config.h"

#include <assert.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/platform.h"
#include "loader/load_expiry.h"
#include "loader/load_read.h"
#include "loader/load_refusal.h"
#include "loader/load_turn.h"
#include "loader/load_update.h"
#include "loader/loader.h"
#include "store/writer.h"
#include "zone/table.h"
#include "zonedb/sources_edit.h"

/* A transfer of up to this many octets is read at once, in the loop, if the
 * served zone is small, too: that takes about a millisecond. */
#define AT_ONCE_OCTETS (64u << 10)
#define AT_ONCE_RECORDS 2000u

static void transfers_run(struct loader_transfers *t);

static struct loader_transfers *
transfers_get(struct loader *loader, const struct load_change *change)
{
	return change->kind == LOAD_UPDATE_DIFFS ? loader_choose_diffs(loader)
						 : &loader->transfers[0];
}

/* ---- the result of a transfer -------------------------------------------- */

static enum nsd_err
whole_publish(struct loader *loader, struct load_result *result,
	struct ipc_updated *updated)
{
	if (result->outcome != LOAD_FAILED)
		return loader_publish(loader, result, updated);
	loader->crowded |= result->crowded;
	updated->added = result->done.added;
	updated->removed = result->done.removed;
	updated->names = (uint32_t)result->done.names;
	if (result->refusal != NULL)
		load_refusal_tell(result->refusal, updated);
	return result->err;
}

/* Publishes the result of reading zone->transfer, and frees what it owns. The
 * zone stays claimed. NSD_E_AGAIN: it is to be built anew, not compared. */
static enum nsd_err
whole_end(struct loader *loader, struct load_result *result,
	struct ipc_updated *updated)
{
	struct load_zone *zone = result->zone;
	enum nsd_err err;

	assert(zone->reading && zone->conf != NULL && zone->transfer != NULL);
	load_zone_end_busy(&loader->context, zone);
	err = whole_publish(loader, result, updated);
	diff_destroy(result->diff);
	zonefile_result_fini(&result->files);
	free(result->refusal);
	if (err != NSD_OK && result->outcome == LOAD_COMPARED) {
		zone->whole = true;
		return NSD_E_AGAIN;
	}
	if (err == NSD_OK)
		load_expiry_end(&loader->context, zone->entry);
	zone->whole = false;
	zone->transfer = NULL;
	return err;
}

/* Ends the claim of a zone, whose file may be read from now on. */
static void
whole_release(struct loader *loader, struct load_zone *zone)
{
	if (load_zone_release(zone))
		loader_push_again(loader, zone, 0);
}

/* ---- at once ------------------------------------------------------------- */

static bool
whole_is_small(const struct loader *loader, const struct load_zone *zone,
	const struct load_text *text)
{
	const struct zone *served = load_zone_published(
		store_writer_view(loader->writer), zone);

	/* A thread waits until the version before is retired. */
	return text->len <= AT_ONCE_OCTETS
		&& !load_retire_has(&loader->retire, zone->conf->wire)
		&& (served == NULL || served->rr_count <= AT_ONCE_RECORDS);
}

static void
transfers_init_context(struct loader *loader, struct load_progress *progress,
	struct load_context *context)
{
	*context = loader->context;
	context->of_transfers = true;
	/* In a replay, threads do not give way to answers: a zone of the
	 * journal is to be served as soon as one of a file. */
	context->beside_answers |= loader->replays == 0;
	context->which = LOAD_CHANGED;
	context->timed = false;
	context->is_start = false;
	context->progress = progress;
}

/* Prepares a thread that may wait for a verifier. */
static void
transfers_init_await(struct loader_transfers *t)
{
	const struct loader_transfer *one = t->waiting;

	assert(t->waiting_count == 1 && one->next == NULL);
	t->context.awaits = true;
	if (!one->is_file)
		return;
	t->context.of_transfers = false;
	t->context.which = one->which;
	t->context.journal = NULL; /* closed with the first pass */
}

static enum nsd_err
whole_read_at_once(struct loader *loader, struct load_zone *zone,
	const struct load_text *text, struct ipc_updated *updated)
{
	struct load_context context;
	struct load_result result;
	enum nsd_err err = NSD_E_AGAIN;

	transfers_init_context(loader, &loader->transfers[0].progress,
		&context);
	assert(zone->transfer == NULL && zone->reading);
	zone->transfer = text;
	for (unsigned i = 0; i < 2 && err == NSD_E_AGAIN; i++) {
		load_read_zone(&context, zone,
			store_writer_heap(loader->writer), false, &result);
		err = whole_end(loader, &result, updated);
	}
	zone->transfer = NULL;
	zone->whole = false;
	return err == NSD_E_AGAIN ? NSD_E_BUG : err;
}

/* ---- by threads ---------------------------------------------------------- */

/* Copies a change with its octets: in memory or in the file. */
static enum nsd_err
transfers_copy(const struct load_change *change, struct load_change *copy)
{
	*copy = *change;
	copy->data = NULL;
	if (change->data == NULL) {
		copy->text.fd = fcntl(change->text.fd, F_DUPFD_CLOEXEC, 0);
		return copy->text.fd != -1 ? NSD_OK : NSD_E_SYSTEM;
	}
	copy->data = malloc(change->len + 1);
	if (copy->data == NULL)
		return NSD_E_MEMORY;
	memcpy(copy->data, change->data, change->len);
	copy->text = (struct load_text){
		.fd = -1,
		.len = change->len,
		.data = copy->data,
		.is_diffs = change->kind == LOAD_UPDATE_DIFFS,
		.accepted = change->text.accepted,
	};
	return NSD_OK;
}

/* Queues a transfer for the threads t; NULL: for one that may wait for a
 * verifier. */
static enum nsd_err
transfers_queue(struct loader *loader, struct loader_transfers *t,
	struct load_zone *zone, const struct load_change *change)
{
	struct loader_transfer *one = calloc(1, sizeof(*one));
	enum nsd_err err;

	assert(zone->transfer == NULL && zone->reading);
	if (one == NULL)
		return NSD_E_MEMORY;
	one->zone = zone;
	err = transfers_copy(change, &one->change);
	if (err != NSD_OK) {
		free(one);
		return err;
	}
	zone->transfer = &one->change.text;
	if (t != NULL) {
		loader_queue_transfer(t, one);
		return NSD_OK;
	}
	loader_say_late(loader, &one->change);
	loader_queue_judged(loader, one);
	return NSD_OK;
}

static struct loader_transfer *
transfers_take(struct loader_transfers *t, const struct load_zone *zone)
{
	struct loader_transfer **at = &t->working, *one;

	while ((one = *at) != NULL && one->zone != zone)
		at = &one->next;
	if (one != NULL)
		*at = one->next;
	return one;
}

static void
transfers_forget(struct loader_transfer *one)
{
	load_wait_free(&one->change);
	free(one);
}

static void
transfers_answer(struct loader *loader, struct loader_transfer *one,
	struct ipc_updated *updated)
{
	loader_answer_update(loader, &one->change, one->zone->conf->wire,
		updated);
	transfers_forget(one);
}

/* Ends the replay of the journal for a zone, at the version that it led to. */
static void
transfers_end_replay(struct loader *loader, struct loader_transfer *one)
{
	struct load_zone *zone = one->zone;
	struct timeval at_once = {.tv_sec = 0};

	load_zone_end_busy(&loader->context, zone);
	zone->transfer = NULL;
	loader_end_replay(loader, zone);
	transfers_forget(one);
	assert(loader->replays > 0);
	/* The pass may wait for the end of replays. */
	if (--loader->replays == 0)
		event_add(loader->results_event, &at_once);
}

/* Takes the file of a zone that a pass has put off. */
static void
transfers_end_file(struct loader *loader, struct loader_transfer *one,
	struct load_result *result)
{
	transfers_forget(one);
	loader_take_result(loader, result);
	loader_tell_served(loader);
}

static void
transfers_take_result(struct loader_transfers *t, struct load_result *result)
{
	struct loader *loader = t->loader;
	struct ipc_updated updated = {.err = NSD_E_BUG};
	struct load_zone *zone = result->zone;
	struct loader_transfer *one = transfers_take(t, zone);
	bool is_left = false;

	if (one->replay) {
		transfers_end_replay(loader, one);
		return;
	}
	zone->judged = false;
	if (one->is_file) {
		transfers_end_file(loader, one, result);
		return;
	}
	updated.err = whole_end(loader, result, &updated);
	if (updated.err == NSD_E_AGAIN && zone->whole) {
		loader_queue_transfer(t, one);
		return;
	}
	/* A wait without a result means that the loader ends: the next loader
	 * is asked again. */
	if (updated.err == NSD_E_PEER && !loader->stopping)
		updated.err = NSD_E_AGAIN;
	else if (updated.err == NSD_E_AGAIN || updated.err == NSD_E_PEER)
		is_left = true;
	if (is_left)
		transfers_forget(one);
	else
		transfers_answer(loader, one, &updated);
	whole_release(loader, zone);
}

static void
transfers_on_results(void *ctx)
{
	struct loader_transfers *t = ctx;
	struct loader *loader = t->loader;
	struct load_turn turn = load_turn_begin();
	struct timeval at_once = {.tv_sec = 0};

	assert(t->pool != NULL);
	while (t->results != NULL
		|| (t->results = load_pool_take(t->pool)) != NULL) {
		struct load_result *result = t->results;

		t->results = result->next;
		transfers_take_result(t, result);
		free(result);
		if (load_turn_is_over(&turn)) {
			/* Messages come first. */
			event_add(t->event, &at_once);
			break;
		}
	}
	loader_retry_updates(loader);
	loader_reclaim(loader);
	if (t->results != NULL || !load_pool_is_done(t->pool))
		return;
	load_pool_finish(t->pool);
	t->pool = NULL;
	free(t->todo);
	t->todo = NULL;
	platform_heap_trim();
	loader_trim(loader);
	transfers_run(t);
}

/* Refuses a transfer, or leaves a file as it is: no thread reads it. */
static void
transfers_refuse_one(struct loader *loader, struct loader_transfer *one,
	enum nsd_err err)
{
	struct ipc_updated updated = {.err = err};
	struct load_zone *zone = one->zone;

	zone->judged = false;
	zone->transfer = NULL;
	zone->whole = false;
	if (!one->is_file) {
		transfers_answer(loader, one, &updated);
	} else {
		sources_set_failed(loader->writer, zone->entry, true);
		transfers_forget(one);
	}
	whole_release(loader, zone);
}

/* Refuses all waiting transfers, as none can be read. */
static void
transfers_refuse(struct loader_transfers *t, enum nsd_err err)
{
	struct loader_transfer *one;

	log_error("cannot read what transfers have brought: %s",
		err_text(err));
	while ((one = t->working) != NULL) {
		t->working = one->next;
		if (one->replay)
			transfers_end_replay(t->loader, one);
		else
			transfers_refuse_one(t->loader, one, err);
	}
}

/* Has those that no verifier is waited for any more sent again. */
static void
transfers_drop(struct loader *loader)
{
	struct loader_transfer *one;

	while ((one = loader->verdicts.dropped) != NULL) {
		loader->verdicts.dropped = one->next;
		transfers_refuse_one(loader, one, NSD_E_AGAIN);
	}
	loader_retry_updates(loader);
}

/* Has threads read all transfers that wait. Those that come meanwhile are
 * next. */
static void
transfers_run(struct loader_transfers *t)
{
	struct loader *loader = t->loader;
	size_t count = 0;
	enum nsd_err err = NSD_E_MEMORY;

	if (loader->stopping) {
		loader_end_threads(loader);
		return;
	}
	if (t->waiting == NULL) {
		loader_verdicts_go_on(loader);
		return;
	}
	/* The transfers before have ended, each with a result. */
	assert(t->pool == NULL && t->todo == NULL && t->results == NULL
		&& t->working == NULL);
	assert(t->waiting_count > 0);
	transfers_init_context(loader, &t->progress, &t->context);
	if (loader_transfers_await(t))
		transfers_init_await(t);
	t->todo = calloc(t->waiting_count, sizeof(struct load_zone *));
	t->working = t->waiting;
	t->waiting = NULL;
	t->waiting_count = 0;
	if (t->todo != NULL) {
		for (const struct loader_transfer *one = t->working;
			one != NULL; one = one->next)
			t->todo[count++] = one->zone;
		err = load_pool_start(&t->context, t->todo, count,
			loader->role.base, transfers_on_results, t, &t->pool);
	}
	if (err == NSD_OK)
		return;
	free(t->todo);
	t->todo = NULL;
	transfers_refuse(t, err);
}

static void
transfers_go_on(struct loader_transfers *t)
{
	if (t->loader->verdicts.dropped != NULL)
		transfers_drop(t->loader);
	if (t->pool != NULL)
		transfers_on_results(t);
	else
		transfers_run(t);
}

static void
transfers_on_event(evutil_socket_t fd, short what, void *arg)
{
	transfers_go_on(arg);
}

enum nsd_err
loader_init_transfers(struct loader *loader)
{
	for (unsigned i = 0; i < LOADER_TRANSFERS; i++) {
		struct loader_transfers *t = &loader->transfers[i];

		t->loader = loader;
		t->event = event_new(loader->role.base, -1, 0,
			transfers_on_event, t);
		if (t->event == NULL)
			return NSD_E_MEMORY;
	}
	return NSD_OK;
}

void
loader_cancel_transfers(struct loader *loader)
{
	for (unsigned i = 0; i < LOADER_TRANSFERS; i++) {
		struct loader_transfers *t = &loader->transfers[i];

		__atomic_store_n(&t->context.cancelled, true,
			__ATOMIC_RELAXED);
		if (t->pool != NULL)
			load_pool_cancel(t->pool);
	}
}

/* ---- the message --------------------------------------------------------- */

void
loader_take_transfer(struct loader *loader, const struct load_change *change,
	const uint8_t *apex, struct ipc_updated *result, bool *later)
{
	struct loader_transfers *t = transfers_get(loader, change);
	struct load_zone *zone = loader_find_zone(loader, apex);
	bool judged = zone != NULL
		&& load_candidate_is_wanted(&loader->context, zone);

	*later = false;
	result->err = zone == NULL ? NSD_E_NOT_FOUND : NSD_E_AGAIN;
	if (zone == NULL || loader->stopping
		|| (judged && loader_verdicts_are_full(loader))
		|| !load_zone_claim(zone, false))
		return;
	if (judged)
		t = NULL;
	if (t == &loader->transfers[0]
		&& whole_is_small(loader, zone, &change->text)) {
		result->err = whole_read_at_once(loader, zone,
			&change->text, result);
		whole_release(loader, zone);
		return;
	}
	result->err = transfers_queue(loader, t, zone, change);
	if (result->err != NSD_OK) {
		whole_release(loader, zone);
		return;
	}
	*later = true;
}
