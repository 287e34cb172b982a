/*
 * test_model.c - random updates of a zone, against a list of records that
 * follows the pseudocode of RFC 2136 section 3.2.5 and RFC 2136 section
 * 3.4.2.7 to the letter.
 *
 * NSD_SEED and NSD_ROUNDS of the environment choose others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "batch.h"
#include "dns/serial.h"
#include "lib/update_model.h"

static struct model model, before;
static struct batch_message message;
static uint32_t serial;

/* ---- the list ------------------------------------------------------------ */

static bool
has(const uint8_t *owner, uint16_t type)
{
	for (size_t i = 0; i < model.count; i++)
		if (name_equal(model.rrs[i].owner, owner)
			&& (type == TYPE_ANY || model.rrs[i].type == type))
			return true;
	return false;
}

/* True if the name has data that a CNAME may not be beside. */
static bool
has_plain(const uint8_t *owner)
{
	for (size_t i = 0; i < model.count; i++) {
		uint16_t type = model.rrs[i].type;

		if (name_equal(model.rrs[i].owner, owner)
			&& type != TYPE_CNAME && type != TYPE_RRSIG
			&& type != TYPE_NSEC && type != TYPE_NSEC3)
			return true;
	}
	return false;
}

static size_t
count_of(const uint8_t *owner, uint16_t type)
{
	size_t count = 0;

	for (size_t i = 0; i < model.count; i++)
		count += name_equal(model.rrs[i].owner, owner)
			&& model.rrs[i].type == type;
	return count;
}

static bool
is_apex(const uint8_t *owner)
{
	return name_equal(owner, (const uint8_t *)MODEL_APEX);
}

static bool
is_single(uint16_t type)
{
	return type == TYPE_CNAME || type == TYPE_DNAME || type == TYPE_SOA;
}

static void
model_apply_add(const struct model_rr *rr)
{
	bool beside = rr->type == TYPE_RRSIG || rr->type == TYPE_NSEC
		|| rr->type == TYPE_NSEC3;

	if (rr->type == TYPE_CNAME ? has_plain(rr->owner)
		: !beside && has(rr->owner, TYPE_CNAME))
		return;
	if (rr->type == TYPE_SOA) {
		uint32_t given = octets_get_u32(rr->rdata + rr->rdlen - 20);

		if (!is_apex(rr->owner) || !serial_is_newer(given,
				model.serial) || !serial_is_newer(given,
				serial))
			return;
		model.serial = given;
	}
	if (is_single(rr->type))
		model_remove_set(&model, rr->owner, rr->type);
	model_remove(&model, rr);
	model_add(&model, rr);
	for (size_t i = 0; i < model.count; i++)
		if (model_same_rrset(&model.rrs[i], rr))
			model.rrs[i].ttl_sec = rr->ttl_sec;
}

static void
model_apply_rr(const struct model_rr *rr, uint16_t rrclass)
{
	if (rrclass == CLASS_IN) {
		model_apply_add(rr);
	} else if (rrclass == CLASS_ANY) {
		size_t kept = 0;

		for (size_t i = 0; i < model.count; i++) {
			const struct model_rr *r = &model.rrs[i];
			bool stays = is_apex(rr->owner) && (r->type == TYPE_SOA
				|| r->type == TYPE_NS);

			if (stays || !name_equal(r->owner, rr->owner)
				|| (rr->type != TYPE_ANY
					&& rr->type != r->type))
				model.rrs[kept++] = *r;
		}
		model.count = kept;
	} else if (rr->type != TYPE_SOA && !(rr->type == TYPE_NS
			&& is_apex(rr->owner)
			&& count_of(rr->owner, TYPE_NS) == 1)) {
		model_remove(&model, rr);
	}
}

/* ---- messages ------------------------------------------------------------ */

static void
put(unsigned section, const struct model_rr *rr, uint16_t type,
	uint16_t rrclass)
{
	bool has_rdata = rrclass == CLASS_IN || (rrclass == CLASS_NONE
		&& section == MESSAGE_NSCOUNT);

	batch_message_put(&message, section, rr->owner, type, rrclass,
		section == MESSAGE_NSCOUNT && rrclass == CLASS_IN
			? rr->ttl_sec : 0,
		rr->rdata, has_rdata ? rr->rdlen : 0);
}

/* A record of the zone, or any. */
static void
choose_rr(struct model_rr *rr)
{
	const char *why;

	if (model_random(&model, 2) == 0)
		*rr = model.rrs[model_random(&model, (uint32_t)model.count)];
	else
		do
			model_make_rr(&model, rr);
		while (rdata_check(rr->type, rr->rdata, rr->rdlen, &why)
			!= NSD_OK);
}

/* A prerequisite. Returns what it comes to, for the state before. */
static enum rcode
ask_presence(void)
{
	bool wanted = model_random(&model, 2) == 0;
	struct model_rr rr;
	uint16_t type;

	choose_rr(&rr);
	type = model_random(&model, 2) == 0 ? TYPE_ANY : rr.type;
	/* Most are met. */
	if (model_random(&model, 4) > 0)
		wanted = has(rr.owner, type);
	put(MESSAGE_ANCOUNT, &rr, type, wanted ? CLASS_ANY : CLASS_NONE);
	if (has(rr.owner, type) == wanted)
		return RCODE_NOERROR;
	if (type == TYPE_ANY)
		return wanted ? RCODE_NXDOMAIN : RCODE_YXDOMAIN;
	return wanted ? RCODE_NXRRSET : RCODE_YXRRSET;
}

/* A whole RRset, or one with a record less or more. */
static enum rcode
ask_values(void)
{
	uint32_t fault = model_random(&model, 4);
	struct model_rr rr = model.rrs[model_random(&model,
		(uint32_t)model.count)], other;
	size_t count = 0;

	for (size_t i = 0; i < model.count; i++) {
		const struct model_rr *r = &model.rrs[i];

		if (!name_equal(r->owner, rr.owner) || r->type != rr.type)
			continue;
		if (fault == 0 && count++ == 0)
			continue;
		put(MESSAGE_ANCOUNT, r, r->type, CLASS_IN);
		if (model_random(&model, 4) == 0)
			put(MESSAGE_ANCOUNT, r, r->type, CLASS_IN);
	}
	if (fault == 1 && rr.type != TYPE_SOA) {
		other = rr;
		other.rdlen = (uint16_t)model_make_rdata(&model, rr.type,
			TYPE_A, other.rdata);
		put(MESSAGE_ANCOUNT, &other, other.type, CLASS_IN);
		for (size_t i = 0; i < model.count; i++)
			if (model_equal(&model.rrs[i], &other))
				return RCODE_NOERROR;
		return RCODE_NXRRSET;
	}
	if (fault == 0 && count == 1)
		return RCODE_NOERROR; /* no record is left to ask for */
	return fault == 0 ? RCODE_NXRRSET : RCODE_NOERROR;
}

static void
ask_update(void)
{
	static const uint16_t classes[] = {CLASS_IN, CLASS_IN, CLASS_IN,
		CLASS_IN, CLASS_IN, CLASS_NONE, CLASS_NONE, CLASS_ANY};
	uint16_t rrclass = classes[model_random(&model, 8)];
	struct model_rr rr;

	choose_rr(&rr);
	if (rrclass == CLASS_IN && model_random(&model, 30) == 0) {
		rr.type = TYPE_SOA;
		rr.rdlen = (uint16_t)model_make_rdata(&before, TYPE_SOA, 0,
			rr.rdata);
		octets_put_u32(rr.rdata + rr.rdlen - 20, serial
			+ model_random(&model, 8) - 2);
		memcpy(rr.owner, MODEL_APEX, sizeof(MODEL_APEX));
	}
	if (model_random(&model, 5) == 0)
		rr.ttl_sec = model_random(&model, 3);
	if (rrclass == CLASS_ANY && model_random(&model, 2) == 0)
		rr.type = TYPE_ANY;
	put(MESSAGE_NSCOUNT, &rr, rr.type, rrclass);
	model_apply_rr(&rr, rrclass);
}

static void
copy_model(struct model *to, const struct model *from)
{
	struct model_rr *rrs = to->rrs;

	*to = *from;
	to->rrs = rrs;
	memcpy(rrs, from->rrs, from->count * sizeof(*rrs));
}

/* True if the lists are the same but for their order. */
static bool
is_same(void)
{
	if (model.count != before.count)
		return false;
	for (size_t i = 0; i < model.count; i++) {
		size_t j = 0;

		while (j < before.count && (!model_equal(&model.rrs[i],
				&before.rrs[j]) || memcmp(model.rrs[i].rdata,
				before.rrs[j].rdata, model.rrs[i].rdlen) != 0
			|| model.rrs[i].ttl_sec != before.rrs[j].ttl_sec))
			j++;
		if (j == before.count)
			return false;
	}
	return true;
}

static void
model_raise_serial(void)
{
	for (size_t i = 0; i < model.count; i++)
		if (model.rrs[i].type == TYPE_SOA) {
			struct model_rr *rr = &model.rrs[i];
			uint8_t *at = rr->rdata + rr->rdlen - 20;

			if (octets_get_u32(at) == serial)
				octets_put_u32(at, serial + 1);
			serial = octets_get_u32(at);
		}
	model.serial = serial;
}

/* RFC 6672 section 2.4 */
static bool
has_data_below_dname(void)
{
	for (size_t i = 0; i < model.count; i++)
		for (size_t j = 0; j < model.count; j++) {
			const struct model_rr *a = &model.rrs[i];
			const struct model_rr *b = &model.rrs[j];

			if (a->type == TYPE_DNAME && !name_equal(a->owner,
					b->owner)
				&& name_is_within(b->owner, a->owner)
				&& b->type != TYPE_NSEC3
				&& (b->type != TYPE_RRSIG || octets_get_u16(
					b->rdata) != TYPE_NSEC3))
				return true;
		}
	return false;
}

static void
ask_message(void)
{
	enum rcode expected = RCODE_NOERROR;
	bool changes;

	batch_message_init(&message);
	model.serial = serial;
	copy_model(&before, &model);
	/* Values of one RRset: all that a message has of it are one set. */
	for (unsigned n = model_random(&model, 3);
		n > 0 && expected == RCODE_NOERROR; n--)
		expected = ask_presence();
	if (expected == RCODE_NOERROR && model_random(&model, 2) == 0)
		expected = ask_values();
	for (unsigned n = model_random(&model, 7); n > 0; n--)
		ask_update();
	if (expected == RCODE_NOERROR && has_data_below_dname())
		expected = RCODE_REFUSED;
	if (expected != RCODE_NOERROR) {
		uint64_t random = model.random;

		copy_model(&model, &before);
		model.random = random;
	}
	changes = !is_same();
	if (changes)
		model_raise_serial();
	assert_int_equal(batch_apply(&message), NSD_OK);
	if (batch_result.rcode != expected)
		printf("%s\n", batch_result.why);
	assert_int_equal(batch_result.rcode, expected);
	assert_int_equal(batch_result.changed, changes);
	assert_int_equal(batch_result.serial, serial);
}

/* ---- a run --------------------------------------------------------------- */

/* Each record of the list is in the zone, and no other. */
static void
check_zone(void)
{
	const char *zone;
	size_t lines = 1; /* the SOA */

	batch_take();
	assert_int_equal(batch_serial(), serial);
	zone = batch_zone();
	for (const char *at = zone; *at != '\0'; at++)
		lines += *at == '\n';
	assert_int_equal(lines, model.count);
	for (size_t i = 0; i < model.count; i++) {
		const struct model_rr *rr = &model.rrs[i];
		char line[BATCH_LINE_MAX];

		if (rr->type == TYPE_SOA)
			continue;
		batch_print(line, rr->owner, rr->ttl_sec, rr->type, rr->rdata,
			rr->rdlen);
		if (strstr(zone, line) == NULL)
			fail_msg("not there: %s", line);
	}
}

/* A zone of an SOA and an NS record; they are in the list, too. */
static void
begin_zone(void)
{
	static const uint8_t soa[] = "\0\0\0\0\0\1\0\0\0\1\0\0\0\1"
				     "\0\0\0\1\0\0\0\1";
	struct model_rr rr = {.ttl_sec = 3600, .type = TYPE_SOA};

	batch_load("@ 3600 SOA . . 1 1 1 1 1\n@ 3600 NS ns.\n");
	batch_options.no_check = true; /* test_signed.c */
	memcpy(rr.owner, MODEL_APEX, sizeof(MODEL_APEX));
	rr.rdlen = sizeof(soa) - 1;
	memcpy(rr.rdata, soa, rr.rdlen);
	model.count = 0;
	model_add(&model, &rr);
	rr.type = TYPE_NS;
	rr.rdlen = 4;
	memcpy(rr.rdata, "\2ns", 4);
	model_add(&model, &rr);
	model.serial = 1;
	serial = 1;
}

static void
random_updates_come_to_the_model(void **state)
{
	uint64_t seed = chance_setting("NSD_SEED", 1);
	uint64_t rounds = chance_setting("NSD_ROUNDS", 60);

	model.rrs = calloc(MODEL_MAX, sizeof(*model.rrs));
	before.rrs = calloc(MODEL_MAX, sizeof(*before.rrs));
	assert_true(model.rrs != NULL && before.rrs != NULL);
	for (uint64_t round = 0; round < rounds; round++) {
		printf("NSD_SEED=%llu\n", (unsigned long long)seed + round);
		model.random = seed + round;
		model.labels = 1 + model_random(&model, 6);
		model.depth = 1 + model_random(&model, 3);
		model.signatures = model_random(&model, 2) == 0;
		model.nsec3 = model_random(&model, 2) == 0;
		model.serial = 0;
		begin_zone();
		for (unsigned batch = 0; batch < 20; batch++) {
			batch_options.seed = model_random(&model, 1000);
			for (unsigned n = model_random(&model, 20); n > 0; n--)
				ask_message();
			check_zone();
		}
	}
	free(model.rrs);
	free(before.rrs);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_updates_come_to_the_model),
	};

	return cmocka_run_group_tests(tests, batch_setup, batch_teardown);
}
