/* test_sizes.c - replies that do not fit, replies that are very large, and
 * batches of requests. */
#include <stdio.h>

#include "expect.h"
#include "store/writer.h"

static struct reply_parts *
ask_size(struct world *w, const char *name, uint16_t type, uint16_t size,
	const char *from)
{
	const struct ask ask = { .qname = name, .type = type, .size = size,
		.edns = size != 0, .from = from };

	return ask_with(w, &ask);
}

/* Fault 16, RFC 6891 section 6.2.3. */
static void
udp_size_is_clamped(void **state)
{
	/* 12 + 7 + 4 + 11 octets around, 16 for each address. */
	static const struct {
		uint16_t size;
		const char *from;
		size_t most;
	} rows[] = {
		{ 0, NULL, 512 }, { 1, NULL, 512 }, { 511, NULL, 512 },
		{ 513, NULL, 513 }, { 1231, NULL, 1231 },
		{ 1232, NULL, 1232 }, { 65535, NULL, 1232 },
		{ 65535, "::1", 1400 }, { 1300, "::1", 1300 },
		{ 100, "::1", 512 },
	};
	struct world w;
	struct world_zone *zone;

	world_init(&w);
	w.options.udp6_size = 1400;
	zone = world_add_zone(&w, "z.", "");
	world_add_apex(zone);
	for (unsigned n = 1; n < 120; n++) {
		char name[32];

		snprintf(name, sizeof(name), "n%03u.z. 60 A 192.0.2.%%u", n);
		world_add_many(zone, name, n);
	}
	w.options.minimal_responses = true;
	world_start(&w);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		bool truncated = false;

		for (unsigned n = 1; n < 120; n++) {
			char name[32];
			struct reply_parts *p;
			size_t whole = 12 + 12 + 16 * n
				+ (rows[i].size != 0 ? 11 : 0);

			snprintf(name, sizeof(name), "n%03u.z.", n);
			p = ask_size(&w, name, TYPE_A, rows[i].size,
				rows[i].from);
			assert_true(p->len <= rows[i].most);
			truncated = (p->flags & MESSAGE_TC) != 0;
			assert_int_equal(truncated, whole > rows[i].most);
			assert_int_equal(p->section[AN].count,
				truncated ? 0 : n);
			assert_int_equal(p->opt.present, rows[i].size != 0);
			done(p);
		}
		assert_true(truncated);
	}
	world_fini(&w);
}

/* RFC 9471: the reply has all in-domain glue, or TC. RFC 9471 section 2.2:
 * sibling glue may be left out. */
static void
glue_in_the_child_is_not_dropped(void **state)
{
	struct world w;
	struct world_zone *zone;
	struct reply_parts *p;

	world_init(&w);
	zone = world_add_zone(&w, "z.", "");
	world_add_apex(zone);
	world_add_many(zone, "in.z. 60 NS ns%u.in.z.", 13);
	world_add_many(zone, "ns%u.in.z. 60 A 192.0.2.%u", 13);
	world_add_many(zone, "ns%u.in.z. 60 AAAA 2001:db8::%u", 13);
	world_add_many(zone, "sib.z. 60 NS ns%u.in.z.", 13);
	world_add_many(zone, "mix.z. 60 NS ns%u.in.z.", 12);
	world_add_many(zone, "many.z. 60 NS s%u.z.", 90);
	world_add_many(zone, "s%u.z. 60 A 192.0.2.%u", 90);
	world_add_many(zone, "s%u.z. 60 AAAA 2001:db8::%u", 90);
	world_add_record(zone, "mix.z. 60 NS zz.mix.z.");
	world_add_record(zone, "zz.mix.z. 60 A 192.0.2.99");
	world_start(&w);

	p = ask_size(&w, "www.in.z.", TYPE_A, 0, NULL);
	expect_flag(p, MESSAGE_TC);
	expect_no_flag(p, MESSAGE_AA);
	assert_int_equal(p->section[NS].count, 13);
	done(p);
	p = ask_size(&w, "www.in.z.", TYPE_A, 1232, NULL);
	expect_no_flag(p, MESSAGE_TC);
	expect_counts(p, 0, 13, 26);
	done(p);
	p = ask_size(&w, "www.sib.z.", TYPE_A, 0, NULL);
	expect_no_flag(p, MESSAGE_TC);
	/* A records come before AAAA. */
	assert_true(p->section[AR].count < 26);
	for (size_t i = 0; i < p->section[AR].count; i++)
		assert_int_equal(p->section[AR].rrs[i].type,
			i < 13 ? TYPE_A : TYPE_AAAA);
	done(p);
	/* However many there are, as long as they fit. */
	p = ask_for(&w, "www.many.z.", TYPE_A);
	expect_no_flag(p, MESSAGE_TC);
	expect_counts(p, 0, 90, 180);
	done(p);
	/* The address that is needed comes before the others. */
	p = ask_size(&w, "www.mix.z.", TYPE_A, 0, NULL);
	expect_no_flag(p, MESSAGE_TC);
	expect_rr(p, AR, "zz.mix.z. 60 A 192.0.2.99");
	assert_true(p->section[AR].count < 20);
	done(p);
	world_fini(&w);
}

/* RFC 2181 section 9: records that are not needed are left out without TC. */
static void
optional_sections_go_without_tc(void **state)
{
	struct world w;
	struct world_zone *zone;
	struct reply_parts *p;

	world_init(&w);
	zone = world_add_zone(&w, "z.", "");
	world_add_apex(zone);
	world_add_many(zone,
		"z. 60 NS a-name-server-with-a-long-name-%u.elsewhere.", 10);
	world_add_many(zone, "a.z. 60 A 192.0.2.%u", 25);
	world_start(&w);
	p = ask_size(&w, "a.z.", TYPE_A, 0, NULL);
	expect_no_flag(p, MESSAGE_TC);
	expect_counts(p, 25, 0, 0);
	done(p);
	p = ask_size(&w, "a.z.", TYPE_A, 1232, NULL);
	expect_counts(p, 25, 11, 1);
	done(p);
	world_fini(&w);
}

/* RFC 4035 section 3.1.1: an answer is not sent without its signatures. */
static void
signatures_are_part_of_the_answer(void **state)
{
	struct world w;
	struct world_zone *zone;
	unsigned cut = 0;

	world_init(&w);
	w.options.minimal_responses = true;
	zone = world_add_zone(&w, "z.", "");
	world_add_apex(zone);
	for (unsigned n = 20; n < 32; n++) {
		char line[64];

		snprintf(line, sizeof(line), "n%u.z. 60 A 192.0.2.%%u", n);
		world_add_many(zone, line, n);
		snprintf(line, sizeof(line), "n%u.z. 60 RRSIG A z.", n);
		world_add_record(zone, line);
	}
	world_start(&w);
	for (unsigned n = 20; n < 32; n++) {
		char name[32];
		struct ask ask = { .qname = name, .type = TYPE_A,
			.dnssec = true };
		struct reply_parts *p;

		snprintf(name, sizeof(name), "n%u.z.", n);
		p = ask_with(&w, &ask);
		if ((p->flags & MESSAGE_TC) != 0) {
			assert_int_equal(p->section[AN].count, 0);
			cut++;
		} else {
			assert_int_equal(p->section[AN].count, n + 1);
		}
		done(p);
	}
	assert_true(cut > 0 && cut < 12);
	world_fini(&w);
}

/* An RRset that does not fit is left out whole, also in the middle of a
 * chain. */
static void
chain_is_cut_at_a_whole_rrset(void **state)
{
	struct world w;
	struct world_zone *zone;
	struct reply_parts *p;

	world_init(&w);
	zone = world_add_zone(&w, "z.", "");
	world_add_apex(zone);
	world_add_record(zone, "c.z. 60 CNAME a.z.");
	world_add_many(zone, "a.z. 60 A 192.0.2.%u", 200);
	world_start(&w);
	p = ask_size(&w, "c.z.", TYPE_A, 1232, NULL);
	expect_flag(p, MESSAGE_TC);
	expect_counts(p, 1, 0, 0);
	done(p);
	p = ask_for(&w, "c.z.", TYPE_A);
	expect_no_flag(p, MESSAGE_TC);
	assert_int_equal(p->section[AN].count, 201);
	done(p);
	world_fini(&w);
}

/* Fault 26: TC over UDP; over TCP, where that would help nobody, SERVFAIL. */
static void
more_than_a_message_can_hold_is_servfail(void **state)
{
	static const struct {
		const char *name;
		uint16_t udp_answers;
	} rows[] = { { "big.z.", 0 }, { "to-big.z.", 1 }, { "x.d.z.", 2 } };
	struct ask ask = { .type = TYPE_TXT, .size = 4096, .edns = true };
	struct world w;
	struct world_zone *zone;
	struct reply_parts *p;

	world_init(&w);
	zone = world_add_zone(&w, "z.", "");
	world_add_apex(zone);
	world_add_many(zone,
		"big.z. 60 TXT a-text-that-makes-it-large-enough-%u", 1400);
	world_add_many(zone,
		"x.y.z. 60 TXT a-text-that-makes-it-large-enough-%u", 1400);
	world_add_record(zone, "to-big.z. 60 CNAME big.z.");
	world_add_record(zone, "d.z. 60 DNAME y.z.");
	world_start(&w);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		ask.qname = rows[i].name;
		ask.transport = TRANSPORT_UDP;
		p = ask_with(&w, &ask);
		expect_flag(p, MESSAGE_TC);
		expect_counts(p, rows[i].udp_answers, 0, 0);
		done(p);
		ask.transport = TRANSPORT_TCP;
		p = ask_with(&w, &ask);
		assert_int_equal(p->flags, 0x8002);
		assert_true(p->has_question);
		expect_counts(p, 0, 0, 0);
		expect_ede(p, EDE_OTHER, "Answer exceeds 65535 octets");
		done(p);
		p = ask_for(&w, rows[i].name, TYPE_TXT);
		assert_int_equal(p->flags, 0x8002);
		assert_int_equal(p->len, 12 + strlen(rows[i].name) + 1 + 4);
		done(p);
	}
	world_fini(&w);
}

/* Fault 27: additional data has a limit. */
static void
many_targets_are_bounded(void **state)
{
	struct world w;
	struct world_zone *zone;
	struct reply_parts *p;

	world_init(&w);
	zone = world_add_zone(&w, "z.", "");
	world_add_apex(zone);
	world_add_many(zone, "m.z. 60 MX 1 t%u.z.", 500);
	world_add_many(zone, "t%u.z. 60 A 10.0.0.%u", 200);
	world_start(&w);
	p = ask_for(&w, "m.z.", TYPE_MX);
	assert_int_equal(p->section[AN].count, 500);
	assert_true(p->section[AR].count >= 10);
	assert_true(p->section[AR].count <= 64);
	done(p);
	world_fini(&w);
}

/* An NSID that leaves no room for an answer is left out. */
static void
options_of_opt_give_way(void **state)
{
	static uint8_t nsid[600];
	struct ask ask = { .qname = "z.", .type = TYPE_SOA, .edns = true,
		.size = 512, .options = "\0\3\0\0", .options_len = 4 };
	struct world w;
	struct reply_parts *p;
	uint16_t len;

	world_init(&w);
	w.options.nsid = nsid;
	w.options.nsid_len = sizeof(nsid);
	world_add_apex(world_add_zone(&w, "z.", ""));
	world_start(&w);
	p = ask_with(&w, &ask);
	assert_null(reply_option(p, EDNS_NSID, &len));
	assert_int_equal(p->section[AN].count, 1);
	done(p);
	ask.size = 1232;
	p = ask_with(&w, &ask);
	assert_non_null(reply_option(p, EDNS_NSID, &len));
	assert_int_equal(len, 600);
	done(p);
	world_fini(&w);
}

/* Requests of all sorts get the same replies in one batch as each alone. */
static void
batches_answer_as_one_by_one(void **state)
{
	static const char *const names[] = { "z.", "a.z.", "b.z.", "x.w.z.",
		"www.cut.z.", "elsewhere.", "n.z.", "x.d.z.", "y.", "a.y." };
	static const uint16_t types[] = { TYPE_A, TYPE_NS, TYPE_MX, TYPE_DS,
		TYPE_ANY, TYPE_AXFR, TYPE_TXT };
	static uint8_t requests[EXCHANGE_BATCH_MAX][1024];
	static uint8_t replies[EXCHANGE_BATCH_MAX][4096];
	static uint8_t alone[4096];
	struct exchange x[EXCHANGE_BATCH_MAX];
	struct sockaddr_storage peer = { .ss_family = AF_UNIX };
	struct world_zone *zone;
	struct world w;

	world_init(&w);
	zone = world_add_zone(&w, "z.", "");
	world_add_apex(zone);
	world_add_record(zone, "a.z. 60 A 192.0.2.2");
	world_add_record(zone, "b.z. 60 CNAME a.z.");
	world_add_record(zone, "*.w.z. 60 MX 1 a.z.");
	world_add_record(zone, "cut.z. 60 NS ns.cut.z.");
	world_add_record(zone, "ns.cut.z. 60 A 192.0.2.3");
	world_add_record(zone, "d.z. 60 DNAME y.");
	world_add_zone(&w, "y.", "y. 60 SOA y. y. 1 2 3 4 5\ny. 60 NS ns.z.\n"
		"x.y. 60 A 192.0.2.4\n");
	world_start(&w);
	for (size_t count = 1; count <= EXCHANGE_BATCH_MAX; count += 7) {
		for (size_t i = 0; i < count; i++) {
			size_t pick = i * 31 + count;
			struct ask ask = { .qname = names[pick % 10],
				.type = types[pick % 7],
				.edns = pick % 2 != 0,
				.dnssec = pick % 4 == 1, .size = 1232 };

			x[i] = (struct exchange){ .request = requests[i],
				.reply = replies[i], .reply_capacity = 4096,
				.peer = &peer };
			x[i].request_len = (uint32_t)ask_write(&ask,
				requests[i]);
			requests[i][0] = (uint8_t)i;
			if (pick % 13 == 0)
				x[i].request_len = 11;
		}
		query_answer_batch(w.ctx, store_writer_view(w.writer), x,
			count);
		for (size_t i = 0; i < count; i++) {
			struct exchange one = x[i];

			one.reply = alone;
			query_answer_batch(w.ctx,
				store_writer_view(w.writer), &one, 1);
			assert_int_equal(one.reply_len, x[i].reply_len);
			assert_memory_equal(alone, replies[i], one.reply_len);
		}
	}
	world_fini(&w);
}

/* Replies stay within the buffer, however small it is. */
static void
small_buffers_are_respected(void **state)
{
	const struct ask ask = { .qname = "z.", .type = TYPE_NS,
		.edns = true, .transport = TRANSPORT_TCP, .options =
		"\0\3\0\0\0\23\0\0", .options_len = 8 };
	uint8_t request[1024];
	struct world w;
	size_t len = ask_write(&ask, request);

	world_init(&w);
	w.options.nsid = (const uint8_t *)"nsid";
	w.options.nsid_len = 4;
	world_add_apex(world_add_zone(&w, "z.", ""));
	world_start(&w);
	for (size_t room = 0; room < 200; room++) {
		uint8_t *reply = malloc(room > 0 ? room : 1);

		assert_non_null(reply);
		world_send(&w, request, len, &ask, reply, room);
		request[2] = OPCODE_UPDATE << 3;
		world_send(&w, request, len, &ask, reply, room);
		request[2] = 0;
		free(reply);
	}
	world_fini(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(udp_size_is_clamped),
		cmocka_unit_test(glue_in_the_child_is_not_dropped),
		cmocka_unit_test(optional_sections_go_without_tc),
		cmocka_unit_test(signatures_are_part_of_the_answer),
		cmocka_unit_test(chain_is_cut_at_a_whole_rrset),
		cmocka_unit_test(more_than_a_message_can_hold_is_servfail),
		cmocka_unit_test(many_targets_are_bounded),
		cmocka_unit_test(options_of_opt_give_way),
		cmocka_unit_test(batches_answer_as_one_by_one),
		cmocka_unit_test(small_buffers_are_respected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
