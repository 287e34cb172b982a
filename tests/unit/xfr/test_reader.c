/*
 * test_reader.c - transfers, good and malformed, a row each: what the reader
 * says of them and what it gives on (doc/faults.md, 53 to 60).
 */
#include "script.h"

#include "xfr/reader.h"

/* The octets that the reader passed on. */
struct kept {
	uint8_t octets[1u << 21];
	size_t len;
	size_t refused_at; /* not 0: the sink fails behind so many octets */
};

static enum nsd_err
on_octets(void *ctx, const uint8_t *octets, size_t len)
{
	struct kept *kept = ctx;

	if (kept->refused_at > 0 && kept->len + len > kept->refused_at)
		return NSD_E_SYSTEM;
	assert_true(kept->len + len <= sizeof(kept->octets));
	memcpy(kept->octets + kept->len, octets, len);
	kept->len += len;
	return NSD_OK;
}

static void
print_record(const struct changes_rr *rr, char *out, size_t size)
{
	char sign = rr->action == XFR_ADD ? '+' : '-';

	switch (rr->type) {
	case TYPE_SOA:
		snprintf(out, size, " %cS%u", sign, rr->serial);
		break;
	case TYPE_NS:
		assert_memory_equal(rr->rdata, "\002ns\001z", 6);
		snprintf(out, size, " %cn", sign);
		break;
	case TYPE_MX:
		assert_int_equal(rr->rdlen, 5);
		assert_memory_equal(rr->rdata, "\0\012\001z", 5);
		snprintf(out, size, " %cm", sign);
		break;
	case TYPE_A:
		assert_int_equal(rr->rdlen, 4);
		snprintf(out, size, " %c%s%.*s", sign,
			rr->ttl_sec == 0 ? "t" : "a", rr->owner[0],
			(const char *)rr->owner + 1);
		break;
	default:
		snprintf(out, size, " %ce%u", sign, rr->type);
	}
}

/* The octets as words of script.h: "whole +S7 +n", "diffs -S7 +S8 +aX". */
static void
print_kept(const struct kept *kept, char *out, size_t size)
{
	struct changes changes;
	struct changes_rr rr;
	enum nsd_err err;
	size_t len;

	assert_int_equal(changes_open(&changes, kept->octets, kept->len),
		NSD_OK);
	assert_memory_equal(changes.apex, SCRIPT_APEX, 3);
	snprintf(out, size, "%s", changes.kind == XFR_WHOLE ? "whole"
		: "diffs");
	while ((err = changes_read(&changes, &rr)) == NSD_OK) {
		len = strlen(out);
		print_record(&rr, out + len, size - len);
	}
	assert_int_equal(err, NSD_E_AGAIN);
	assert_int_equal(changes_close(&changes, NULL), NSD_OK);
}

#define AXFR XFR_ASK_AXFR
#define IXFR XFR_ASK_IXFR
#define UDP 0x100 /* or-ed to IXFR */
#define NONE 0xffffffffu /* we have no version */

struct row {
	int asking;
	uint32_t serial; /* ours */
	const char *script;
	enum xfr_verdict verdict;
	enum xfr_fault fault;
	const char *kept;
};

#define DONE(asking, serial, script, kept) \
	{asking, serial, script, XFR_READ_DONE, XFR_FAULT_NONE, kept}
#define SAYS(asking, serial, script, verdict) \
	{asking, serial, script, XFR_READ_##verdict, XFR_FAULT_NONE, NULL}
#define FAIL(asking, serial, script, fault) \
	{asking, serial, script, XFR_READ_FAILED, XFR_FAULT_##fault, NULL}

static const struct row rows[] = {
	/* RFC 5936 section 2.2 */
	DONE(AXFR, NONE, "S7 n aa S7", "whole +S7 +n +aa"),
	DONE(AXFR, NONE, "S7 S7", "whole +S7"),
	DONE(AXFR, 6, "S7 n S7", "whole +S7 +n"),
	DONE(AXFR, NONE, "S7 | n | aa | S7", "whole +S7 +n +aa"),
	DONE(AXFR, NONE, "S7 n opt | aa S7", "whole +S7 +n +aa"),
	DONE(AXFR, NONE, "S7 n | q0 Ab F7", "whole +S7 +n +ab"),
	DONE(AXFR, NONE, "S7 n noAA | noAA S7", "whole +S7 +n"),
	DONE(IXFR | UDP, 6, "S8 S6 S8 S8 noAA", "diffs -S6 +S8"),
	DONE(AXFR, NONE, "S7 n Ax aa m S7", "whole +S7 +n +ax +aa +m"),
	DONE(AXFR, NONE, "S7 n ax Ax ax ab S7", "whole +S7 +n +ax +ab"),
	DONE(AXFR, NONE, "S7 aa tx ax S7", "whole +S7 +aa +tx +ax"),
	DONE(AXFR, NONE, "S7 n S7!", "whole +S7 +n"),
	DONE(AXFR, NONE, "S7 n | | S7", "whole +S7 +n"),
	DONE(AXFR, NONE, "S7 n S7 trash", "whole +S7 +n"),
	DONE(AXFR, NONE, "S7 e65280 S7", "whole +S7 +e65280"),
	/* RFC 2181 section 8 */
	DONE(AXFR, NONE, "S7 tx S7", "whole +S7 +tx"),
	/* 55: records that are not in the zone are left out. */
	DONE(AXFR, NONE, "S7 oa n aa ob S7", "whole +S7 +n +aa"),
	DONE(AXFR, NONE, "S7 oa S7", "whole +S7"),
	DONE(AXFR, NONE, "S7 | oa | ob | S7", "whole +S7"),
	DONE(AXFR, NONE, "S7 n oa p aa ob p S7", "whole +S7 +n +aa"),
	DONE(AXFR, NONE, "S7 aa oy aa S7", "whole +S7 +aa"),
	SAYS(AXFR, NONE, "S7 n aa", MORE),
	SAYS(AXFR, NONE, "S7", MORE),
	SAYS(AXFR, NONE, "S7 oa", MORE),

	/* RFC 1995 section 4 */
	DONE(IXFR, 6, "S8 S6 aa S8 ab S8", "diffs -S6 -aa +S8 +ab"),
	DONE(IXFR, 6, "S8 S6 S8 S8", "diffs -S6 +S8"),
	DONE(IXFR, 6, "S8 S6 aa aa S8 aa aa S8", "diffs -S6 -aa +S8 +aa"),
	DONE(IXFR, 6, "S8 S6 aa S7 ab S7 ab S8 ac S8",
		"diffs -S6 -aa +S7 +ab -S7 -ab +S8 +ac"),
	DONE(IXFR, 6, "S8 | S6 | aa S7 | S7 S8 n | S8",
		"diffs -S6 -aa +S7 -S7 +S8 +n"),
	DONE(IXFR, 4294967295u, "S1 S4294967295 S1 S1",
		"diffs -S4294967295 +S1"),
	DONE(IXFR, 6, "S8 n aa S8", "whole +S8 +n +aa"),
	DONE(IXFR, 6, "S8 | n | S8", "whole +S8 +n"),
	DONE(IXFR | UDP, 6, "S8 S6 aa S8 ab S8", "diffs -S6 -aa +S8 +ab"),
	DONE(IXFR, 6, "S8 S6 oa aa S8 ob ab oc S8", "diffs -S6 -aa +S8 +ab"),
	DONE(IXFR, 6, "S8 S6 oa S7 oa S7 oa S8 oa S8",
		"diffs -S6 +S7 -S7 +S8"),
	DONE(IXFR | UDP, 6, "S8 S6 oa S8 S8", "diffs -S6 +S8"),
	DONE(IXFR, 6, "S8 oa n S8", "whole +S8 +n"),
	SAYS(IXFR, 6, "S8 S6 aa S8 ab", MORE),
	SAYS(IXFR, 6, "S8 S6 aa S7 ab", MORE),
	/* A lone SOA: nothing newer, or too long for UDP (section 2). */
	SAYS(IXFR, 8, "S8", UNCHANGED),
	SAYS(IXFR | UDP, 8, "S8", UNCHANGED),
	SAYS(IXFR, 6, "S8", MORE),
	SAYS(IXFR | UDP, 6, "S8", USE_TCP),
	SAYS(IXFR | UDP, 6, "TC", USE_TCP),
	SAYS(IXFR | UDP, 6, "S8 S6 TC", USE_TCP),

	/* 53: SOAs of an AXFR */
	FAIL(AXFR, NONE, "n S7 S7", NO_SOA),
	FAIL(AXFR, NONE, "n", NO_SOA),
	FAIL(AXFR, NONE, "ba S7", SOA_BELOW),
	FAIL(AXFR, NONE, "S7 ba S7", SOA_BELOW),
	FAIL(AXFR, NONE, "S7 n S8", SOA_DIFFERS),
	FAIL(AXFR, NONE, "S7 n S7+", SOA_DIFFERS),
	FAIL(AXFR, NONE, "S7 n S7 n S7", BEHIND_END),
	FAIL(AXFR, NONE, "S7 n S7 S7", BEHIND_END),
	FAIL(IXFR | UDP, 6, "S7 n", CUT),

	/* 54: messages */
	FAIL(AXFR, NONE, "S7 S7 id", ID),
	DONE(AXFR, NONE, "S7 S7 noQR", "whole +S7"),
	DONE(AXFR, NONE, "S7 noQR | aa S7", "whole +S7 +aa"),
	FAIL(IXFR | UDP, 6, "S7 S7 noQR", QR),
	FAIL(AXFR, NONE, "S7 S7 opcode", OPCODE),
	/* The question of a reply on a connection may be any, or none. */
	DONE(AXFR, NONE, "S7 S7 qtype", "whole +S7"),
	DONE(AXFR, NONE, "S7 aa S7 qclass", "whole +S7 +aa"),
	DONE(AXFR, NONE, "F7 F7 qname", "whole +S7"),
	DONE(AXFR, NONE, "q0 F7 Ab F7", "whole +S7 +ab"),
	DONE(AXFR, NONE, "S7 aa | F7 qname", "whole +S7 +aa"),
	DONE(IXFR, 6, "q0 F8 F6 F8 F8", "diffs -S6 +S8"),
	/* Owners that point to it are others, then. */
	FAIL(AXFR, NONE, "S7 S7 qname", OWNER),
	FAIL(AXFR, NONE, "S7 | S7 qname", OWNER),
	FAIL(AXFR, NONE, "S7 S7 q2", QUESTION),
	FAIL(IXFR | UDP, 6, "S8 S8 qname", QUESTION),
	FAIL(IXFR | UDP, 6, "q0 F8 F8", QUESTION),
	FAIL(AXFR, NONE, "S7 | S7 id", ID),
	DONE(AXFR, NONE, "S7 S7 TC", "whole +S7"),
	DONE(AXFR, NONE, "S7 aa TC | S7 TC", "whole +S7 +aa"),
	DONE(IXFR, 6, "S8 S6 S8 S8 TC", "diffs -S6 +S8"),
	FAIL(AXFR, NONE, "S7 S7 rcode5", RCODE),
	FAIL(AXFR, NONE, "q0 rcode5", RCODE),
	FAIL(AXFR, NONE, "S7 | rcode2", RCODE),
	FAIL(IXFR, 6, "rcode4", RCODE),
	FAIL(AXFR, NONE, "S7 n cut", MALFORMED),
	FAIL(AXFR, NONE, "S7 S7 opt cut", MALFORMED),
	FAIL(AXFR, NONE, "S7 S7 opt2", MALFORMED),

	/* 55: records */
	FAIL(AXFR, NONE, "fa n S7", OWNER),
	FAIL(AXFR, NONE, "fa n fa", OWNER),
	FAIL(AXFR, NONE, "S7 n fa", OWNER),
	FAIL(AXFR, NONE, "S7 fa S7", OWNER),
	FAIL(AXFR, NONE, "oa S7 S7", NO_SOA),
	FAIL(AXFR, NONE, "S7 n S7 oa", BEHIND_END),
	FAIL(AXFR, NONE, "S7 da S7", RDATA),
	FAIL(AXFR, NONE, "S7 ca S7", CLASS),
	FAIL(AXFR, NONE, "S7 e0 S7", TYPE),
	FAIL(AXFR, NONE, "S7 e41 S7", TYPE),
	FAIL(AXFR, NONE, "S7 e250 S7", TYPE),
	FAIL(AXFR, NONE, "S7 e255 S7", TYPE),
	FAIL(AXFR, NONE, "S7 r3 S7", RDATA),
	FAIL(AXFR, NONE, "S7 r5 S7", RDATA),
	FAIL(AXFR, NONE, "S7 r0 S7", RDATA),
	FAIL(AXFR, NONE, "s S7", RDATA),
	FAIL(AXFR, NONE, "S7 s S7", RDATA),
	FAIL(AXFR, NONE, "S7 l S7", MALFORMED),
	FAIL(AXFR, NONE, "S7 | z S7", MALFORMED),

	/* 56: differences */
	FAIL(IXFR, 6, "S8 S8", NO_DIFFERENCES),
	FAIL(IXFR, 6, "S8 S7 aa S8 ab S8", BEGINNING),
	FAIL(IXFR, 6, "S8 S5 aa S8 ab S8", BEGINNING),
	FAIL(IXFR, 6, "S8 S6 aa S7 ab S8 ac S8", ORDER), /* a gap */
	FAIL(IXFR, 6, "S8 S6 aa S7 ab S6 aa S8 S8", ORDER),
	FAIL(IXFR, 6, "S8 S6 S6 S6 S8 S8", ORDER), /* no newer version */
	FAIL(IXFR, 6, "S8 S6 S5 S5 S8 S8", ORDER), /* an older one */
	FAIL(IXFR, 6, "S8 S6 S9 S9 S8 S8", ORDER), /* beyond the end */
	FAIL(IXFR, 6, "S8 S6 S8 S9", SOA_DIFFERS),
	FAIL(IXFR, 6, "S8 S6 S8 S8+", SOA_DIFFERS),
	FAIL(IXFR, 6, "S8 S6 S8+ S8", SOA_DIFFERS),
	FAIL(IXFR, 6, "S8 S6 S8 S8 aa", BEHIND_END),
	FAIL(IXFR, 6, "S8 S6 ba S8 S8", SOA_BELOW),
	FAIL(IXFR, 6, "S8 S6 fa S8 S8", OWNER),
	FAIL(IXFR, 6, "S8 S6 S8 fa", OWNER),
	FAIL(IXFR, 6, "S8 S6 S8 S8 oa", BEHIND_END),
	FAIL(IXFR, 6, "S8 oa S6 aa S8 ab S8", SOA_DIFFERS),
	FAIL(IXFR | UDP, 6, "S8 S6 aa S8 ab", CUT),
	FAIL(IXFR | UDP, 6, "S8 S6 aa", CUT),

	/* 57: messages without records */
	FAIL(AXFR, NONE, "trash", EMPTY),
	FAIL(IXFR | UDP, 6, "opt", EMPTY),
	FAIL(AXFR, NONE, "S7 | | | | | | | | | | | | | | | | | |", EMPTY),

	/* 60: serials of primaries */
	SAYS(AXFR, 7, "S7 n S7", UNCHANGED),
	SAYS(AXFR, 8, "S7 n S7", UNCHANGED),
	SAYS(IXFR, 8, "S7 S8 S7 S7", UNCHANGED),
	SAYS(IXFR, 0x80000000u, "S0", UNCHANGED), /* RFC 1982 section 3.2 */
	DONE(IXFR, 0xfffffff0u, "S0 S4294967280 S0 S0",
		"diffs -S4294967280 +S0"),
};

/* ---- running ------------------------------------------------------------ */

struct run {
	struct xfr_read_setup setup;
	struct xfr_reader reader;
	struct xfr_room room;
	struct kept kept;
	enum xfr_verdict verdict;
};

static void
run_init(struct run *run, int asking, uint32_t serial)
{
	memset(run, 0, sizeof(*run));
	run->setup = (struct xfr_read_setup){
		.apex = SCRIPT_APEX,
		.asking = (enum xfr_asking)(asking & ~UDP),
		.id = SCRIPT_ID,
		.udp = (asking & UDP) != 0,
		.has_serial = serial != NONE
			|| (asking & ~UDP) == XFR_ASK_IXFR,
		.serial = serial,
		.sink = {on_octets, &run->kept},
	};
	xfr_reader_init(&run->reader, &run->setup);
	run->verdict = XFR_READ_MORE;
}

/* Takes a copy of just that size, so that a sanitizer sees an over-read. */
static enum xfr_verdict
run_take(struct run *run, const uint8_t *octets, size_t len)
{
	uint8_t *copy = malloc(len > 0 ? len : 1);

	assert_non_null(copy);
	memcpy(copy, octets, len);
	run->verdict = xfr_reader_take(&run->reader, copy, len, 0,
		&run->room);
	free(copy);
	return run->verdict;
}

/* Takes the messages of a script; true if a verdict came with the last one. */
static bool
run_script(struct run *run, const char *script)
{
	uint16_t qtype = run->setup.asking == XFR_ASK_AXFR ? TYPE_AXFR
							   : TYPE_IXFR;
	struct script_message m;

	while (run->verdict == XFR_READ_MORE
		&& script_next(&script, qtype, &m))
		run_take(run, m.octets, m.len);
	return *script == '\0';
}

static void
transfers_are_judged_as_the_table_says(void **state)
{
	struct run *run = malloc(sizeof(*run));
	char text[1024];

	assert_non_null(run);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct row *row = &rows[i];
		bool at_end;

		run_init(run, row->asking, row->serial);
		at_end = run_script(run, row->script);
		if (run->verdict != row->verdict
			|| run->reader.result.fault != row->fault || !at_end)
			fail_msg("%s: verdict %d, %s", row->script,
				run->verdict, xfr_fault_text(
					run->reader.result.fault));
		if (row->verdict == XFR_READ_UNCHANGED)
			assert_int_equal(run->kept.len, 0);
		if (row->kept == NULL)
			continue;
		print_kept(&run->kept, text, sizeof(text));
		assert_string_equal(text, row->kept);
		assert_int_equal(run->reader.result.octets, run->kept.len);
		assert_int_equal(run->reader.result.kind,
			row->kept[0] == 'w' ? XFR_WHOLE : XFR_DIFFS);
	}
	free(run);
}

/* A message that is cut anywhere is not taken for a whole one. What is behind
 * one is not looked at: "trash" above. */
static void
messages_cut_anywhere_are_refused(void **state)
{
	struct run *run = malloc(sizeof(*run));
	struct script_message m;

	assert_non_null(run);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct row *row = &rows[i];
		const char *script = row->script;

		if (row->verdict != XFR_READ_DONE || strchr(script, '|')
			|| strstr(script, "trash"))
			continue;
		assert_true(script_next(&script, row->asking == AXFR
			? TYPE_AXFR : TYPE_IXFR, &m));
		for (size_t len = 0; len < m.len; len++) {
			run_init(run, row->asking, row->serial);
			assert_int_equal(run_take(run, m.octets, len),
				XFR_READ_FAILED);
		}
	}
	free(run);
}

static void
result_has_serials_timers_and_expire(void **state)
{
	struct run *run = malloc(sizeof(*run));
	const struct xfr_read_result *r = &run->reader.result;

	assert_non_null(run);
	run_init(run, IXFR, 6);
	assert_true(run_script(run, "S8 S6 aa S7 ab opt | S7 S8 S8"));
	assert_int_equal(run->verdict, XFR_READ_DONE);
	assert_int_equal(r->from, 6);
	assert_int_equal(r->to, 8);
	assert_int_equal(r->soa.serial, 8);
	assert_int_equal(r->soa.refresh_sec, 2);
	assert_int_equal(r->soa.retry_sec, 3);
	assert_int_equal(r->soa.expire_sec, 4);
	assert_int_equal(r->soa_ttl_sec, 60);
	assert_int_equal(r->messages, 2);
	assert_int_equal(r->records, 8);
	assert_true(r->is_ended);
	/* RFC 7314 section 2 */
	assert_true(r->has_expire);
	assert_int_equal(r->expire_sec, 99);
	assert_memory_equal(run->reader.soa, "\002ns\001z", 6);

	run_init(run, IXFR, 8);
	assert_true(run_script(run, "S8"));
	assert_true(r->is_ended);
	assert_int_equal(r->to, 8);
	run_init(run, IXFR, 8);
	assert_true(run_script(run, "S8 n"));
	assert_int_equal(run->verdict, XFR_READ_UNCHANGED);
	assert_false(r->is_ended);
	free(run);
}

/* Over UDP anybody can send a message; the right one may come behind it. */
static void
stray_messages_change_nothing(void **state)
{
	static const char *const strays[] = {"S8 S8 id", "S8 noQR", "opcode",
		"S8 qname", "q0 F8 F8"};
	struct run *run = malloc(sizeof(*run));
	char text[256];

	assert_non_null(run);
	run_init(run, IXFR | UDP, 6);
	for (size_t i = 0; i < sizeof(strays) / sizeof(*strays); i++) {
		run->verdict = XFR_READ_MORE;
		assert_true(run_script(run, strays[i]));
		assert_int_equal(run->verdict, XFR_READ_FAILED);
		assert_true(xfr_fault_is_stray(run->reader.result.fault));
	}
	assert_int_equal(run_take(run, (const uint8_t *)"\x12", 1),
		XFR_READ_FAILED);
	assert_int_equal(run->reader.result.fault, XFR_FAULT_HEADER);
	run->verdict = XFR_READ_MORE;
	assert_true(run_script(run, "S8 S6 S8 S8"));
	assert_int_equal(run->verdict, XFR_READ_DONE);
	print_kept(&run->kept, text, sizeof(text));
	assert_string_equal(text, "diffs -S6 +S8");
	free(run);
}

/* 57: limits. Each is reached by the last of three messages. */
static void
limits_end_a_transfer(void **state)
{
	static const char script[] = "S7 n aa | ab ac | ad ae S7";
	static const enum xfr_fault faults[] = {XFR_FAULT_OCTETS,
		XFR_FAULT_SINK};
	struct run *run = malloc(sizeof(*run));
	struct xfr_read_result whole;

	assert_non_null(run);
	run_init(run, AXFR, NONE);
	assert_true(run_script(run, script));
	whole = run->reader.result;
	for (unsigned i = 0; i < 4; i++) {
		bool fits = i % 2 == 0;
		struct xfr_read_setup *setup = &run->setup;

		run_init(run, AXFR, NONE);
		if (i / 2 == 0)
			setup->octets_max = (whole.octets > whole.received
				? whole.octets : whole.received) - !fits;
		else
			run->kept.refused_at = whole.octets - !fits;
		xfr_reader_init(&run->reader, setup);
		assert_true(run_script(run, script));
		assert_int_equal(run->verdict, fits ? XFR_READ_DONE
			: XFR_READ_FAILED);
		if (!fits)
			assert_int_equal(run->reader.result.fault,
				faults[i / 2]);
	}
	assert_int_equal(run->reader.result.sink_err, NSD_E_SYSTEM);
	free(run);
}

/* ---- TSIG ---------------------------------------------------------------- */

/* Us, and a primary. */
struct pair {
	struct tsig_key ours, theirs;
	struct tsig_chain us, them;
	bool overdue; /* an unsigned message had to be signed */
};

#define NOW 1700000000u

static void
pair_init(struct pair *pair)
{
	const struct xfr_ask ask = {
		.asking = XFR_ASK_AXFR,
		.id = SCRIPT_ID,
		.apex = SCRIPT_APEX,
		.chain = &pair->us,
	};
	struct tsig_key *keys[] = {&pair->ours, &pair->theirs};
	uint8_t request[XFR_ASK_MAX];
	struct tsig tsig;
	size_t len;

	memset(pair, 0, sizeof(*pair));
	for (unsigned i = 0; i < 2; i++) {
		memcpy(keys[i]->name, "\003key", 5);
		keys[i]->kind = MAC_HMAC_SHA256;
		assert_int_equal(mac_create(MAC_HMAC_SHA256,
			(const uint8_t *)"secret", 6, &keys[i]->mac), NSD_OK);
	}
	tsig_begin(&pair->us, &pair->ours);
	tsig_begin(&pair->them, &pair->theirs);
	assert_int_equal(xfr_ask_write(&ask, NOW, request, &len), NSD_OK);
	assert_int_equal(tsig_read(request, len, 19, &tsig), NSD_OK);
	assert_int_equal(tsig_check(&pair->them, request, &tsig, NOW),
		RCODE_NOERROR);
}

static void
pair_fini(struct pair *pair)
{
	mac_destroy(pair->ours.mac);
	mac_destroy(pair->theirs.mac);
}

/* Signs a message as a letter says: s signed, u unsigned, w with a wrong MAC,
 * l at a later time, k by another key's name, r refused by the primary. */
static void
sign_as(struct pair *pair, char how, struct script_message *m)
{
	struct tsig_stamp stamp = {.time_sec = how == 'l' ? NOW + 301 : NOW,
		.fudge_sec = TSIG_FUDGE_SEC};
	struct tsig tsig = {.error = RCODE_NOERROR};

	switch (how) {
	case 'u':
		if (tsig_skip(&pair->them, m->octets, m->len) != NSD_OK)
			pair->overdue = true;
		return;
	case 'r':
		memcpy(tsig.key.name, "\003key", tsig.key.len = 5);
		tsig.algorithm.len = 13;
		memcpy(tsig.algorithm.name, "\013hmac-sha256", 13);
		m->octets[3] |= RCODE_NOTAUTH;
		assert_int_equal(tsig_refuse(&tsig, RCODE_BADKEY, m->octets,
			&m->len, sizeof(m->octets)), NSD_OK);
		return;
	case 'k':
		memcpy(pair->theirs.name, "\003kez", 5);
		break;
	}
	assert_int_equal(tsig_sign(&pair->them, m->octets, &m->len,
		sizeof(m->octets), &stamp), NSD_OK);
	if (how == 'w')
		m->octets[m->len - 7] ^= 1;
}

static enum xfr_fault
run_signed(struct run *run, const char *script, const char *how)
{
	struct script_message m;
	struct pair pair;

	pair_init(&pair);
	run_init(run, AXFR, NONE);
	run->setup.chain = &pair.us;
	xfr_reader_init(&run->reader, &run->setup);
	while (run->verdict == XFR_READ_MORE
		&& script_next(&script, TYPE_AXFR, &m)) {
		assert_true(*how != '\0');
		sign_as(&pair, *how++, &m);
		run->verdict = xfr_reader_take(&run->reader, m.octets, m.len,
			NOW, &run->room);
	}
	pair_fini(&pair);
	assert_int_equal(run->verdict == XFR_READ_FAILED,
		run->reader.result.fault != XFR_FAULT_NONE);
	return run->reader.result.fault;
}

/* 59; RFC 8945 section 5.3.1 */
static void
signatures_are_checked_on_the_chain(void **state)
{
	static const struct {
		const char *script, *how;
		enum xfr_fault fault;
	} chains[] = {
		{"S7 n | aa | S7", "sss", XFR_FAULT_NONE},
		{"S7 n S7", "s", XFR_FAULT_NONE},
		{"S7 n | aa | ab | S7", "suus", XFR_FAULT_NONE},
		{"S7 n | aa | S7", "uss", XFR_FAULT_TSIG_MISSING},
		{"S7 n S7", "u", XFR_FAULT_TSIG_MISSING},
		{"S7 n | aa | S7", "ssu", XFR_FAULT_TSIG_MISSING},
		{"S7 n | aa | S7", "sws", XFR_FAULT_TSIG_WRONG},
		{"S7 n | aa | S7", "ssw", XFR_FAULT_TSIG_WRONG},
		{"S7 n S7", "w", XFR_FAULT_TSIG_WRONG},
		{"S7 n S7", "k", XFR_FAULT_TSIG_WRONG},
		{"S7 n S7", "l", XFR_FAULT_TSIG_WRONG},
		{"S7 n | S7", "sl", XFR_FAULT_TSIG_WRONG},
		{"q0", "r", XFR_FAULT_TSIG_REFUSED},
		{"rcode5", "u", XFR_FAULT_RCODE},
		{"S7 n | rcode5", "ss", XFR_FAULT_RCODE},
	};
	struct run *run = malloc(sizeof(*run));

	assert_non_null(run);
	for (size_t i = 0; i < sizeof(chains) / sizeof(*chains); i++)
		if (run_signed(run, chains[i].script, chains[i].how)
			!= chains[i].fault)
			fail_msg("%s, %s: %s", chains[i].script,
				chains[i].how, xfr_fault_text(
					run->reader.result.fault));
	assert_int_equal(run_signed(run, "q0", "r"), XFR_FAULT_TSIG_REFUSED);
	assert_int_equal(run->reader.result.rcode, RCODE_BADKEY);
	assert_int_equal(run_signed(run, "S7 S7", "l"), XFR_FAULT_TSIG_WRONG);
	assert_int_equal(run->reader.result.rcode, RCODE_BADTIME);
	free(run);
}

static void
at_most_99_messages_between_two_are_unsigned(void **state)
{
	struct run *run = malloc(sizeof(*run));
	char script[1024], how[256];

	assert_non_null(run);
	for (unsigned count = 99; count <= 100; count++) {
		strcpy(script, "S7 |");
		for (unsigned i = 0; i < count; i++)
			strcat(script, " aa |");
		strcat(script, " S7");
		memset(how, 'u', sizeof(how));
		how[0] = how[count + 1] = 's';
		assert_int_equal(run_signed(run, script, how), count == 99
			? XFR_FAULT_NONE : XFR_FAULT_TSIG_MISSING);
	}
	free(run);
}

static void
signature_that_nobody_asked_for_is_refused(void **state)
{
	const char *script = "S7 n S7";
	struct run *run = malloc(sizeof(*run));
	struct script_message m;
	struct pair pair;

	assert_non_null(run);
	pair_init(&pair);
	run_init(run, AXFR, NONE);
	assert_true(script_next(&script, TYPE_AXFR, &m));
	sign_as(&pair, 's', &m);
	assert_int_equal(run_take(run, m.octets, m.len), XFR_READ_FAILED);
	assert_int_equal(run->reader.result.fault, XFR_FAULT_TSIG_UNASKED);
	pair_fini(&pair);
	free(run);
}

static void
faults_have_texts(void **state)
{
	for (unsigned i = 0; i <= XFR_FAULT_COUNT; i++)
		assert_true(xfr_fault_text((enum xfr_fault)i)[0] != '\0');
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(transfers_are_judged_as_the_table_says),
		cmocka_unit_test(messages_cut_anywhere_are_refused),
		cmocka_unit_test(result_has_serials_timers_and_expire),
		cmocka_unit_test(stray_messages_change_nothing),
		cmocka_unit_test(limits_end_a_transfer),
		cmocka_unit_test(signatures_are_checked_on_the_chain),
		cmocka_unit_test(at_most_99_messages_between_two_are_unsigned),
		cmocka_unit_test(signature_that_nobody_asked_for_is_refused),
		cmocka_unit_test(faults_have_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
