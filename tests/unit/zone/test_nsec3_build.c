/* test_nsec3_build.c - which NSEC3 records make the chain of a zone, what
 * names keep of their hashes, and what is said of zones that are broken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/zone_fixture.h"
#include "zone/build.h"
#include "zone/nsec3_page.h"
#include "zone/walk.h"

#define SOA "@ SOA ns1 host 7 2 3 4 5\n"
#define HEAD "$TTL 3600\n" SOA "@ NS ns1\nns1 A 192.0.2.1\n"
#define SIG "RRSIG NSEC3 13 2 3600 20300101000000 20200101000000 1 example. " \
	"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
#define TEXT_MAX 65536u
#define NAMES_MAX 16u

static struct zone_fixture f;
static store_ref zone; /* the last one built */
static uint64_t live_before;
static char text[TEXT_MAX];

static uint64_t
live(void)
{
	struct store_stats stats;

	store_get_stats(f.writer, &stats);
	return stats.live;
}

static void
drop(void)
{
	zone_free(store_writer_heap(f.writer), zone);
	assert_int_equal(live(), live_before);
}

static void
add(const char *format, ...)
{
	size_t len = strlen(text);
	va_list ap;

	va_start(ap, format);
	vsnprintf(text + len, sizeof(text) - len, format, ap);
	va_end(ap);
}

static void
begin(void)
{
	text[0] = '\0';
	add("%s", HEAD);
}

static void
build(void)
{
	if (zone_fixture_build(&f, "example.", text, &zone) != NSD_OK)
		fail_msg("not built:\n%s\n%s", f.findings, text);
}

static void
warned(const char *finding)
{
	if (strstr(f.findings, finding) == NULL)
		fail_msg("no \"%s\" in:\n%s\n%s", finding, f.findings, text);
}

static const struct zone *
get_zone(void)
{
	return store_get(f.view, zone);
}

static const struct nsec3_chain *
get_chain(void)
{
	const struct zone *z = get_zone();

	return z->chain == STORE_NONE ? NULL : store_get(f.view, z->chain);
}

/* ---- chains ------------------------------------------------------------ */

struct params {
	unsigned iterations;
	const char *salt;     /* hex or "-" */
	unsigned flags;       /* of the records */
};

static const struct params plain = {0, "-", 0}, salted = {3, "abcd", 0};

/* The hash of a name of presentation format below example. */
static void
hash_name(const struct params *p, const char *name,
	uint8_t hash[NSEC3_HASH_LEN])
{
	static const uint8_t abcd[] = {0xab, 0xcd};
	const struct nsec3_params params = {
		.salt = abcd,
		.salt_len = strcmp(p->salt, "-") == 0 ? 0 : 2,
		.iterations = (uint16_t)p->iterations,
	};
	struct nsec3_job job = {.name = zone_fixture_name(name)};
	struct nsec3_job *jobs[] = {&job};

	nsec3_hash_batch(&params, jobs, 1);
	memcpy(hash, job.hash, NSEC3_HASH_LEN);
}

static int
compare_hashes(const void *a, const void *b)
{
	return memcmp(a, b, NSEC3_HASH_LEN);
}

static const char *
label(const uint8_t *hash)
{
	static char labels[4][NSEC3_LABEL_LEN + 1];
	static unsigned next;
	char *out = labels[next++ % 4];

	nsec3_print_label(hash, (uint8_t *)out);
	return out;
}

/* Adds the NSEC3 records of the names (ended by NULL) to the text. */
static void
add_chain(const struct params *p, const char *const *names)
{
	uint8_t hashes[NAMES_MAX][NSEC3_HASH_LEN];
	size_t n = 0;

	for (; names[n] != NULL; n++)
		hash_name(p, names[n], hashes[n]);
	qsort(hashes, n, NSEC3_HASH_LEN, compare_hashes);
	for (size_t i = 0; i < n; i++)
		add("%s NSEC3 1 %u %u %s %s A RRSIG\n%s " SIG,
			label(hashes[i]), p->flags, p->iterations, p->salt,
			label(hashes[(i + 1) % n]), label(hashes[i]));
}

static const char *const two_names[] = {"example.", "ns1.example.", NULL};

/* What a node keeps is the start of the name's hash. */
static void
check_kept(const struct params *p, const char *hashed, const uint8_t *kept)
{
	uint8_t hash[NSEC3_HASH_LEN];

	hash_name(p, hashed, hash);
	assert_non_null(kept);
	assert_memory_equal(kept, hash, NSEC3_PREFIX_LEN);
}

static const struct node *
node(const char *name)
{
	const struct node *n = zone_fixture_find(&f, zone, "example.", name);

	assert_non_null(n);
	return n;
}

static void
find(struct nsec3_find *find, const uint8_t *hash, size_t len)
{
	struct nsec3_find *finds[] = {find};

	memset(find, 0, sizeof(*find));
	find->chain = get_chain();
	find->is_prefix = len < NSEC3_HASH_LEN;
	memcpy(find->hash, hash, len);
	nsec3_find_batch(f.view, finds, 1);
}

/* True if all NSEC3 records are in the chain. */
static bool
has_no_others(void)
{
	struct trie_iter iter;

	trie_iter_init(&iter, f.view, &get_zone()->nsec3.root);
	return trie_iter_next(&iter) == STORE_NONE;
}

/* ---- the chain of a sound zone ----------------------------------------- */

static void
chain_has_the_records_of_the_nsec3param(void **state)
{
	struct nsec3_iter iter;
	struct nsec3_find found;
	uint8_t hash[NSEC3_HASH_LEN];
	const struct nsec3_form *form;

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
		form = store_get(f.view, iter.record->form);
		assert_int_equal(form->refs, 2);
		assert_int_equal(form->ttl_sec, 3600);
		assert_memory_equal(form->data, "\1\0\0\3\2\xab\xcd\x14", 8);
		assert_int_equal(form->head_len, 8);
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
	check_kept(&salted, "example.", node_get_hash(node("example.")));
	check_kept(&salted, "*.example.",
		node_get_wildcard_hash(node("example.")));
	check_kept(&salted, "empty.example.",
		node_get_hash(node("empty.example.")));
	check_kept(&salted, "*.empty.example.",
		node_get_wildcard_hash(node("empty.example.")));
	check_kept(&salted, "*.wild.example.",
		node_get_hash(node("*.wild.example.")));
	check_kept(&salted, "*.*.wild.example.",
		node_get_wildcard_hash(node("*.wild.example.")));
	check_kept(&salted, "cut.example.",
		node_get_hash(node("cut.example.")));
	assert_null(node_get_wildcard_hash(node("cut.example.")));
	check_kept(&salted, "dname.example.",
		node_get_hash(node("dname.example.")));
	assert_null(node_get_wildcard_hash(node("dname.example.")));
	/* What is below a cut is not the zone's. */
	assert_null(node_get_hash(node("ns.cut.example.")));
	assert_null(node_get_wildcard_hash(node("ns.cut.example.")));
	drop();
}

static void
zone_without_a_chain_keeps_no_hashes(void **state)
{
	begin();
	build();
	assert_null(get_chain());
	assert_null(node_get_hash(node("example.")));
	assert_null(node_get_wildcard_hash(node("example.")));
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
		assert_non_null(node_get_hash(node(name)));
		assert_int_equal(node_get_wildcard_hash(node(name)) != NULL,
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
	assert_null(node_get_hash(node("ns1.example.")));
	assert_non_null(node_get_wildcard_hash(node("ns1.example.")));
	assert_non_null(node_get_hash(node("example.")));
	drop();
	/* Not even if there is the right one beside it. */
	hash[NSEC3_PREFIX_LEN] ^= 1;
	add("%s NSEC3 1 0 0 - %s A\n", label(hash), label(next));
	build();
	assert_null(node_get_hash(node("ns1.example.")));
	drop();
}

/* ---- broken zones ------------------------------------------------------ */

static void
one_record_leads_to_itself(void **state)
{
	static const char *const one[] = {"example.", NULL};
	uint8_t hash[NSEC3_HASH_LEN];
	struct nsec3_find found;

	begin();
	add("@ NSEC3PARAM 1 0 0 -\n");
	add_chain(&plain, one);
	build();
	assert_string_equal(f.findings, "");
	hash_name(&plain, "nx.example.", hash);
	find(&found, hash, NSEC3_HASH_LEN);
	assert_false(found.matches);
	assert_true(nsec3_covers(&found, hash));
	assert_ptr_equal(found.next_hash, found.owner_hash);
	drop();
}

static void
hole_in_the_chain_is_told_and_kept(void **state)
{
	uint8_t hash[NSEC3_HASH_LEN], next[NSEC3_HASH_LEN];
	uint8_t inside[NSEC3_HASH_LEN], outside[NSEC3_HASH_LEN];
	struct nsec3_find found;

	memset(hash, 0x10, sizeof(hash));
	memset(inside, 0x14, sizeof(inside));
	memset(next, 0x18, sizeof(next));
	memset(outside, 0x1c, sizeof(outside));
	begin();
	add("@ NSEC3PARAM 1 0 0 -\n");
	add("%s NSEC3 1 0 0 - %s A\n", label(hash), label(next));
	memset(hash, 0x20, sizeof(hash));
	memset(next, 0x10, sizeof(next));
	add("%s NSEC3 1 0 0 - %s A\n%s " SIG, label(hash), label(next),
		label(hash));
	build();
	warned("text:6: warning: the next hash of this NSEC3 record is not");
	assert_int_equal(f.sink.warnings, 1);
	find(&found, inside, NSEC3_HASH_LEN);
	assert_int_equal(found.record->flags, NSEC3_OWN_NEXT);
	assert_true(nsec3_covers(&found, inside));
	find(&found, outside, NSEC3_HASH_LEN);
	assert_false(nsec3_covers(&found, outside));
	drop();
}

static void
several_records_at_one_owner_are_kept_whole(void **state)
{
	uint8_t hash[NSEC3_HASH_LEN], next[NSEC3_HASH_LEN];
	struct nsec3_find found;
	const struct rrset *rrset;

	hash_name(&plain, "example.", hash);
	memset(next, 0x18, sizeof(next));
	begin();
	add("@ NSEC3PARAM 1 0 0 -\n");
	add("%s NSEC3 1 0 0 - %s A\n", label(hash), label(hash));
	add("%s NSEC3 1 0 0 - %s A\n", label(hash), label(next));
	add("%s " SIG, label(hash));
	build();
	warned("text:7: warning: several NSEC3 records at one name");
	find(&found, hash, NSEC3_HASH_LEN);
	assert_true(found.matches);
	assert_int_equal(found.record->flags, NSEC3_RRSET);
	assert_null(found.next_hash);
	rrset = store_get(f.view, found.record->form);
	assert_int_equal(rrset->count, 2);
	assert_int_equal(found.record->sigs.count, 1);
	find(&found, next, NSEC3_HASH_LEN);
	assert_false(nsec3_covers(&found, next));
	drop();
}

static void
owners_in_another_case_are_the_same(void **state)
{
	uint8_t hash[NSEC3_HASH_LEN];
	char upper[NSEC3_LABEL_LEN + 1];

	hash_name(&plain, "example.", hash);
	snprintf(upper, sizeof(upper), "%s", label(hash));
	for (char *c = upper; *c != '\0'; c++)
		*c = (char)(*c >= 'a' ? *c - 32 : *c);
	begin();
	add("@ NSEC3PARAM 1 0 0 -\n");
	add("%s NSEC3 1 0 0 - %s A\nother TXT x\n", label(hash), label(hash));
	add("%s NSEC3 1 0 0 - %s A\n", upper, upper);
	build();
	warned("duplicate NSEC3 record is left out");
	assert_int_equal(get_chain()->count, 1);
	drop();
}

/* Salt change: of two chains the one with more records is used, and the
 * other's records are only data. */
static void
of_two_chains_the_larger_is_used(void **state)
{
	static const char *const one[] = {"example.", NULL};

	for (unsigned i = 0; i < 4; i++) {
		begin();
		add("@ NSEC3PARAM 1 0 0 -\n@ NSEC3PARAM 1 0 3 abcd\n");
		add_chain(&plain, i % 2 == 0 ? one : two_names);
		add_chain(&salted, i % 2 == 0 ? two_names : one);
		f.threads = i < 2 ? 1 : 2;
		build();
		warned(i % 2 == 0 ? "text:6: warning: of 2 NSEC3PARAM records "
			       "this one is used, with 2 NSEC3 records"
			     : "text:5: warning: of 2 NSEC3PARAM records "
			       "this one is used, with 2 NSEC3 records");
		assert_int_equal(get_chain()->iterations, i % 2 == 0 ? 3 : 0);
		assert_int_equal(get_chain()->count, 2);
		assert_false(has_no_others());
		drop();
	}
	f.threads = 1;
}

static void
check_no_chain(const char *finding)
{
	build();
	warned(finding);
	assert_null(get_chain());
	assert_int_equal(get_zone()->flags & ZONE_NSEC3, 0);
	assert_null(node_get_hash(node("example.")));
	drop();
}

/* RFC 5155 sections 4.1.2 and 11 */
static void
nsec3param_that_cannot_be_used_makes_no_chain(void **state)
{
	begin();
	add_chain(&plain, two_names);
	check_no_chain("warning: NSEC3 records are not used: there is no "
		"NSEC3PARAM for them");
	begin();
	add("@ NSEC3PARAM 1 1 0 -\n");
	add_chain(&plain, two_names);
	check_no_chain("text:5: warning: NSEC3PARAM with flags 1 is not used");
	begin();
	add("@ NSEC3PARAM 2 0 0 -\n");
	add_chain(&plain, two_names);
	check_no_chain("text:5: warning: NSEC3PARAM with hash algorithm 2 is "
		"not used");
	begin();
	add("@ NSEC3PARAM 1 0 1 -\n");
	add_chain(&plain, two_names);
	check_no_chain("text:5: warning: no NSEC3 record has the parameters");
	/* One below the apex counts for nothing. */
	begin();
	add("ns1 NSEC3PARAM 1 0 0 -\n");
	add_chain(&plain, two_names);
	check_no_chain("there is no NSEC3PARAM for them");
	/* An unusable one beside one that can be used does no harm. */
	begin();
	add("@ NSEC3PARAM 1 1 0 -\n@ NSEC3PARAM 1 0 0 -\n");
	add_chain(&plain, two_names);
	build();
	assert_non_null(get_chain());
	drop();
}

static void
records_of_an_unknown_algorithm_are_only_data(void **state)
{
	uint8_t hash[NSEC3_HASH_LEN];

	hash_name(&plain, "nx.example.", hash);
	begin();
	add("@ NSEC3PARAM 1 0 0 -\n");
	add_chain(&plain, two_names);
	add("%s NSEC3 2 0 0 - %s A\n", label(hash), label(hash));
	build();
	assert_int_equal(get_chain()->count, 2);
	assert_false(has_no_others());
	drop();
}

static void
owners_that_are_no_hash_are_only_data(void **state)
{
	static const char *const owners[] = {
		"x", "0p9mhaveqvm6t7vbl5lop2u3t2rp3to",
		"0p9mhaveqvm6t7vbl5lop2u3t2rp3tomm",
		"0p9mhaveqvm6t7vbl5lop2u3t2rp3tow",
		"0p9mhaveqvm6t7vbl5lop2u3t2rp3tom.sub", "@", "*",
		"0p9mhaveqvm6t7vbl5lop2u3t2rp3to\\000",
	};

	for (unsigned i = 0; i < sizeof(owners) / sizeof(owners[0]); i++) {
		begin();
		add("@ NSEC3PARAM 1 0 0 -\n%s NSEC3 1 0 0 - "
		    "0p9mhaveqvm6t7vbl5lop2u3t2rp3tom A\n", owners[i]);
		build();
		warned("is not used: the owner is no hash right below the "
			"apex");
		warned("text:6: warning: NSEC3 record at ");
		assert_null(get_chain());
		drop();
	}
}

static void
next_hash_of_another_length_is_only_data(void **state)
{
	static const char *const next[] = {"00",
		"0p9mhaveqvm6t7vbl5lop2u3t2rp3tom00"};

	for (unsigned i = 0; i < 2; i++) {
		begin();
		add("@ NSEC3PARAM 1 0 0 -\n"
		    "0p9mhaveqvm6t7vbl5lop2u3t2rp3tom NSEC3 1 0 0 - %s A\n",
			next[i]);
		build();
		warned("the next hash is not of 20 octets");
		assert_null(get_chain());
		drop();
	}
}

/* RFC 5155 section 10.3: more iterations than allowed are not done. */
static void
costly_chain_is_hashed_for_the_apex_alone(void **state)
{
	static const struct params costly = {65535, "abcd", 0};
	uint8_t hash[NSEC3_HASH_LEN];
	struct nsec3_find found;

	begin();
	add("@ NSEC3PARAM 1 0 65535 abcd\n");
	add_chain(&costly, two_names);
	build();
	warned("text:5: warning: 65535 NSEC3 iterations are more than 2500");
	assert_int_equal(get_chain()->flags, NSEC3_CHAIN_COSTLY);
	assert_non_null(node_get_hash(node("example.")));
	assert_null(node_get_hash(node("ns1.example.")));
	hash_name(&costly, "example.", hash);
	find(&found, hash, NSEC3_PREFIX_LEN);
	assert_true(found.matches);
	drop();
	f.nsec3_iterations_max = 65535;
	build();
	assert_int_equal(get_chain()->flags, 0);
	assert_non_null(node_get_hash(node("ns1.example.")));
	drop();
	f.nsec3_iterations_max = 2;
	begin();
	add("@ NSEC3PARAM 1 0 3 abcd\n");
	add_chain(&salted, two_names);
	build();
	warned("text:5: warning: 3 NSEC3 iterations are more than 2");
	drop();
	f.nsec3_iterations_max = 0;
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

static int
setup(void **state)
{
	zone_fixture_init(&f);
	live_before = live();
	return 0;
}

static int
teardown(void **state)
{
	zone_fixture_fini(&f);
	return 0;
}

#define T(name) cmocka_unit_test(name)

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
		T(one_record_leads_to_itself),
		T(hole_in_the_chain_is_told_and_kept),
		T(several_records_at_one_owner_are_kept_whole),
		T(owners_in_another_case_are_the_same),
		T(of_two_chains_the_larger_is_used),
		T(nsec3param_that_cannot_be_used_makes_no_chain),
		T(records_of_an_unknown_algorithm_are_only_data),
		T(owners_that_are_no_hash_are_only_data),
		T(next_hash_of_another_length_is_only_data),
		T(costly_chain_is_hashed_for_the_apex_alone),
		T(walk_has_the_records_of_the_chain_at_their_place),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
