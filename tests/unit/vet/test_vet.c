/*
 * test_vet.c - alters a store. Either the change is found, or it only changes
 * data, and then answers are still whole messages. NSD_VET_ROUNDS=N and
 * NSD_VET_SEED=S make the test longer or different.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "keep/share.h"
#include "keep/table_edit.h"
#include "lib/chance.h"
#include "lib/vet_world.h"
#include "store/writer.h"
#include "zone/history.h"
#include "zone/nsec3_page.h"
#include "zone/table.h"

#define ROUNDS 3000u

static struct vet_world w;
static uint64_t random_state;

static uint32_t
random_below(uint32_t limit)
{
	return chance_below(&random_state, limit);
}

/* ---- octets of plain data: a change need not be found ------------------ */

/* An octet of an object. */
struct place {
	const struct vet_object *o;
	const uint8_t *was; /* the object before the change */
	const uint8_t *is;  /* and after it */
	size_t at;
};

static bool
is_in(const struct place *p, size_t from, size_t len)
{
	return p->at >= from && p->at < from + len;
}

#define IN_FIELD(p, type, field) \
	is_in(p, offsetof(type, field), sizeof(((type *)0)->field))

/* In an array of trie entries: the words of a leaf that mean nothing. */
static bool
is_free_of_leaf(const struct place *p, size_t from)
{
	size_t entry = (p->at - from) / sizeof(struct trie_entry);
	const uint8_t *e = p->was + from + entry * sizeof(struct trie_entry);

	return (e[0] & TRIE_BRANCH) == 0
		&& (p->at - from) % sizeof(struct trie_entry) < 8;
}

static bool
is_plain_zone(const struct place *p)
{
	const struct zone *zone = (const struct zone *)(const void *)p->was;
	const size_t tries[] = {offsetof(struct zone, names),
		offsetof(struct zone, nsec3), offsetof(struct zone, targets)};

	for (unsigned i = 0; i < 3; i++)
		if (is_in(p, tries[i], sizeof(struct trie)))
			return is_free_of_leaf(p, tries[i]);
	/* Without an index of contents, an update makes one. */
	return IN_FIELD(p, struct zone, version)
		|| IN_FIELD(p, struct zone, share)
		|| is_in(p, offsetof(struct zone, negative_ttl_sec) + 4, 4)
		|| (zone->pending_first == STORE_NONE
			&& IN_FIELD(p, struct zone, pending_last))
		|| p->at >= offsetof(struct zone, pending_last) + 4;
}

static bool
is_plain_node(const struct place *p)
{
	const struct node *node = (const struct node *)(const void *)p->was;
	const struct node *now = (const struct node *)(const void *)p->is;
	size_t entries = (size_t)((const uint8_t *)node_entries(node)
		- p->was);

	return p->at == 3 || (p->at >= offsetof(struct node, name)
		&& p->at < entries)
		|| p->at >= entries
			+ node->entry_count * sizeof(struct node_rrset)
		/* Without a kept hash, it is computed when needed. */
		|| (IN_FIELD(p, struct node, flags)
			&& ((node->flags ^ now->flags) & ~(NODE_HASHED
				| NODE_WILDCARD_HASHED)) == 0);
}

static bool
is_plain_rrset(const struct place *p)
{
	const struct rrset *r = (const struct rrset *)(const void *)p->was;
	const struct rrset_tail *tail = rrset_get_tail(r);
	size_t end;

	if (IN_FIELD(p, struct rrset, ttl_sec))
		return true;
	if (tail == NULL)
		return p->at >= offsetof(struct rrset, data);
	end = (size_t)((const uint8_t *)tail - p->was);
	return (p->at >= offsetof(struct rrset, data) && p->at < end)
		|| ((tail->fixup_count & 1) != 0 && is_in(p, end
			+ sizeof(*tail) + tail->fixup_count * 2u, 2));
}

/* Signatures at an offset: all but references and the count. */
static bool
is_plain_sigs(const struct place *p, size_t from)
{
	const struct rrset_sigs *sigs = (const void *)(p->was + from);
	size_t at = from + sizeof(*sigs);

	if (p->at < at)
		return p->at >= from && p->at - from != 4 && p->at - from != 5;
	for (unsigned i = 0; i < sigs->count; i++) {
		if (is_in(p, at, sizeof(store_ref)))
			return false;
		at += sig_size((const void *)(p->was + at));
	}
	return true;
}

static bool
is_plain_cell(const struct place *p, size_t from)
{
	const struct glue_cell *cell = (const void *)(p->was + from);

	/* Addresses that a later version has replaced. */
	if ((store_ref)cell->link != STORE_NONE
		&& is_in(p, from, offsetof(struct glue_cell, link)))
		return true;
	/* The version since which the link counts: any past one will do. */
	return is_in(p, from + offsetof(struct glue_cell, link) + 4, 4);
}

static bool
is_plain_page(const struct place *p)
{
	const struct nsec3_page *page = (const void *)p->was;

	return p->at == 3 || is_in(p, sizeof(*page),
		page->count * (size_t)NSEC3_HASH_LEN);
}

static bool
is_plain_form(const struct place *p)
{
	const struct nsec3_form *form = (const void *)p->was;

	return IN_FIELD(p, struct nsec3_form, ttl_sec)
		|| IN_FIELD(p, struct nsec3_form, bitmap_len)
		|| p->at == sizeof(*form) + 1
		|| p->at >= sizeof(*form) + form->head_len;
}

static bool
is_plain_slot(const struct place *p)
{
	size_t from = sizeof(struct share_index);
	const struct share_index_slot *slot;

	if (p->at < from)
		return false;
	slot = (const void *)(p->was + from + (p->at - from)
		/ sizeof(*slot) * sizeof(*slot));
	return slot->ref == STORE_NONE && (p->at - from) % sizeof(*slot) < 4;
}

static bool
is_plain(const struct place *p)
{
	switch (p->o->kind) {
	case VET_TABLE:
		return p->at >= offsetof(struct zone_table, only) + 4
			|| (is_in(p, 0, sizeof(struct trie))
				&& is_free_of_leaf(p, 0));
	case VET_BRANCH:
		return is_free_of_leaf(p, 0);
	case VET_ENTRY:
		return p->at == 3 || IN_FIELD(p, struct zone_entry, id)
			|| IN_FIELD(p, struct zone_entry, flags)
			/* Options are never followed, sources are compared
			 * with the files. */
			|| IN_FIELD(p, struct zone_entry, options)
			|| IN_FIELD(p, struct zone_entry, sources)
			/* The newest steps may be left out. */
			|| IN_FIELD(p, struct zone_entry, history)
			|| p->at >= offsetof(struct zone_entry, name);
	case VET_SOURCES: /* are compared with the files */
		return true;
	case VET_ZONE:
		return is_plain_zone(p);
	case VET_NODE:
		return is_plain_node(p);
	case VET_RRSET:
		return is_plain_rrset(p);
	case VET_SIGS:
		return is_plain_sigs(p, 0);
	case VET_TEMPLATE:
		return p->at >= 4 && !IN_FIELD(p, struct sig_template, covered)
			&& !IN_FIELD(p, struct sig_template, signer_len);
	case VET_TARGET:
		return p->at == 3 || is_plain_cell(p,
			offsetof(struct glue_target, cell));
	case VET_CHANGE:
		return is_plain_cell(p, 0)
			|| IN_FIELD(p, struct glue_change, next)
			|| IN_FIELD(p, struct glue_change, epoch);
	case VET_CHAIN:
		return IN_FIELD(p, struct nsec3_chain, flags);
	case VET_PAGE:
		return is_plain_page(p);
	case VET_RECORD:
		return is_plain_sigs(p, offsetof(struct nsec3_record, sigs));
	case VET_FORM:
		return is_plain_form(p);
	case VET_STEP: /* the oldest ones, too; records are only data */
		return IN_FIELD(p, struct zone_step, older)
			|| p->at >= offsetof(struct zone_step, data);
	case VET_INDEX:
		return is_plain_slot(p);
	default:
		return false;
	}
}

/* ---- rounds ------------------------------------------------------------ */

/* A random object: in every other call any object, else one of a random kind,
 * so that rare kinds have a chance. */
static const struct vet_object *
choose_object(void)
{
	unsigned kind = 1 + random_below(VET_INDEX), seen = 0;
	const struct vet_object *found = NULL;

	if (random_below(2) == 0)
		return &w.objects[random_below((uint32_t)w.object_count)];
	for (size_t i = 0; i < w.object_count; i++)
		if (w.objects[i].kind == kind && random_below(++seen) == 0)
			found = &w.objects[i];
	return found != NULL ? found : &w.objects[0];
}

/* Judges a change in len octets of an object from `at` on, and undoes it. True
 * if it was found. Fails if it was not, and is more than data. */
static bool
judge(const struct vet_object *o, size_t at, size_t len, const char *how)
{
	const uint8_t *is = vet_world_at(&w, o->ref);
	const uint8_t *was = w.copy + (is - w.base);
	bool found;

	vet_world_look(&w);
	found = w.err != NSD_OK || w.faults > 0;
	for (size_t i = at; !found && i < at + len; i++) {
		const struct place p = {o, was, is, i};

		if (is[i] != was[i] && !is_plain(&p))
			fail_msg("seed %llu: %s at octet %zu of %zu of the %s"
				" %u: %02x to %02x is not found",
				(unsigned long long)random_state, how, i,
				o->len, vet_kind_text(o->kind), o->ref,
				was[i], is[i]);
	}
	/* Whatever was found, the rest is served. */
	if (w.err == NSD_OK)
		vet_world_ask(&w);
	vet_world_restore(&w);
	return found;
}

static void
altered_bit_is_found_or_plain(void **state)
{
	unsigned rounds = chance_setting("NSD_VET_ROUNDS", ROUNDS), found = 0;

	(void)state;
	random_state = chance_setting("NSD_VET_SEED", 1);
	for (unsigned i = 0; i < rounds; i++) {
		const struct vet_object *o = choose_object();
		size_t at = random_below((uint32_t)o->len);

		vet_world_at(&w, o->ref)[at] ^=
			(uint8_t)(1u << random_below(8));
		found += judge(o, at, 1, "a bit");
	}
	printf("%u bits, %u found\n", rounds, found);
	assert_true(found > rounds / 4);
}

/* References to other objects, small changes of numbers, random words. */
static void
altered_word_is_found_or_plain(void **state)
{
	unsigned rounds = chance_setting("NSD_VET_ROUNDS", ROUNDS), found = 0;

	(void)state;
	random_state = chance_setting("NSD_VET_SEED", 1);
	for (unsigned i = 0; i < rounds; i++) {
		const struct vet_object *o = choose_object();
		const struct vet_object *other = choose_object();
		size_t at = random_below((uint32_t)(o->len / 4)) * 4;
		uint32_t word;

		if (at + 4 > o->len)
			continue;
		memcpy(&word, vet_world_at(&w, o->ref) + at, 4);
		switch (random_below(4)) {
		case 0:
			word += random_below(9) - 4;
			break;
		case 1:
			word = random_below(UINT32_MAX);
			break;
		default:
			word = other->ref + (random_below(4) == 0);
		}
		memcpy(vet_world_at(&w, o->ref) + at, &word, 4);
		found += judge(o, at, 4, "a word");
	}
	printf("%u words, %u found\n", rounds, found);
	assert_true(found > rounds / 4);
}

static void
many_altered_octets_do_no_harm(void **state)
{
	unsigned rounds = chance_setting("NSD_VET_ROUNDS", ROUNDS) / 10;

	(void)state;
	random_state = chance_setting("NSD_VET_SEED", 1);
	for (unsigned i = 0; i < rounds; i++) {
		for (unsigned n = random_below(12); n > 0; n--) {
			const struct vet_object *o = choose_object();

			vet_world_at(&w, o->ref)[random_below(
				(uint32_t)o->len)] = (uint8_t)random_below(256);
		}
		vet_world_look(&w);
		if (w.err == NSD_OK)
			vet_world_ask(&w);
		vet_world_restore(&w);
	}
}

/* ---- chosen faults ----------------------------------------------------- */

static void
world_has_one_of_each(void **state)
{
	(void)state;
	for (unsigned kind = VET_TABLE; kind <= VET_INDEX; kind++) {
		unsigned count = 0;

		if (kind == VET_CHANGE_LINKED)
			continue;
		for (size_t i = 0; i < w.object_count; i++)
			count += w.objects[i].kind == kind;
		if (count == 0)
			fail_msg("there is no %s", vet_kind_text(kind));
	}
}

/* The first object of a kind. */
static void *
first_of(enum vet_kind kind)
{
	for (size_t i = 0; i < w.object_count; i++)
		if (w.objects[i].kind == kind)
			return vet_world_at(&w, w.objects[i].ref);
	fail_msg("there is no %s", vet_kind_text(kind));
	return NULL;
}

/* A name with records, right below the apex. */
static struct node *
second_node(void)
{
	for (size_t i = 0; i < w.object_count; i++) {
		struct node *node = (void *)vet_world_at(&w,
			w.objects[i].ref);

		if (w.objects[i].kind == VET_NODE && node->leaf.labels == 1
			&& (node->flags & (NODE_CUT | NODE_EMPTY)) == 0)
			return node;
	}
	fail_msg("there is no such node");
	return NULL;
}

static struct nsec3_page *
leaf_page(void)
{
	for (size_t i = 0; i < w.object_count; i++) {
		struct nsec3_page *page = (void *)vet_world_at(&w,
			w.objects[i].ref);

		if (w.objects[i].kind == VET_PAGE && page->height == 0
			&& page->count > 3)
			return page;
	}
	fail_msg("there is no such page");
	return NULL;
}

/* The change at hand makes a fault whose text has `said` in it. */
static void
expect(const char *said, enum nsd_err err)
{
	vet_world_look(&w);
	if (strstr(w.said, said) == NULL)
		fail_msg("said \"%s\", not \"%s\"", w.said, said);
	assert_int_equal(w.err, err);
	if (err == NSD_OK)
		vet_world_ask(&w);
	vet_world_restore(&w);
}

static void
fault_takes_its_zone_out_and_no_other(void **state)
{
	struct rrset *rrset = first_of(VET_RRSET);
	unsigned loaded = 0;

	(void)state;
	rrset->refs++;
	vet_world_look(&w);
	assert_int_equal(w.err, NSD_OK);
	assert_int_equal(w.faults, 1);
	for (size_t i = 0; i < w.object_count; i++) {
		const struct zone_entry *entry = (const void *)vet_world_at(
			&w, w.objects[i].ref);

		loaded += w.objects[i].kind == VET_ENTRY
			&& entry->zone != STORE_NONE;
	}
	assert_int_equal(loaded, 3);
	vet_world_ask(&w);
	vet_world_restore(&w);
}

static void
each_kind_of_fault_is_told(void **state)
{
	struct zone_table *table = first_of(VET_TABLE);
	struct trie_entry *branch = first_of(VET_BRANCH);
	struct zone_entry *entry = first_of(VET_ENTRY);
	struct node *node = first_of(VET_NODE);
	struct rrset *rrset = first_of(VET_RRSET);
	struct nsec3_page *page = first_of(VET_PAGE);
	struct nsec3_form *form = first_of(VET_FORM);
	struct glue_target *target = first_of(VET_TARGET);
	struct zone *zone = first_of(VET_ZONE);
	struct share_index *index = first_of(VET_INDEX);

	(void)state;
	table->zone_count++;
	expect("not as many zones as it says", NSD_E_BUG);
	branch[0].word[2] += 1;
	expect(" ", NSD_E_BUG); /* of the table */
	entry->leaf.labels++;
	expect("has no name", NSD_E_BUG);
	entry->zone = 0x7fffff00;
	expect("zone 2147483392 lies outside of the store", NSD_OK);
	entry->zone = 1;
	expect("lies outside", NSD_OK);
	zone->names.root.word[2] = zone->targets.root.word[2];
	expect("used twice", NSD_OK);
	zone->serial++;
	expect("what its apex says", NSD_OK);
	zone->node_count++;
	expect("as many names", NSD_OK);
	node->flags ^= NODE_CUT;
	expect("flags that do not follow", NSD_OK);
	node->entry_count--;
	expect(" ", NSD_OK);
	rrset->len_flags += 1;
	expect(" ", NSD_OK);
	rrset->count++;
	expect("as many records", NSD_OK);
	page->count = 0;
	expect("no place in the tree", NSD_OK);
	memset(page->hashes, 0xff, NSEC3_HASH_LEN);
	expect("out of order", NSD_OK);
	form->refs--;
	expect("other holders", NSD_OK);
	target->cell.a ^= 4;
	expect("addresses of its name", NSD_OK);
	target->refs = 0;
	expect(" ", NSD_OK);
	node = second_node();
	node->flags ^= NODE_OCCLUDED;
	expect(" ", NSD_OK);
	page = leaf_page();
	memcpy(page->hashes + NSEC3_HASH_LEN, page->hashes
		+ 2 * NSEC3_HASH_LEN, NSEC3_HASH_LEN);
	expect("page of an NSEC3 chain", NSD_OK);
	memset(w.base + 4096, 0, 1024); /* as if no object were in span 0 */
	expect("not in use, or used twice", NSD_OK);
	zone->share = STORE_NONE; /* no fault: an update makes it anew */
	vet_world_look(&w);
	assert_int_equal(w.faults, 0);
	vet_world_restore(&w);
	index->used--;
	expect("as many slots", NSD_OK);
}

static unsigned faults_of_large;

static void
on_fault_of_large(void *ctx, const struct vet_fault *fault)
{
	(void)ctx;
	(void)fault;
	faults_of_large++;
}

/* Puts a zone back that a fault has cut off. */
static void
table_set_zone_again(struct zone_fixture *f, store_ref entry,
	const struct zone *zone)
{
	struct zone_entry *e = store_edit(store_writer_heap(f->writer), entry);

	e->zone = (store_ref)(((const uint8_t *)zone - f->view->base)
		/ STORE_GRANULE);
}

/* A zone with enough names to be shared out to threads. Faults are found in
 * every part, and where parts meet. */
static void
large_zone_is_cut_into_parts(void **state)
{
	enum { HOSTS = 9000, ROOM = HOSTS * 120 };
	const struct vet_options options = {.threads = 4, .key = {5, 6},
		.on_fault = on_fault_of_large};
	char *text = malloc(ROOM), *at = text;
	const struct zone *zone;
	struct zone_fixture f;
	store_ref entry;
	size_t faults;

	(void)state;
	assert_non_null(text);
	at += sprintf(at, "$TTL 300\n@ SOA ns root 1 2 3 4 5\n@ NS ns\n"
		"ns A 192.0.2.1\n");
	for (unsigned i = 0; i < HOSTS; i++)
		at += sprintf(at, "a.b%u.c%u NS ns.a.b%u.c%u\n"
			"ns.a.b%u.c%u A 192.0.2.%u\n", i, i % 7, i, i % 7, i,
			i % 7, i % 256);
	zone_fixture_init(&f);
	assert_int_equal(zone_fixture_load(&f, "large.", text, &entry), NSD_OK);
	zone = store_get(f.view, ((const struct zone_entry *)store_get(f.view,
		entry))->zone);
	assert_true(zone->node_count > 20000);
	assert_int_equal(vet_store(f.writer, &options, &faults), NSD_OK);
	assert_int_equal(faults, 0);
	/* A wrong flag, in all sorts of parts. */
	for (unsigned i = 0; i < HOSTS; i += 1499) {
		char name[64];
		struct node *node;

		snprintf(name, sizeof(name), "b%u.c%u.large.", i, i % 7);
		node = (struct node *)(uintptr_t)zone_fixture_find(&f,
			((const struct zone_entry *)store_get(f.view,
				entry))->zone, "large.", name);
		assert_non_null(node);
		node->flags |= NODE_WILDCARD_CHILD;
		faults_of_large = 0;
		assert_int_equal(vet_store(f.writer, &options, &faults),
			NSD_OK);
		assert_int_equal(faults_of_large, 1);
		assert_int_equal(faults, 1);
		node->flags &= (uint16_t)~NODE_WILDCARD_CHILD;
		table_set_zone_again(&f, entry, zone);
	}
	zone_fixture_fini(&f);
	free(text);
}

/* Its readers may be at it. */
static void
faulty_zone_that_is_only_looked_at_stays(void **state)
{
	const struct vet_options options = {.threads = 2, .key = {5, 6},
		.only_look = true, .on_fault = on_fault_of_large};
	struct zone_entry before;
	struct zone_fixture f;
	struct node *node;
	store_ref entry;
	size_t faults;

	(void)state;
	zone_fixture_init(&f);
	assert_int_equal(zone_fixture_load(&f, "example.",
				 "@ 60 SOA ns root 1 2 3 4 5\n@ 60 NS ns\n"
				 "ns 60 A 192.0.2.1\n", &entry),
		NSD_OK);
	assert_int_equal(vet_store(f.writer, &options, &faults), NSD_OK);
	assert_int_equal(faults, 0);
	memcpy(&before, store_get(f.view, entry), sizeof(before));
	node = (struct node *)(uintptr_t)zone_fixture_find(&f, before.zone,
		"example.", "ns.example.");
	assert_non_null(node);
	node->flags |= NODE_WILDCARD_CHILD;
	faults_of_large = 0;
	for (unsigned i = 1; i <= 2; i++) {
		assert_int_equal(vet_store(f.writer, &options, &faults),
			NSD_OK);
		assert_int_equal(faults, 1);
		assert_int_equal(faults_of_large, i);
		assert_memory_equal(&before, store_get(f.view, entry),
			sizeof(before));
	}
	node->flags &= (uint16_t)~NODE_WILDCARD_CHILD;
	zone_fixture_fini(&f);
}

/* The clock by which it expires begins with the boot. */
static void
expiry_of_another_boot_is_forgotten(void **state)
{
	struct vet_options options = {.threads = 1, .key = {5, 6},
		.only_look = true, .on_fault = on_fault_of_large};
	const struct zone_entry *e;
	struct zone_fixture f;
	store_ref entry;
	size_t faults;

	(void)state;
	zone_fixture_init(&f);
	assert_int_equal(zone_fixture_load(&f, "example.",
				 "@ 60 SOA ns root 1 2 3 4 5\n@ 60 NS ns\n"
				 "ns 60 A 192.0.2.1\n", &entry),
		NSD_OK);
	table_set_expiry(f.writer, entry, 7);
	e = store_get(f.view, entry);
	assert_int_equal(vet_store(f.writer, &options, &faults), NSD_OK);
	assert_int_equal(e->expires_sec, 7);
	options.only_look = false;
	assert_int_equal(vet_store(f.writer, &options, &faults), NSD_OK);
	assert_int_equal(e->expires_sec, 0);
	zone_fixture_fini(&f);
}

static int
setup(void **state)
{
	(void)state;
	vet_world_init(&w);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	vet_world_fini(&w);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(world_has_one_of_each),
		cmocka_unit_test(each_kind_of_fault_is_told),
		cmocka_unit_test(fault_takes_its_zone_out_and_no_other),
		cmocka_unit_test(large_zone_is_cut_into_parts),
		cmocka_unit_test(faulty_zone_that_is_only_looked_at_stays),
		cmocka_unit_test(expiry_of_another_boot_is_forgotten),
		cmocka_unit_test(altered_bit_is_found_or_plain),
		cmocka_unit_test(altered_word_is_found_or_plain),
		cmocka_unit_test(many_altered_octets_do_no_harm),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
