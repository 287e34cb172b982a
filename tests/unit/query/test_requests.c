/* test_requests.c - requests that are answered without looking into a zone. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

#include "raw.h"
#include "store/writer.h"
#include "zonedb/table_edit.h"

/* Fault 1 and 2. */
static void
short_requests_and_replies_are_dropped(void **state)
{
	struct world w;
	struct raw raw;

	start(&w);
	raw_init(&raw, &plain);
	for (size_t len = 0; len < 12; len++)
		assert_int_equal(send_octets(&w, raw.request, len,
			raw.parts.octets, sizeof(raw.parts.octets)), 0);
	raw.request[2] |= 0x80;
	raw_send(&w, &raw);
	assert_int_equal(raw.parts.len, 0);
	assert_int_equal(w.counters.dropped, 13);
	world_fini(&w);
}

/* Fault 22. */
static void
port_zero_is_not_answered(void **state)
{
	struct world w;
	struct raw raw;
	struct sockaddr_storage peer = { .ss_family = AF_INET };
	struct exchange x = { .request = raw.request,
		.reply = raw.parts.octets, .reply_capacity = 4096,
		.peer = &peer };

	start(&w);
	raw_init(&raw, &plain);
	x.request_len = (uint32_t)raw.len;
	query_answer_batch(w.ctx, store_writer_view(w.writer), &x, 1);
	assert_int_equal(x.reply_len, 0);
	((struct sockaddr_in *)&peer)->sin_port = htons(1);
	query_answer_batch(w.ctx, store_writer_view(w.writer), &x, 1);
	assert_true(x.reply_len > 0);
	world_fini(&w);
}

/* Fault 8. */
static void
other_opcodes_are_not_implemented(void **state)
{
	struct world w;
	struct raw raw;

	start(&w);
	for (unsigned opcode = 0; opcode < 16; opcode++) {
		raw_init(&raw, &plain);
		octets_put_u16(raw.request + 2, (uint16_t)(opcode << 11
			| 0x07ff));
		raw.request[3] &= 0xf0;
		raw_send(&w, &raw);
		if (opcode == OPCODE_QUERY || opcode == OPCODE_NOTIFY)
			continue;
		/* AD and CD are not copied, and Z must be zero: RFC 1035
		 * section 4.1.1. */
		raw_expect_header(&raw, (uint16_t)(0x8000 | opcode << 11
			| 0x0780 | RCODE_NOTIMP));
	}
	world_fini(&w);

	world_init(&w);
	w.options.drop_updates = true;
	world_start(&w);
	raw_init(&raw, &plain);
	raw.request[2] = OPCODE_UPDATE << 3;
	raw_send(&w, &raw);
	assert_int_equal(raw.parts.len, 0);
	raw.request[2] = OPCODE_STATUS << 3;
	raw_send(&w, &raw);
	assert_int_equal(raw.parts.len, 12);
	world_fini(&w);
}

/* Fault 3 and 18. */
static void
counts_that_do_not_fit_are_formerr(void **state)
{
	static const struct {
		unsigned at;
		uint16_t count, flags;
	} rows[] = {
		{ 4, 0, 0x8101 }, { 4, 2, 0x8101 }, { 4, 65535, 0x8101 },
		{ 6, 1, 0x8101 }, { 6, 65535, 0x8101 },
		{ 8, 1, 0x8101 }, { 8, 65535, 0x8101 },
		{ 10, 1, 0x8101 }, { 10, 65535, 0x8101 },
	};
	struct world w;
	struct raw raw;

	start(&w);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		/* RFC 1035 section 4.1.1: opcode and RD are copied. */
		const uint16_t opcodes[] = { OPCODE_QUERY, OPCODE_NOTIFY };

		for (unsigned k = 0; k < 2; k++) {
			uint16_t opcode = (uint16_t)(opcodes[k] << 11);

			raw_init(&raw, &plain);
			octets_put_u16(raw.request + 2,
				opcode | (0x07f0 & ~0x0200));
			octets_put_u16(raw.request + rows[i].at,
				rows[i].count);
			raw_send(&w, &raw);
			raw_expect_header(&raw, rows[i].flags | opcode);
		}
	}
	world_fini(&w);
}

static void
requests_cut_at_each_length(void **state)
{
	const struct ask ask = { .qname = "www.example.", .type = TYPE_A,
		.edns = true, .options = "\0\3\0\0\0\23\0\0",
		.options_len = 8, .flags = MESSAGE_RD };
	struct world w;
	struct raw raw;
	size_t whole;

	start(&w);
	raw_init(&raw, &ask);
	whole = raw.len;
	for (raw.len = 12; raw.len < whole; raw.len++) {
		raw_send(&w, &raw);
		assert_int_equal(raw.parts.rcode, RCODE_FORMERR);
		raw_expect_header(&raw, 0x8101);
	}
	/* Fault 17: octets behind that are not looked at. */
	raw_init(&raw, &ask);
	memset(raw.request + raw.len, 0xff, 20);
	raw.len += 20;
	raw_send(&w, &raw);
	assert_int_equal(raw.parts.rcode, RCODE_NXDOMAIN);
	world_fini(&w);
}

/* Fault 4 and 5, by a request. */
static void
bad_names_are_formerr(void **state)
{
	static const uint8_t names[][8] = {
		"\xc0\x0c\0\1\0\1", "\xc0\x0e\0\1\0\1", "\xff\xff\0\1\0\1",
		"\x40\0\1\0\1", "\x80\0\1\0\1", "\1a\xc0\x0c\0\1",
	};
	struct world w;
	struct raw raw;

	start(&w);
	for (size_t i = 0; i < 6; i++) {
		raw_init(&raw, &plain);
		memcpy(raw.request + 12, names[i], 8);
		raw.len = 20;
		raw_send(&w, &raw);
		raw_expect_header(&raw, 0x8001);
	}
	world_fini(&w);
}

static void
zone_not_served_is_refused(void **state)
{
	const struct ask ask = { .qname = "WWW.elsewhere.", .type = TYPE_A,
		.edns = true, .flags = MESSAGE_RD };
	struct world w;
	struct reply_parts *p;

	start(&w);
	p = ask_with(&w, &ask);
	assert_int_equal(p->flags, 0x8105);
	assert_true(p->has_question);
	expect_ede(p, EDE_NOT_AUTHORITATIVE, NULL);
	done(p);
	world_fini(&w);
	world_init(&w);
	world_start(&w);
	p = ask_with(&w, &ask);
	expect_rcode(p, RCODE_REFUSED);
	done(p);
	world_fini(&w);
}

static void
zones_that_cannot_answer_fail(void **state)
{
	struct ask ask = { .qname = "x.unloaded.", .type = TYPE_A,
		.edns = true };
	struct world w;
	struct reply_parts *p;

	world_init(&w);
	world_add_zone(&w, "example.", raw_zone_text)->expires_sec = 1000;
	world_add_zone(&w, "unloaded.", "")->not_loaded = true;
	world_start(&w);
	p = ask_with(&w, &ask);
	assert_int_equal(p->flags, 0x8002);
	assert_true(p->has_question);
	expect_ede(p, EDE_NOT_READY, "Zone is configured but not loaded");
	done(p);
	ask.qname = "example.";
	query_set_time(w.ctx, 0, 1000);
	p = ask_with(&w, &ask);
	assert_int_equal(p->flags, 0x8002);
	expect_ede(p, EDE_INVALID_DATA, "Zone has expired");
	done(p);
	world_fini(&w);
}

/* By the clock of the worker alone: nobody has to tell it. */
static void
zone_expires_and_comes_back(void **state)
{
	struct ask ask = { .qname = "example.", .type = TYPE_SOA };
	static const struct {
		uint32_t expires_sec, now_sec;
		bool expired;
	} rows[] = {
		{0, 0, false}, {0, UINT32_MAX, false}, {1000, 0, false},
		{1000, 999, false}, {1000, 1000, true}, {1000, 5000, true},
		{5001, 5000, false}, {1, 5000, true}, {0, 5000, false},
	};
	struct world_zone *zone;
	struct world w;

	world_init(&w);
	zone = world_add_zone(&w, "example.", raw_zone_text);
	world_start(&w);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct reply_parts *p;

		table_set_expiry(w.writer, zone->entry, rows[i].expires_sec);
		query_set_time(w.ctx, 0, rows[i].now_sec);
		p = ask_with(&w, &ask);
		expect_rcode(p, rows[i].expired ? RCODE_SERVFAIL
			: RCODE_NOERROR);
		done(p);
	}
	world_fini(&w);
}

/* RFC 8914 section 4.25. No build makes such a zone. */
static void
zone_that_lacks_what_it_must_have_fails(void **state)
{
	struct ask ask = { .qname = "x.z.", .type = TYPE_A, .edns = true };
	const struct zone_entry *entry;
	struct world_zone *added;
	struct store_heap *heap;
	struct reply_parts *p;
	struct node *apex;
	struct zone *zone;
	struct world w;

	world_init(&w);
	added = world_add_zone(&w, "z.", "");
	world_add_apex(added);
	world_start(&w);
	heap = store_writer_heap(w.writer);
	entry = store_get(store_writer_view(w.writer), added->entry);
	zone = store_edit(heap, entry->zone);
	apex = store_edit(heap, zone->apex);
	apex->flags |= NODE_DNAME;
	p = ask_with(&w, &ask);
	expect_rcode(p, RCODE_SERVFAIL);
	expect_no_flag(p, MESSAGE_AA);
	expect_counts(p, 0, 0, 0);
	expect_ede(p, EDE_INVALID_DATA, NULL);
	done(p);
	world_fini(&w);
}

/* Fault 9. */
static void
other_classes_are_refused(void **state)
{
	static const uint16_t classes[] = { 0, 2, CLASS_HS, CLASS_NONE, 65280 };
	struct world w;

	start(&w);
	for (size_t i = 0; i < 5; i++) {
		const struct ask ask = { .qname = "example.", .type = TYPE_A,
			.edns = true, .rrclass = classes[i] };
		uint8_t request[1024];
		struct reply_parts p;
		size_t len = ask_write(&ask, request);

		octets_put_u16(request + 12 + 9 + 2, classes[i]);
		p.len = send_octets(&w, request, len, p.octets,
			sizeof(p.octets));
		reply_read(&p);
		expect_rcode(&p, RCODE_REFUSED);
		assert_false(p.has_question);
		expect_ede(&p, EDE_NOT_SUPPORTED, NULL);
		reply_fini(&p);
	}
	world_fini(&w);
}

/* Fault 10. RFC 6895 section 3.1 keeps 128..255 for questions. */
static void
meta_types_without_a_rule_have_no_data(void **state)
{
	struct world w;

	start(&w);
	for (unsigned type = 0; type < 300; type++) {
		struct reply_parts *p;

		if (type == 1)
			type = 41; /* OPT */
		if (type == 42)
			type = 127;
		p = ask_for(&w, "example.", (uint16_t)type);
		switch (type) {
		case TYPE_NXNAME: /* RFC 9824 section 3.5 */
			expect_rcode(p, RCODE_FORMERR);
			assert_int_equal(p->len, 12);
			break;
		case TYPE_IXFR:
		case TYPE_AXFR:
			expect_rcode(p, RCODE_REFUSED);
			break;
		case TYPE_MAILA: /* RFC 8906 section 3.1.4 */
		case TYPE_MAILB:
			expect_rcode(p, RCODE_NOTIMP);
			break;
		case TYPE_ANY:
			expect_rcode(p, RCODE_NOERROR);
			assert_int_equal(p->section[AN].count, 1);
			break;
		default:
			expect_rcode(p, RCODE_NOERROR);
			expect_flag(p, MESSAGE_AA);
			expect_counts(p, 0, 1, 0);
		}
		done(p);
	}
	world_fini(&w);
}

/* RFC 8914: requests for what is not served say why. */
static void
meta_types_with_a_rule_say_why(void **state)
{
	static const struct {
		uint16_t type, ede;
	} rows[] = {
		{ TYPE_NXNAME, EDE_INVALID_QUERY_TYPE },
		{ TYPE_AXFR, EDE_NOT_SUPPORTED }, /* over UDP */
		{ TYPE_IXFR, EDE_PROHIBITED },
		{ TYPE_MAILA, EDE_NOT_SUPPORTED },
		{ TYPE_MAILB, EDE_NOT_SUPPORTED },
	};
	struct world w;

	start(&w);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct ask ask = { .qname = "example.", .edns = true,
			.type = rows[i].type };
		struct reply_parts *p = ask_with(&w, &ask);

		expect_ede(p, rows[i].ede, NULL);
		done(p);
	}
	world_fini(&w);
}

static void
transfers(void **state)
{
	struct ask ask = { .qname = "example.", .type = TYPE_AXFR };
	struct world w;
	struct reply_parts *p;

	start(&w);
	p = ask_with(&w, &ask);
	expect_rcode(p, RCODE_NOTIMP);
	done(p);
	ask.transport = TRANSPORT_TCP;
	p = ask_with(&w, &ask);
	expect_rcode(p, RCODE_REFUSED);
	done(p);
	ask.qname = "ns1.example.";
	p = ask_with(&w, &ask);
	expect_rcode(p, RCODE_NOTAUTH);
	done(p);
	ask.type = TYPE_IXFR;
	p = ask_with(&w, &ask);
	expect_rcode(p, RCODE_NOTAUTH);
	done(p);
	assert_int_equal(w.counters.raxfr, 0);
	assert_int_equal(w.counters.rixfr, 1);
	world_fini(&w);
}

/* Only IXFR may have a record in its authority section. */
static void
ixfr_with_its_soa_is_well_formed(void **state)
{
	static const uint8_t soa[] = "\xc0\x0c\0\6\0\1\0\0\0\0\0\26\0\0"
		"\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1";
	struct ask ask = plain;
	struct world w;
	struct raw raw;

	start(&w);
	for (unsigned i = 0; i < 2; i++) {
		ask.type = i == 0 ? TYPE_IXFR : TYPE_SOA;
		raw_init(&raw, &ask);
		memcpy(raw.request + raw.len, soa, sizeof(soa) - 1);
		raw.len += sizeof(soa) - 1;
		raw.request[9] = 1;
		raw_send(&w, &raw);
		assert_int_equal(raw.parts.rcode,
			i == 0 ? RCODE_REFUSED : RCODE_FORMERR);
	}
	world_fini(&w);
}

static void
notify_without_a_list_is_refused(void **state)
{
	struct ask ask = { .qname = "example.", .type = TYPE_SOA,
		.flags = OPCODE_NOTIFY << 11 | MESSAGE_AA };
	struct world w;
	struct reply_parts *p;

	start(&w);
	p = ask_with(&w, &ask);
	assert_int_equal(p->flags, 0x8000 | OPCODE_NOTIFY << 11 | MESSAGE_AA
		| RCODE_REFUSED);
	assert_int_equal(p->len, 12);
	done(p);
	ask.qname = "ns1.example.";
	p = ask_with(&w, &ask);
	expect_rcode(p, RCODE_NXDOMAIN);
	assert_int_equal(p->len, 12);
	done(p);
	ask.edns = true;
	p = ask_with(&w, &ask);
	expect_ede(p, EDE_NOT_AUTHORITATIVE, NULL);
	done(p);
	ask.qname = "example.";
	p = ask_with(&w, &ask);
	expect_ede(p, EDE_PROHIBITED, NULL);
	done(p);
	world_fini(&w);
}

static void
counters_count(void **state)
{
	struct ask ask = { .qname = "example.", .type = TYPE_SOA };
	struct world w;

	start(&w);
	done(ask_with(&w, &ask));
	ask.from = "::1";
	done(ask_with(&w, &ask));
	ask.transport = TRANSPORT_TCP;
	ask.type = 65280;
	done(ask_with(&w, &ask));
	ask.qname = "elsewhere.";
	ask.transport = TRANSPORT_TLS;
	ask.from = NULL;
	done(ask_with(&w, &ask));
	assert_int_equal(w.counters.queries, 4);
	assert_int_equal(w.counters.udp, 1);
	assert_int_equal(w.counters.udp6, 1);
	assert_int_equal(w.counters.tcp6, 1);
	assert_int_equal(w.counters.tls, 1);
	assert_int_equal(w.counters.type[TYPE_SOA], 2);
	assert_int_equal(w.counters.type[COUNTER_TYPES - 1], 2);
	assert_int_equal(w.counters.rrclass[COUNTER_IN], 4);
	assert_int_equal(w.counters.opcode[0], 4);
	assert_int_equal(w.counters.rcode[RCODE_NOERROR], 3);
	assert_int_equal(w.counters.rcode[RCODE_REFUSED], 1);
	assert_int_equal(w.counters.answer_wo_aa, 0);
	world_fini(&w);
}

static void
answers_of_a_group_are_counted_for_it(void **state)
{
	struct ask ask = { .qname = "example.", .type = TYPE_SOA };
	const struct counters *group;
	struct counters_block block;
	size_t size = (counters_block_size(8) + 63) & ~(size_t)63;
	void *memory = aligned_alloc(64, size);
	struct world w;

	assert_non_null(memory);
	memset(memory, 0, size);
	counters_block_init(&block, memory, 8);
	start(&w);
	query_ctx_destroy(w.ctx);
	w.query_options.block = &block;
	assert_int_equal(query_ctx_create(&w.query_options, &w.counters,
		&w.ctx), NSD_OK);
	done(ask_with(&w, &ask));
	assert_null(counters_block_find(&block, 3));
	table_set_group(w.writer, w.zones[0].entry, 3);
	done(ask_with(&w, &ask));
	ask.transport = TRANSPORT_TCP;
	ask.qname = "absent.example.";
	ask.type = 65280;
	done(ask_with(&w, &ask));
	ask.qname = "elsewhere.";
	done(ask_with(&w, &ask));
	group = counters_block_find(&block, 3);
	assert_non_null(group);
	assert_int_equal(group->queries, 2);
	assert_int_equal(group->udp, 1);
	assert_int_equal(group->tcp, 1);
	assert_int_equal(group->type[TYPE_SOA], 1);
	assert_int_equal(group->type[COUNTER_TYPES - 1], 1);
	assert_int_equal(group->rrclass[COUNTER_IN], 2);
	assert_int_equal(group->opcode[0], 2);
	assert_int_equal(group->rcode[RCODE_NOERROR], 1);
	assert_int_equal(group->rcode[RCODE_NXDOMAIN], 1);
	assert_int_equal(w.counters.queries, 4);
	/* A group that has no room is answered all the same. */
	table_set_group(w.writer, w.zones[0].entry, 9);
	done(ask_with(&w, &ask));
	world_fini(&w);
	free(memory);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_requests_and_replies_are_dropped),
		cmocka_unit_test(port_zero_is_not_answered),
		cmocka_unit_test(other_opcodes_are_not_implemented),
		cmocka_unit_test(counts_that_do_not_fit_are_formerr),
		cmocka_unit_test(requests_cut_at_each_length),
		cmocka_unit_test(bad_names_are_formerr),
		cmocka_unit_test(zone_not_served_is_refused),
		cmocka_unit_test(zones_that_cannot_answer_fail),
		cmocka_unit_test(zone_expires_and_comes_back),
		cmocka_unit_test(zone_that_lacks_what_it_must_have_fails),
		cmocka_unit_test(other_classes_are_refused),
		cmocka_unit_test(meta_types_without_a_rule_have_no_data),
		cmocka_unit_test(meta_types_with_a_rule_say_why),
		cmocka_unit_test(transfers),
		cmocka_unit_test(ixfr_with_its_soa_is_well_formed),
		cmocka_unit_test(notify_without_a_list_is_refused),
		cmocka_unit_test(counters_count),
		cmocka_unit_test(answers_of_a_group_are_counted_for_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
