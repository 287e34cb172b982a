/* test_proof_cost.c - the cost of proofs has a limit, even in zones that were
 * made to be expensive: hashes for NSEC3, steps back to an NSEC (fault 33). */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

#include "dns/nsec3.h"
#include "expect.h"
#include "query/state.h"
#include "store/writer.h"

#define LINKS 32
#define DEEP 60  /* empty non-terminals in a row */
#define OWNERS_MAX 128

static struct world_zone *
add_zone(struct world *w)
{
	return world_add_zone(w, "z.",
		"z. 60 SOA ns.z. r. 1 2 3 4 5\n"
		"z. 60 NS ns.z.\n"
		"z. 60 DNSKEY\n"
		"z. 60 RRSIG SOA z.\n"
		"ns.z. 60 A 192.0.2.1\n");
}

static void
add_line(struct world_zone *zone, const char *format, unsigned a, unsigned b)
{
	char line[1024];

	snprintf(line, sizeof(line), format, a, b);
	world_add_record(zone, line);
}

static void
parse_name(const char *text, uint8_t *name)
{
	static const uint8_t root[1] = { 0 };
	const char *why;
	size_t len;

	assert_int_equal(name_parse_text(text, strlen(text), root, name, &len,
		&why), NSD_OK);
}

/* "HEAD e.e.e. ... z.", with count e. */
static const char *
deep_name(const char *head, unsigned count, const char *tail)
{
	static char text[1024];
	size_t at = (size_t)snprintf(text, sizeof(text), "%s", head);

	for (unsigned i = 0; i < count; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "e.");
	snprintf(text + at, sizeof(text) - at, "%s", tail);
	return text;
}

static const struct proof_spent *
spent(const struct world *w)
{
	return &w->ctx->queries[0].spent;
}

/* ---- NSEC3 ------------------------------------------------------------- */

/* The hashes of a chain that is being made: of names, or forged. */
struct hashes {
	char apex; /* the zone's only letter; 0: z */
	uint16_t iterations;
	unsigned count;
	uint8_t hash[OWNERS_MAX][NSEC3_HASH_LEN];
};

static void
hash_text(uint16_t iterations, const char *text, uint8_t *hash)
{
	const struct nsec3_params params = { .iterations = iterations };
	uint8_t name[NAME_MAX_LEN];
	struct nsec3_job job = { .name = name };
	struct nsec3_job *const jobs[1] = { &job };

	parse_name(text, name);
	nsec3_hash_batch(&params, jobs, 1);
	memcpy(hash, job.hash, NSEC3_HASH_LEN);
}

static uint8_t *
hashes_add(struct hashes *hashes, const char *text)
{
	assert_true(hashes->count < OWNERS_MAX);
	hash_text(hashes->iterations, text, hashes->hash[hashes->count]);
	return hashes->hash[hashes->count++];
}

/* Adds another hash that begins like that of the name. */
static void
hashes_forge(struct hashes *hashes, const char *text)
{
	hashes_add(hashes, text)[NSEC3_HASH_LEN - 1] ^= 1;
}

static int
compare(const void *a, const void *b)
{
	return memcmp(a, b, NSEC3_HASH_LEN);
}

static void
write_apex(const struct hashes *hashes, uint8_t *name)
{
	memcpy(name, "\1z", 3);
	if (hashes->apex != 0)
		name[1] = (uint8_t)hashes->apex;
}

static void
hash_owner(const struct hashes *hashes, unsigned at, uint8_t *owner)
{
	owner[0] = NSEC3_LABEL_LEN;
	nsec3_print_label(hashes->hash[at], owner + 1);
	write_apex(hashes, owner + 1 + NSEC3_LABEL_LEN);
}

static void
add_chain(struct world_zone *zone, struct hashes *hashes)
{
	struct world_rr rr = { .rrclass = CLASS_IN, .ttl_sec = 5,
		.type = TYPE_NSEC3PARAM, .rdlen = 5 };

	write_apex(hashes, rr.owner);
	rr.rdata[0] = NSEC3_ALGORITHM_SHA1;
	octets_put_u16(rr.rdata + 2, hashes->iterations);
	rrs_add(&zone->records, &rr);
	qsort(hashes->hash, hashes->count, NSEC3_HASH_LEN, compare);
	rr.type = TYPE_NSEC3;
	rr.rdlen = 6 + NSEC3_HASH_LEN + 3;
	rr.rdata[1] = 1; /* opt-out */
	rr.rdata[5] = NSEC3_HASH_LEN;
	memcpy(rr.rdata + 6 + NSEC3_HASH_LEN, "\0\1\100", 3);
	for (unsigned i = 0; i < hashes->count; i++) {
		hash_owner(hashes, i, rr.owner);
		memcpy(rr.rdata + 6, hashes->hash[(i + 1) % hashes->count],
			NSEC3_HASH_LEN);
		rrs_add(&zone->records, &rr);
	}
}

/* True if the record that matches or covers the name's hash is in the reply. */
static bool
is_proven(const struct reply_parts *p, const struct hashes *hashes,
	const char *text)
{
	uint8_t hash[NSEC3_HASH_LEN], owner[NAME_MAX_LEN];
	unsigned at = hashes->count - 1;

	hash_text(hashes->iterations, text, hash);
	for (unsigned i = 0; i < hashes->count; i++)
		if (memcmp(hashes->hash[i], hash, NSEC3_HASH_LEN) <= 0)
			at = i;
	hash_owner(hashes, at, owner);
	for (size_t i = 0; i < p->section[NS].count; i++)
		if (p->section[NS].rrs[i].type == TYPE_NSEC3
			&& name_equal(p->section[NS].rrs[i].owner, owner))
			return true;
	return false;
}

/* Asks for a name at the start of LINKS links, each made from a wildcard. */
static struct reply_parts *
ask_wild_links(struct world *w, struct hashes *hashes)
{
	struct world_zone *zone;
	char text[64];

	world_init(w);
	w->query_options.cname_max = LINKS;
	zone = add_zone(w);
	hashes_add(hashes, "z.");
	hashes_add(hashes, "ns.z.");
	for (unsigned i = 0; i < LINKS; i++) {
		add_line(zone, "*.l%u.z. 60 CNAME x.l%u.z.", i, i + 1);
		snprintf(text, sizeof(text), "*.l%u.z.", i);
		hashes_add(hashes, text);
		hashes_add(hashes, text + 2);
	}
	add_line(zone, "l%u.z. 60 A 192.0.2.%u", LINKS, 1);
	snprintf(text, sizeof(text), "l%u.z.", LINKS);
	hashes_add(hashes, text);
	add_chain(zone, hashes);
	world_start(w);
	return ask_dnssec(w, "x.l0.z.", TYPE_A);
}

/* With 150 iterations, the reply proves each name of the longest chain
 * (RFC 5155 section 7.2.6), and that the last one does not exist
 * (RFC 5155 section 7.2.2). */
static void
longest_chain_is_proven_whole(void **state)
{
	struct hashes hashes = { .iterations = 150 };
	struct reply_parts *p;
	struct world w;
	char text[64];

	p = ask_wild_links(&w, &hashes);
	expect_rcode(p, RCODE_NXDOMAIN);
	assert_int_equal(p->section[AN].count, LINKS);
	for (unsigned i = 0; i <= LINKS; i++) {
		snprintf(text, sizeof(text), "x.l%u.z.", i);
		assert_true(is_proven(p, &hashes, text));
	}
	snprintf(text, sizeof(text), "*.l%u.z.", LINKS);
	assert_true(is_proven(p, &hashes, text));
	assert_true(spent(&w)->hashes > LINKS);
	done(p);
	world_fini(&w);
}

/* RFC 9276 section 3.2: with many iterations, the reply takes no more hashes
 * than one or two proofs would. The answer itself is whole. */
static void
dear_chain_is_proven_in_part(void **state)
{
	struct hashes hashes = { .iterations = 2500 };
	struct reply_parts *p;
	struct world w;

	p = ask_wild_links(&w, &hashes);
	expect_rcode(p, RCODE_NXDOMAIN);
	assert_int_equal(p->section[AN].count, LINKS);
	assert_true(is_proven(p, &hashes, "x.l0.z."));
	assert_int_equal(spent(&w)->hashes, PROOF_HASHES_FREE);
	assert_int_equal(spent(&w)->rounds, PROOF_HASHES_FREE * 2501);
	done(p);
	/* The limit is per query. */
	p = ask_dnssec(&w, "x.z.", TYPE_A);
	expect_rcode(p, RCODE_NXDOMAIN);
	assert_true(is_proven(p, &hashes, "x.z."));
	assert_int_equal(spent(&w)->hashes, 1);
	done(p);
	world_fini(&w);
}

/* Asks for a cut below many names without a record. For each there is a forged
 * record whose hash begins like the name's. */
static struct reply_parts *
ask_below_forged(struct world *w, struct hashes *hashes)
{
	struct world_zone *zone;

	world_init(w);
	zone = add_zone(w);
	world_add_record(zone, deep_name("", DEEP, "z. 60 NS ns.else."));
	hashes_add(hashes, "z.");
	hashes_add(hashes, "ns.z.");
	for (unsigned i = 1; i <= DEEP; i++)
		hashes_forge(hashes, deep_name("", i, "z."));
	add_chain(zone, hashes);
	world_start(w);
	return ask_dnssec(w, deep_name("a.", DEEP, "z."), TYPE_A);
}

/* RFC 5155 section 7.2.7: the closest provable encloser is the apex. */
static void
forged_owners_are_told_apart(void **state)
{
	struct hashes hashes = { .iterations = 0 };
	struct reply_parts *p;
	struct world w;

	p = ask_below_forged(&w, &hashes);
	expect_rcode(p, RCODE_NOERROR);
	expect_rr(p, NS, deep_name("", DEEP, "z. 60 NS ns.else."));
	assert_true(is_proven(p, &hashes, "z."));
	assert_true(is_proven(p, &hashes, "e.z."));
	assert_true(spent(&w)->hashes >= DEEP);
	done(p);
	world_fini(&w);
}

static void
forged_owners_cost_little(void **state)
{
	struct hashes hashes = { .iterations = 2500 };
	struct reply_parts *p;
	struct world w;

	p = ask_below_forged(&w, &hashes);
	expect_rcode(p, RCODE_NOERROR);
	expect_rr(p, NS, deep_name("", DEEP, "z. 60 NS ns.else."));
	/* A validator sees the iterations. */
	assert_true(is_proven(p, &hashes, "z."));
	assert_int_equal(spent(&w)->hashes, PROOF_HASHES_FREE);
	done(p);
	world_fini(&w);
}

/* ---- batches ----------------------------------------------------------- */

/* Asks the same a whole batch of times. Returns how many have a reply, and what
 * these have cost. */
static size_t
ask_batch(struct world *w, const char *name, enum exchange_transport transport,
	uint32_t *cost)
{
	const struct ask ask = { .qname = name, .type = TYPE_A, .edns = true,
		.dnssec = true, .size = 1232 };
	struct exchange exchanges[EXCHANGE_BATCH_MAX];
	uint8_t request[1024], *replies;
	size_t len = ask_write(&ask, request), count = 0;

	replies = world_repeat(request, len, transport, exchanges);
	query_answer_batch(w->ctx, store_writer_view(w->writer), exchanges,
		EXCHANGE_BATCH_MAX);
	*cost = 0;
	for (size_t i = 0; i < EXCHANGE_BATCH_MAX; i++) {
		assert_int_equal(exchanges[i].put_off, i > count
			|| exchanges[i].reply_len == 0);
		count += !exchanges[i].put_off;
		*cost += exchanges[i].cost;
	}
	free(replies);
	return count;
}

/* Of a stream; a datagram cannot be asked for again. */
static void
expect_put_off(struct world *w, const char *name)
{
	uint32_t cost, all;
	size_t count;

	assert_int_equal(ask_batch(w, name, TRANSPORT_UDP, &all),
		EXCHANGE_BATCH_MAX);
	assert_true(all > EXCHANGE_COST_MAX);
	count = ask_batch(w, name, TRANSPORT_TCP, &cost);
	assert_in_range(count, 2, EXCHANGE_BATCH_MAX - 1);
	assert_in_range(cost, EXCHANGE_COST_MAX,
		EXCHANGE_COST_MAX + cost / count);
}

/* Each name is hashed as its zone's chain says, whatever zones the other
 * requests are for. */
static void
batch_has_proofs_of_several_chains(void **state)
{
	static const char *const names[] = { "x.z.", "x.y.", "w.z.", "w.y." };
	static uint8_t requests[4][1024], replies[4][WORLD_REPLY_MAX];
	struct hashes of_z = { .iterations = 1 };
	struct hashes of_y = { .apex = 'y', .iterations = 2 };
	struct exchange exchanges[4];
	struct sockaddr_storage peer = { .ss_family = AF_INET };
	struct world_zone *zone;
	struct world w;

	((struct sockaddr_in *)&peer)->sin_port = htons(4000);
	world_init(&w);
	zone = add_zone(&w);
	hashes_add(&of_z, "z.");
	hashes_add(&of_z, "ns.z.");
	add_chain(zone, &of_z);
	zone = world_add_zone(&w, "y.", "y. 60 SOA ns.z. r. 1 2 3 4 5\n"
		"y. 60 NS ns.z.\ny. 60 DNSKEY\ny. 60 RRSIG SOA y.\n");
	hashes_add(&of_y, "y.");
	for (unsigned i = 0; i < 50; i++) {
		char name[16];

		snprintf(name, sizeof(name), "n%u.y.", i);
		add_line(zone, "n%u.y. 60 A 192.0.2.%u", i, i);
		hashes_add(&of_y, name);
	}
	add_chain(zone, &of_y);
	world_start(&w);
	for (size_t i = 0; i < 4; i++) {
		const struct ask ask = { .qname = names[i], .type = TYPE_A,
			.edns = true, .dnssec = true, .size = 1232 };

		exchanges[i] = (struct exchange){
			.request = requests[i],
			.request_len = (uint32_t)ask_write(&ask, requests[i]),
			.reply = replies[i],
			.reply_capacity = WORLD_REPLY_MAX,
			.peer = &peer,
		};
	}
	query_answer_batch(w.ctx, store_writer_view(w.writer), exchanges, 4);
	for (size_t i = 0; i < 4; i++) {
		struct reply_parts *p = malloc(sizeof(*p));

		assert_non_null(p);
		p->len = exchanges[i].reply_len;
		memcpy(p->octets, replies[i], p->len);
		reply_read(p);
		expect_rcode(p, RCODE_NXDOMAIN);
		assert_true(is_proven(p, i % 2 == 0 ? &of_z : &of_y,
			names[i]));
		done(p);
	}
	world_fini(&w);
}

static void
dear_proofs_of_a_stream_are_put_off(void **state)
{
	struct hashes hashes = { .iterations = 2500 };
	struct world w;

	done(ask_wild_links(&w, &hashes));
	expect_put_off(&w, "x.z.");
	world_fini(&w);
}

static void
dear_chains_of_a_stream_are_put_off(void **state)
{
	struct hashes hashes = { .iterations = 150 };
	struct world w;

	done(ask_wild_links(&w, &hashes));
	expect_put_off(&w, "x.l0.z.");
	world_fini(&w);
}

static void
sound_proofs_of_a_stream_are_not(void **state)
{
	struct hashes hashes = { .iterations = 10 };
	struct world w;
	uint32_t cost;

	done(ask_wild_links(&w, &hashes));
	assert_int_equal(ask_batch(&w, "x.z.", TRANSPORT_TCP, &cost),
		EXCHANGE_BATCH_MAX);
	world_fini(&w);
}

/* ---- NSEC -------------------------------------------------------------- */

static void
add_nsec(struct world_zone *zone, const char *owner)
{
	struct world_rr rr = { .rrclass = CLASS_IN, .ttl_sec = 5,
		.type = TYPE_NSEC, .rdlen = 6, .rdata = "\1z\0\0\1\100" };

	parse_name(owner, rr.owner);
	rrs_add(&zone->records, &rr);
}

static bool
has_nsec(const struct reply_parts *p, const char *text)
{
	uint8_t name[NAME_MAX_LEN];

	parse_name(text, name);
	for (size_t i = 0; i < p->section[NS].count; i++)
		if (p->section[NS].rrs[i].type == TYPE_NSEC
			&& name_equal(p->section[NS].rrs[i].owner, name))
			return true;
	return false;
}

/* Asks for a name behind many cuts without NSEC, each with glue below it. */
static void
expect_broken(bool apex_has_nsec, unsigned steps)
{
	struct world_zone *zone;
	struct reply_parts *p;
	struct world w;

	world_init(&w);
	zone = add_zone(&w);
	for (unsigned i = 0; i < 50; i++) {
		add_line(zone, "c%u.z. 60 NS ns.c%u.z.", 10 + i, 10 + i);
		add_line(zone, "ns.c%u.z. 60 A 192.0.2.%u", 10 + i, i);
	}
	if (apex_has_nsec)
		add_nsec(zone, "z.");
	world_start(&w);
	p = ask_dnssec(&w, "d.z.", TYPE_A);
	expect_rcode(p, RCODE_NXDOMAIN);
	assert_int_equal(has_nsec(p, "z."), apex_has_nsec);
	assert_int_equal(spent(&w)->steps, steps);
	done(p);
	world_fini(&w);
}

static void
nothing_is_looked_for_without_a_chain(void **state)
{
	expect_broken(false, 0);
}

/* RFC 4035 section 2.3: a name lacks the NSEC that it must have. Such a cut is
 * before d; before the wildcard is the apex. */
static void
broken_chain_ends_the_way_back(void **state)
{
	expect_broken(true, 2);
}

/* RFC 4035 section 3.1.3.3. The name "!" sorts before the wildcard beside it.
 * So the way back passes all empty non-terminals above, up to the apex or the
 * leaf of the link before. */
static void
steps_of_all_links_are_counted(void **state)
{
	struct world_zone *zone;
	struct reply_parts *p;
	struct world w;
	char from[1024], to[64];

	world_init(&w);
	w.query_options.cname_max = LINKS;
	zone = add_zone(&w);
	add_nsec(zone, "z.");
	for (unsigned i = 0; i < LINKS; i++) {
		snprintf(to, sizeof(to), "l%02u.z.", i);
		add_nsec(zone, deep_name("*.", DEEP, to));
		snprintf(to, sizeof(to), "l%02u.z. 60 CNAME ", i);
		snprintf(from, sizeof(from), "%s", deep_name("*.", DEEP, to));
		snprintf(to, sizeof(to), "l%02u.z.", i + 1);
		world_add_record(zone, deep_name(strcat(from, "!."), DEEP,
			to));
	}
	snprintf(to, sizeof(to), "l%02u.z. 60 A 192.0.2.1", LINKS);
	world_add_record(zone, deep_name("!.", DEEP, to));
	world_start(&w);
	p = ask_dnssec(&w, deep_name("!.", DEEP, "l00.z."), TYPE_A);
	expect_rcode(p, RCODE_NOERROR);
	assert_int_equal(p->section[AN].count, LINKS + 1);
	assert_true(has_nsec(p, "z."));
	assert_true(has_nsec(p, deep_name("*.", DEEP, "l00.z.")));
	assert_int_equal(spent(&w)->steps, PROOF_STEPS_MAX);
	done(p);
	world_fini(&w);
}

/* RFC 4035 section 3.1.3.2: the reply takes the longest possible way twice. */
static void
longest_run_of_empty_names_is_passed(void **state)
{
	const unsigned most = 125;
	struct world_zone *zone;
	struct reply_parts *p;
	struct world w;

	world_init(&w);
	zone = add_zone(&w);
	world_add_record(zone, deep_name("", most, "z. 60 A 192.0.2.1"));
	add_nsec(zone, "z.");
	add_nsec(zone, deep_name("", most, "z."));
	world_start(&w);
	p = ask_dnssec(&w, deep_name("0.", most - 1, "z."), TYPE_A);
	expect_rcode(p, RCODE_NXDOMAIN);
	assert_true(has_nsec(p, "z."));
	assert_int_equal(spent(&w)->steps, 2 * most);
	done(p);
	world_fini(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(longest_chain_is_proven_whole),
		cmocka_unit_test(dear_chain_is_proven_in_part),
		cmocka_unit_test(forged_owners_are_told_apart),
		cmocka_unit_test(forged_owners_cost_little),
		cmocka_unit_test(batch_has_proofs_of_several_chains),
		cmocka_unit_test(dear_proofs_of_a_stream_are_put_off),
		cmocka_unit_test(dear_chains_of_a_stream_are_put_off),
		cmocka_unit_test(sound_proofs_of_a_stream_are_not),
		cmocka_unit_test(nothing_is_looked_for_without_a_chain),
		cmocka_unit_test(broken_chain_ends_the_way_back),
		cmocka_unit_test(steps_of_all_links_are_counted),
		cmocka_unit_test(longest_run_of_empty_names_is_passed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
