/* test_nsec3_broken.c - zones with a broken chain of NSEC3 records: they load,
 * and what is wrong is reported. */
#include "compile/stream.h"
#include "dns/rrbatch.h"
#include "lib/nsec3_zone.h"
#include "zonefile/zonefile.h"

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
	assert_true(covers(&found, hash));
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
	assert_true(covers(&found, inside));
	find(&found, outside, NSEC3_HASH_LEN);
	assert_false(covers(&found, outside));
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
	rrset = store_get(f.view, found.record->template);
	assert_int_equal(rrset->count, 2);
	assert_int_equal(found.record->sigs.count, 1);
	find(&found, next, NSEC3_HASH_LEN);
	assert_false(covers(&found, next));
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

/* An update does not know the order of the input. It has to choose the same. */
static void
of_equal_chains_the_one_with_fewer_iterations_is_used(void **state)
{
	for (unsigned i = 0; i < 2; i++) {
		begin();
		add(i == 0 ? "@ NSEC3PARAM 1 0 0 -\n@ NSEC3PARAM 1 0 3 abcd\n"
			   : "@ NSEC3PARAM 1 0 3 abcd\n@ NSEC3PARAM 1 0 0 -\n");
		add_chain(&plain, two_names);
		add_chain(&salted, two_names);
		/* Duplicate records count once. */
		add_chain(&salted, two_names);
		build();
		assert_int_equal(get_chain()->iterations, 0);
		drop();
	}
}

static void
check_no_chain(const char *finding)
{
	build();
	warned(finding);
	assert_null(get_chain());
	assert_int_equal(get_zone()->flags & ZONE_NSEC3, 0);
	assert_null(nsec3_node_hash(node("example.")));
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
	/* An NSEC3PARAM below the apex is ignored. */
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
	assert_non_null(nsec3_node_hash(node("example.")));
	assert_null(nsec3_node_hash(node("ns1.example.")));
	hash_name(&costly, "example.", hash);
	find(&found, hash, NSEC3_PREFIX_LEN);
	assert_true(found.matches);
	drop();
	f.nsec3_iterations_max = 65535;
	build();
	assert_int_equal(get_chain()->flags, 0);
	assert_non_null(nsec3_node_hash(node("ns1.example.")));
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

/* ---- zones with errors --------------------------------------------------- */

static void
error_elsewhere_is_told_alone(void **state)
{
	begin();
	add("@ NSEC3PARAM 1 0 0 -\n");
	add_chain(&plain, two_names);
	add("other.org. A 192.0.2.1\n");
	assert_int_equal(zone_fixture_build(&f, "example.", text, &zone),
		NSD_E_ZONE);
	warned("text:10: error: out of zone data: other.org. is outside");
	assert_int_equal(f.sink.errors, 1);
	assert_int_equal(f.sink.warnings, 0);
	assert_int_equal(live(), 0);
}

/* Gives records to a stream. Those of the last owner go to its next part. */
static void
take(struct zone_stream *stream, const char *records)
{
	const struct zonefile_options options = {
		.apex = zone_fixture_name("example."),
	};
	struct rrbatch *all = rrbatch_create(4096);
	struct zonefile_result parsed;

	assert_non_null(all);
	assert_int_equal(zonefile_parse_text("text", records, strlen(records),
				 &options, NULL, &parsed),
		NSD_OK);
	for (const struct rrbatch *b = parsed.batches; b != NULL; b = b->next) {
		const struct rrbatch_rr *rr = rrbatch_first(b);

		for (size_t i = 0; i < b->count; i++, rr = rrbatch_next(rr))
			assert_int_equal(rrbatch_append(all, rr,
						 rr->owner_len > 0 ? rr->data
								   : NULL,
						 rrbatch_rr_rdata(rr)),
				NSD_OK);
	}
	zonefile_result_fini(&parsed);
	assert_int_equal(stream_take(stream, all), NSD_OK);
}

/* A part of the chain is packed before the error is met, and the rest is left
 * out. */
static void
error_amid_a_stream_is_told_alone(void **state)
{
	static const char *const files[] = {"text"};
	const struct zone_build_input input = {
		.apex = zone_fixture_name("example."),
		.threads = 1,
	};
	const struct zone_stream_options options = {
		.rr_expected = 1,
		.part_octets = 1,
	};
	struct diag_sink sink = {.on_diag = NULL};
	uint8_t hashes[3][NSEC3_HASH_LEN];
	struct zone_stream *stream;

	for (unsigned i = 0; i < 3; i++)
		memset(hashes[i], 0x10 * (int)(i + 1), NSEC3_HASH_LEN);
	assert_int_equal(stream_begin(&input, &options, f.writer,
				 store_writer_heap(f.writer), &stream),
		NSD_OK);
	text[0] = '\0';
	add(SOA "@ NS ns1\n@ NSEC3PARAM 1 0 0 -\n%s NSEC3 1 0 0 - %s A\n",
		label(hashes[0]), label(hashes[1]));
	take(stream, text);
	text[0] = '\0';
	add("3x CNAME a\n3x CNAME b\n%s NSEC3 1 0 0 - %s A\n",
		label(hashes[1]), label(hashes[2]));
	take(stream, text);
	text[0] = '\0';
	add("%s NSEC3 1 0 0 - %s A\nns1 A 192.0.2.1\n", label(hashes[2]),
		label(hashes[0]));
	take(stream, text);
	assert_int_equal(stream_finish(stream, files, 1, &sink, &zone),
		NSD_E_ZONE);
	assert_int_equal(sink.errors, 1);
	assert_int_equal(sink.warnings, 0);
	assert_int_equal(live(), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(one_record_leads_to_itself),
		T(hole_in_the_chain_is_told_and_kept),
		T(several_records_at_one_owner_are_kept_whole),
		T(owners_in_another_case_are_the_same),
		T(of_two_chains_the_larger_is_used),
		T(of_equal_chains_the_one_with_fewer_iterations_is_used),
		T(nsec3param_that_cannot_be_used_makes_no_chain),
		T(records_of_an_unknown_algorithm_are_only_data),
		T(owners_that_are_no_hash_are_only_data),
		T(next_hash_of_another_length_is_only_data),
		T(costly_chain_is_hashed_for_the_apex_alone),
		T(error_elsewhere_is_told_alone),
		T(error_amid_a_stream_is_told_alone),
	};

	return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
