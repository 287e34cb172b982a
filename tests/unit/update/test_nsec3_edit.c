/* test_nsec3_edit.c - changes of a chain: after each the chain is what its
 * records say, and the old one is as it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/chance.h"
#include "lib/failing.h"
#include "lib/failing_store.h"
#include "lib/one_store.h"
#include "store/writer.h"
#include "update/nsec3_edit.h"
#include "zonedb/nsec3_pages.h"
#include "zonedb/release.h"

#define RECORDS_MAX 8000u
#define CHANGES_MAX 3000u

/* ---- the model --------------------------------------------------------- */

struct model_record {
	uint8_t hash[NSEC3_HASH_LEN];
	uint8_t next[NSEC3_HASH_LEN];
	uint8_t mark; /* tells versions of a record apart: sigs.ttl_sec */
	bool is_rrset;
};

struct model {
	struct model_record records[RECORDS_MAX + CHANGES_MAX]; /* ascending */
	size_t count;
};

static uint64_t random_state;
static struct model now, before;
static store_ref nsec3_template_ref, template_ref, chain_ref;

static uint64_t
rnd(void)
{
	return chance_next(&random_state);
}

/* Makes one of a few hashes, so that they meet, or one of many. */
static void
make_hash(uint8_t hash[NSEC3_HASH_LEN], unsigned spread)
{
	uint64_t n = rnd() % spread;

	for (unsigned i = 0; i < NSEC3_HASH_LEN; i++)
		hash[i] = (uint8_t)rnd();
	if (spread <= 4096) {
		memset(hash, 0, NSEC3_HASH_LEN);
		hash[0] = (uint8_t)(n >> 4);
		hash[19] = (uint8_t)(n & 15);
	}
}

static size_t
model_find(const struct model *m, const uint8_t *hash)
{
	size_t low = 0, high = m->count;

	while (low < high) {
		size_t half = (low + high) / 2;

		if (memcmp(m->records[half].hash, hash, NSEC3_HASH_LEN) < 0)
			low = half + 1;
		else
			high = half;
	}
	return low;
}

static bool
model_has(const struct model *m, const uint8_t *hash)
{
	size_t at = model_find(m, hash);

	return at < m->count && memcmp(m->records[at].hash, hash,
		NSEC3_HASH_LEN) == 0;
}

static void
model_put(struct model *m, const struct model_record *record)
{
	size_t at = model_find(m, record->hash);

	if (!model_has(m, record->hash)) {
		memmove(&m->records[at + 1], &m->records[at],
			(m->count - at) * sizeof(m->records[0]));
		m->count++;
	}
	m->records[at] = *record;
}

static void
model_remove(struct model *m, const uint8_t *hash)
{
	size_t at = model_find(m, hash);

	if (!model_has(m, hash))
		return;
	m->count--;
	memmove(&m->records[at], &m->records[at + 1],
		(m->count - at) * sizeof(m->records[0]));
}

/* A walk can begin after any hash, whether or not the chain has it. */
static void
check_after(const struct model *m, const struct nsec3_chain *chain,
	const uint8_t *hash)
{
	size_t n = model_find(m, hash) + model_has(m, hash);
	struct nsec3_iter iter;

	nsec3_iter_init_after(&iter, s.view, chain, hash);
	for (size_t end = n + 3; n < m->count && n < end; n++) {
		assert_true(nsec3_iter_next(&iter));
		assert_memory_equal(iter.hash, m->records[n].hash,
			NSEC3_HASH_LEN);
	}
	if (n == m->count)
		assert_false(nsec3_iter_next(&iter));
}

/* Checks that the chain holds what the model says. */
static void
check_chain(const struct model *m, store_ref ref)
{
	const struct nsec3_chain *chain = store_get(s.view, ref);
	struct nsec3_iter iter;
	size_t n = 0;

	assert_int_equal(chain->count, m->count);
	nsec3_iter_init(&iter, s.view, chain);
	while (nsec3_iter_next(&iter)) {
		const struct model_record *r = &m->records[n];
		const uint8_t *follows = m->records[(n + 1) % m->count].hash;
		struct nsec3_find find = {.chain = chain}, *list = &find;

		assert_true(n++ < m->count);
		assert_memory_equal(iter.hash, r->hash, NSEC3_HASH_LEN);
		check_after(m, chain, r->hash);
		memcpy(find.hash, r->hash, NSEC3_HASH_LEN);
		find.hash[NSEC3_HASH_LEN - 1] ^= 1;
		check_after(m, chain, find.hash);
		assert_int_equal(iter.record->sigs.ttl_sec, r->mark);
		memcpy(find.hash, r->hash, NSEC3_HASH_LEN);
		nsec3_find_batch(s.view, &list, 1);
		assert_true(find.matches);
		assert_ptr_equal(find.record, iter.record);
		if (r->is_rrset) {
			assert_int_equal(iter.record->flags, NSEC3_RRSET);
			assert_null(find.next_hash);
			continue;
		}
		assert_memory_equal(iter.next_hash, r->next, NSEC3_HASH_LEN);
		assert_memory_equal(find.next_hash, r->next, NSEC3_HASH_LEN);
		/* The next hash is stored where it is not the following
		 * record's, and only there. */
		assert_int_equal(iter.record->flags,
			memcmp(follows, r->next, NSEC3_HASH_LEN) == 0 ? 0
				: NSEC3_OWN_NEXT);
	}
	assert_int_equal(n, m->count);
}

/* ---- records ----------------------------------------------------------- */

/* Makes a record as nsec3_pack_items does; some have a signature. */
static store_ref
make_record(const struct model_record *m)
{
	size_t sig = m->mark % 3 == 0 ? sizeof(struct sig) + 4 : 0;
	struct nsec3_record *r;
	store_ref ref;

	r = failing_spare_store_alloc(s.heap, sizeof(*r) + sig
		+ (m->is_rrset ? 0 : NSEC3_HASH_LEN), &ref);
	assert_non_null(r);
	memset(r, 0, sizeof(*r) + sig);
	r->sigs.ttl_sec = m->mark;
	if (sig > 0) {
		struct sig *one = (struct sig *)r->sigs.data;

		r->sigs.count = 1;
		one->template_ref = template_ref;
		one->len = 4;
		((struct sig_template *)store_edit(s.heap, template_ref))
			->refs++;
	}
	if (m->is_rrset) {
		struct rrset *rrset = failing_spare_store_alloc(s.heap,
			sizeof(*rrset), &r->template);

		assert_non_null(rrset);
		memset(rrset, 0, sizeof(*rrset));
		rrset->refs = 1;
		r->flags = NSEC3_RRSET;
		return ref;
	}
	r->template = nsec3_template_ref;
	((struct nsec3_template *)store_edit(s.heap,
		nsec3_template_ref))->refs++;
	r->flags = NSEC3_OWN_NEXT;
	memcpy((uint8_t *)r + sizeof(*r) + sig, m->next, NSEC3_HASH_LEN);
	return ref;
}

static void
open_chain(struct releaser *releaser, struct arena *arena)
{
	struct model_record first = {.mark = 1};
	struct nsec3_entry entry;
	struct nsec3_chain *chain;
	struct nsec3_edit edit;
	store_ref ref;

	make_hash(first.hash, 4096);
	memcpy(entry.hash, first.hash, NSEC3_HASH_LEN);
	memcpy(first.next, first.hash, NSEC3_HASH_LEN);
	entry.record = make_record(&first);
	now.count = 1;
	now.records[0] = first;
	chain = failing_spare_store_alloc(s.heap, sizeof(*chain) + 2, &ref);
	assert_non_null(chain);
	memset(chain, 0, sizeof(*chain));
	chain->count = 1;
	chain->salt_len = 2;
	assert_int_equal(nsec3_pages_build(s.heap, &entry, 1, &chain->index),
		NSD_OK);
	/* The record need not keep its next hash. */
	nsec3_edit_begin(&edit, s.heap, arena, ref);
	assert_int_equal(nsec3_edit_put(&edit, first.hash,
		make_record(&first)), NSD_OK);
	assert_int_equal(nsec3_edit_end(&edit, &chain_ref), NSD_OK);
	nsec3_edit_release(&edit, releaser);
	check_chain(&now, chain_ref);
}

/* ---- random changes ---------------------------------------------------- */

static void
note_remove(struct nsec3_edit *edit, enum nsd_err *err, const uint8_t *hash)
{
	model_remove(&now, hash);
	if (*err == NSD_OK)
		*err = nsec3_edit_remove(edit, hash);
}

static void
note_put(struct nsec3_edit *edit, enum nsd_err *err,
	struct model_record *record, struct releaser *releaser)
{
	store_ref ref;

	model_put(&now, record);
	if (*err != NSD_OK)
		return;
	ref = make_record(record);
	*err = nsec3_edit_put(edit, record->hash, ref);
	if (*err != NSD_OK)
		release_nsec3_record(releaser, ref);
}

/* Changes a chain as a signer does: a new name brings a record, and the record
 * before it leads there. Or changes it carelessly. */
static void
note_change(struct nsec3_edit *edit, enum nsd_err *err, unsigned spread,
	unsigned removing, struct releaser *releaser)
{
	struct model_record r = {.mark = (uint8_t)rnd()}, p;
	size_t at;

	make_hash(r.hash, spread);
	if (rnd() % 4 == 0 && now.count > 0)
		memcpy(r.hash, now.records[rnd() % now.count].hash,
			NSEC3_HASH_LEN);
	if (rnd() % 8 < removing && now.count > 0) {
		at = rnd() % now.count;
		memcpy(r.hash, now.records[at].hash, NSEC3_HASH_LEN);
		p = now.records[(at + now.count - 1) % now.count];
		memcpy(p.next, now.records[(at + 1) % now.count].hash,
			NSEC3_HASH_LEN);
		note_remove(edit, err, r.hash);
		if (rnd() % 8 > 0 && now.count > 0)
			note_put(edit, err, &p, releaser);
		return;
	}
	if (now.count == RECORDS_MAX || now.count == 0)
		return;
	at = model_find(&now, r.hash);
	p = now.records[(at + now.count - 1) % now.count];
	memcpy(r.next, p.next, NSEC3_HASH_LEN);
	memcpy(p.next, r.hash, NSEC3_HASH_LEN);
	if (rnd() % 16 == 0)
		make_hash(r.next, spread);
	r.is_rrset = rnd() % 32 == 0;
	note_put(edit, err, &r, releaser);
	p.mark++;
	if (rnd() % 8 > 0)
		note_put(edit, err, &p, releaser);
}

/* Runs a transaction, which is published, is abandoned, or fails. */
static void
transact(unsigned spread, unsigned size, unsigned removing,
	struct releaser *releaser, struct arena *arena)
{
	struct nsec3_edit edit;
	enum nsd_err err = NSD_OK;
	uint64_t live_before = store_fixture_live(s.writer);
	store_ref made;

	before = now;
	failing_once(rnd() % 3 == 0 ? (int)(rnd() % (size * 4)) : -1);
	nsec3_edit_begin(&edit, s.heap, arena, chain_ref);
	for (unsigned i = 0; i < size; i++)
		note_change(&edit, &err, spread, removing, releaser);
	if (err == NSD_OK)
		err = nsec3_edit_end(&edit, &made);
	failing_once(-1);
	check_chain(&before, chain_ref);
	if (err == NSD_OK) {
		assert_true(now.count > 0);
		check_chain(&now, made);
	} else {
		assert_int_equal(err, now.count == 0 && err != NSD_E_MEMORY
			? NSD_E_AGAIN : NSD_E_MEMORY);
	}
	if (err == NSD_OK && rnd() % 8 > 0) {
		nsec3_edit_release(&edit, releaser);
		chain_ref = made;
		return;
	}
	nsec3_edit_abandon(&edit, releaser);
	now = before;
	check_chain(&now, chain_ref);
	assert_int_equal(store_fixture_live(s.writer), live_before);
}

static void
check_holders(void)
{
	const struct nsec3_template *template = store_get(s.view,
		nsec3_template_ref);
	const struct sig_template *t = store_get(s.view, template_ref);
	uint32_t nsec3_templates = 1, templates = 1;

	for (size_t i = 0; i < now.count; i++) {
		nsec3_templates += !now.records[i].is_rrset;
		templates += now.records[i].mark % 3 == 0;
	}
	assert_int_equal(template->refs, nsec3_templates);
	assert_int_equal(t->refs, templates);
}

static void
changes_lead_to_what_the_records_say(void **state)
{
	struct releaser releaser = {.view = s.view, .heap = s.heap};
	static const unsigned spreads[] = {16, 256, 4096, 1000000};

	for (unsigned seed = 1; seed <= 48; seed++) {
		unsigned spread = spreads[seed % 4];
		struct nsec3_template *template;
		struct sig_template *t;
		uint64_t empty;

		random_state = seed;
		template = failing_spare_store_alloc(s.heap, sizeof(*template),
			&nsec3_template_ref);
		t = failing_spare_store_alloc(s.heap, sizeof(*t),
			&template_ref);
		assert_true(template != NULL && t != NULL);
		memset(template, 0, sizeof(*template));
		memset(t, 0, sizeof(*t));
		template->refs = t->refs = 1;
		empty = store_fixture_live(s.writer);
		for (unsigned i = 0; i < 60; i++) {
			/* Grows for ten, shrinks for ten. */
			unsigned large = i % 5 == 0 ? CHANGES_MAX : 12;
			struct arena arena;

			arena_init(&arena, NULL, 0);
			if (i == 0)
				open_chain(&releaser, &arena);
			transact(spread, 1 + (unsigned)(rnd() % large),
				i / 10 % 2 == 0 ? 1 : 7, &releaser, &arena);
			check_holders();
			arena_fini(&arena);
		}
		release_chain(&releaser, chain_ref);
		assert_int_equal(store_fixture_live(s.writer), empty);
		store_free(s.heap, nsec3_template_ref, sizeof(*template));
		store_free(s.heap, template_ref, sizeof(*t));
	}
}

static void
nothing_noted_leaves_the_chain(void **state)
{
	struct releaser releaser = {.view = s.view, .heap = s.heap};
	struct nsec3_template *template;
	struct sig_template *t;
	struct nsec3_edit edit;
	struct model_record r = {.mark = 1};
	struct arena arena;
	store_ref made;
	uint64_t full;

	arena_init(&arena, NULL, 0);
	template = failing_spare_store_alloc(s.heap, sizeof(*template),
		&nsec3_template_ref);
	t = failing_spare_store_alloc(s.heap, sizeof(*t), &template_ref);
	memset(template, 0, sizeof(*template));
	memset(t, 0, sizeof(*t));
	template->refs = t->refs = 1;
	open_chain(&releaser, &arena);
	full = store_fixture_live(s.writer);
	nsec3_edit_begin(&edit, s.heap, &arena, chain_ref);
	assert_int_equal(nsec3_edit_end(&edit, &made), NSD_OK);
	assert_int_equal(made, chain_ref);
	nsec3_edit_release(&edit, &releaser);
	/* Put and removed again. */
	make_hash(r.hash, 1000000);
	nsec3_edit_begin(&edit, s.heap, &arena, chain_ref);
	assert_int_equal(nsec3_edit_put(&edit, r.hash, make_record(&r)),
		NSD_OK);
	assert_int_equal(nsec3_edit_remove(&edit, r.hash), NSD_OK);
	assert_int_equal(nsec3_edit_end(&edit, &made), NSD_OK);
	assert_int_equal(made, chain_ref);
	nsec3_edit_release(&edit, &releaser);
	assert_int_equal(store_fixture_live(s.writer), full);
	/* The last record goes: such a zone is built anew. */
	nsec3_edit_begin(&edit, s.heap, &arena, chain_ref);
	assert_int_equal(nsec3_edit_remove(&edit, now.records[0].hash),
		NSD_OK);
	assert_int_equal(nsec3_edit_end(&edit, &made), NSD_E_AGAIN);
	nsec3_edit_abandon(&edit, &releaser);
	assert_int_equal(store_fixture_live(s.writer), full);
	check_chain(&now, chain_ref);
	arena_fini(&arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes_lead_to_what_the_records_say),
		cmocka_unit_test(nothing_noted_leaves_the_chain),
	};

	return cmocka_run_group_tests(tests, open_store, close_store);
}
