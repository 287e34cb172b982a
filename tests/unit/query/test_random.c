/*
 * test_random.c - random zones and random questions. Each reply has to be what
 * the reference says, and whole at each size.
 *
 * The seed is printed on failure; NSD_TEST_SEED=N runs that one alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/chance.h"
#include "reference.h"
#include "world.h"

#define WORLDS 150
#define QUESTIONS 400

static uint64_t random_state;

static uint32_t
random_below(uint32_t n)
{
	return chance_below(&random_state, n);
}

static const char *const apexes[] = { "z.", "a.z.", "y.", "b.a.z." };

/* Makes a name of few labels below the apex, so that names often meet. */
static void
random_name(char *out, size_t size, const char *apex)
{
	static const char *const labels[] = { "a", "b", "c", "*", "dd",
		"e-long-label-that-takes-room" };
	unsigned depth = random_below(4);
	size_t at = 0;

	for (unsigned i = 0; i < depth; i++)
		at += (size_t)snprintf(out + at, size - at, "%s.",
			labels[random_below(6)]);
	snprintf(out + at, size - at, "%s", apex);
}

static void
random_target(char *out, size_t size, const char *apex)
{
	switch (random_below(6)) {
	case 0:
		random_name(out, size, apexes[random_below(4)]);
		break;
	case 1:
		random_name(out, size, "elsewhere.");
		break;
	default:
		random_name(out, size, apex);
	}
}

static void
add_random_record(struct world_zone *zone, const char *apex)
{
	static const char *const types[] = { "A", "AAAA", "NS", "CNAME",
		"DNAME", "MX", "TXT", "DS", "SRV", "A", "CNAME", "NS" };
	static const unsigned ttls[] = { 60, 70, 80, 90, 100, 110, 120, 130,
		140, 60, 90, 80 };
	unsigned t = random_below(12);
	char owner[256], target[256], line[1024], text[200];
	uint8_t wire[NAME_MAX_LEN];
	const char *why;
	size_t len;
	bool has_cname;

	random_name(owner, sizeof(owner), apex);
	assert_int_equal(name_parse_text(owner, strlen(owner), NULL, wire,
		&len, &why), NSD_OK);
	has_cname = world_find(zone, wire, TYPE_CNAME) != NULL;
	if (has_cname || (t == 4 && world_find(zone, wire, TYPE_DNAME) != NULL)
		|| ((t == 3 || t == 10) && world_find(zone, wire, 0) != NULL))
		return;
	random_target(target, sizeof(target), apex);
	memset(text, 't', sizeof(text));
	text[random_below(199)] = '\0';
	text[199] = '\0';
	switch (t) {
	case 0:
	case 9:
		snprintf(target, sizeof(target), "192.0.2.%u",
			random_below(256));
		break;
	case 1:
		snprintf(target, sizeof(target), "2001:db8::%u",
			random_below(256));
		break;
	case 5:
		snprintf(line, sizeof(line), "%s %u MX %u %s", owner, ttls[t],
			random_below(3), target);
		world_add_record(zone, line);
		return;
	case 6:
		snprintf(line, sizeof(line), "%s %u TXT t%s", owner, ttls[t],
			text);
		world_add_record(zone, line);
		return;
	case 7:
		snprintf(target, sizeof(target), "%u", random_below(65536));
		break;
	case 8:
		snprintf(line, sizeof(line), "%s %u SRV 1 2 %u %s", owner,
			ttls[t], random_below(100), target);
		world_add_record(zone, line);
		return;
	}
	snprintf(line, sizeof(line), "%s %u %s %s", owner, ttls[t], types[t],
		target);
	world_add_record(zone, line);
}

/* Signs some of the RRsets. */
static void
add_signatures(struct world_zone *zone, const char *apex)
{
	size_t count = zone->records.count;

	for (size_t i = 0; i < count; i++) {
		struct world_rr rr = zone->records.rrs[i];
		char name[NAME_TEXT_MAX], type[RRTYPE_TEXT_MAX], line[1400];

		if (rr.type == TYPE_RRSIG || (rr.rdata[rr.rdlen - 1] ^ i) % 3
			== 0)
			continue;
		name_print_text(rr.owner, name);
		rrtype_print(rr.type, type);
		snprintf(line, sizeof(line), "%s %u RRSIG %s %s", name,
			(unsigned)rr.ttl_sec, type, apex);
		world_add_record(zone, line);
	}
}

static void
make_world(struct world *w)
{
	unsigned zones = 1 + random_below(4);

	world_init(w);
	w->options.udp4_size = 4096;
	w->options.minimal_responses = random_below(3) == 0;
	w->options.confine_to_zone = random_below(4) == 0;
	w->options.round_robin = random_below(4) == 0;
	w->query_options.cname_max = random_below(4) == 0 ? random_below(4)
		: 18;
	for (unsigned i = 0; i < zones; i++) {
		struct world_zone *zone;
		char text[200];
		unsigned records = 5 + random_below(60);
		bool sign = random_below(2) == 0;

		snprintf(text, sizeof(text), "%s 50 SOA ns.%s root. 7 2 3 4 %u"
			"\n%s 80 NS a.%s", apexes[i], apexes[i],
			random_below(100), apexes[i], apexes[i]);
		zone = world_add_zone(w, apexes[i], text);
		while (records-- > 0)
			add_random_record(zone, apexes[i]);
		if (sign) {
			snprintf(text, sizeof(text), "%s 90 DNSKEY",
				apexes[i]);
			world_add_record(zone, text);
			add_signatures(zone, apexes[i]);
		}
	}
	world_start(w);
}

static void
print_rrs(const char *title, const struct world_rrs *rrs)
{
	for (size_t i = 0; i < rrs->count; i++) {
		char name[NAME_TEXT_MAX], type[RRTYPE_TEXT_MAX];
		const struct world_rr *rr = &rrs->rrs[i];

		name_print_text(rr->owner, name);
		rrtype_print(rr->type, type);
		print_error("%s %s %u %s \\# %u ", title, name,
			(unsigned)rr->ttl_sec, type, rr->rdlen);
		for (unsigned j = 0; j < rr->rdlen && j < 60; j++)
			print_error("%02x", rr->rdata[j]);
		print_error("\n");
	}
}

static bool
has_all(const struct world_rrs *all, const struct world_rrs *some)
{
	for (size_t i = 0; i < some->count; i++) {
		size_t j;

		for (j = 0; j < all->count; j++)
			if (all->rrs[j].ttl_sec == some->rrs[i].ttl_sec
				&& all->rrs[j].type == some->rrs[i].type
				&& name_equal(all->rrs[j].owner,
					some->rrs[i].owner)
				&& all->rrs[j].rdlen == some->rrs[i].rdlen
				&& memcmp(all->rrs[j].rdata,
					some->rrs[i].rdata,
					some->rrs[i].rdlen) == 0)
				break;
		if (j == all->count)
			return false;
	}
	return true;
}

/* Drops signatures. Those of additional data may be left out, so they are not
 * compared. */
static void
drop_sigs(struct world_rrs *rrs)
{
	size_t kept = 0;

	for (size_t i = 0; i < rrs->count; i++)
		if (rrs->rrs[i].type != TYPE_RRSIG)
			rrs->rrs[kept++] = rrs->rrs[i];
	rrs->count = kept;
}

static void
show(const struct ask *ask, const struct reply_parts *p,
	const struct reference *ref, uint64_t seed)
{
	char name[NAME_TEXT_MAX];

	name_print_text(ask->wire, name);
	print_error("seed %llu: %s type %u%s size %u\n",
		(unsigned long long)seed, name, ask->type,
		ask->dnssec ? " DO" : "", ask->size);
	print_error("flags %04x want rcode %u aa %d\n", p->flags, ref->rcode,
		ref->authoritative);
	print_rrs("want an", &ref->section[0]);
	print_rrs("got  an", &p->section[0]);
	print_rrs("want ns", &ref->section[1]);
	print_rrs("got  ns", &p->section[1]);
	print_rrs("want ar", &ref->section[2]);
	print_rrs("got  ar", &p->section[2]);
}

static bool
matches(const struct reply_parts *p, struct reference *ref)
{
	return p->rcode == ref->rcode
		&& ((p->flags & MESSAGE_AA) != 0) == ref->authoritative
		&& (p->flags & MESSAGE_TC) == 0
		&& has_all(&p->section[0], &ref->section[0])
		&& has_all(&ref->section[0], &p->section[0])
		&& has_all(&p->section[1], &ref->section[1])
		&& has_all(&ref->section[1], &p->section[1])
		&& has_all(&p->section[2], &ref->section[2])
		&& has_all(&ref->section[2], &p->section[2]);
}

/* True if no RRset of the reply lacks some of its records. */
static bool
is_whole(const struct world_rrs *got, const struct world_rrs *want)
{
	for (size_t i = 0; i < got->count; i++)
		for (size_t j = 0; j < want->count; j++)
			if (got->rrs[i].type == want->rrs[j].type
				&& got->rrs[i].type != TYPE_RRSIG
				&& name_equal(got->rrs[i].owner,
					want->rrs[j].owner)
				&& !rrs_contain(got, &want->rrs[j]))
				return false;
	return true;
}

static bool
is_cut_well(const struct reply_parts *p, const struct reference *ref,
	uint32_t limit)
{
	bool truncated = (p->flags & MESSAGE_TC) != 0;

	if (p->len > limit)
		return false;
	for (unsigned i = 0; i < 3; i++)
		if (!has_all(&ref->section[i], &p->section[i])
			|| !is_whole(&p->section[i], &ref->section[i]))
			return false;
	if (truncated)
		return true;
	/* Without TC, nothing that is needed may be missing. */
	if (!has_all(&p->section[0], &ref->section[0])
		|| p->rcode != ref->rcode
		|| !has_all(&p->section[2], &ref->glue))
		return false;
	return ref->section[0].count > 0
		|| has_all(&p->section[1], &ref->section[1]);
}

static void
check_sizes(struct world *w, struct ask *ask, const struct reference *ref,
	uint64_t seed)
{
	struct reply_parts p;

	ask->transport = TRANSPORT_UDP;
	for (unsigned i = 0; i < 4; i++) {
		bool good;
		uint32_t limit;

		ask->size = (uint16_t)(i == 0 ? 0 : random_below(4200));
		limit = ask->size < 512 ? 512 : ask->size;
		if (limit > 4096)
			limit = 4096;
		world_ask(w, ask, &p);
		drop_sigs(&p.section[2]);
		good = is_cut_well(&p, ref, limit);
		if (!good)
			show(ask, &p, ref, seed);
		assert_true(good);
		reply_fini(&p);
	}
}

static void
check_question(struct world *w, uint64_t seed)
{
	static const uint16_t types[] = { TYPE_A, TYPE_AAAA, TYPE_NS,
		TYPE_CNAME, TYPE_DNAME, TYPE_MX, TYPE_TXT, TYPE_DS, TYPE_SRV,
		TYPE_SOA, TYPE_RRSIG, TYPE_NSEC, TYPE_DS, 65280 };
	struct ask ask = { .transport = TRANSPORT_TCP, .edns = true };
	struct reference ref;
	struct reply_parts p;
	char text[256];
	uint8_t name[NAME_MAX_LEN];
	const char *why;
	size_t len;
	bool good;

	random_target(text, sizeof(text),
		apexes[random_below((uint32_t)w->zone_count)]);
	if (random_below(3) == 0)
		text[0] = (char)(text[0] >= 'a' && text[0] <= 'z'
			? text[0] - 32 : text[0]);
	assert_int_equal(name_parse_text(text, strlen(text), NULL, name, &len,
		&why), NSD_OK);
	ask.wire = name;
	ask.type = types[random_below(14)];
	ask.dnssec = random_below(2) == 0;
	if (getenv("NSD_TEST_VERBOSE") != NULL)
		print_message("seed %llu %s %u DO %d\n",
			(unsigned long long)seed, text, ask.type, ask.dnssec);
	reference_answer(w, name, ask.type, ask.dnssec, &ref);
	drop_sigs(&ref.section[2]);
	drop_sigs(&ref.glue);
	world_ask(w, &ask, &p);
	drop_sigs(&p.section[2]);
	good = matches(&p, &ref);
	if (!good)
		show(&ask, &p, &ref, seed);
	assert_true(good);
	reply_fini(&p);
	check_sizes(w, &ask, &ref, seed);
	reference_fini(&ref);
}

static void
check_world(uint64_t seed)
{
	struct world w;

	random_state = seed * 0x9e3779b97f4a7c15u + 1;
	make_world(&w);
	for (unsigned i = 0; i < QUESTIONS; i++)
		check_question(&w, seed);
	world_fini(&w);
}

static void
answers_are_those_of_rfc1034(void **state)
{
	const char *only = getenv("NSD_TEST_SEED");

	if (only != NULL) {
		check_world(strtoull(only, NULL, 10));
		return;
	}
	for (uint64_t seed = 1; seed <= WORLDS; seed++)
		check_world(seed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_those_of_rfc1034),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
