/*
 * test_update_readers.c - readers look at cells while a zone is changed flat
 * out: a cell holds what the node of its name has, in each reader's version.
 * NSD_UPDATE_SECONDS=N makes it longer.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "lib/chance.h"
#include "lib/zone_fixture.h"
#include "store/writer.h"
#include "update/update.h"

#define READERS 3u
#define LOOKS_MIN 20 /* of each reader */
#define LATE_SEC 60  /* for these */

static const char text[] =
	"@ SOA ns1 x 1 2 3 4 5\n@ NS h0\n"
	"a MX 1 h0\na MX 1 h1\na MX 1 h2\na MX 1 h3\na MX 1 h4\na MX 1 h5\n"
	"b NS h0.sub\nb NS h1.sub\nb NS h2.sub\nb NS h3.sub\nb NS h4.sub\n"
	"c SRV 1 2 3 h5.sub\nc SRV 1 2 3 h0\nc SRV 1 2 3 h0.sub\n"
	"h0 A 192.0.2.1\nh1 A 192.0.2.1\nh2 AAAA ::1\n"
	"h0.sub A 192.0.2.1\nh1.sub A 192.0.2.1\nh5.sub AAAA ::1\n";

static struct zone_fixture f;
static store_ref entry;
static bool stop;

/* ---- readers ----------------------------------------------------------- */

static const struct node *
find(const struct store_view *view, const struct zone *zone,
	const struct glue_target *t)
{
	uint8_t label_at[NAME_MAX_LABELS + 1];
	struct trie_walk walk = {.root = &zone->names.root};

	trie_name_of_leaf(&walk.name, &t->leaf, label_at);
	trie_find(view, &walk);
	return walk.exact == STORE_NONE ? NULL : store_get(view, walk.exact);
}

static store_ref
address(const struct node *node, uint16_t type)
{
	const struct node_rrset *e = node == NULL ? NULL
		: node_find_entry(node, type);

	return e == NULL ? STORE_NONE : e->ref;
}

static bool
cell_is_right(const struct store_view *view, const struct zone *zone,
	store_ref ref)
{
	const struct glue_target *t = store_get(view, ref);
	const struct glue_cell *cell = glue_cell_get(view,
		ref + GLUE_CELL_GRANULES, zone);
	const struct node *node = find(view, zone, t);
	bool hidden = node != NULL && (cell->a != STORE_NONE
			|| cell->aaaa != STORE_NONE)
		&& (node->flags & (NODE_CUT | NODE_OCCLUDED)) != 0;

	return cell->a == address(node, TYPE_A)
		&& cell->aaaa == address(node, TYPE_AAAA)
		&& glue_cell_is_hidden(cell) == hidden;
}

struct reading {
	struct store_reader *reader;
	unsigned long versions;
	unsigned long wrong;
};

static void *
read_flat_out(void *arg)
{
	struct reading *r = arg;
	const struct store_view *view = store_reader_view(r->reader);
	const struct zone_entry *e = store_get(view, entry);

	store_reader_online(r->reader);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		const struct zone *zone = store_get(view,
			store_load_ref(&e->zone));
		struct trie_iter iter;
		store_ref ref;

		/* Twice: the writer goes on meanwhile. */
		for (unsigned i = 0; i < 2; i++) {
			trie_iter_init(&iter, view, &zone->targets.root);
			while ((ref = trie_iter_next(&iter)) != STORE_NONE)
				r->wrong += !cell_is_right(view, zone, ref);
		}
		__atomic_store_n(&r->versions, r->versions + 1,
			__ATOMIC_RELAXED);
		if (r->versions % 16 == 0) {
			store_reader_offline(r->reader);
			store_reader_online(r->reader);
		} else {
			store_reader_quiescent(r->reader);
		}
	}
	store_reader_offline(r->reader);
	return NULL;
}

/* ---- the writer -------------------------------------------------------- */

static uint64_t state_of_random = 1;

static unsigned
rnd(unsigned below)
{
	return chance_below(&state_of_random, below);
}

/* Gives a host other addresses, or makes or removes a zone cut above some. */
static void
change_something(struct zone_update *u)
{
	char name[64];
	uint8_t rdata[16] = {192, 0, 2, (uint8_t)rnd(4)};
	struct zone_rr rr = {.ttl_sec = 3600, .type = TYPE_A, .rdlen = 4,
		.rdata = rdata};

	snprintf(name, sizeof(name), "h%u%sexample.", rnd(6),
		rnd(2) == 0 ? "." : ".sub.");
	if (rnd(8) == 0) {
		static const uint8_t ns[] = "\2ns\5other";

		rr.owner = zone_fixture_name("sub.example.");
		rr.type = TYPE_NS;
		rr.rdlen = sizeof(ns);
		rr.rdata = ns;
		assert_int_equal(rnd(2) == 0 ? update_add(u, &rr)
			: update_remove(u, &rr), NSD_OK);
		return;
	}
	rr.owner = zone_fixture_name(name);
	if (rnd(3) == 0) {
		rr.type = TYPE_AAAA;
		rr.rdlen = 16;
	}
	assert_int_equal(update_remove_rrset(u, rr.owner, rr.type),
		NSD_OK);
	if (rnd(4) > 0)
		assert_int_equal(update_add(u, &rr), NSD_OK);
}

/* True once each reader has looked often enough. */
static bool
have_looked(const struct reading *readings)
{
	for (unsigned i = 0; i < READERS; i++)
		if (__atomic_load_n(&readings[i].versions, __ATOMIC_RELAXED)
			< LOOKS_MIN)
			return false;
	return true;
}

/* On a busy machine the time may pass before anybody has a turn. */
static unsigned
write_flat_out(unsigned seconds, const struct reading *readings)
{
	const struct zone_update_options options = {.threads = 1};
	time_t end = time(NULL) + (time_t)seconds;
	unsigned count = 0;

	while (time(NULL) < end
		|| (!have_looked(readings) && time(NULL) < end + LATE_SEC)) {
		struct diag_sink sink = {0};
		struct zone_update *u;

		assert_int_equal(update_begin(f.writer, entry, &options,
			&u), NSD_OK);
		for (unsigned n = 1 + rnd(3); n > 0; n--)
			change_something(u);
		assert_int_equal(update_commit(u, &sink, NULL), NSD_OK);
		store_reclaim(f.writer);
		if (rnd(3) == 0)
			update_settle(f.writer, entry);
		count++;
	}
	return count;
}

static void
cells_go_with_the_version(void **state)
{
	struct reading readings[READERS] = {{0}};
	pthread_t threads[READERS];
	unsigned count;

	for (unsigned i = 0; i < READERS; i++) {
		assert_int_equal(store_reader_open(f.store, i, "reader",
			&readings[i].reader), NSD_OK);
		assert_int_equal(pthread_create(&threads[i], NULL,
			read_flat_out, &readings[i]), 0);
	}
	count = write_flat_out((unsigned)chance_setting("NSD_UPDATE_SECONDS",
		1), readings);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < READERS; i++) {
		pthread_join(threads[i], NULL);
		printf("%lu looks at cells, %u versions\n",
			readings[i].versions, count);
		assert_true(readings[i].versions > 0);
		assert_int_equal(readings[i].wrong, 0);
		store_reader_close(readings[i].reader);
	}
	/* No reader is left: after settling, one word of each cell counts. */
	update_settle(f.writer, entry);
	assert_int_equal(((const struct zone *)store_get(f.view,
		((const struct zone_entry *)store_get(f.view, entry))->zone))
		->pending_first, STORE_NONE);
}

static int
open_zone(void **state)
{
	zone_fixture_init(&f);
	return zone_fixture_load(&f, "example.", text, &entry) != NSD_OK;
}

static int
close_zone(void **state)
{
	zone_fixture_fini(&f);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cells_go_with_the_version),
	};

	return cmocka_run_group_tests(tests, open_zone, close_zone);
}
