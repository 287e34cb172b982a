/* generation.c - the stores of main, one after another. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "proc/child.h"
#include "proc/generation.h"
#include "store/store.h"

static enum nsd_err
generation_make_store(const struct supervisor *s, struct store **store)
{
	struct store_options options = {
		.reader_max = POST_READERS * s->worker_count
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
		g->in_file = true;
		s->database = NULL;
		return g;
	}
	if (g != NULL)
		err = generation_make_store(s, &g->store);
	if (err != NSD_OK) {
		log_error("cannot make a zone store: %s",
			err == NSD_E_SYSTEM ? strerror(errno)
					    : err_text(err));
		free(g);
		return NULL;
	}
	return g;
}

struct generation *
generation_choose(struct supervisor *s)
{
	struct generation *g = s->building != NULL ? s->building : s->serving;
	bool crowded;

	/* A store in memory that no loader has listed zones in is empty:
	 * loaders do not die of it. */
	if (g != NULL && (g->past >= STORE_PAST_LISTED || g->in_file)
		&& g->take_overs >= TAKE_OVERS_MAX) {
		log_error("%u loaders could not take over the zone store",
			g->take_overs);
		g->damaged = true;
	}
	if (g != NULL && !g->damaged && !g->crowded)
		return g;
	if (g != NULL && g->damaged)
		log_error("the zone store is left behind, a new one%s is"
			  " to be filled from zone files",
			g->in_file ? " in memory" : "");
	crowded = g != NULL && !g->damaged;
	if (s->building != NULL) {
		s->building = NULL;
		generation_release(s, g);
	}
	s->building = generation_create(s);
	if (s->building == NULL && crowded) {
		generation_stay(s);
		return s->serving;
	}
	return s->building;
}

/* ---- more room: doc/decisions/0067 */

void
generation_crowd(struct supervisor *s, struct child *loader)
{
	struct generation *g = loader->generation;

	if (g != s->serving || s->building != NULL || s->stopping
		|| g->damaged || loader->reaped)
		return;
	if (g->altered) {
		log_error("no other zone store is filled: updates have"
			  " changed zones");
		return;
	}
	log_notice("another zone store is filled from zone files, as there is"
		   " no room for two versions in one");
	g->crowded = true;
	child_kill(loader);
}

bool
generation_is_for_more(const struct supervisor *s, const struct generation *g)
{
	return g == s->building && s->serving != NULL && s->serving->crowded
		&& !s->stopping;
}

void
generation_stay(struct supervisor *s)
{
	assert(s->serving->crowded);
	log_error("%s: the one that is served stays",
		s->building != NULL
			? "not all zones could be read into the other zone"
			  " store"
			: "no other zone store could be made");
	s->serving->crowded = false;
	s->building = NULL;
}

void
generation_offer_file(struct supervisor *s)
{
	int fd;

	if (s->kept == NULL || s->loader.current == NULL
		|| s->loader.current->generation->in_file)
		return;
	fd = store_keep_file(s->kept);
	(void)child_send(s->loader.current, IPC_DATABASE, NULL, 0, &fd, 1);
}

/* Nobody uses the store of a damaged database any more: its file waits for what
 * the next loader leaves. */
static void
generation_keep_file(struct supervisor *s, struct store *store)
{
	assert(s->kept == NULL);
	s->kept = store;
	(void)store_keep_file(store);
	generation_offer_file(s);
}

void
generation_release(struct supervisor *s, struct generation *g)
{
	if (g->users > 0 || g == s->serving || g == s->building)
		return;
	if (g->in_file) /* at a stop too: its last reader may end only then */
		generation_keep_file(s, g->store);
	else
		store_destroy(g->store);
	free(g);
}

bool
generation_is_to_close(const struct supervisor *s, const struct generation *g)
{
	bool has_file = g->in_file || s->kept != NULL;

	return has_file && g->past >= STORE_PAST_LISTED && !g->damaged
		&& g->take_overs < TAKE_OVERS_MAX;
}
