/*
 * test_differences.c - IXFR to secondaries that have an older version.
 */
#include <stdio.h>

#include "lib/history_fixture.h"
#include "store/writer.h"
#include "transfer_client.h"
#include "zone/history.h"
#include "zonedb/history_edit.h"

/* The changesets from version 4 to that of SMALL, 7. Each line of the list is a
 * record as it is sent, from version 4 on. */
static const char *const changesets[][2] = {
	{"@ 60 SOA ns host 4 2 3 4 5\nold 60 A 192.0.2.9\nold 60 MX 1 ns\n",
		"@ 60 SOA ns host 5 2 3 4 5\nns 60 A 192.0.2.2\n"},
	{"@ 60 SOA ns host 5 2 3 4 5\n", "@ 60 SOA ns host 6 2 3 4 5\n"},
	{"@ 60 SOA ns host 6 2 3 4 5\nns 60 A 192.0.2.2\n",
		"@ 60 SOA ns host 7 2 3 4 5\nns 60 A 192.0.2.1\n"
		"a.ns 60 CNAME b.ns\n"},
};

/* The reply to a client with an older version: one difference for all versions
 * since. */
static const char *const since_4[] = {
	"z. 60 SOA ns.z. host.z. 7 2 3 4 5",
	"z. 60 SOA ns.z. host.z. 4 2 3 4 5",
	"old.z. 60 A 192.0.2.9",
	"old.z. 60 MX 1 ns.z.",
	"z. 60 SOA ns.z. host.z. 7 2 3 4 5",
	"ns.z. 60 A 192.0.2.1",
	"a.ns.z. 60 CNAME b.ns.z.",
	"z. 60 SOA ns.z. host.z. 7 2 3 4 5",
	NULL,
};
static const char *const since_5[] = {
	"z. 60 SOA ns.z. host.z. 7 2 3 4 5",
	"z. 60 SOA ns.z. host.z. 5 2 3 4 5",
	"ns.z. 60 A 192.0.2.2",
	"z. 60 SOA ns.z. host.z. 7 2 3 4 5",
	"ns.z. 60 A 192.0.2.1",
	"a.ns.z. 60 CNAME b.ns.z.",
	"z. 60 SOA ns.z. host.z. 7 2 3 4 5",
	NULL,
};
static const char *const since_6[] = {
	"z. 60 SOA ns.z. host.z. 7 2 3 4 5",
	"z. 60 SOA ns.z. host.z. 6 2 3 4 5",
	"ns.z. 60 A 192.0.2.2",
	"z. 60 SOA ns.z. host.z. 7 2 3 4 5",
	"ns.z. 60 A 192.0.2.1",
	"a.ns.z. 60 CNAME b.ns.z.",
	"z. 60 SOA ns.z. host.z. 7 2 3 4 5",
	NULL,
};

static void
push_changesets(struct client *c)
{
	const struct history_limits limits = {5, 0};

	for (size_t i = 0; i < sizeof(changesets) / sizeof(*changesets); i++)
		history_fixture_push(c->w.writer, c->zone->entry, &limits,
			changesets[i][0], changesets[i][1]);
}

/* Expects these records in this order. */
static void
expect_sent(const struct world_rrs *got, const char *const *sent)
{
	for (size_t i = 0; i < got->count; i++) {
		struct world_rr want;

		assert_non_null(sent[i]);
		world_parse_record(sent[i], &want);
		assert_int_equal(got->rrs[i].type, want.type);
		assert_int_equal(got->rrs[i].ttl_sec, want.ttl_sec);
		assert_true(name_equal(got->rrs[i].owner, want.owner));
		assert_int_equal(got->rrs[i].rdlen, want.rdlen);
		assert_memory_equal(got->rrs[i].rdata, want.rdata, want.rdlen);
	}
	assert_null(sent[got->count]);
}

/* Asks for what is new since a version; gives the records. */
static struct world_rrs
ask_ixfr(struct client *c, uint32_t serial, enum exchange_transport transport)
{
	struct world_rrs got = {0};
	uint8_t request[1024];
	struct reply_parts *p = send_request(c, request,
		write_ixfr(request, "z.", serial), transport);

	for (; p != NULL; p = c->stream != NULL ? next_message(c) : NULL) {
		if (p->len > 0) {
			expect_rcode(p, RCODE_NOERROR);
			expect_flag(p, MESSAGE_AA);
			assert_int_equal(p->qtype, TYPE_IXFR);
		}
		for (size_t i = 0; i < p->section[AN].count; i++)
			rrs_add(&got, &p->section[AN].rrs[i]);
		done(p);
	}
	return got;
}

/* RFC 1995 section 6 */
static void
differences_are_sent_as_one(void **state)
{
	static const struct {
		uint32_t serial;
		const char *const *sent; /* NULL: the whole zone */
	} rows[] = {{4, since_4}, {5, since_5}, {6, since_6}, {3, NULL},
		{2, NULL}};
	struct client c;

	client_init(&c, "z.", SMALL);
	client_start(&c);
	push_changesets(&c);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world_rrs got = ask_ixfr(&c, rows[i].serial,
			TRANSPORT_TCP);

		if (rows[i].sent != NULL)
			expect_sent(&got, rows[i].sent);
		else
			assert_int_equal(got.count, 4);
		rrs_fini(&got);
		got = ask_ixfr(&c, rows[i].serial, TRANSPORT_UDP);
		if (rows[i].sent != NULL)
			expect_sent(&got, rows[i].sent);
		else
			assert_int_equal(got.count, 1);
		rrs_fini(&got);
	}
	client_fini(&c);
}

/* Pushes changesets from 4 to 7, each of what is removed and added, behind its
 * SOAs; what comes over TCP is as many records as are wanted, SOAs too. */
static void
expect_count(const char *const changes[3][2], size_t count,
	const char *const *sent)
{
	const struct history_limits limits = {5, 0};
	struct world_rrs got;
	struct client c;

	client_init(&c, "z.", SMALL);
	client_start(&c);
	for (unsigned i = 0; i < 3; i++) {
		char *text[2];

		for (unsigned n = 0; n < 2; n++) {
			text[n] = malloc(strlen(changes[i][n]) + 100);
			assert_non_null(text[n]);
			sprintf(text[n], "@ 60 SOA ns host %u 2 3 4 5\n%s",
				4 + i + n, changes[i][n]);
		}
		history_fixture_push(c.w.writer, c.zone->entry, &limits,
			text[0], text[1]);
		free(text[0]);
		free(text[1]);
	}
	got = ask_ixfr(&c, 4, TRANSPORT_TCP);
	assert_int_equal(got.count, count);
	if (sent != NULL)
		expect_sent(&got, sent);
	rrs_fini(&got);
	client_fini(&c);
}

#define TTL_60 "a 60 TXT x\n"
#define TTL_70 "a 70 TXT x\n"

/* A record that is there again is not sent, but for another TTL. */
static void
records_that_come_and_go_are_left_out(void **state)
{
	static const char *const rows[][3][2] = {
		{{"", TTL_60}, {TTL_60, ""}, {"", ""}},
		{{TTL_60, ""}, {"", ""}, {"", TTL_60}},
		{{TTL_60, TTL_70}, {"", ""}, {TTL_70, TTL_60}},
		{{"", TTL_60}, {TTL_60, TTL_70}, {TTL_70, ""}},
	};
	static const char *const other_ttl[3][2] = {
		{TTL_60, ""}, {"", TTL_60}, {TTL_60, TTL_70}};
	static const char *const sent[] = {
		"z. 60 SOA ns.z. host.z. 7 2 3 4 5",
		"z. 60 SOA ns.z. host.z. 4 2 3 4 5",
		"a.z. 60 TXT x",
		"z. 60 SOA ns.z. host.z. 7 2 3 4 5",
		"a.z. 70 TXT x",
		"z. 60 SOA ns.z. host.z. 7 2 3 4 5",
		NULL,
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		expect_count(rows[i], 4, NULL);
	expect_count(other_ttl, 6, sent);
}

/* Differences that a client might read otherwise are not condensed: names that
 * differ in case alone, or a record that comes twice. All six SOAs are there,
 * and the two around. */
static void
what_is_not_certain_is_sent_as_it_is(void **state)
{
	static const char *const rows[][3][2] = {
		{{"", "a 60 SRV 1 2 3 b\n"}, {"a 60 SRV 1 2 3 B\n", ""},
			{"", ""}},
		{{"", "a 60 MX 1 b\n"}, {"a 60 MX 1 b.Z.\n", ""}, {"", ""}},
		{{"", "a 60 MX 1 B\n"}, {"", "a 60 MX 2 b\n"}, {"", ""}},
		{{"", TTL_60}, {"", TTL_60}, {"", ""}},
		{{TTL_60, ""}, {"", ""}, {TTL_70, ""}},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		expect_count(rows[i], 2 + 6 + 2, NULL);
}

/* Large differences are not merged, so that a request takes bounded time. */
static void
what_is_large_is_sent_as_it_is(void **state)
{
	const char *changes[3][2] = {{"", NULL}, {NULL, ""}, {"", ""}};
	char *text = malloc(200000);

	assert_non_null(text);
	for (unsigned count = 1200; count <= 1700; count += 500) {
		size_t len = 0;

		for (unsigned i = 0; i < count; i++)
			len += (size_t)sprintf(text + len,
				"n%04u 60 A 192.0.2.1\n", i);
		changes[0][1] = changes[1][0] = text;
		/* 22 octets each, twice. */
		expect_count(changes, count == 1200 ? 4 : 2 + 6 + 2 * count,
			NULL);
	}
	free(text);
}

/* The limit over UDP is lower, as the result has to fit a datagram. */
static void
what_is_large_is_not_condensed_for_a_datagram(void **state)
{
	const struct history_limits limits = {5, 0};
	const char *soas[] = {"@ 60 SOA ns host 5 2 3 4 5\n",
		"@ 60 SOA ns host 6 2 3 4 5\n",
		"@ 60 SOA ns host 7 2 3 4 5\n"};
	char *text[3];

	for (unsigned count = 70; count <= 100; count += 30) {
		struct world_rrs got;
		struct client c;

		for (unsigned i = 0; i < 3; i++) {
			text[i] = malloc(10000);
			assert_non_null(text[i]);
			strcpy(text[i], soas[i]);
		}
		/* 22 octets each, twice. */
		for (unsigned i = 0; i < count; i++)
			sprintf(text[1] + strlen(text[1]),
				"n%04u 60 A 192.0.2.1\n", i);
		client_init(&c, "z.", SMALL);
		client_start(&c);
		history_fixture_push(c.w.writer, c.zone->entry, &limits,
			text[0], text[1]);
		history_fixture_push(c.w.writer, c.zone->entry, &limits,
			text[1], text[2]);
		got = ask_ixfr(&c, 5, TRANSPORT_UDP);
		assert_int_equal(got.count, count == 70 ? 4 : 1);
		rrs_fini(&got);
		got = ask_ixfr(&c, 5, TRANSPORT_TCP);
		assert_int_equal(got.count, 4);
		rrs_fini(&got);
		client_fini(&c);
		for (unsigned i = 0; i < 3; i++)
			free(text[i]);
	}
}

/* Has a whole batch of the same request answered; ends the transfers that
 * begin, none of which is for nothing. Returns how many do. */
static size_t
begin_batch(struct client *c, uint32_t serial)
{
	struct exchange exchanges[EXCHANGE_BATCH_MAX];
	uint8_t request[1024], *replies;
	size_t len = write_ixfr(request, "z.", serial), begun = 0;

	replies = world_repeat(request, len, TRANSPORT_TCP, exchanges);
	store_reader_online(c->reader);
	query_answer_batch(c->w.ctx, store_reader_view(c->reader), exchanges,
		EXCHANGE_BATCH_MAX);
	store_reader_offline(c->reader);
	for (size_t i = 0; i < EXCHANGE_BATCH_MAX; i++) {
		assert_int_equal(exchanges[i].put_off,
			exchanges[i].stream == NULL);
		if (exchanges[i].stream == NULL)
			continue;
		assert_true(exchanges[i].cost > 0);
		query_stream_end(c->w.ctx, exchanges[i].stream);
		begun++;
	}
	free(replies);
	return begun;
}

/* A transfer whose differences are made one is dear before its first message:
 * those that are asked for behind it are put off. */
static void
dear_transfers_of_a_stream_begin_later(void **state)
{
	const struct history_limits limits = {5, 0};
	char *text = malloc(100000);
	struct client c;
	size_t len;

	assert_non_null(text);
	client_init(&c, "z.", SMALL);
	client_start(&c);
	len = (size_t)sprintf(text, "@ 60 SOA ns host 6 2 3 4 5\n");
	for (unsigned i = 0; i < 1200; i++)
		len += (size_t)sprintf(text + len, "n%04u 60 A 192.0.2.1\n", i);
	history_fixture_push(c.w.writer, c.zone->entry, &limits,
		"@ 60 SOA ns host 5 2 3 4 5\n", text);
	history_fixture_push(c.w.writer, c.zone->entry, &limits, text,
		"@ 60 SOA ns host 7 2 3 4 5\n");
	assert_in_range(begin_batch(&c, 5), 1, EXCHANGE_BATCH_MAX / 2);
	/* One difference is sent as it is. */
	assert_int_equal(begin_batch(&c, 6), EXCHANGE_BATCH_MAX);
	client_fini(&c);
	free(text);
}

/* A search of a long history is dear as well, also if nothing is found. */
static void
long_histories_are_dear(void **state)
{
	const struct history_limits limits = {HISTORY_CHANGESETS_MAX, 0};
	char before[64], after[64] = "@ 60 SOA ns host 6 2 3 4 5\n";
	struct client c;

	client_init(&c, "z.", SMALL);
	client_start(&c);
	for (unsigned serial = 7; serial < 1007; serial++) {
		memcpy(before, after, sizeof(before));
		sprintf(after, "@ 60 SOA ns host %u 2 3 4 5\n", serial);
		history_fixture_push(c.w.writer, c.zone->entry, &limits,
			before, after);
	}
	assert_in_range(begin_batch(&c, 1), 1, EXCHANGE_BATCH_MAX / 2);
	client_fini(&c);
}

/* RFC 1995 section 2; and a version that is about to be published. */
static void
differences_that_do_not_fit_a_datagram_are_asked_for_again(void **state)
{
	const struct history_limits limits = {5, 0};
	struct client c;
	struct world_rrs got;
	char added[2000] = "@ 60 SOA ns host 7 2 3 4 5\n";
	size_t len = strlen(added);

	client_init(&c, "z.", SMALL);
	client_start(&c);
	for (unsigned i = 0; i < 30; i++)
		len += (size_t)sprintf(added + len,
			"n%u 60 A 192.0.2.%u\n", i, i);
	history_fixture_push(c.w.writer, c.zone->entry, &limits,
		changesets[2][0], added);
	history_fixture_push(c.w.writer, c.zone->entry, &limits,
		"@ 60 SOA ns host 7 2 3 4 5\n",
		"@ 60 SOA ns host 8 2 3 4 5\n");
	got = ask_ixfr(&c, 6, TRANSPORT_UDP);
	assert_int_equal(got.count, 1);
	assert_int_equal(got.rrs[0].type, TYPE_SOA);
	rrs_fini(&got);
	got = ask_ixfr(&c, 6, TRANSPORT_TCP);
	assert_int_equal(got.count, 1 + 2 + 1 + 30 + 1);
	rrs_fini(&got);
	client_fini(&c);
}

/* A reply that lacks the end of the differences would be taken for a whole
 * one. */
static void
damaged_differences_are_not_put_into_a_datagram(void **state)
{
	const struct history_limits limits = {5, 0};
	struct history_path path;
	struct zone_changeset *changeset;
	struct world_rrs got;
	struct client c;

	client_init(&c, "z.", SMALL);
	client_start(&c);
	history_fixture_push(c.w.writer, c.zone->entry, &limits,
		changesets[2][0], changesets[2][1]);
	assert_int_equal(history_find(store_writer_view(c.w.writer),
		store_get(store_writer_view(c.w.writer), c.zone->entry), 6, 7,
		&path), NSD_OK);
	changeset = store_edit(store_writer_heap(c.w.writer),
		path.changesets[0]);
	free(path.changesets);
	for (unsigned i = 0; i < 2; i++) {
		changeset->len -= i; /* the last record is cut short */
		got = ask_ixfr(&c, 6, TRANSPORT_UDP);
		assert_int_equal(got.count, i == 0 ? 7 : 1);
		assert_int_equal(got.rrs[0].type, TYPE_SOA);
		rrs_fini(&got);
		changeset->len += i;
	}
	client_fini(&c);
}

/* RFC 1995 section 4: the SOA before and behind them is alone, whatever signs
 * it. */
static void
differences_are_sent_without_other_signatures(void **state)
{
	struct world_rrs got;
	struct client c;

	client_init(&c, "z.", SMALL "z. 60 DNSKEY\nz. 60 RRSIG SOA z.\n"
		"z. 60 RRSIG NS z.\nz. 60 RRSIG DNSKEY z.\n"
		"ns.z. 60 RRSIG A z.\n");
	client_start(&c);
	push_changesets(&c);
	for (unsigned i = 0; i < 2; i++) {
		got = ask_ixfr(&c, 4, i == 0 ? TRANSPORT_TCP : TRANSPORT_UDP);
		expect_sent(&got, since_4);
		rrs_fini(&got);
	}
	client_fini(&c);
}

/* Differences are split into messages like a whole zone; a transfer that has
 * begun goes on to its end, whatever is kept meanwhile. */
static void
many_differences_take_several_messages(void **state)
{
	const struct history_limits limits = {5, 0};
	char *added = malloc(200000);
	struct reply_parts *p;
	uint8_t request[1024];
	struct client c;
	size_t len, records = 0;

	assert_non_null(added);
	client_init(&c, "z.", SMALL);
	client_start(&c);
	len = (size_t)sprintf(added, "@ 60 SOA ns host 7 2 3 4 5\n");
	for (unsigned i = 0; i < 4000; i++)
		len += (size_t)sprintf(added + len,
			"n%u.of.some.length 60 A 192.0.2.%u\n", i, i % 250);
	history_fixture_push(c.w.writer, c.zone->entry, &limits,
		changesets[2][0], added);
	p = send_request(&c, request, write_ixfr(request, "z.", 6),
		TRANSPORT_TCP);
	done(p);
	assert_non_null(c.stream);
	history_clear(c.w.writer, c.zone->entry);
	while ((p = next_message(&c)) != NULL) {
		(void)store_reclaim(c.w.writer);
		records += p->section[AN].count;
		done(p);
	}
	assert_int_equal(records, 1 + 2 + 1 + 4000 + 1);
	/* Owners take a few octets each. */
	assert_in_range(c.octets / 4000, 20, 26);
	assert_in_range(c.messages, c.octets / 16384, c.octets / 16384 + 1);
	client_fini(&c);
	free(added);
}

/* A record that fits in no message cannot be sent. */
static void
a_difference_too_large_for_a_message_ends_in_an_error(void **state)
{
	const struct history_limits limits = {5, 0};
	char *added = malloc(140000);
	struct reply_parts *p;
	uint8_t request[1024];
	struct client c;

	assert_non_null(added);
	client_init(&c, "z.", SMALL);
	client_start(&c);
	sprintf(added, "@ 60 SOA ns host 7 2 3 4 5\n"
		"big 60 TYPE999 \\# 65530 %0131060d\n", 0);
	history_fixture_push(c.w.writer, c.zone->entry, &limits,
		changesets[2][0], added);
	p = send_request(&c, request, write_ixfr(request, "z.", 6),
		TRANSPORT_TCP);
	done(p);
	p = next_message(&c);
	expect_rcode(p, RCODE_NOERROR);
	done(p);
	p = next_message(&c);
	expect_rcode(p, RCODE_SERVFAIL);
	done(p);
	assert_null(next_message(&c));
	client_fini(&c);
	free(added);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(differences_are_sent_as_one),
		cmocka_unit_test(records_that_come_and_go_are_left_out),
		cmocka_unit_test(what_is_not_certain_is_sent_as_it_is),
		cmocka_unit_test(what_is_large_is_sent_as_it_is),
		cmocka_unit_test(
			what_is_large_is_not_condensed_for_a_datagram),
		cmocka_unit_test(dear_transfers_of_a_stream_begin_later),
		cmocka_unit_test(long_histories_are_dear),
		cmocka_unit_test(
			differences_that_do_not_fit_a_datagram_are_asked_for_again),
		cmocka_unit_test(
			damaged_differences_are_not_put_into_a_datagram),
		cmocka_unit_test(differences_are_sent_without_other_signatures),
		cmocka_unit_test(many_differences_take_several_messages),
		cmocka_unit_test(
			a_difference_too_large_for_a_message_ends_in_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
