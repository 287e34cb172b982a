/*
 * test_request.c - requests octet by octet, and the replies to SOA and NOTIFY.
 */
#include "script.h"

#include "xfr/request.h"

#define NOW 1700000000u

static const uint8_t soa[] = "\002ns\001z\0\004host\001z\0\0\0\0\007"
	"\0\0\0\002\0\0\0\003\0\0\0\004\0\0\0\005";
#define SOA_LEN (sizeof(soa) - 1)

/* Expects the request to be just these octets. */
static void
expect_written(const struct xfr_ask *ask, const void *octets, size_t len)
{
	uint8_t out[XFR_ASK_MAX];
	size_t out_len;

	assert_int_equal(xfr_ask_write(ask, NOW, out, &out_len), NSD_OK);
	assert_int_equal(out_len, len);
	assert_memory_equal(out, octets, len);
}

#define EXPECT(ask, octets) expect_written(ask, octets, sizeof(octets) - 1)
#define HEAD(flags, counts) "\x12\x34" flags counts "\001z\0"

static void
requests_have_these_octets(void **state)
{
	struct xfr_ask ask = {.id = SCRIPT_ID, .apex = SCRIPT_APEX};

	EXPECT(&ask, HEAD("\0\0", "\0\1\0\0\0\0\0\0") "\0\6\0\1");
	ask.udp_size = 1232;
	EXPECT(&ask, HEAD("\0\0", "\0\1\0\0\0\0\0\1") "\0\6\0\1"
		"\0\0\x29\x04\xd0\0\0\0\0\0\0");
	/* RFC 7314 section 2 */
	ask.wants_expire = true;
	EXPECT(&ask, HEAD("\0\0", "\0\1\0\0\0\0\0\1") "\0\6\0\1"
		"\0\0\x29\x04\xd0\0\0\0\0\0\4\0\x09\0\0");
	ask.udp_size = 0;
	ask.wants_expire = false;
	ask.asking = XFR_ASK_AXFR;
	EXPECT(&ask, HEAD("\0\0", "\0\1\0\0\0\0\0\0") "\0\xfc\0\1");
	/* RFC 1995 section 3 */
	ask.asking = XFR_ASK_IXFR;
	ask.serial = 7;
	EXPECT(&ask, HEAD("\0\0", "\0\1\0\0\0\1\0\0") "\0\xfb\0\1"
		"\xc0\x0c\0\6\0\1\0\0\0\0\0\x16\0\0\0\0\0\7"
		"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
	ask.soa = soa;
	ask.soa_len = SOA_LEN;
	ask.soa_ttl_sec = 60;
	EXPECT(&ask, HEAD("\0\0", "\0\1\0\0\0\1\0\0") "\0\xfb\0\1"
		"\xc0\x0c\0\6\0\1\0\0\0\x3c\0\x22"
		"\002ns\001z\0\004host\001z\0\0\0\0\007"
		"\0\0\0\002\0\0\0\003\0\0\0\004\0\0\0\005");
	/* RFC 1996 section 3 */
	ask.asking = XFR_TELL_NOTIFY;
	EXPECT(&ask, HEAD("\x24\0", "\0\1\0\1\0\0\0\0") "\0\6\0\1"
		"\xc0\x0c\0\6\0\1\0\0\0\x3c\0\x22"
		"\002ns\001z\0\004host\001z\0\0\0\0\007"
		"\0\0\0\002\0\0\0\003\0\0\0\004\0\0\0\005");
	ask.soa = NULL;
	EXPECT(&ask, HEAD("\x24\0", "\0\1\0\0\0\0\0\0") "\0\6\0\1");
}

/* The longest of all: names of 255 octets, EDNS, and the longest MAC. */
static void
longest_request_fits(void **state)
{
	uint8_t name[NAME_MAX_LEN + 1], rdata[XFR_SOA_RDATA_MAX] = {0};
	uint8_t out[XFR_ASK_MAX];
	struct tsig_key key = {.kind = MAC_HMAC_SHA512};
	struct tsig_chain chain;
	struct xfr_ask ask = {
		.asking = XFR_ASK_IXFR,
		.apex = name,
		.soa = rdata,
		.soa_len = sizeof(rdata),
		.udp_size = 1232,
		.wants_expire = true,
		.chain = &chain,
	};
	struct tsig tsig;
	size_t len;

	memset(name, 'a', sizeof(name));
	name[0] = name[64] = name[128] = 63;
	name[192] = 61;
	name[254] = 0;
	assert_int_equal(name_len(name), NAME_MAX_LEN);
	memcpy(rdata, name, NAME_MAX_LEN);
	memcpy(rdata + NAME_MAX_LEN, name, NAME_MAX_LEN);
	memcpy(key.name, name, NAME_MAX_LEN);
	assert_int_equal(mac_create(key.kind, (const uint8_t *)"k", 1,
		&key.mac), NSD_OK);
	tsig_begin(&chain, &key);
	assert_int_equal(xfr_ask_write(&ask, NOW, out, &len), NSD_OK);
	assert_true(len <= XFR_ASK_MAX);
	assert_int_equal(tsig_read(out, len, len - tsig_len(&key), &tsig),
		NSD_OK);
	tsig_begin(&chain, &key);
	assert_int_equal(tsig_check(&chain, out, &tsig, NOW), RCODE_NOERROR);
	mac_destroy(key.mac);
}

/* ---- replies ------------------------------------------------------------- */

static enum xfr_fault
read_script(const struct xfr_ask *ask, const char *script,
	struct xfr_answer *answer)
{
	struct script_message m;

	assert_true(script_next(&script, TYPE_SOA, &m));
	if (ask->asking == XFR_TELL_NOTIFY)
		m.octets[2] |= OPCODE_NOTIFY << 3;
	return xfr_answer_read(ask, m.octets, m.len, NOW, answer);
}

static void
replies_are_judged_as_the_table_says(void **state)
{
	static const struct {
		enum xfr_asking asking;
		const char *script;
		enum xfr_fault fault;
	} rows[] = {
		{XFR_ASK_SOA, "S7", XFR_FAULT_NONE},
		{XFR_ASK_SOA, "n S7 aa", XFR_FAULT_NONE},
		{XFR_ASK_SOA, "ba ca S7", XFR_FAULT_NONE},
		{XFR_ASK_SOA, "S7 trash", XFR_FAULT_NONE},
		{XFR_ASK_SOA, "ba", XFR_FAULT_NO_SOA},
		{XFR_ASK_SOA, "opt", XFR_FAULT_NO_SOA},
		{XFR_ASK_SOA, "n", XFR_FAULT_NO_SOA},
		{XFR_ASK_SOA, "s", XFR_FAULT_RDATA},
		{XFR_ASK_SOA, "s+", XFR_FAULT_RDATA},
		{XFR_ASK_SOA, "S7 cut", XFR_FAULT_MALFORMED},
		{XFR_ASK_SOA, "S7 TC", XFR_FAULT_TRUNCATED},
		{XFR_ASK_SOA, "S7 noAA", XFR_FAULT_NO_AA},
		{XFR_ASK_SOA, "S7 rcode5", XFR_FAULT_RCODE},
		{XFR_ASK_SOA, "q0 rcode5", XFR_FAULT_RCODE},
		{XFR_ASK_SOA, "S7 id", XFR_FAULT_ID},
		{XFR_ASK_SOA, "S7 noQR", XFR_FAULT_QR},
		{XFR_ASK_SOA, "S7 opcode", XFR_FAULT_OPCODE},
		{XFR_ASK_SOA, "S7 qname", XFR_FAULT_QUESTION},
		{XFR_ASK_SOA, "S7 qtype", XFR_FAULT_QUESTION},
		{XFR_ASK_SOA, "S7 qclass", XFR_FAULT_QUESTION},
		{XFR_ASK_SOA, "q0 F7", XFR_FAULT_QUESTION},
		{XFR_ASK_SOA, "S7 opt2", XFR_FAULT_MALFORMED},
		{XFR_TELL_NOTIFY, "noAA", XFR_FAULT_NONE},
		{XFR_TELL_NOTIFY, "q0", XFR_FAULT_NONE},
		{XFR_TELL_NOTIFY, "opt", XFR_FAULT_NONE},
		{XFR_TELL_NOTIFY, "q0 rcode5", XFR_FAULT_RCODE},
		{XFR_TELL_NOTIFY, "id", XFR_FAULT_ID},
		{XFR_TELL_NOTIFY, "qname", XFR_FAULT_QUESTION},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct xfr_ask ask = {.asking = rows[i].asking,
			.id = SCRIPT_ID, .apex = SCRIPT_APEX};
		struct xfr_answer answer;
		enum xfr_fault fault = read_script(&ask, rows[i].script,
			&answer);

		if (fault != rows[i].fault)
			fail_msg("%s: %s", rows[i].script,
				xfr_fault_text(fault));
		assert_int_equal(answer.has_soa, fault == XFR_FAULT_NONE
			&& ask.asking == XFR_ASK_SOA);
		if (answer.has_soa)
			assert_int_equal(answer.soa.serial, 7);
		assert_int_equal(answer.rcode, fault == XFR_FAULT_RCODE
			? RCODE_REFUSED : 0);
	}
}

static void
reply_over_tcp_may_lack_qr(void **state)
{
	const struct xfr_ask ask = {.id = SCRIPT_ID, .apex = SCRIPT_APEX,
		.is_stream = true};
	struct xfr_answer answer;

	assert_int_equal(read_script(&ask, "S7 noQR", &answer),
		XFR_FAULT_NONE);
	assert_int_equal(read_script(&ask, "S7 noQR id", &answer),
		XFR_FAULT_ID);
	assert_int_equal(read_script(&ask, "S7 noQR opcode", &answer),
		XFR_FAULT_OPCODE);
	assert_int_equal(read_script(&ask, "S7 noQR qname", &answer),
		XFR_FAULT_QUESTION);
}

/* RFC 6891 section 7: an error without an OPT. What cannot be read may be the
 * OPT, whatever comes with it. */
static void
reply_says_that_its_sender_does_no_edns(void **state)
{
	static const struct {
		const char *script;
		bool lacks_edns;
	} rows[] = {
		{"rcode1", true},
		{"q0 rcode1", true},
		{"rcode4", true},
		{"rcode1 opt", true},
		{"rcode4 opt", false},
		{"rcode5", true},
		{"rcode2", true},
		{"rcode5 opt", false},
		{"rcode2 opt", false},
		{"rcode3", false},
		{"S7", false},
	};
	const struct xfr_ask ask = {.id = SCRIPT_ID, .apex = SCRIPT_APEX};
	struct xfr_answer answer;
	enum xfr_fault fault;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		fault = read_script(&ask, rows[i].script, &answer);
		assert_int_equal(xfr_lacks_edns(fault, answer.rcode,
			answer.has_opt), rows[i].lacks_edns);
	}
	assert_true(xfr_lacks_edns(XFR_FAULT_RCODE, RCODE_BADVERS, true));
}

static void
answer_has_the_soa_and_expire(void **state)
{
	const struct xfr_ask ask = {.id = SCRIPT_ID, .apex = SCRIPT_APEX};
	struct xfr_answer answer;

	assert_int_equal(read_script(&ask, "S7 opt", &answer),
		XFR_FAULT_NONE);
	assert_int_equal(answer.soa.refresh_sec, 2);
	assert_int_equal(answer.soa.retry_sec, 3);
	assert_int_equal(answer.soa.expire_sec, 4);
	assert_int_equal(answer.soa_ttl_sec, 60);
	assert_int_equal(answer.soa_len, SOA_LEN);
	assert_memory_equal(answer.soa_rdata, soa, SOA_LEN);
	assert_true(answer.has_expire);
	assert_int_equal(answer.expire_sec, 99);
	assert_int_equal(read_script(&ask, "S7", &answer), XFR_FAULT_NONE);
	assert_false(answer.has_expire);
}

/* RFC 6891 section 6.1.3: BADVERS is in two parts. */
static void
extended_rcode_is_put_together(void **state)
{
	const struct xfr_ask ask = {.id = SCRIPT_ID, .apex = SCRIPT_APEX};
	const char *script = "opt";
	struct script_message m;
	struct xfr_answer answer;

	assert_true(script_next(&script, TYPE_SOA, &m));
	m.octets[m.len - 14] = 1;
	assert_int_equal(xfr_answer_read(&ask, m.octets, m.len, NOW, &answer),
		XFR_FAULT_RCODE);
	assert_int_equal(answer.rcode, RCODE_BADVERS);
}

/* RFC 8945 section 5.3 */
static void
replies_to_signed_requests_are_signed(void **state)
{
	static const struct tsig_stamp stamp = {NOW, TSIG_FUDGE_SEC,
		RCODE_NOERROR, 0};
	struct tsig_key key = {.name = "\003key", .kind = MAC_HMAC_SHA256};
	struct tsig_chain us, them;
	const struct xfr_ask ask = {.id = SCRIPT_ID, .apex = SCRIPT_APEX,
		.chain = &us};
	uint8_t out[XFR_ASK_MAX];
	struct xfr_answer answer;
	struct script_message m;
	struct tsig tsig;
	size_t len;

	assert_int_equal(mac_create(key.kind, (const uint8_t *)"k", 1,
		&key.mac), NSD_OK);
	for (unsigned i = 0; i < 3; i++) {
		const char *script = "S7";

		tsig_begin(&us, &key);
		tsig_begin(&them, &key);
		assert_int_equal(xfr_ask_write(&ask, NOW, out, &len), NSD_OK);
		assert_int_equal(tsig_read(out, len, 19, &tsig), NSD_OK);
		assert_int_equal(tsig_check(&them, out, &tsig, NOW),
			RCODE_NOERROR);
		assert_true(script_next(&script, TYPE_SOA, &m));
		if (i > 0)
			assert_int_equal(tsig_sign(&them, m.octets, &m.len,
				sizeof(m.octets), &stamp), NSD_OK);
		if (i > 1)
			m.octets[m.len - 7] ^= 1;
		assert_int_equal(xfr_answer_read(&ask, m.octets, m.len, NOW,
			&answer), i == 0 ? XFR_FAULT_TSIG_MISSING
			: i == 1 ? XFR_FAULT_NONE : XFR_FAULT_TSIG_WRONG);
		assert_int_equal(answer.has_soa, i == 1);
	}
	assert_int_equal(answer.rcode, RCODE_BADSIG);
	mac_destroy(key.mac);
}

/* ---- NOTIFY -------------------------------------------------------------- */

/* RFC 1996 section 3 */
static void
notify_of_a_primary_is_read(void **state)
{
	struct xfr_ask ask = {.asking = XFR_TELL_NOTIFY, .id = 1,
		.apex = SCRIPT_APEX, .soa = soa, .soa_len = SOA_LEN};
	struct xfr_notified notified;
	uint8_t out[XFR_ASK_MAX];
	size_t len, question;

	assert_int_equal(xfr_ask_write(&ask, NOW, out, &len), NSD_OK);
	assert_true(xfr_notify_read(out, len, &notified));
	assert_memory_equal(notified.apex, SCRIPT_APEX, 3);
	assert_true(notified.has_serial);
	assert_int_equal(notified.serial, 7);
	/* A message cut behind the question has no serial. */
	question = MESSAGE_HEADER_LEN + 3 + MESSAGE_QUESTION_TAIL;
	for (size_t cut = 0; cut < len; cut++) {
		assert_int_equal(xfr_notify_read(out, cut, &notified),
			cut >= question);
		assert_false(cut >= question && notified.has_serial);
	}
	out[MESSAGE_HEADER_LEN + 1] = 'Z';
	assert_true(xfr_notify_read(out, len, &notified));
	assert_memory_equal(notified.apex, SCRIPT_APEX, 3);
	/* The SOA of another name, of another class. */
	out[len - SOA_LEN - 11] = MESSAGE_HEADER_LEN + 2;
	assert_true(xfr_notify_read(out, len, &notified));
	assert_false(notified.has_serial);
	out[len - SOA_LEN - 11] = MESSAGE_HEADER_LEN;
	out[len - SOA_LEN - 7] = CLASS_CH;
	assert_true(xfr_notify_read(out, len, &notified));
	assert_false(notified.has_serial);
}

static void
what_is_no_notify_is_refused(void **state)
{
	static const struct { size_t at; uint8_t value; } changes[] = {
		{MESSAGE_FLAGS, 0}, {MESSAGE_FLAGS, 0xa4},
		{MESSAGE_QDCOUNT + 1, 0}, {MESSAGE_QDCOUNT + 1, 2},
		{16, TYPE_A}, {18, CLASS_CH},
	};
	struct xfr_ask ask = {.asking = XFR_TELL_NOTIFY, .apex = SCRIPT_APEX};
	struct xfr_notified notified;
	uint8_t out[XFR_ASK_MAX];
	size_t len;

	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		assert_int_equal(xfr_ask_write(&ask, NOW, out, &len), NSD_OK);
		assert_true(xfr_notify_read(out, len, &notified));
		out[changes[i].at] = changes[i].value;
		assert_false(xfr_notify_read(out, len, &notified));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_have_these_octets),
		cmocka_unit_test(longest_request_fits),
		cmocka_unit_test(replies_are_judged_as_the_table_says),
		cmocka_unit_test(reply_over_tcp_may_lack_qr),
		cmocka_unit_test(reply_says_that_its_sender_does_no_edns),
		cmocka_unit_test(answer_has_the_soa_and_expire),
		cmocka_unit_test(extended_rcode_is_put_together),
		cmocka_unit_test(replies_to_signed_requests_are_signed),
		cmocka_unit_test(notify_of_a_primary_is_read),
		cmocka_unit_test(what_is_no_notify_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
