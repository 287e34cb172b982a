/* test_nsec3_build.c - which NSEC3 records make the chain of a zone, what
 * names keep of their hashes, and how updates pack them. */
#include "compile/packer.h"
#include "lib/nsec3_zone.h"
#include "store/writer.h"
#include "update/nsec3_edit.h"
#include "zone/walk.h"
#include "zonedb/release.h"
#include "zonefile/zonefile.h"

/* ---- the chain of a sound zone ----------------------------------------- */

static void
chain_has_the_records_of_the_nsec3param(void **state)
{
	struct nsec3_iter iter;
	struct nsec3_find found;
	uint8_t hash[NSEC3_HASH_LEN];
	const struct nsec3_template *template;

	begin();
	add("@ NSEC3PARAM 1 0 3 abcd\n");
	add_chain(&salted, two_names);
	build();
	assert_string_equal(f.findings, "");
	assert_int_equal(get_zone()->flags & ZONE_NSEC3, ZONE_NSEC3);
	assert_non_null(get_chain());
	assert_int_equal(get_chain()->count, 2);
	assert_int_equal(get_chain()->iterations, 3);
	assert_int_equal(get_chain()->salt_len, 2);
	assert_memory_equal(get_chain()->salt, "\xab\xcd", 2);
	assert_int_equal(get_chain()->flags, 0);
	/* The RRSIGs are counted as well. */
	assert_int_equal(get_zone()->rr_count, 3 + 1 + 2 * 2);
	nsec3_iter_init(&iter, f.view, get_chain());
	while (nsec3_iter_next(&iter)) {
		assert_int_equal(iter.record->flags, 0);
		assert_int_equal(iter.record->sigs.count, 1);
		template = store_get(f.view, iter.record->template);
		assert_int_equal(template->refs, 2);
		assert_int_equal(template->ttl_sec, 3600);
		assert_memory_equal(template->data, "\1\0\0\3\2\xab\xcd\x14",
			8);
		assert_int_equal(template->head_len, 8);
	}
	hash_name(&salted, "ns1.example.", hash);
	find(&found, hash, NSEC3_HASH_LEN);
	assert_true(found.matches);
	assert_memory_equal(found.owner_hash, hash, NSEC3_HASH_LEN);
	drop();
}

/* Proofs need the hash of each name that exists, and of the wildcard below
 * each that can be the closest encloser (RFC 5155 section 7.2.1). */
static void
names_keep_the_hashes_that_queries_need(void **state)
{
	begin();
	add("@ NSEC3PARAM 1 0 3 abcd\n"
	    "a.empty TXT x\n*.wild TXT x\n"
	    "cut NS ns.cut\nns.cut A 192.0.2.1\n"
	    "dname DNAME example.org.\n");
	add_chain(&salted, two_names);
	build();
	check_kept(&salted, "example.", nsec3_node_hash(node("example.")));
	check_kept(&salted, "*.example.",
		nsec3_node_wildcard_hash(node("example.")));
	check_kept(&salted, "empty.example.",
		nsec3_node_hash(node("empty.example.")));
	check_kept(&salted, "*.empty.example.",
		nsec3_node_wildcard_hash(node("empty.example.")));
	check_kept(&salted, "*.wild.example.",
		nsec3_node_hash(node("*.wild.example.")));
	check_kept(&salted, "*.*.wild.example.",
		nsec3_node_wildcard_hash(node("*.wild.example.")));
	check_kept(&salted, "cut.example.",
		nsec3_node_hash(node("cut.example.")));
	assert_null(nsec3_node_wildcard_hash(node("cut.example.")));
	check_kept(&salted, "dname.example.",
		nsec3_node_hash(node("dname.example.")));
	assert_null(nsec3_node_wildcard_hash(node("dname.example.")));
	/* Names below a cut are not in the chain. */
	assert_null(nsec3_node_hash(node("ns.cut.example.")));
	assert_null(nsec3_node_wildcard_hash(node("ns.cut.example.")));
	drop();
}

static void
zone_without_a_chain_keeps_no_hashes(void **state)
{
	begin();
	build();
	assert_null(get_chain());
	assert_null(nsec3_node_hash(node("example.")));
	assert_null(nsec3_node_wildcard_hash(node("example.")));
	drop();
}

static void
names_too_long_for_a_wildcard_keep_their_own_hash(void **state)
{
	char name[300];

	begin();
	add("@ NSEC3PARAM 1 0 0 -\n");
	add_chain(&plain, two_names);
	/* 253 octets, then 254 with the apex */
	for (unsigned last = 51; last <= 52; last++) {
		snprintf(name, sizeof(name), "%063u.%063u.%063u.%0*u", 1, 2, 3,
			(int)last, 4);
		add("%s TXT x\n", name);
	}
	build();
	for (unsigned last = 51; last <= 52; last++) {
		snprintf(name, sizeof(name), "%063u.%063u.%063u.%0*u.example.",
			1, 2, 3, (int)last, 4);
		assert_non_null(nsec3_node_hash(node(name)));
		assert_int_equal(nsec3_node_wildcard_hash(node(name)) != NULL,
			last == 51);
	}
	drop();
}

/* RFC 5155 section 7.2.8 */
static void
owner_of_nsec3_and_other_data_is_a_name_and_in_the_chain(void **state)
{
	uint8_t hash[NSEC3_HASH_LEN];
	struct nsec3_find found;
	char name[64];

	begin();
	add("@ NSEC3PARAM 1 0 0 -\n");
	add_chain(&plain, two_names);
	hash_name(&plain, "ns1.example.", hash);
	add("%s TXT x\n", label(hash));
	build();
	assert_int_equal(get_chain()->count, 2);
	find(&found, hash, NSEC3_HASH_LEN);
	assert_true(found.matches);
	snprintf(name, sizeof(name), "%s.example.", label(hash));
	assert_int_equal(node(name)->entry_count, 1);
	assert_int_equal(node_entries(node(name))->type, TYPE_TXT);
	assert_string_equal(f.findings, "");
	drop();
}

static void
hash_that_begins_like_a_records_is_not_kept(void **state)
{
	uint8_t hash[NSEC3_HASH_LEN], next[NSEC3_HASH_LEN];

	begin();
	add("@ NSEC3PARAM 1 0 0 -\n");
	hash_name(&plain, "ns1.example.", hash);
	hash_name(&plain, "example.", next);
	hash[NSEC3_PREFIX_LEN] ^= 1;
	add("%s NSEC3 1 0 0 - %s A\n", label(hash), label(next));
	build();
	assert_null(nsec3_node_hash(node("ns1.example.")));
	assert_non_null(nsec3_node_wildcard_hash(node("ns1.example.")));
	assert_non_null(nsec3_node_hash(node("example.")));
	drop();
	/* A record that equals the hash in its first octets does not count,
	 * even beside the right one. */
	hash[NSEC3_PREFIX_LEN] ^= 1;
	add("%s NSEC3 1 0 0 - %s A\n", label(hash), label(next));
	build();
	assert_null(nsec3_node_hash(node("ns1.example.")));
	drop();
}

/* ---- walking ----------------------------------------------------------- */

static char walked[TEXT_MAX];

static enum nsd_err
note_rr(void *ctx, const struct zone_rr *rr)
{
	size_t len = strlen(walked);

	(void)ctx;
	for (unsigned i = 0; i < 1u + rr->owner[0]; i++)
		len += (size_t)snprintf(walked + len, sizeof(walked) - len,
			"%02x", rr->owner[i]);
	len += (size_t)snprintf(walked + len, sizeof(walked) - len, " %u %u ",
		(unsigned)rr->ttl_sec, (unsigned)rr->type);
	for (unsigned i = 0; i < rr->rdlen; i++)
		len += (size_t)snprintf(walked + len, sizeof(walked) - len,
			"%02x", rr->rdata[i]);
	snprintf(walked + len, sizeof(walked) - len, "\n");
	return NSD_OK;
}

static void
walk(void)
{
	walked[0] = '\0';
	assert_int_equal(zone_walk(f.view, get_zone(),
		zone_fixture_name("example."), note_rr, NULL), NSD_OK);
}

/* A zone prints the same whether its records make a chain or not, but for the
 * NSEC3PARAM. */
static void
walk_has_the_records_of_the_chain_at_their_place(void **state)
{
	static char without[TEXT_MAX];
	uint8_t hash[NSEC3_HASH_LEN], next[NSEC3_HASH_LEN];
	char *line;

	for (unsigned chain = 0; chain < 2; chain++) {
		begin();
		add_chain(&salted, two_names);
		memset(hash, 0x40, sizeof(hash));
		memset(next, 0x18, sizeof(next));
		add("%s NSEC3 1 0 3 abcd %s A\n", label(hash), label(next));
		memset(hash, 0x48, sizeof(hash));
		add("%s NSEC3 1 1 3 abcd %s A\n%s NSEC3 1 0 3 abcd %s A\n",
			label(hash), label(next), label(hash), label(hash));
		add("%s " SIG "000 TXT x\ng TXT x\nzz TXT x\n", label(hash));
		add("%s TXT x\n%s CAA 0 issue x\n", label(hash), label(hash));
		add("@ NSEC3PARAM 1 %u 3 abcd\n", 1 - chain);
		build();
		assert_int_equal(get_chain() != NULL, chain);
		walk();
		drop();
		line = strstr(walked, chain == 0 ? " 51 0101" : " 51 0100");
		assert_non_null(line);
		line[7] = '0';
		if (chain == 0)
			memcpy(without, walked, sizeof(walked));
	}
	assert_string_equal(walked, without);
	assert_non_null(strstr(walked, " 50 "));
}

/* ---- records of an update ---------------------------------------------- */

/* Packs the NSEC3 RRset of a text and puts it into the chain of the zone. */
static void
put_rrset(struct nsec3_edit *edit, struct packer *packer, const char *rrset)
{
	const struct zonefile_options options = {
		.apex = zone_fixture_name("example."),
		.default_ttl_sec = 3600,
	};
	struct zonefile_result parsed;
	const struct rrbatch_rr *rr;
	struct item items[8];
	struct owner owner = {.flags = 0};
	uint8_t hash[NSEC3_HASH_LEN];
	store_ref record;
	size_t n;

	assert_int_equal(zonefile_parse_text("text", rrset, strlen(rrset),
		&options, &f.sink, &parsed), NSD_OK);
	rr = rrbatch_first(parsed.batches);
	assert_true(owner_measure(&owner, rr->data, rr->owner_len,
		options.apex, name_len(options.apex)));
	for (n = 0; n < parsed.batches->count; n++, rr = rrbatch_next(rr)) {
		items[n].rr = rr;
		items[n].order = (uint32_t)n;
		items[n].key = TYPE_NSEC3 << 1 | (rr->type == TYPE_RRSIG);
	}
	assert_true(nsec3_items_are_chained(get_chain(), &owner, items, n,
		hash));
	assert_int_equal(nsec3_pack_items(packer, &owner, get_chain(), items,
		n, &record), NSD_OK);
	assert_int_equal(nsec3_edit_put(edit, hash, record), NSD_OK);
	zonefile_result_fini(&parsed);
}

/* The record of a hash and its signature. */
static void
put_signed(struct nsec3_edit *edit, struct packer *packer,
	const uint8_t *hash, const uint8_t *next)
{
	text[0] = '\0';
	add("%s NSEC3 1 0 0 - %s A RRSIG\n%s " SIG, label(hash), label(next),
		label(hash));
	put_rrset(edit, packer, text);
}

static void
packed_for_an_update_it_is_as_if_built(void **state)
{
	static char built[TEXT_MAX];
	struct packer_zone common = {.view = f.view};
	struct packer packer = {.err = NSD_OK};
	struct releaser releaser = {.view = f.view,
		.heap = store_writer_heap(f.writer)};
	uint8_t low[NSEC3_HASH_LEN], high[NSEC3_HASH_LEN];
	const struct nsec3_template *template;
	struct nsec3_edit edit;
	struct nsec3_iter iter;
	struct zone *z;
	store_ref made;

	memset(low, 0x10, sizeof(low));
	memset(high, 0x20, sizeof(high));
	begin();
	add("@ NSEC3PARAM 1 0 0 -\n%s NSEC3 1 0 0 - %s A RRSIG\n%s " SIG,
		label(low), label(high), label(low));
	add("%s NSEC3 1 0 0 - %s A RRSIG\n%s " SIG, label(high), label(low),
		label(high));
	build();
	walk();
	memcpy(built, walked, sizeof(built));
	drop();

	begin();
	add("@ NSEC3PARAM 1 0 0 -\n%s NSEC3 1 0 0 - %s A RRSIG\n%s " SIG,
		label(low), label(low), label(low));
	build();
	arena_init(&packer.arena, NULL, 0);
	packer_init(&packer, &common, releaser.heap, NULL);
	common.share.view = f.view;
	assert_int_equal(packer_prepare(&packer), NSD_OK);
	nsec3_edit_begin(&edit, packer.heap, &packer.arena,
		get_zone()->chain);
	put_signed(&edit, &packer, low, high);
	put_signed(&edit, &packer, high, low);
	pack_sigs_flush(&packer);
	assert_int_equal(packer.rr_count, 4);
	assert_int_equal(nsec3_edit_end(&edit, &made), NSD_OK);
	z = store_edit(releaser.heap, zone);
	z->chain = made;
	nsec3_edit_release(&edit, &releaser);
	walk();
	assert_string_equal(walked, built);
	nsec3_iter_init(&iter, f.view, get_chain());
	while (nsec3_iter_next(&iter)) {
		template = store_get(f.view, iter.record->template);
		assert_int_equal(template->refs, 2);
		assert_int_equal(iter.record->flags, 0);
	}
	arena_fini(&packer.arena);
	drop();
}

static bool
needs_build(const char *zone_text, const char *name, uint16_t type)
{
	const uint8_t *wire = zone_fixture_name(name);
	struct owner owner = {.labels = (uint8_t)(wire[0] != 7)};
	bool result;

	begin();
	add("%s", zone_text);
	add_chain(&plain, two_names);
	build();
	result = nsec3_change_needs_build(f.view, get_zone(), &owner, type);
	drop();
	return result;
}

static void
what_may_choose_another_chain_needs_a_build(void **state)
{
	static const char one[] = "@ NSEC3PARAM 1 0 0 -\n";
	static const char two[] = "@ NSEC3PARAM 1 0 0 -\n"
				  "@ NSEC3PARAM 1 0 1 -\n";
	static const char other[] = "@ NSEC3PARAM 1 0 1 -\n";
	static const char unusable[] = "@ NSEC3PARAM 2 0 0 -\n";

	assert_true(needs_build(one, "example.", TYPE_NSEC3PARAM));
	assert_true(needs_build("", "example.", TYPE_NSEC3PARAM));
	assert_false(needs_build(one, "a.example.", TYPE_NSEC3PARAM));
	assert_false(needs_build(one, "a.example.", TYPE_NSEC3));
	assert_false(needs_build(one, "a.example.", TYPE_A));
	assert_true(needs_build(two, "a.example.", TYPE_NSEC3));
	assert_false(needs_build(two, "a.example.", TYPE_A));
	assert_true(needs_build(other, "a.example.", TYPE_NSEC3));
	assert_false(needs_build(unusable, "a.example.", TYPE_NSEC3));
	assert_false(needs_build("", "a.example.", TYPE_NSEC3));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(chain_has_the_records_of_the_nsec3param),
		T(names_keep_the_hashes_that_queries_need),
		T(zone_without_a_chain_keeps_no_hashes),
		T(names_too_long_for_a_wildcard_keep_their_own_hash),
		T(owner_of_nsec3_and_other_data_is_a_name_and_in_the_chain),
		T(hash_that_begins_like_a_records_is_not_kept),
		T(walk_has_the_records_of_the_chain_at_their_place),
		T(packed_for_an_update_it_is_as_if_built),
		T(what_may_choose_another_chain_needs_a_build),
	};

	return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
