/*
 * loader_verdicts.c - has new versions of zones judged by programs, before
 * they are published (doc/decisions/0174).
 *
 * What is to be judged, transfers and files, waits in one queue. A thread is
 * started for as many at a time as there may be verifiers (verifier-count); it
 * makes the version, and waits in load_candidate_check. The loop shows the
 * version, and has the process `verifier` judge it. So whatever a verifier
 * does, it holds up no other thread, and no zone that needs none.
 */
#include "config.h"

#include <assert.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/log.h"
#include "conf/command.h"
#include "dns/name.h"
#include "loader/load_candidate.h"
#include "loader/load_loop.h"
#include "loader/loader.h"
#include "store/writer.h"
#include "zonedb/table_edit.h"

/* Verifiers that may die with a candidate in hand, or not find it. */
#define TRIES_MAX 3u

static struct loader_transfers *
verdicts_slot(struct loader *loader, unsigned i)
{
	assert(i < LOADER_VERDICTS);
	return &loader->transfers[1 + LOADER_DIFFS + i];
}

bool
loader_transfers_await(const struct loader_transfers *t)
{
	return t >= &t->loader->transfers[1 + LOADER_DIFFS];
}

/* ---- the queue ----------------------------------------------------------- */

static unsigned
verdicts_count(const struct loader *loader)
{
	uint32_t count = loader->role.server->conf->verify.verifier_count;

	if (count == 0)
		return 1;
	return count < LOADER_VERDICTS ? count : LOADER_VERDICTS;
}

void
loader_verdicts_go_on(struct loader *loader)
{
	struct loader_verdicts *verdicts = &loader->verdicts;
	unsigned count = verdicts_count(loader);

	for (unsigned i = 0; i < count && verdicts->first != NULL; i++) {
		struct loader_transfers *t = verdicts_slot(loader, i);
		struct loader_transfer *one = verdicts->first;

		if (t->pool != NULL || t->waiting != NULL)
			continue;
		verdicts->first = one->next;
		if (verdicts->first == NULL)
			verdicts->last = NULL;
		verdicts->count--;
		loader_queue_transfer(t, one);
	}
}

void
loader_queue_judged(struct loader *loader, struct loader_transfer *one)
{
	struct loader_verdicts *verdicts = &loader->verdicts;

	assert(one->zone->reading && one->zone->conf != NULL);
	one->zone->judged = true;
	one->next = NULL;
	if (verdicts->last != NULL)
		verdicts->last->next = one;
	else
		verdicts->first = one;
	verdicts->last = one;
	verdicts->count++;
	loader_verdicts_go_on(loader);
}

bool
loader_verdicts_are_full(const struct loader *loader)
{
	return loader->verdicts.count >= LOADER_VERDICTS_WAITING;
}

bool
loader_queue_file(struct loader *loader, struct load_zone *zone)
{
	struct loader_transfer *one = calloc(1, sizeof(*one));

	if (one == NULL)
		return false;
	one->zone = zone;
	one->change.text.fd = -1;
	one->is_file = true;
	one->which = loader->context.which;
	loader_queue_judged(loader, one);
	return true;
}

/* ---- candidates ---------------------------------------------------------- */

static struct load_candidate **
verdicts_find(struct loader_verdicts *verdicts, uint64_t ticket)
{
	struct load_candidate **at = &verdicts->candidates;

	while (*at != NULL && (*at)->ticket != ticket)
		at = &(*at)->next;
	return at;
}

/* Takes a refused version away from readers, who may still be at it. */
static void
verdicts_withdraw(struct loader *loader, struct load_candidate *c)
{
	store_ref gone = c->built;

	if (c->update != NULL) {
		gone = update_withdraw(c->update);
	} else {
		table_set_candidate(loader->writer, c->zone->entry,
			STORE_NONE);
		c->built = STORE_NONE;
	}
	load_retire_add(&loader->retire, loader->writer, c->zone->conf->wire,
		gone);
	loader_reclaim(loader);
}

/* Gives the verdict to the thread that waits. */
static void
verdicts_end(struct loader *loader, struct load_candidate **at,
	enum nsd_err err)
{
	struct load_candidate *c = *at;

	*at = c->next;
	assert(loader->verdicts.waiting > 0);
	loader->verdicts.waiting--;
	c->err = err;
	if (err != NSD_OK)
		verdicts_withdraw(loader, c);
	load_loop_release(loader->loop, &c->done);
}

static void
verdicts_refuse(struct loader *loader, struct load_candidate **at,
	const char *why)
{
	struct load_candidate *c = *at;
	const struct zone *zone = store_get(store_writer_view(loader->writer),
		c->shown);

	c->serial = zone->serial;
	snprintf(c->why, sizeof(c->why), "%s", why);
	verdicts_end(loader, at, NSD_E_REFUSED);
}

/* ---- the verifier -------------------------------------------------------- */

/* Finds how a candidate is judged by the configuration of now. False: its
 * zone needs no verifier any more. */
static bool
verdicts_find_judging(const struct loader *loader,
	const struct load_candidate *c, struct conf_judging *judging)
{
	const struct conf *conf = loader->role.server->conf;
	const struct conf_zone *zone = conf_find_zone(conf,
		c->zone->conf->wire);

	return zone != NULL
		&& conf_find_judging(conf, zone->options, judging);
}

static void
verdicts_ask(struct loader *loader, struct peer *verifier,
	struct load_candidate *c, const struct conf_judging *judging)
{
	const struct zone *zone = store_get(store_writer_view(loader->writer),
		c->shown);
	size_t len = name_len(c->zone->conf->wire);
	struct ipc_verify ask = {
		.request = {.ticket = c->ticket, .again = c->tries > 0},
		.command = conf_command_sum(judging->command),
		.serial = zone->serial,
		.timeout_sec = judging->timeout_sec,
		.flags = judging->feed ? IPC_VERIFY_FEED : 0,
	};
	const struct link_message message = {
		.type = IPC_VERIFY,
		.payload = &ask,
		.len = offsetof(struct ipc_verify, apex) + len,
	};

	memcpy(ask.apex, c->zone->conf->wire, len);
	name_lower(ask.apex);
	/* Without credit or memory on_peer calls again. */
	if (link_send(&verifier->link, &message) == NSD_OK)
		c->channel = verifier->link.channel.id;
}

/* Sends all candidates that wait to the verifier, or asks main for one. */
static void
verdicts_send(struct loader *loader)
{
	struct load_candidate **at = &loader->verdicts.candidates, *c;
	struct peer *verifier = peers_find_role(&loader->role.peers,
		ROLE_VERIFIER);
	bool wanted = false;

	while ((c = *at) != NULL) {
		struct conf_judging judging;

		if (c->channel != 0) {
			at = &c->next;
			continue;
		}
		if (!verdicts_find_judging(loader, c, &judging)) {
			verdicts_end(loader, at, NSD_OK);
			continue;
		}
		if (verifier != NULL)
			verdicts_ask(loader, verifier, c, &judging);
		wanted |= verifier == NULL;
		at = &c->next;
	}
	if (wanted)
		role_send(&loader->role, IPC_WANT_VERIFIER, NULL, 0);
}

/* Shows a version that a thread has made. */
static void
verdicts_begin(void *ctx, struct load_candidate *c)
{
	struct loader *loader = ctx;
	struct loader_verdicts *verdicts = &loader->verdicts;

	c->done = false;
	c->channel = 0;
	c->tries = 0;
	c->ticket = ++verdicts->ticket;
	c->shown = c->built;
	if (c->update != NULL)
		c->shown = update_show(c->update);
	else
		table_set_candidate(loader->writer, c->zone->entry, c->shown);
	verdicts->waiting++;
	c->next = verdicts->candidates;
	verdicts->candidates = c;
	if (c->shown == STORE_NONE)
		verdicts_end(loader, &verdicts->candidates, NSD_OK);
	else if (loader->stopping)
		verdicts_end(loader, &verdicts->candidates, NSD_E_PEER);
	else
		verdicts_send(loader);
}

void
loader_on_verifier(struct loader *loader)
{
	verdicts_send(loader);
}

/* Counts a try of a candidate that has come to nothing. True: it was the last
 * one, and the candidate has gone. */
static bool
verdicts_count_try(struct loader *loader, struct load_candidate **at,
	const char *why)
{
	struct load_candidate *c = *at;

	c->channel = 0;
	if (++c->tries < TRIES_MAX)
		return false;
	verdicts_refuse(loader, at, why);
	return true;
}

void
loader_on_verifier_gone(struct loader *loader, const struct peer *peer)
{
	struct load_candidate **at = &loader->verdicts.candidates;

	while (*at != NULL)
		if ((*at)->channel != peer->link.channel.id
			|| !verdicts_count_try(loader, at,
				"verifier processes have died"))
			at = &(*at)->next;
	verdicts_send(loader);
}

/* Writes the reason of a refusal. */
static void
verdicts_explain(const struct ipc_verified *verified, char *why, size_t size)
{
	int status = (int)verified->status;

	if (verified->verdict == VERDICT_TIMED_OUT)
		snprintf(why, size, "the verifier has timed out");
	else if (verified->verdict == VERDICT_NOT_RUN)
		snprintf(why, size, "the verifier cannot be run: %s",
			strerror((int)verified->error));
	else if (WIFSIGNALED(status))
		snprintf(why, size, "the verifier was ended by signal %d",
			WTERMSIG(status));
	else
		snprintf(why, size, "the verifier has ended with status %d",
			WEXITSTATUS(status));
}

static void
verdicts_take(struct loader *loader, struct load_candidate **at,
	const struct ipc_verified *verified)
{
	char why[LOAD_CANDIDATE_WHY_MAX];

	switch (verified->verdict) {
	case VERDICT_ACCEPTED:
		verdicts_end(loader, at, NSD_OK);
		return;
	case VERDICT_AGAIN:
		(*at)->channel = 0;
		return;
	case VERDICT_GONE:
		(void)verdicts_count_try(loader, at,
			"the verifier does not find it");
		return;
	default:
		verdicts_explain(verified, why, sizeof(why));
		verdicts_refuse(loader, at, why);
	}
}

void
loader_on_verified(struct role *role, const struct ipc_message *m)
{
	struct loader *loader = (struct loader *)role;
	struct ipc_verified verified;
	struct load_candidate **at;

	assert(m->len == sizeof(verified));
	memcpy(&verified, m->payload, sizeof(verified));
	/* A candidate may have been withdrawn meanwhile. */
	at = verdicts_find(&loader->verdicts, verified.ticket);
	if (*at != NULL && (*at)->channel == m->channel)
		verdicts_take(loader, at, &verified);
	verdicts_send(loader);
}

/* ---- ends ---------------------------------------------------------------- */

static void
verdicts_tell_stop(struct loader *loader, const struct load_candidate *c)
{
	const struct ipc_verify_stop stop = {.ticket = c->ticket};
	const struct link_message message = {
		.type = IPC_VERIFY_STOP,
		.payload = &stop,
		.len = sizeof(stop),
	};
	struct peer *verifier = c->channel == 0 ? NULL
		: peers_find(&loader->role.peers, c->channel);

	/* A verifier that is not told goes on; its verdict is dropped. */
	if (verifier != NULL
		&& link_send(&verifier->link, &message) != NSD_OK)
		log_at(2, LOG_LEVEL_NOTICE, "zone %s: its verifier goes on",
			c->zone->conf->name);
}

/* Takes a zone out of the queue. */
static void
verdicts_unqueue(struct loader *loader, const struct load_zone *zone)
{
	struct loader_verdicts *verdicts = &loader->verdicts;
	struct loader_transfer *one = verdicts->first, *before = NULL;
	struct timeval at_once = {.tv_sec = 0};

	while (one != NULL && one->zone != zone) {
		before = one;
		one = one->next;
	}
	if (one == NULL)
		return;
	if (before != NULL)
		before->next = one->next;
	else
		verdicts->first = one->next;
	if (verdicts->last == one)
		verdicts->last = before;
	verdicts->count--;
	one->next = verdicts->dropped;
	verdicts->dropped = one;
	event_add(loader->transfers[0].event, &at_once);
}

void
loader_drop_verdict(struct loader *loader, const struct load_zone *zone)
{
	struct load_candidate **at = &loader->verdicts.candidates;

	if (zone != NULL)
		verdicts_unqueue(loader, zone);
	while (*at != NULL && zone != NULL && (*at)->zone != zone)
		at = &(*at)->next;
	while (*at != NULL) {
		verdicts_tell_stop(loader, *at);
		verdicts_end(loader, at, NSD_E_PEER);
		if (zone != NULL)
			return;
	}
}

/* Drops what waits in the queue for zones that are gone. */
static void
verdicts_follow_queue(struct loader *loader)
{
	struct loader_transfer *one = loader->verdicts.first, *next;

	for (; one != NULL; one = next) {
		next = one->next;
		if (conf_find_zone(loader->role.server->conf,
			    one->zone->conf->wire) == NULL)
			verdicts_unqueue(loader, one->zone);
	}
}

void
loader_follow_verdicts(struct loader *loader)
{
	struct load_candidate **at = &loader->verdicts.candidates, *c;

	verdicts_follow_queue(loader);
	while ((c = *at) != NULL) {
		struct conf_judging judging;

		if (verdicts_find_judging(loader, c, &judging)) {
			at = &c->next;
			continue;
		}
		verdicts_tell_stop(loader, c);
		verdicts_end(loader, at, conf_find_zone(
			loader->role.server->conf, c->zone->conf->wire)
			!= NULL ? NSD_OK : NSD_E_PEER);
	}
}

void
loader_init_verdicts(struct loader *loader)
{
	loader->judging.begin = verdicts_begin;
	loader->judging.ctx = loader;
	loader->context.judging = &loader->judging;
	loader_set_judging(loader);
}

void
loader_set_judging(struct loader *loader)
{
	const struct conf_verify *v = &loader->role.server->conf->verify;
	struct load_judging *judging = &loader->judging;

	__atomic_store_n(&judging->enabled, v->enable, __ATOMIC_RELAXED);
	__atomic_store_n(&judging->zones, v->verify_zones,
		__ATOMIC_RELAXED);
	__atomic_store_n(&judging->has_command, v->verifier.count > 0,
		__ATOMIC_RELAXED);
}
