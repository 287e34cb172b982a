/*
 * test_tsig.c - MACs as dnspython computes them, in chains of messages; what is
 * altered, late or cut is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dns/rrtype.h"
#include "dns/tsig.h"

#define NOW 1700000000u
#define ROOM 1024u

static const uint8_t key_name[] = "\003key\007example";

/* A question for www.example. A, and an answer to it without its last octet. */
static const uint8_t question[] =
	"\x12\x34\0\0\0\1\0\0\0\0\0\0\003www\007example\0\0\1\0\1";
static const uint8_t reply[] =
	"\x12\x34\x80\0\0\1\0\1\0\0\0\0\003www\007example\0\0\1\0\1"
	"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc0\0\2";

#define QUESTION_LEN (sizeof(question) - 1)
#define REPLY_LEN sizeof(reply)

struct message {
	uint8_t octets[ROOM];
	size_t len;
};

/* A side of an exchange: a key with a MAC of its own, and the chain. */
struct side {
	struct tsig_key key;
	struct tsig_chain chain;
};

static void
side_init(struct side *side, enum mac_kind kind)
{
	uint8_t secret[32];

	for (unsigned i = 0; i < sizeof(secret); i++)
		secret[i] = (uint8_t)(i + 1);
	memset(side, 0, sizeof(*side));
	memcpy(side->key.name, key_name, sizeof(key_name));
	side->key.kind = kind;
	assert_int_equal(mac_create(kind, secret, sizeof(secret),
		&side->key.mac), NSD_OK);
	tsig_begin(&side->chain, &side->key);
}

static void
side_fini(struct side *side)
{
	mac_destroy(side->key.mac);
}

static struct message
make_question(void)
{
	struct message m = {.len = QUESTION_LEN};

	memcpy(m.octets, question, QUESTION_LEN);
	return m;
}

static struct message
make_reply(uint8_t last)
{
	struct message m = {.len = REPLY_LEN};

	memcpy(m.octets, reply, REPLY_LEN - 1);
	m.octets[REPLY_LEN - 1] = last;
	return m;
}

static void
sign_at(struct side *side, struct message *m, uint64_t time)
{
	const struct tsig_stamp stamp = {time, TSIG_FUDGE_SEC, RCODE_NOERROR,
		0};
	size_t before = m->len;

	assert_int_equal(tsig_sign(&side->chain, m->octets, &m->len, ROOM,
		&stamp), NSD_OK);
	assert_true(m->len - before <= tsig_len(&side->key));
}

/* Checks a copy of just that size, so that a sanitizer sees an over-read. */
static enum rcode
check_at(struct side *side, const struct message *m, size_t at, uint64_t now)
{
	uint8_t *copy = malloc(m->len);
	struct tsig tsig;
	enum rcode rcode = RCODE_FORMERR;

	assert_non_null(copy);
	memcpy(copy, m->octets, m->len);
	if (tsig_read(copy, m->len, at, &tsig) == NSD_OK)
		rcode = tsig_check(&side->chain, copy, &tsig, now);
	free(copy);
	return rcode;
}

static void
expect_mac(const struct message *m, size_t at, const char *hex)
{
	struct tsig tsig;
	char text[2 * MAC_LEN_MAX + 1] = "";

	assert_int_equal(tsig_read(m->octets, m->len, at, &tsig), NSD_OK);
	for (unsigned i = 0; i < tsig.mac_len; i++)
		snprintf(text + 2 * (size_t)i, 3, "%02x", tsig.mac[i]);
	assert_string_equal(text, hex);
}

/* RFC 8945 section 4.3.3 */
static void
requests_are_signed_as_dnspython_does(void **state)
{
	static const char *const macs[] = {
		[MAC_HMAC_MD5] = "5b5a474ea638f1ea89c492b29c07a273",
		[MAC_HMAC_SHA1] = "e4aa1d0611ee0df8dc4c41fbe80a4c02e21da34f",
		[MAC_HMAC_SHA224] = "5cceb1c980aa02d028bcc19a18f29eaab10eb063"
			"68a6a8202422d890",
		[MAC_HMAC_SHA256] = "1b227788b8146ef449211a423794333bae71c76b"
			"b666d6b50ab1c59208206b94",
		[MAC_HMAC_SHA384] = "6a0d7a571e04685c1bcdccd90dd91a0a52726eb4"
			"5bb4dd023e2e21f9316ea5042d90de9df2e22442b53fb13061a6"
			"edc0",
		[MAC_HMAC_SHA512] = "556f80998bd435c325d5e3cf2321ce5ad7f5dc36"
			"b115c7a6a4b6028ca467ee29b9bd488744f799bb76100c6806eb"
			"2086fecc743df1a59c864eb3b5b6a3bb1e51",
	};

	for (unsigned kind = 0; kind < MAC_KIND_COUNT; kind++) {
		struct side client, server;
		struct message m = make_question();

		side_init(&client, (enum mac_kind)kind);
		side_init(&server, (enum mac_kind)kind);
		sign_at(&client, &m, NOW);
		expect_mac(&m, QUESTION_LEN, macs[kind]);
		assert_int_equal(message_get_count(m.octets, MESSAGE_ARCOUNT),
			1);
		assert_int_equal(check_at(&server, &m, QUESTION_LEN, NOW),
			RCODE_NOERROR);
		side_fini(&client);
		side_fini(&server);
	}
}

/* Three answers, each signed; then two of which the first is not: RFC 8945
 * section 5.3.1. */
static void
answers_are_chained_as_dnspython_does(void **state)
{
	static const char *const macs[] = {
		"08783549b1cd1f87c3fd77a1b58a40dd40ee019529d15ee054dfdea44ae0"
		"820e",
		"0fcb8e26431283560138003834e140b1464b55d683d282806ed14d520809"
		"887e",
		"166e2b6dc15002a421bebf807e0f6f508586c96d743ff5042d67f514a8b2"
		"de2f",
	};
	struct side client, server;
	struct message m = make_question();

	side_init(&client, MAC_HMAC_SHA256);
	side_init(&server, MAC_HMAC_SHA256);
	sign_at(&client, &m, NOW);
	assert_int_equal(check_at(&server, &m, QUESTION_LEN, NOW),
		RCODE_NOERROR);
	for (uint8_t i = 0; i < 3; i++) {
		m = make_reply(i);
		sign_at(&server, &m, NOW);
		expect_mac(&m, REPLY_LEN, macs[i]);
		assert_int_equal(check_at(&client, &m, REPLY_LEN, NOW),
			RCODE_NOERROR);
	}
	side_fini(&client);
	side_fini(&server);
}

static void
answers_between_count_with_the_next_that_is_signed(void **state)
{
	struct side client, server;
	struct message m = make_question(), between = make_reply(1);

	side_init(&client, MAC_HMAC_SHA256);
	side_init(&server, MAC_HMAC_SHA256);
	sign_at(&client, &m, NOW);
	assert_int_equal(check_at(&server, &m, QUESTION_LEN, NOW),
		RCODE_NOERROR);
	/* The first has to be signed. */
	assert_int_equal(tsig_skip(&client.chain, between.octets,
		between.len), NSD_E_PEER);
	m = make_reply(0);
	sign_at(&server, &m, NOW);
	assert_int_equal(check_at(&client, &m, REPLY_LEN, NOW),
		RCODE_NOERROR);
	assert_int_equal(tsig_skip(&server.chain, between.octets,
		between.len), NSD_OK);
	m = make_reply(2);
	sign_at(&server, &m, NOW + 5);
	expect_mac(&m, REPLY_LEN, "a6b0bc573be00f43aaa996ec0aae14d853ca"
		"99bddf7f2b39c7430c63c5321131");
	assert_int_equal(tsig_skip(&client.chain, between.octets,
		between.len), NSD_OK);
	assert_int_equal(check_at(&client, &m, REPLY_LEN, NOW + 5),
		RCODE_NOERROR);
	for (unsigned i = 0; i < TSIG_UNSIGNED_MAX; i++)
		assert_int_equal(tsig_skip(&client.chain, between.octets,
			between.len), NSD_OK);
	assert_int_equal(tsig_skip(&client.chain, between.octets,
		between.len), NSD_E_PEER);
	side_fini(&client);
	side_fini(&server);
}

/* An unsigned message of a chain is left out, altered, or repeated. */
static void
answers_between_cannot_be_forged(void **state)
{
	for (unsigned kind = 0; kind < 3; kind++) {
		struct side client, server;
		struct message m = make_question(), a = make_reply(0),
			b = make_reply(1), c = make_reply(2);

		side_init(&client, MAC_HMAC_SHA256);
		side_init(&server, MAC_HMAC_SHA256);
		sign_at(&client, &m, NOW);
		assert_int_equal(check_at(&server, &m, QUESTION_LEN, NOW),
			RCODE_NOERROR);
		sign_at(&server, &a, NOW);
		assert_int_equal(check_at(&client, &a, REPLY_LEN, NOW),
			RCODE_NOERROR);
		assert_int_equal(tsig_skip(&server.chain, b.octets, b.len),
			NSD_OK);
		sign_at(&server, &c, NOW);
		if (kind == 1)
			b.octets[REPLY_LEN - 1] ^= 1;
		for (unsigned i = 0; i < kind; i++)
			assert_int_equal(tsig_skip(&client.chain, b.octets,
				b.len), NSD_OK);
		assert_int_equal(check_at(&client, &c, REPLY_LEN, NOW),
			RCODE_BADSIG);
		side_fini(&client);
		side_fini(&server);
	}
}

static void
any_altered_octet_is_refused(void **state)
{
	struct side client, server;
	struct message m = make_question();

	side_init(&client, MAC_HMAC_SHA224);
	side_init(&server, MAC_HMAC_SHA224);
	sign_at(&client, &m, NOW);
	for (size_t i = 0; i < m.len; i++) {
		struct message altered = m;

		/* Letter case of the key's and the algorithm's names is no
		 * part of them, and the ID that travels is not signed. */
		altered.octets[i] ^= i < 2 ? 0 : 0x20;
		if (altered.octets[i] == m.octets[i]
			|| (altered.octets[i] | 0x20) == (m.octets[i] | 0x20))
			altered.octets[i] = m.octets[i] ^ 1;
		tsig_begin(&server.chain, &server.key);
		if (i < 2)
			assert_int_equal(check_at(&server, &altered,
				QUESTION_LEN, NOW), RCODE_NOERROR);
		else
			assert_int_not_equal(check_at(&server, &altered,
				QUESTION_LEN, NOW), RCODE_NOERROR);
	}
	side_fini(&client);
	side_fini(&server);
}

/* RFC 8945 section 4.2 */
static void
a_message_cut_anywhere_is_no_tsig(void **state)
{
	struct side client;
	struct message m = make_question();
	struct tsig tsig;

	side_init(&client, MAC_HMAC_SHA512);
	sign_at(&client, &m, NOW);
	assert_int_equal(tsig_read(m.octets, m.len, QUESTION_LEN, &tsig),
		NSD_OK);
	for (size_t len = 0; len < m.len; len++) {
		uint8_t *copy = malloc(len + 1);

		assert_non_null(copy);
		memcpy(copy, m.octets, len);
		assert_int_equal(tsig_read(copy, len, QUESTION_LEN, &tsig),
			NSD_E_WIRE);
		free(copy);
	}
	m.octets[m.len++] = 0;
	assert_int_equal(tsig_read(m.octets, m.len, QUESTION_LEN, &tsig),
		NSD_E_WIRE);
	side_fini(&client);
}

/* RFC 8945 section 5.2.3 */
static void
times_have_to_fit(void **state)
{
	static const struct {
		int64_t late;
		enum rcode rcode;
	} rows[] = {
		{0, RCODE_NOERROR}, {300, RCODE_NOERROR}, {301, RCODE_BADTIME},
		{-300, RCODE_NOERROR}, {-301, RCODE_BADTIME},
		{(int64_t)1 << 40, RCODE_BADTIME},
		{(int64_t)1 << 48, RCODE_NOERROR}, /* 48 bits count */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct side client, server;
		struct message m = make_question();

		side_init(&client, MAC_HMAC_SHA256);
		side_init(&server, MAC_HMAC_SHA256);
		sign_at(&client, &m, NOW);
		assert_int_equal(check_at(&server, &m, QUESTION_LEN,
			(uint64_t)(NOW + rows[i].late)), rows[i].rcode);
		side_fini(&client);
		side_fini(&server);
	}
}

/* The server says its time, signed; the client's clock is wrong. */
static void
bad_times_are_answered_with_a_signature(void **state)
{
	const struct tsig_stamp stamp = {NOW, TSIG_FUDGE_SEC, RCODE_BADTIME,
		NOW + 400};
	struct side client, server;
	struct message m = make_question();
	struct tsig tsig;

	side_init(&client, MAC_HMAC_SHA256);
	side_init(&server, MAC_HMAC_SHA256);
	sign_at(&client, &m, NOW);
	assert_int_equal(check_at(&server, &m, QUESTION_LEN, NOW + 400),
		RCODE_BADTIME);
	m = make_question();
	m.octets[MESSAGE_FLAGS] = 0x80;
	assert_int_equal(tsig_sign(&server.chain, m.octets, &m.len, ROOM,
		&stamp), NSD_OK);
	expect_mac(&m, QUESTION_LEN, "08bb0eafa1fe68d26469d26566c1bbf165db1db7"
		"1ad0a5e62c1c719f89fb3c85");
	assert_int_equal(check_at(&client, &m, QUESTION_LEN, NOW),
		RCODE_NOERROR);
	assert_int_equal(tsig_read(m.octets, m.len, QUESTION_LEN, &tsig),
		NSD_OK);
	assert_int_equal(tsig.error, RCODE_BADTIME);
	assert_int_equal(tsig.other_len, 6);
	assert_int_equal(octets_get_u32(tsig.other + 2), NOW + 400);
	side_fini(&client);
	side_fini(&server);
}

/* An older message of the same chain is not taken as a later one. */
static void
times_of_a_chain_do_not_go_back(void **state)
{
	struct side client, server;
	struct message m = make_question();

	side_init(&client, MAC_HMAC_SHA256);
	side_init(&server, MAC_HMAC_SHA256);
	sign_at(&client, &m, NOW);
	assert_int_equal(check_at(&server, &m, QUESTION_LEN, NOW),
		RCODE_NOERROR);
	for (unsigned i = 0; i < 2; i++) {
		m = make_reply(0);
		sign_at(&server, &m, NOW + 1 - i);
		assert_int_equal(check_at(&client, &m, REPLY_LEN, NOW),
			i == 0 ? RCODE_NOERROR : RCODE_BADTIME);
	}
	side_fini(&client);
	side_fini(&server);
}

/* Gives the record of a message a MAC of another length. */
static void
cut_mac(struct message *m, size_t at, size_t len)
{
	struct tsig tsig;
	size_t mac_at, less;

	assert_int_equal(tsig_read(m->octets, m->len, at, &tsig), NSD_OK);
	mac_at = (size_t)(tsig.mac - m->octets);
	less = tsig.mac_len - len;
	octets_put_u16(m->octets + mac_at - 2, (uint16_t)len);
	memmove(m->octets + mac_at + len, m->octets + mac_at + tsig.mac_len,
		m->len - mac_at - tsig.mac_len);
	m->len -= less;
	at += name_len(key_name) + 8;
	octets_put_u16(m->octets + at,
		(uint16_t)(octets_get_u16(m->octets + at) - less));
}

/* RFC 8945 section 5.2.2.1 */
static void
macs_may_be_cut_to_half(void **state)
{
	static const struct {
		enum mac_kind kind;
		size_t len;
		enum rcode rcode;
	} rows[] = {
		{MAC_HMAC_SHA256, 16, RCODE_NOERROR},
		{MAC_HMAC_SHA256, 31, RCODE_NOERROR},
		{MAC_HMAC_SHA256, 15, RCODE_FORMERR},
		{MAC_HMAC_SHA256, 0, RCODE_FORMERR},
		{MAC_HMAC_MD5, 10, RCODE_NOERROR},
		{MAC_HMAC_MD5, 9, RCODE_FORMERR},
		{MAC_HMAC_SHA1, 10, RCODE_NOERROR},
		{MAC_HMAC_SHA512, 31, RCODE_FORMERR},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct side client, server;
		struct message m = make_question();

		side_init(&client, rows[i].kind);
		side_init(&server, rows[i].kind);
		sign_at(&client, &m, NOW);
		cut_mac(&m, QUESTION_LEN, rows[i].len);
		assert_int_equal(check_at(&server, &m, QUESTION_LEN, NOW),
			rows[i].rcode);
		side_fini(&client);
		side_fini(&server);
	}
}

/* RFC 8945 section 5.2.1 */
static void
other_keys_are_refused(void **state)
{
	struct side client, server;
	struct message m = make_question();

	side_init(&client, MAC_HMAC_SHA256);
	sign_at(&client, &m, NOW);
	side_init(&server, MAC_HMAC_SHA1);
	assert_int_equal(check_at(&server, &m, QUESTION_LEN, NOW),
		RCODE_BADKEY);
	side_fini(&server);
	side_init(&server, MAC_HMAC_SHA256);
	server.key.name[1] = 'x';
	assert_int_equal(check_at(&server, &m, QUESTION_LEN, NOW),
		RCODE_BADKEY);
	side_fini(&server);
	side_fini(&client);
}

/* RFC 8945 section 5.2 */
static void
refusals_carry_no_mac(void **state)
{
	struct side client;
	struct message m = make_question(), answer = make_question();
	struct tsig tsig;

	side_init(&client, MAC_HMAC_SHA256);
	sign_at(&client, &m, NOW);
	assert_int_equal(tsig_read(m.octets, m.len, QUESTION_LEN, &tsig),
		NSD_OK);
	assert_int_equal(tsig_refuse(&tsig, RCODE_BADSIG, answer.octets,
		&answer.len, QUESTION_LEN + 10), NSD_E_LIMIT);
	assert_int_equal(answer.len, QUESTION_LEN);
	assert_int_equal(tsig_refuse(&tsig, RCODE_BADSIG, answer.octets,
		&answer.len, ROOM), NSD_OK);
	assert_int_equal(tsig_read(answer.octets, answer.len, QUESTION_LEN,
		&tsig), NSD_OK);
	assert_int_equal(tsig.mac_len, 0);
	assert_int_equal(tsig.error, RCODE_BADSIG);
	assert_int_equal(tsig.original_id, 0x1234);
	assert_int_equal(tsig.time_sec, NOW);
	side_fini(&client);
}

static void
a_message_without_room_stays_as_it_is(void **state)
{
	const struct tsig_stamp stamp = {NOW, TSIG_FUDGE_SEC, RCODE_NOERROR,
		0};
	struct side client;
	struct message m = make_question();
	size_t len;

	side_init(&client, MAC_HMAC_SHA256);
	sign_at(&client, &m, NOW);
	len = m.len;
	m = make_question();
	tsig_begin(&client.chain, &client.key);
	assert_int_equal(tsig_sign(&client.chain, m.octets, &m.len, len - 1,
		&stamp), NSD_E_LIMIT);
	assert_int_equal(m.len, QUESTION_LEN);
	assert_memory_equal(m.octets, question, QUESTION_LEN);
	tsig_begin(&client.chain, &client.key);
	assert_int_equal(tsig_sign(&client.chain, m.octets, &m.len, len,
		&stamp), NSD_OK);
	side_fini(&client);
}

static void
algorithms_have_names(void **state)
{
	enum mac_kind kind;

	for (unsigned i = 0; i < MAC_KIND_COUNT; i++) {
		assert_true(tsig_find_algorithm(
			tsig_algorithm_name((enum mac_kind)i), &kind));
		assert_int_equal(kind, i);
	}
	assert_true(tsig_find_algorithm(
		(const uint8_t *)"\013HMAC-sha256", &kind));
	assert_int_equal(kind, MAC_HMAC_SHA256);
	assert_false(tsig_find_algorithm((const uint8_t *)"\010hmac-md5",
		&kind));
	assert_null(tsig_algorithm_name(MAC_KIND_COUNT));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_signed_as_dnspython_does),
		cmocka_unit_test(answers_are_chained_as_dnspython_does),
		cmocka_unit_test(
			answers_between_count_with_the_next_that_is_signed),
		cmocka_unit_test(answers_between_cannot_be_forged),
		cmocka_unit_test(any_altered_octet_is_refused),
		cmocka_unit_test(a_message_cut_anywhere_is_no_tsig),
		cmocka_unit_test(times_have_to_fit),
		cmocka_unit_test(bad_times_are_answered_with_a_signature),
		cmocka_unit_test(times_of_a_chain_do_not_go_back),
		cmocka_unit_test(macs_may_be_cut_to_half),
		cmocka_unit_test(other_keys_are_refused),
		cmocka_unit_test(refusals_carry_no_mac),
		cmocka_unit_test(a_message_without_room_stays_as_it_is),
		cmocka_unit_test(algorithms_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
