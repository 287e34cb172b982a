/* test_limit.c - answers that are too many, and cookies. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#include "dns/answer_kind.h"
#include "raw.h"

#define NOW_SEC 1700000000u

static const char zone_text[] =
	"example. 3600 SOA ns1.example. root.example. 9 7200 3600 86400 300\n"
	"example. 3600 NS ns1.example.\n"
	"example. 3600 DNSKEY\n"
	"ns1.example. 3600 A 192.0.2.1\n"
	"*.wild.example. 3600 A 192.0.2.2\n"
	"sub.example. 3600 NS ns.sub.example.\n"
	"ns.sub.example. 3600 A 192.0.2.3\n"
	"alias.example. 3600 CNAME ns1.example.\n"
	"loose.example. 3600 CNAME nowhere.example.\n"
	"off.example. 3600 CNAME x.sub.example.\n"
	"*.links.example. 3600 CNAME ns1.example.\n"
	"moved.example. 3600 DNAME wild.example.\n"
	"gone.example. 3600 DNAME elsewhere.\n";

struct limited {
	struct world w;
	struct rrl rrl;
	struct cookie_share share;
	uint64_t msec;
};

static const struct cookie_secrets secrets = { 1,
	{ "sixteen octets A" } };

/* An answer a second to 192.0.2.0/24 and 2001:db8::/64. */
static void
limited_start(struct limited *l)
{
	void *memory = aligned_alloc(64, rrl_octets(1000));

	memset(l, 0, sizeof(*l));
	assert_non_null(memory);
	memset(memory, 0, rrl_octets(1000));
	rrl_init(&l->rrl, memory, 1000,
		(const uint8_t *)"0123456789abcdef0123456789abcdef");
	cookie_share_write(&l->share, &secrets);
	world_init(&l->w);
	l->w.options.rrl_ratelimit = 1;
	l->w.options.rrl_slip = 1;
	l->w.options.rrl_ip4 = (struct settings_netblocks){1, {{24, 1}}};
	l->w.options.rrl_ip6 = (struct settings_netblocks){1, {{64, 1}}};
	l->w.options.answer_cookie = true;
	l->w.query_options.limits = &l->rrl;
	l->w.query_options.cookies = &l->share;
	world_add_zone(&l->w, "example.", zone_text);
}

static void
limited_go(struct limited *l)
{
	world_start(&l->w);
	query_set_time(l->w.ctx, NOW_SEC, 0);
	query_set_msec(l->w.ctx, l->msec);
}

static void
limited_end(struct limited *l)
{
	free(l->rrl.lines);
	world_fini(&l->w);
}

/* Lets so much time pass that no earlier query counts. */
static void
pass_time(struct limited *l)
{
	l->msec += 100000;
	query_set_msec(l->w.ctx, l->msec);
}

/* How many of so many questions at once are answered in full. */
static unsigned
ask_often(struct limited *l, const struct ask *ask, unsigned times)
{
	unsigned whole = 0;

	for (unsigned i = 0; i < times; i++) {
		struct raw raw;

		raw_init(&raw, ask);
		raw.parts.len = world_send(&l->w, raw.request, raw.len, ask,
			raw.parts.octets, sizeof(raw.parts.octets));
		whole += raw.parts.len > 0 && (message_get_flags(
			raw.parts.octets) & MESSAGE_TC) == 0;
	}
	return whole;
}

/* ---- kinds --------------------------------------------------------------- */

static const struct {
	const char *qname;
	uint16_t type;
	enum answer_kind kind;
	const char *name; /* the name that answers share */
} kinds[] = {
	{ "example.", TYPE_SOA, ANSWER_POSITIVE, "example." },
	{ "NS1.Example.", TYPE_A, ANSWER_POSITIVE, "ns1.example." },
	{ "alias.example.", TYPE_A, ANSWER_POSITIVE, "alias.example." },
	{ "ns1.example.", TYPE_AAAA, ANSWER_NODATA, "example." },
	{ "a.b.example.", TYPE_A, ANSWER_NXDOMAIN, "example." },
	{ "loose.example.", TYPE_A, ANSWER_NXDOMAIN, "example." },
	{ "elsewhere.", TYPE_A, ANSWER_ERROR, "" },
	{ "a.b.sub.example.", TYPE_A, ANSWER_REFERRAL, "sub.example." },
	{ "off.example.", TYPE_A, ANSWER_REFERRAL, "example." },
	{ "ns1.example.", TYPE_ANY, ANSWER_ANY, "ns1.example." },
	{ "ns1.example.", TYPE_RRSIG, ANSWER_RRSIG, "ns1.example." },
	{ "a.wild.example.", TYPE_A, ANSWER_WILDCARD, "*.wild.example." },
	{ "a.b.wild.example.", TYPE_AAAA, ANSWER_WILDCARD, "*.wild.example." },
	{ "a.wild.example.", TYPE_ANY, ANSWER_ANY, "wild.example." },
	{ "a.wild.example.", TYPE_RRSIG, ANSWER_RRSIG, "wild.example." },
	{ "a.links.example.", TYPE_A, ANSWER_WILDCARD, "*.links.example." },
	{ "a.b.moved.example.", TYPE_A, ANSWER_POSITIVE, "moved.example." },
	{ "a.gone.example.", TYPE_A, ANSWER_POSITIVE, "gone.example." },
	{ "example.", TYPE_DNSKEY, ANSWER_DNSKEY, "example." },
};

static void
answers_are_of_a_kind_and_a_name(void **state)
{
	struct limited l;
	size_t ends = 0;

	(void)state;
	limited_start(&l);
	limited_go(&l);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const struct ask ask = { .qname = kinds[i].qname,
			.type = kinds[i].type, .from = "192.0.2.77" };
		const struct query_block *blocks;
		char name[NAME_TEXT_MAX] = "";
		size_t count;

		pass_time(&l);
		assert_int_equal(ask_often(&l, &ask, 2), 2);
		(void)query_blocks(l.w.ctx, &count);
		assert_int_equal(count, 0);
		assert_int_equal(ask_often(&l, &ask, 1), 0);
		blocks = query_blocks(l.w.ctx, &count);
		assert_int_equal(count, 1);
		assert_true(blocks[0].begins);
		assert_false(blocks[0].whitelisted);
		assert_int_equal(blocks[0].kind, kinds[i].kind);
		assert_int_equal(blocks[0].qtype, kinds[i].type);
		assert_int_equal(blocks[0].netblock_bits, 24);
		assert_memory_equal(blocks[0].netblock, "\300\0\2\0", 4);
		if (blocks[0].named)
			(void)name_print_text(blocks[0].name, name);
		assert_string_equal(name, kinds[i].name);
		assert_int_equal(ask_often(&l, &ask, 5), 0);
		(void)query_blocks(l.w.ctx, &count);
		assert_int_equal(count, 0);
	}
	/* An end is told with the next question. */
	pass_time(&l);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const struct ask ask = { .qname = kinds[i].qname,
			.type = kinds[i].type, .from = "192.0.2.7" };
		const struct query_block *blocks;
		size_t count;

		assert_int_equal(ask_often(&l, &ask, 1), 1);
		blocks = query_blocks(l.w.ctx, &count);
		assert_true(count <= 1);
		if (count == 1)
			assert_false(blocks[0].begins);
		ends += count;
	}
	/* Two rows are of the same subject as another, and wildcards. */
	assert_int_equal(ends, sizeof(kinds) / sizeof(*kinds) - 2);
	limited_end(&l);
}

/* Fault 76: random names do not get around a limit, nor does whoever has all of
 * a /64; other netblocks are not touched. */
static void
what_is_random_has_one_limit(void **state)
{
	struct limited l;
	unsigned whole = 0;

	(void)state;
	limited_start(&l);
	limited_go(&l);
	for (unsigned i = 0; i < 100; i++) {
		char name[64], from[32];
		struct ask ask = { .qname = name, .type = TYPE_A,
			.from = from };

		snprintf(name, sizeof(name), "x%u.example.", i);
		snprintf(from, sizeof(from), "192.0.2.%u", i);
		whole += ask_often(&l, &ask, 1);
	}
	assert_int_equal(whole, 2);
	for (unsigned i = 0; i < 100; i++) {
		char from[64];
		struct ask ask = { .qname = "y.example.", .type = TYPE_A,
			.from = from };

		snprintf(from, sizeof(from), "2001:db8::%x:%x:%x:%x", i * 655,
			i, i * 99, i);
		whole += ask_often(&l, &ask, 1);
	}
	assert_int_equal(whole, 4);
	for (unsigned i = 0; i < 100; i++) {
		char from[64];
		struct ask ask = { .qname = "y.example.", .type = TYPE_A,
			.from = from };

		snprintf(from, sizeof(from), "2001:db8:0:%x::1", i + 1);
		whole += ask_often(&l, &ask, 1);
	}
	assert_int_equal(whole, 104);
	limited_end(&l);
}

/* Names with one common answer, by a wildcard or a DNAME, share a limit. */
static void
what_stands_for_any_name_has_one_limit(void **state)
{
	static const struct {
		const char *format;
		uint16_t type;
	} rows[] = {
		{ "x%u.wild.example.", TYPE_A },
		{ "x%u.wild.example.", TYPE_ANY },
		{ "x%u.wild.example.", TYPE_RRSIG },
		{ "x%u.links.example.", TYPE_A },
		{ "x%u.moved.example.", TYPE_A },
		{ "x%u.moved.example.", TYPE_ANY },
		{ "x%u.gone.example.", TYPE_A },
	};
	struct limited l;

	(void)state;
	limited_start(&l);
	limited_go(&l);
	for (size_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
		unsigned whole = 0;

		pass_time(&l);
		for (unsigned i = 0; i < 100; i++) {
			char name[64];
			struct ask ask = { .qname = name,
				.type = rows[row].type, .from = "192.0.2.1" };

			snprintf(name, sizeof(name), rows[row].format, i);
			whole += ask_often(&l, &ask, 1);
		}
		assert_int_equal(whole, 2);
	}
	limited_end(&l);
}

/* Asks one question from each of so many networks; returns how many are
 * answered in full. */
static unsigned
ask_from_each(struct limited *l, const char *format, unsigned networks)
{
	unsigned whole = 0;

	for (unsigned i = 0; i < networks; i++) {
		char from[64];
		struct ask ask = { .qname = "y.example.", .type = TYPE_A,
			.from = from };

		snprintf(from, sizeof(from), format, i);
		whole += ask_often(l, &ask, 1);
	}
	return whole;
}

/* A client that spreads over many netblocks is limited by the wider ones. */
static void
wider_netblocks_have_limits_of_their_own(void **state)
{
	const struct ask one = { .qname = "y.example.", .type = TYPE_A,
		.from = "198.51.100.1" };
	const struct query_block *blocks;
	struct limited l;
	size_t count;

	(void)state;
	limited_start(&l);
	l.w.options.rrl_ip4 = (struct settings_netblocks){3,
		{{24, 1}, {20, 4}, {18, 8}}};
	l.w.options.rrl_ip6 = (struct settings_netblocks){2,
		{{64, 1}, {48, 3}}};
	limited_go(&l);
	/* At once, twice the limit: of a /20 8, of a /18 16. */
	assert_int_equal(ask_from_each(&l, "192.0.%u.1", 8), 8);
	assert_int_equal(ask_from_each(&l, "192.0.%u.2", 1), 0);
	blocks = query_blocks(l.w.ctx, &count);
	assert_int_equal(count, 1);
	assert_true(blocks[0].begins);
	assert_int_equal(blocks[0].netblock_bits, 20);
	assert_memory_equal(blocks[0].netblock, "\300\0\0\0", 4);
	assert_int_equal(ask_from_each(&l, "192.0.%u.3", 16), 0);
	assert_int_equal(ask_from_each(&l, "192.0.%u.1", 64), 8);
	/* Another /18 is not touched. */
	assert_int_equal(ask_from_each(&l, "192.0.6%u.1", 4), 0);
	assert_int_equal(ask_from_each(&l, "192.0.64.%u", 1), 1);
	assert_int_equal(ask_from_each(&l, "2001:db8:0:%x::1", 100), 6);
	assert_int_equal(ask_from_each(&l, "2001:db8:1:%x::1", 1), 1);
	/* Queries denied to a netblock do not count for wider ones. */
	assert_int_equal(ask_often(&l, &one, 100), 2);
	assert_int_equal(ask_from_each(&l, "198.51.10%u.1", 5), 4);
	limited_end(&l);
}

static void
the_highest_factor_limits_nothing(void **state)
{
	const struct ask one = { .qname = "y.example.", .type = TYPE_A,
		.from = "198.51.100.1" };
	struct limited l;

	(void)state;
	limited_start(&l);
	l.w.options.rrl_ratelimit = 0x80000000u;
	l.w.options.rrl_ip4 = (struct settings_netblocks){2,
		{{24, 1}, {20, UINT32_MAX}}};
	limited_go(&l);
	assert_int_equal(ask_often(&l, &one, 1000), 1000);
	limited_end(&l);
}

/* ---- limited replies ----------------------------------------------------- */

static void
slip_says_how_many_are_cut_short(void **state)
{
	static const struct ask ask = { .qname = "example.", .type = TYPE_SOA,
		.edns = true, .size = 1232 };
	static const struct {
		uint32_t slip;
		unsigned least, most; /* of 1000 */
	} rows[] = {
		{ 0, 0, 0 }, { 1, 1000, 1000 }, { 2, 430, 570 },
		{ 10, 60, 150 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct limited l;
		unsigned cut = 0;

		limited_start(&l);
		l.w.options.rrl_slip = rows[i].slip;
		limited_go(&l);
		assert_int_equal(ask_often(&l, &ask, 2), 2);
		for (unsigned n = 0; n < 1000; n++) {
			struct raw raw;

			raw_init(&raw, &ask);
			raw_send(&l.w, &raw);
			if (raw.parts.len == 0)
				continue;
			cut++;
			assert_int_equal(raw.parts.len, 12 + 9 + 4 + 11);
			assert_int_equal(raw.parts.flags, 0x8600);
			assert_true(raw.parts.has_question);
			assert_true(raw.parts.opt.present);
		}
		assert_in_range(cut, rows[i].least, rows[i].most);
		assert_int_equal(l.w.counters.dropped, 1000 - cut);
		assert_int_equal(l.w.counters.truncated, cut);
		limited_end(&l);
	}
}

/* A truncated reply must not amplify: it has a cookie and no other option. */
static void
what_is_cut_short_has_a_cookie_alone(void **state)
{
	static const uint8_t long_nsid[200], agent[] = "\5agent\7example";
	static const uint8_t options[] = {0, EDNS_NSID, 0, 0,
		0, EDNS_EXPIRE, 0, 0, 0, EDNS_ZONEVERSION, 0, 0,
		0, EDNS_COOKIE, 0, 8, 'c', 'l', 'i', 'e', 'n', 't', '_', '_'};
	const struct ask ask = { .qname = "example.", .type = TYPE_SOA,
		.edns = true, .size = 1232, .options = options,
		.options_len = sizeof(options) };
	struct limited l;
	struct raw raw;
	uint16_t len;

	(void)state;
	limited_start(&l);
	l.w.options.nsid = long_nsid;
	l.w.options.nsid_len = sizeof(long_nsid);
	l.w.options.report_channel = agent;
	limited_go(&l);
	for (unsigned i = 0; i < 3; i++) {
		raw_init(&raw, &ask);
		raw_send(&l.w, &raw);
		assert_non_null(reply_option(&raw.parts, EDNS_COOKIE, &len));
		if (i < 2)
			assert_true(raw.parts.len > sizeof(long_nsid));
	}
	assert_int_equal(raw.parts.len, 12 + 9 + 4 + 11 + 4 + COOKIE_LEN);
	assert_int_equal(raw.parts.flags, 0x8600);
	limited_end(&l);
}

static void
streams_are_not_limited(void **state)
{
	static const struct ask ask = { .qname = "example.", .type = TYPE_SOA,
		.transport = TRANSPORT_TCP };
	struct limited l;

	(void)state;
	limited_start(&l);
	limited_go(&l);
	assert_int_equal(ask_often(&l, &ask, 10), 10);
	limited_end(&l);
}

static void
nothing_is_limited_without_a_rate(void **state)
{
	static const struct ask ask = { .qname = "example.",
		.type = TYPE_SOA };
	struct limited l;

	(void)state;
	limited_start(&l);
	l.w.options.rrl_ratelimit = 0;
	l.w.options.rrl_whitelist_ratelimit = 1;
	limited_go(&l);
	assert_int_equal(ask_often(&l, &ask, 10), 10);
	limited_end(&l);
}

/* ---- cookies ------------------------------------------------------------- */

/* Asks with a cookie; the one that comes back. */
static void
ask_cookie(struct limited *l, const uint8_t *cookie, uint8_t len,
	uint8_t back[COOKIE_LEN])
{
	uint8_t option[4 + 40] = { 0, EDNS_COOKIE, 0, len };
	const struct ask ask = { .qname = "example.", .type = TYPE_SOA,
		.edns = true, .options = option, .options_len = 4u + len };
	struct reply_parts *p;
	uint16_t got;
	const uint8_t *data;

	memcpy(option + 4, cookie, len);
	pass_time(l);
	p = ask_with(&l->w, &ask);
	expect_rcode(p, RCODE_NOERROR);
	data = reply_option(p, EDNS_COOKIE, &got);
	assert_non_null(data);
	assert_int_equal(got, COOKIE_LEN);
	assert_memory_equal(data, cookie, COOKIE_CLIENT_LEN);
	memcpy(back, data, COOKIE_LEN);
	done(p);
}

static enum cookie_state
worth(const uint8_t cookie[COOKIE_LEN])
{
	struct sockaddr_storage client = { .ss_family = AF_INET };

	((struct sockaddr_in *)&client)->sin_addr.s_addr =
		htonl(INADDR_LOOPBACK);
	return cookie_check(&secrets, cookie, COOKIE_LEN, &client, NOW_SEC);
}

static void
cookies_come_back(void **state)
{
	static const struct cookie_secrets others = { 2,
		{ "sixteen octets B", "sixteen octets A" } };
	uint8_t first[COOKIE_LEN], again[COOKIE_LEN];
	uint8_t foreign[40] = "client__0123456789";
	struct limited l;

	(void)state;
	limited_start(&l);
	limited_go(&l);
	ask_cookie(&l, (const uint8_t *)"client__", 8, first);
	assert_int_equal(worth(first), COOKIE_GOOD);
	ask_cookie(&l, first, COOKIE_LEN, again);
	assert_memory_equal(first, again, COOKIE_LEN);
	/* A cookie of another server is answered with one of ours. */
	for (uint8_t len = 16; len <= 40; len++) {
		ask_cookie(&l, foreign, len, again);
		assert_int_equal(worth(again), COOKIE_GOOD);
	}
	/* Half an hour later there is another one. */
	query_set_time(l.w.ctx, NOW_SEC + 1801, 0);
	ask_cookie(&l, first, COOKIE_LEN, again);
	assert_memory_not_equal(first, again, COOKIE_LEN);
	/* New secrets count at once; a cookie of the old one is bad. */
	query_set_time(l.w.ctx, NOW_SEC, 0);
	cookie_share_write(&l.share, &others);
	ask_cookie(&l, first, COOKIE_LEN, again);
	assert_int_equal(worth(again), COOKIE_BAD);
	limited_end(&l);
}

static void
a_client_with_a_cookie_is_not_limited(void **state)
{
	uint8_t option[4 + COOKIE_LEN] = { 0, EDNS_COOKIE, 0, COOKIE_LEN };
	const struct ask ask = { .qname = "example.", .type = TYPE_SOA,
		.edns = true, .options = option,
		.options_len = sizeof(option) };
	struct limited l;

	(void)state;
	limited_start(&l);
	limited_go(&l);
	ask_cookie(&l, (const uint8_t *)"client__", 8, option + 4);
	pass_time(&l);
	assert_int_equal(ask_often(&l, &ask, 10), 10);
	option[4 + COOKIE_LEN - 1] ^= 1;
	assert_int_equal(ask_often(&l, &ask, 10), 2);
	limited_end(&l);
}

static void
there_are_no_cookies_without_the_option(void **state)
{
	static const struct ask ask = { .qname = "example.", .type = TYPE_SOA,
		.edns = true, .options = "\0\12\0\10client__",
		.options_len = 12 };

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct limited l;
		struct reply_parts *p;
		uint16_t len;

		limited_start(&l);
		if (i == 0)
			l.w.options.answer_cookie = false;
		else if (i == 1)
			l.w.query_options.cookies = NULL;
		else
			l.share = (struct cookie_share){0};
		limited_go(&l);
		p = ask_with(&l.w, &ask);
		expect_rcode(p, RCODE_NOERROR);
		assert_true(p->opt.present);
		assert_null(reply_option(p, EDNS_COOKIE, &len));
		done(p);
		limited_end(&l);
	}
}

/* RFC 7873 section 5.4 */
static void
a_cookie_may_be_all_that_is_asked(void **state)
{
	uint8_t opt[] = "\0\0\51\4\320\0\0\0\0\0\34\0\12\0\30"
		"client__0123456789abcdef";
	static const uint8_t first[] = "\0\0\51\4\320\0\0\0\0\0\14\0\12\0\10"
		"client__";
	struct limited l;
	struct raw raw;
	uint16_t len;

	(void)state;
	limited_start(&l);
	limited_go(&l);
	for (unsigned i = 0; i < 3; i++) {
		const uint8_t *what = i == 0 ? first : opt;

		raw_init(&raw, &plain);
		raw.len = 12 + (i == 0 ? sizeof(first) : sizeof(opt)) - 1;
		memcpy(raw.request + 12, what, raw.len - 12);
		raw.request[5] = 0;
		raw.request[11] = 1;
		pass_time(&l);
		raw_send(&l.w, &raw);
		assert_false(raw.parts.has_question);
		assert_int_equal(raw.parts.rcode,
			i == 1 ? RCODE_BADCOOKIE : RCODE_NOERROR);
		assert_non_null(reply_option(&raw.parts, EDNS_COOKIE, &len));
		memcpy(opt + 15, reply_option(&raw.parts, EDNS_COOKIE, &len),
			COOKIE_LEN);
		if (i == 0) /* not ours */
			opt[sizeof(opt) - 2] ^= 1;
		/* Of the opcode QUERY alone. */
		raw.request[2] = OPCODE_NOTIFY << 3;
		raw_send(&l.w, &raw);
		assert_int_equal(raw.parts.rcode, RCODE_FORMERR);
		assert_null(reply_option(&raw.parts, EDNS_COOKIE, &len));
	}
	limited_end(&l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_of_a_kind_and_a_name),
		cmocka_unit_test(what_is_random_has_one_limit),
		cmocka_unit_test(what_stands_for_any_name_has_one_limit),
		cmocka_unit_test(wider_netblocks_have_limits_of_their_own),
		cmocka_unit_test(the_highest_factor_limits_nothing),
		cmocka_unit_test(slip_says_how_many_are_cut_short),
		cmocka_unit_test(what_is_cut_short_has_a_cookie_alone),
		cmocka_unit_test(streams_are_not_limited),
		cmocka_unit_test(nothing_is_limited_without_a_rate),
		cmocka_unit_test(cookies_come_back),
		cmocka_unit_test(a_client_with_a_cookie_is_not_limited),
		cmocka_unit_test(there_are_no_cookies_without_the_option),
		cmocka_unit_test(a_cookie_may_be_all_that_is_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
