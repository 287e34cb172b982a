/* generation.c - the stores of main, one after another. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "main/child.h"
#include "main/generation.h"
#include "main/standby.h"
#include "store/store.h"

static enum nsd_err
generation_make_store(const struct supervisor *s, struct store **store)
{
	struct store_options options = {
		.reader_max = SERVICE_READERS * s->worker_count
			+ SUPERVISOR_READERS,
		.huge_pages = true,
		.self_fds = s->self_fds,
	};

	return store_create(&options, store);
}

static struct generation *
generation_create(struct supervisor *s)
{
	struct generation *g = calloc(1, sizeof(*g));
	enum nsd_err err = NSD_E_MEMORY;

	if (g != NULL && s->database != NULL) {
		g->store = s->database;
		s->in_file = g;
		s->database = NULL;
		return g;
	}
	if (g != NULL)
		err = generation_make_store(s, &g->store);
	if (err != NSD_OK) {
		log_error("cannot make a zone store: %s",
			err_reason(err));
		free(g);
		return NULL;
	}
	return g;
}

struct generation *
generation_choose(struct supervisor *s)
{
	struct generation *g = s->building != NULL ? s->building : s->serving;
	bool beside;

	/* A store in memory that no loader has listed zones in is empty:
	 * loaders do not die of it. */
	if (g != NULL && (g->past >= STORE_PAST_LISTED || g == s->in_file)
		&& g->take_overs >= TAKE_OVERS_MAX) {
		log_error("%u loaders could not take over the zone store",
			g->take_overs);
		g->damaged = true;
	}
	if (g != NULL && !g->damaged && !g->yields)
		return g;
	if (g != NULL && g->damaged)
		log_error("the zone store is left behind, a new one%s is"
			  " to be filled from zone files",
			g == s->in_file ? " in memory" : "");
	beside = g != NULL && !g->damaged;
	if (s->building != NULL) {
		s->building = NULL;
		generation_release(s, g);
	}
	s->fill_begun_msec = clock_now_msec();
	s->building = generation_create(s);
	if (s->building == NULL && beside) {
		generation_stay(s);
		return s->serving;
	}
	return s->building;
}

/* ---- another one beside it: doc/decisions/0067, 0150 */

void
generation_replace_loader(struct supervisor *s, const struct generation *g)
{
	static const struct timeval at_once = {.tv_sec = 0};
	struct child *loader = s->loader.current;

	assert(g != NULL);
	if (loader != NULL && loader->generation != g)
		return;
	s->loader.failures = 0; /* the new generation has none of its own */
	if (loader != NULL)
		child_kill(loader);
	else if (s->loader.timer != NULL)
		event_add(s->loader.timer, &at_once);
}

/* True if main has descriptors for another store, and for as many workers
 * again: those that read the old one serve until these do. Each has two, and
 * some more while it is forked. */
static bool
generation_has_room(const struct supervisor *s)
{
	return standby_has_room(s, STORE_DESCRIPTORS + 2 * s->worker_count
		+ STANDBY_SPARE);
}

void
generation_yield(struct supervisor *s, struct generation *g, const char *why)
{
	const char *lack = g->altered ? "updates have changed zones"
		: generation_has_room(s) ? NULL
					 : "too few descriptors are left";

	if (g != s->serving || s->building != NULL || s->stopping || g->damaged
		|| g->yields)
		return;
	if (lack != NULL) {
		log_error("no other zone store is filled: %s", lack);
		s->fill_begun_msec = s->fill_ended_msec = clock_now_msec();
		return;
	}
	log_notice("another zone store is filled from zone files, as %s", why);
	g->yields = true;
	generation_replace_loader(s, g);
}

bool
generation_is_beside(const struct supervisor *s, const struct generation *g)
{
	return g == s->building && s->serving != NULL && s->serving->yields
		&& !s->stopping;
}

void
generation_stay(struct supervisor *s)
{
	assert(s->serving->yields);
	log_error("%s: the one that is served stays",
		s->building != NULL
			? "not all zones could be read into the other zone"
			  " store"
			: "no other zone store could be made");
	s->serving->yields = false;
	s->building = NULL;
	s->fill_ended_msec = clock_now_msec();
}

void
generation_offer_file(struct supervisor *s)
{
	int fd;

	if (s->kept == NULL || s->loader.current == NULL)
		return;
	fd = store_keep_file(s->kept);
	(void)child_send(s->loader.current, IPC_DATABASE, NULL, 0, &fd, 1);
}

/* Keeps the store of a damaged database, which no process uses any more: its
 * file is to get the store that the next loader leaves. */
static void
generation_keep_file(struct supervisor *s, struct store *store)
{
	assert(s->kept == NULL && store != NULL);
	s->kept = store;
	(void)store_keep_file(store);
	generation_offer_file(s);
}

bool
generation_release(struct supervisor *s, struct generation *g)
{
	bool in_file = g == s->in_file;

	if (g->users > 0 || g == s->serving || g == s->building)
		return false;
	assert(s->loader.current == NULL || s->loader.current->generation != g);
	if (in_file) {
		s->in_file = NULL;
		generation_keep_file(s, g->store);
	} else {
		store_destroy(g->store);
	}
	free(g);
	return in_file;
}

bool
generation_file_is_left(const struct supervisor *s)
{
	return s->in_file != NULL && s->in_file != s->serving
		&& s->in_file != s->building;
}

bool
generation_is_to_close(const struct supervisor *s, const struct generation *g)
{
	bool has_file = g == s->in_file || s->kept != NULL;

	return has_file && g->past >= STORE_PAST_LISTED && !g->damaged
		&& g->take_overs < TAKE_OVERS_MAX;
}
