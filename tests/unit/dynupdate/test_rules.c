/* test_rules.c - the rules of RFC 2136, one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "batch.h"

#define SOA "@ 3600 SOA ns.example. host.example. 10 2 3 4 5\n"
#define NS "@ 3600 NS ns.example.\n"
#define WWW "www 300 A 192.0.2.1\nwww 300 A 192.0.2.2\n"
#define HEAD SOA NS WWW

#define ASK(lines, said) assert_string_equal(batch_ask(lines), said)
#define WHY(text) assert_string_equal(batch_result.why, text)
#define TAKE(said) assert_string_equal(batch_take(), said)

/* ---- zone section -------------------------------------------------------- */

static struct batch_message m;

static enum rcode
ask_message(void)
{
	assert_int_equal(batch_apply(&m), NSD_OK);
	assert_false(batch_result.changed && batch_result.rcode != 0);
	return batch_result.rcode;
}

/* RFC 2136 section 3.1.1 */
static void
zone_section_is_one_soa(void **state)
{
	batch_load(HEAD);
	batch_message_init(&m);
	assert_int_equal(ask_message(), RCODE_NOERROR);
	for (size_t len = 0; len < m.len; len++) {
		struct batch_message cut = m;

		cut.len = len;
		assert_int_equal(batch_apply(&cut), NSD_OK);
		assert_int_equal(batch_result.rcode, RCODE_FORMERR);
	}
	m.octets[MESSAGE_QDCOUNT + 1] = 0;
	assert_int_equal(ask_message(), RCODE_FORMERR);
	m.octets[MESSAGE_QDCOUNT + 1] = 2;
	assert_int_equal(ask_message(), RCODE_FORMERR);
	batch_message_init(&m);
	m.octets[m.len - 3] = TYPE_A;
	assert_int_equal(ask_message(), RCODE_FORMERR);
	WHY("the zone section is not one SOA");
	batch_message_init(&m);
	m.octets[m.len - 1] = CLASS_CH;
	assert_int_equal(ask_message(), RCODE_NOTAUTH);
	batch_message_init(&m);
	m.octets[MESSAGE_HEADER_LEN + 1] = 'f';
	assert_int_equal(ask_message(), RCODE_NOTAUTH);
	WHY("fxample. is not the zone that is updated");
	batch_message_init(&m);
	m.octets[MESSAGE_HEADER_LEN + 1] = 'E';
	assert_int_equal(ask_message(), RCODE_NOERROR);
	m.octets[MESSAGE_FLAGS] = OPCODE_NOTIFY << 3;
	assert_int_equal(ask_message(), RCODE_FORMERR);
	TAKE("");
}

/* ---- prerequisites ------------------------------------------------------- */

/* RFC 2136 section 2.4.1 and RFC 2136 section 2.4.3 */
static void
rrset_exists_or_not(void **state)
{
	batch_load(HEAD "x.empty 1 A 192.0.2.1\n*.wild 1 A 192.0.2.1\n"
		"cut 1 NS ns.cut\nns.cut 1 A 192.0.2.7\n"
		"d 1 DNAME www\nc 1 CNAME www\n");
	ASK("p any www.example. a", "NOERROR same");
	ASK("p any www.example. aaaa", "NXRRSET");
	WHY("www.example. AAAA: prerequisite: there is no such RRset");
	ASK("p any WWW.example. a", "NOERROR same");
	ASK("p any w.example. a", "NXRRSET");
	ASK("p none www.example. a", "YXRRSET");
	WHY("www.example. A: prerequisite: there is such an RRset");
	ASK("p none www.example. aaaa", "NOERROR same");
	ASK("p none w.example. a", "NOERROR same");
	ASK("p any @ soa", "NOERROR same");
	/* Wildcards, cuts, DNAMEs and CNAMEs are names as others. */
	ASK("p any a.wild.example. a", "NXRRSET");
	ASK("p any *.wild.example. a", "NOERROR same");
	ASK("p any ns.cut.example. a", "NOERROR same");
	ASK("p any a.d.example. a", "NXRRSET");
	ASK("p any c.example. a", "NXRRSET");
	ASK("p any c.example. cname", "NOERROR same");
}

/* RFC 2136 section 2.4.4 and RFC 2136 section 2.4.5: a name that owns no
 * records is not in use */
static void
name_is_in_use_or_not(void **state)
{
	batch_load(HEAD "x.empty 1 A 192.0.2.1\n*.wild 1 A 192.0.2.1\n");
	ASK("p any www.example. any", "NOERROR same");
	ASK("p any w.example. any", "NXDOMAIN");
	WHY("w.example. ANY: prerequisite: the name is not in use");
	ASK("p any empty.example. any", "NXDOMAIN");
	ASK("p any a.wild.example. any", "NXDOMAIN");
	ASK("p none www.example. any", "YXDOMAIN");
	WHY("www.example. ANY: prerequisite: the name is in use");
	ASK("p none w.example. any", "NOERROR same");
	ASK("p none empty.example. any", "NOERROR same");
}

/* RFC 2136 section 2.4.2 and RFC 2136 section 3.2.3: RRsets are compared as
 * sets, without regard to the case of names in them */
static void
rrset_exists_with_values(void **state)
{
	batch_load(HEAD "mx 1 MX 1 Mail.Example.\n"
		"s 1 RRSIG A 8 2 1 20300101000000 20200101000000 1 example. "
		"AAAA\n"
		"s 1 RRSIG NS 8 2 1 20300101000000 20200101000000 1 example. "
		"AAAA\n");
	ASK("p in www a 192.0.2.2\np in www a 192.0.2.1", "NOERROR same");
	ASK("p in www a 192.0.2.2\np in www a 192.0.2.1\n"
		"p in www a 192.0.2.2", "NOERROR same");
	ASK("p in www a 192.0.2.1", "NXRRSET");
	WHY("www.example. A: prerequisite: the RRset has other records");
	ASK("p in www a 192.0.2.1\np in www a 192.0.2.1", "NXRRSET");
	ASK("p in www a 192.0.2.1\np in www a 192.0.2.3", "NXRRSET");
	ASK("p in www a 192.0.2.1\np in www a 192.0.2.2\n"
		"p in www a 192.0.2.3", "NXRRSET");
	ASK("p in w a 192.0.2.1", "NXRRSET");
	ASK("p in mx mx 1 mail.example.", "NOERROR same");
	ASK("p in mx mx 2 mail.example.", "NXRRSET");
	/* Signatures are one RRset, whatever they cover. */
	ASK("p in s RRSIG A 8 2 1 20300101000000 20200101000000 1 example. "
		"AAAA", "NXRRSET");
	ASK("p in s RRSIG A 8 2 1 20300101000000 20200101000000 1 example. "
		"AAAA\np in s RRSIG NS 8 2 1 20300101000000 20200101000000 1 "
		"example. AAAA", "NOERROR same");
	/* Two RRsets. */
	ASK("p in mx mx 1 mail.example.\np in www a 192.0.2.2\n"
		"p in www a 192.0.2.1", "NOERROR same");
}

/* RFC 2136 section 3.2.1, RFC 2136 section 3.2.2 and RFC 2136 section 3.2.5 */
static void
prerequisites_are_refused(void **state)
{
	static const uint8_t www[] = "\3www\7example";
	static const uint16_t classes[] = {CLASS_CH, CLASS_HS, 0, 17};

	batch_load(HEAD);
	ASK("P any www.example. a", "FORMERR");
	WHY("www.example. A: the TTL is not 0");
	ASK("P none www.example. a", "FORMERR");
	ASK("P in www.example. a 192.0.2.1", "FORMERR");
	ASK("p any www.test. a", "NOTZONE");
	WHY("www.test. A: not in the zone");
	ASK("p none www.test. a", "NOTZONE");
	ASK("p in www.test. a 192.0.2.1", "NOTZONE");
	for (unsigned i = 0; i < 4; i++) {
		batch_message_init(&m);
		batch_message_put(&m, MESSAGE_ANCOUNT, www, TYPE_A, classes[i],
			0, NULL, 0);
		assert_int_equal(ask_message(), RCODE_FORMERR);
	}
	for (unsigned i = 0; i < 2; i++) {
		batch_message_init(&m);
		batch_message_put(&m, MESSAGE_ANCOUNT, www, TYPE_A,
			i == 0 ? CLASS_ANY : CLASS_NONE, 0,
			(const uint8_t *)"\1\2\3\4", 4);
		assert_int_equal(ask_message(), RCODE_FORMERR);
	}
	batch_message_init(&m);
	batch_message_put(&m, MESSAGE_ANCOUNT, www, TYPE_A, CLASS_IN, 0,
		(const uint8_t *)"\1\2\3", 3);
	assert_int_equal(ask_message(), RCODE_FORMERR);
	WHY("www.example. A: the RDATA is not that of this type");
	batch_message_init(&m);
	batch_message_put(&m, MESSAGE_ANCOUNT, www, TYPE_ANY, CLASS_IN, 0,
		NULL, 0);
	assert_int_equal(ask_message(), RCODE_FORMERR);
	/* A prerequisite that is not met: nothing of it is done. */
	ASK("p none www.example. any\nu any www.example. any", "YXDOMAIN");
	TAKE("");
}

/* ---- the prescan --------------------------------------------------------- */

/* RFC 2136 section 3.4.1.3 */
static void
prescan_refuses_all_or_nothing(void **state)
{
	static const uint8_t www[] = "\3www\7example";
	static const uint16_t metas[] = {TYPE_AXFR, TYPE_IXFR, TYPE_MAILA,
		TYPE_MAILB, TYPE_OPT, TYPE_TSIG, TYPE_TKEY, 0};
	static const uint16_t classes[] = {CLASS_IN, CLASS_ANY, CLASS_NONE};

	batch_load(HEAD);
	ASK("u any www.example. a\nu in a.test. 1 a 192.0.2.1", "NOTZONE");
	WHY("a.test. A: not in the zone");
	ASK("u any www.example. a\nu any a.test. a", "NOTZONE");
	ASK("u any www.example. a\nu none a.test. a 192.0.2.1", "NOTZONE");
	ASK("u any www.example. a\nU any www.example. a", "FORMERR");
	WHY("www.example. A: the TTL is not 0");
	ASK("u any www.example. a\nU none www.example. a 192.0.2.1",
		"FORMERR");
	for (unsigned i = 0; i < sizeof(metas) / sizeof(*metas); i++)
		for (unsigned j = 0; j < 3; j++) {
			batch_message_init(&m);
			batch_message_add(&m, "u any www.example. a");
			batch_message_put(&m, MESSAGE_NSCOUNT, www, metas[i],
				classes[j], 0, NULL, 0);
			assert_int_equal(ask_message(), RCODE_FORMERR);
		}
	for (unsigned j = 0; j < 3; j += 2) {
		batch_message_init(&m);
		batch_message_put(&m, MESSAGE_NSCOUNT, www, TYPE_ANY,
			classes[j], 0, NULL, 0);
		assert_int_equal(ask_message(), RCODE_FORMERR);
		WHY("www.example. ANY: no zone has this type");
	}
	batch_message_init(&m);
	batch_message_put(&m, MESSAGE_NSCOUNT, www, TYPE_A, CLASS_ANY, 0,
		(const uint8_t *)"\1\2\3\4", 4);
	assert_int_equal(ask_message(), RCODE_FORMERR);
	for (unsigned j = 0; j < 3; j += 2) {
		batch_message_init(&m);
		batch_message_put(&m, MESSAGE_NSCOUNT, www, TYPE_A, classes[j],
			0, (const uint8_t *)"\1\2\3\4\5", 5);
		assert_int_equal(ask_message(), RCODE_FORMERR);
	}
	batch_message_init(&m);
	batch_message_put(&m, MESSAGE_NSCOUNT, www, TYPE_A, CLASS_CH, 0,
		(const uint8_t *)"\1\2\3\4", 4);
	assert_int_equal(ask_message(), RCODE_FORMERR);
	TAKE("");
}

/* Values that break a rule of the type: refused as in zone files; what has them
 * can be removed */
static void
values_are_checked(void **state)
{
	batch_load(HEAD);
	ASK("u in www 1 DS \\# 6 000108020102", "FORMERR");
	assert_non_null(strstr(batch_result.why, "www.example. DS: needs "));
	ASK("u none www 0 DS \\# 6 000108020102", "NOERROR same");
	TAKE("");
}

/* RFC 2136 section 2.5: messages cut at any octet, within sections */
static void
messages_may_be_cut(void **state)
{
	batch_load(HEAD);
	batch_message_init(&m);
	batch_message_add(&m, "p any www.example. a");
	batch_message_add(&m, "u in www 1 mx 1 mail.example.");
	batch_message_add(&m, "u any www.example. a");
	for (size_t len = 0; len < m.len; len++) {
		struct batch_message cut = m;

		cut.len = len;
		assert_int_equal(batch_apply(&cut), NSD_OK);
		assert_int_equal(batch_result.rcode, RCODE_FORMERR);
	}
	TAKE("");
	assert_int_equal(ask_message(), RCODE_NOERROR);
	assert_true(batch_result.changed);
	/* Octets behind are of sections that nobody looks at. */
	m.octets[m.len++] = 0;
	m.octets[MESSAGE_ARCOUNT] = 200;
	assert_int_equal(ask_message(), RCODE_NXRRSET);
}

/* ---- additions ----------------------------------------------------------- */

/* RFC 2136 section 3.4.2.2 */
static void
records_are_added(void **state)
{
	batch_load(HEAD);
	ASK("u in new 60 a 192.0.2.9\nu in new 60 txt hello", "NOERROR");
	assert_int_equal(batch_result.added, 2);
	assert_int_equal(batch_result.removed, 0);
	assert_int_equal(batch_result.serial, 11);
	TAKE("-SOA 10\n+SOA 11\n+new.example. 60 TXT \"hello\"\n"
		"+new.example. 60 A 192.0.2.9\n");
	/* The same again is no change. */
	ASK("u in new 60 a 192.0.2.9\nu in new 60 txt hello", "NOERROR same");
	assert_int_equal(batch_result.serial, 11);
	TAKE("");
	/* Owners are lower case; in RDATA the newest counts. */
	ASK("u in NEW 60 MX 1 Mail.Example.", "NOERROR");
	TAKE("-SOA 11\n+SOA 12\n+new.example. 60 MX 1 Mail.Example.\n");
	ASK("u in new 60 MX 1 mail.Example.", "NOERROR");
	TAKE("-SOA 12\n-new.example. 60 MX 1 Mail.Example.\n+SOA 13\n"
		"+new.example. 60 MX 1 mail.Example.\n");
	/* Twice in a message, and there and back. */
	ASK("u in new 60 a 192.0.2.8\nu in new 60 a 192.0.2.8", "NOERROR");
	TAKE("-SOA 13\n+SOA 14\n+new.example. 60 A 192.0.2.8\n");
	ASK("u none new 0 a 192.0.2.8\nu in new 60 a 192.0.2.8",
		"NOERROR same");
	ASK("u in newer 60 a 192.0.2.8\nu any newer.example. any",
		"NOERROR same");
	TAKE("");
}

/* RFC 2181 section 5.2: all records get the TTL that was given last. RFC 2181
 * section 8: the highest bit */
static void
ttl_is_that_of_the_rrset(void **state)
{
	batch_load(HEAD);
	ASK("u in www 60 a 192.0.2.3", "NOERROR");
	assert_int_equal(batch_result.added, 3);
	assert_int_equal(batch_result.removed, 2);
	TAKE("-SOA 10\n-www.example. 300 A 192.0.2.1\n"
		"-www.example. 300 A 192.0.2.2\n+SOA 11\n"
		"+www.example. 60 A 192.0.2.3\n+www.example. 60 A 192.0.2.1\n"
		"+www.example. 60 A 192.0.2.2\n");
	ASK("u in www 70 a 192.0.2.3", "NOERROR");
	batch_take();
	assert_string_equal(batch_zone(), "example. 3600 NS ns.example.\n"
		"www.example. 70 A 192.0.2.1\nwww.example. 70 A 192.0.2.2\n"
		"www.example. 70 A 192.0.2.3\n");
	ASK("u any www.example. a\nu in www 80 a 192.0.2.3", "NOERROR");
	assert_int_equal(batch_result.removed, 3);
	batch_take();
	assert_string_equal(batch_zone(), "example. 3600 NS ns.example.\n"
		"www.example. 80 A 192.0.2.3\n");
	ASK("u any www.example. a", "NOERROR");
	ASK("u in www 0 a 192.0.2.3", "NOERROR");
	batch_take();
	assert_string_equal(batch_zone(), "example. 3600 NS ns.example.\n"
		"www.example. 0 A 192.0.2.3\n");
	batch_message_init(&m);
	batch_message_put(&m, MESSAGE_NSCOUNT,
		(const uint8_t *)"\1x\7example", TYPE_A, CLASS_IN, 0x80000001,
		(const uint8_t *)"\1\2\3\4", 4);
	assert_int_equal(ask_message(), RCODE_NOERROR);
	TAKE("-SOA 15\n+SOA 16\n+x.example. 0 A 1.2.3.4\n");
}

/* RFC 2136 section 3.4.2.2 and RFC 2136 section 1.1.5: a CNAME and other data
 * are not beside each other; RFC 4035 section 2.5: some types may be */
static void
cname_stands_alone(void **state)
{
	batch_load(HEAD "c 1 CNAME www\nd 1 DNAME www\n");
	ASK("u in c 1 a 192.0.2.1", "NOERROR same");
	ASK("u in c 1 dname a", "NOERROR same");
	ASK("u in c 1 key 49152 3 3", "NOERROR same");
	ASK("u in www 1 cname c", "NOERROR same");
	ASK("u in d 1 cname c", "NOERROR same");
	ASK("u in c 1 cname C", "NOERROR");
	TAKE("-SOA 10\n-c.example. 1 CNAME www.example.\n+SOA 11\n"
		"+c.example. 1 CNAME C.example.\n");
	ASK("u in c 1 nsec d.example. CNAME RRSIG NSEC\nu in c 1 RRSIG CNAME 8 "
		"2 1 20300101000000 20200101000000 1 example. AAAA",
		"NOERROR");
	/* CNAME and the others of a name, in turns. */
	ASK("u any c.example. cname\nu in c 1 cname www", "NOERROR");
	ASK("u any c.example. cname\nu in c 1 a 192.0.2.3\n"
		"u in c 1 cname www", "NOERROR");
	batch_take();
	assert_string_equal(batch_zone(), "example. 3600 NS ns.example.\n"
		"c.example. 1 A 192.0.2.3\n"
		"c.example. 1 RRSIG CNAME 8 2 1 20300101000000 20200101000000 "
		"1 example. AAAA\n"
		"c.example. 1 NSEC d.example. CNAME RRSIG NSEC\n"
		"d.example. 1 DNAME www.example.\n"
		"www.example. 300 A 192.0.2.1\nwww.example. 300 A 192.0.2.2\n");
}

/* RFC 2136 section 1.1.5: a new one takes the place of the old one; RFC 6672
 * section 2.4: as much goes for DNAME */
static void
some_types_are_replaced(void **state)
{
	batch_load(HEAD "c 1 CNAME www\nd 1 DNAME www\n"
		"w 1 WKS 192.0.2.1 TCP 25\nw 1 WKS 192.0.2.1 UDP 53\n");
	ASK("u in c 2 cname ns\nu in c 2 cname a", "NOERROR");
	ASK("u in d 2 dname ns", "NOERROR");
	ASK("u in w 1 wks 192.0.2.1 TCP 25 80", "NOERROR");
	ASK("u in w 1 wks 192.0.2.2 TCP 25 80", "NOERROR");
	ASK("u in w 1 wks 192.0.2.2 TCP 25 80", "NOERROR same");
	ASK("u none w 0 wks 192.0.2.2 TCP 25", "NOERROR same");
	TAKE("-SOA 10\n-c.example. 1 CNAME www.example.\n+SOA 11\n"
		"+c.example. 2 CNAME a.example.\n"
		"-SOA 11\n-d.example. 1 DNAME www.example.\n+SOA 12\n"
		"+d.example. 2 DNAME ns.example.\n"
		"-SOA 12\n-w.example. 1 WKS 192.0.2.1 6 25\n+SOA 13\n"
		"+w.example. 1 WKS 192.0.2.1 6 25 80\n"
		"-SOA 13\n+SOA 14\n+w.example. 1 WKS 192.0.2.2 6 25 80\n");
	/* Away and back is no change. */
	ASK("u any c.example. cname\nu in c 2 cname a", "NOERROR same");
	ASK("u none d.example. 0 dname ns\nu in d 2 dname ns", "NOERROR same");
	TAKE("");
}

/* RFC 2136 section 3.4.2.2: the SOA goes upwards, and is the zone's */
static void
soa_goes_upwards(void **state)
{
	batch_load(HEAD);
	ASK("u in @ 5 SOA a. b. 10 1 1 1 1", "NOERROR same");
	ASK("u in @ 5 SOA a. b. 9 1 1 1 1", "NOERROR same");
	ASK("u in @ 5 SOA a. b. 2147483658 1 1 1 1", "NOERROR same");
	ASK("u in www 5 SOA a. b. 20 1 1 1 1", "NOERROR same");
	TAKE("");
	ASK("u in @ 5 SOA a. b. 20 1 1 1 1", "NOERROR");
	assert_int_equal(batch_result.serial, 20);
	assert_int_equal(batch_result.added, 0);
	ASK("u in @ 5 SOA a. b. 30 1 1 1 1\nu in x 1 a 192.0.2.1",
		"NOERROR");
	ASK("u in x 1 a 192.0.2.2\nu in @ 5 SOA a. b. 30 1 1 1 1",
		"NOERROR");
	ASK("u in @ 5 SOA a. b. 2147483600 1 1 1 1\n"
		"u in @ 5 SOA a. b. 4000000000 1 1 1 1", "NOERROR");
	TAKE("-SOA 10\n+SOA 20\n-SOA 20\n+SOA 30\n+x.example. 1 A 192.0.2.1\n"
		"-SOA 30\n+SOA 31\n+x.example. 1 A 192.0.2.2\n"
		"-SOA 31\n+SOA 2147483600\n");
}

/* ---- deletions ----------------------------------------------------------- */

/* RFC 2136 section 3.4.2.3 */
static void
rrsets_and_names_are_removed(void **state)
{
	batch_load(HEAD "www 5 TXT a\nx.www 5 TXT a\n");
	ASK("u any www.example. aaaa", "NOERROR same");
	ASK("u any w.example. any", "NOERROR same");
	ASK("u any www.example. a", "NOERROR");
	assert_int_equal(batch_result.removed, 2);
	TAKE("-SOA 10\n-www.example. 300 A 192.0.2.1\n"
		"-www.example. 300 A 192.0.2.2\n+SOA 11\n");
	ASK("u in www 6 a 192.0.2.3\nu any www.example. any", "NOERROR");
	TAKE("-SOA 11\n-www.example. 5 TXT \"a\"\n+SOA 12\n");
	assert_string_equal(batch_zone(), "example. 3600 NS ns.example.\n"
		"x.www.example. 5 TXT \"a\"\n");
}

/* RFC 2136 section 3.4.2.4 */
static void
records_are_removed(void **state)
{
	batch_load(HEAD "mx 1 MX 1 Mail.example.\n");
	ASK("u none www 0 a 192.0.2.3", "NOERROR same");
	ASK("u none w 0 a 192.0.2.3", "NOERROR same");
	ASK("u none www 0 a 192.0.2.1", "NOERROR");
	ASK("u none mx 0 mx 1 mail.example.", "NOERROR");
	TAKE("-SOA 10\n-www.example. 300 A 192.0.2.1\n+SOA 11\n"
		"-SOA 11\n-mx.example. 1 MX 1 Mail.example.\n+SOA 12\n");
}

/* RFC 2136 section 3.4.2.3 and RFC 2136 section 3.4.2.4: SOA and NS of the
 * apex */
static void
apex_keeps_soa_and_ns(void **state)
{
	batch_load(HEAD "@ 1 TXT a\n@ 3600 NS ns2.example.\n"
		"sub 1 NS ns\n");
	ASK("u any @ soa", "NOERROR same");
	ASK("u any @ ns", "NOERROR same");
	ASK("u none @ 0 SOA ns.example. host.example. 10 2 3 4 5",
		"NOERROR same");
	ASK("u any @ any", "NOERROR");
	TAKE("-SOA 10\n-example. 1 TXT \"a\"\n+SOA 11\n");
	ASK("u none @ 0 ns ns.example.\nu none @ 0 ns ns2.example.",
		"NOERROR");
	TAKE("-SOA 11\n-example. 3600 NS ns.example.\n+SOA 12\n");
	ASK("u none @ 0 ns ns2.example.\nu in @ 3600 ns ns.example.",
		"NOERROR");
	ASK("u none @ 0 ns ns2.example.", "NOERROR");
	ASK("u none @ 0 ns ns.example.", "NOERROR same");
	/* Below the apex any may go. */
	ASK("u none sub 0 ns ns", "NOERROR");
	batch_take();
	assert_string_equal(batch_zone(), "example. 3600 NS ns.example.\n"
		"www.example. 300 A 192.0.2.1\nwww.example. 300 A 192.0.2.2\n");
}

/* ---- the serial ---------------------------------------------------------- */

static uint32_t
serial_behind(uint32_t serial, enum dynupdate_serial policy, uint64_t now_sec)
{
	char zone[200];

	snprintf(zone, sizeof(zone), "@ 1 SOA a. b. %u 1 1 1 1\n" NS,
		(unsigned)serial);
	batch_load(zone);
	batch_options.policy = policy;
	batch_options.now_sec = now_sec;
	ASK("u in x 1 a 192.0.2.1", "NOERROR");
	batch_take();
	return batch_serial();
}

/* RFC 2136 section 3.6 and RFC 2136 section 3.7; RFC 1982 section 3.2 */
static void
serial_follows_the_policy(void **state)
{
	const uint64_t now = 1795912345; /* 2026-11-29 */

	assert_int_equal(serial_behind(10, DYNUPDATE_INCREMENT, now), 11);
	assert_int_equal(serial_behind(UINT32_MAX, DYNUPDATE_INCREMENT, now),
		1);
	assert_int_equal(serial_behind(10, DYNUPDATE_UNIXTIME, now),
		1795912345);
	assert_int_equal(serial_behind(1795912345, DYNUPDATE_UNIXTIME, now),
		1795912346);
	assert_int_equal(serial_behind(2026112901, DYNUPDATE_UNIXTIME, now),
		2026112902);
	assert_int_equal(serial_behind(10, DYNUPDATE_DATESERIAL, now),
		2026112900);
	assert_int_equal(serial_behind(2026112900, DYNUPDATE_DATESERIAL, now),
		2026112901);
	assert_int_equal(serial_behind(2026113000, DYNUPDATE_DATESERIAL, now),
		2026113001);
}

/* ---- batches ------------------------------------------------------------- */

static void
messages_see_those_before(void **state)
{
	batch_load(HEAD);
	ASK("p none lock.example. any\nu in lock 1 txt one", "NOERROR");
	ASK("p none lock.example. any\nu in lock 1 txt two", "YXDOMAIN");
	ASK("p in lock txt one\nu any lock.example. any", "NOERROR");
	ASK("p none lock.example. any\nu in lock 1 txt three", "NOERROR");
	assert_int_equal(batch_result.serial, 13);
	TAKE("-SOA 10\n+SOA 11\n+lock.example. 1 TXT \"one\"\n"
		"-SOA 11\n-lock.example. 1 TXT \"one\"\n+SOA 12\n"
		"-SOA 12\n+SOA 13\n+lock.example. 1 TXT \"three\"\n");
}

/* Limits of records and types: refused for what grows beyond them, and nothing
 * of the message is done */
static void
limits_refuse_what_grows(void **state)
{
	batch_load(HEAD "www 1 TXT a\n");
	batch_options.records_max = 3;
	batch_options.types_max = 3;
	ASK("u in www 300 a 192.0.2.3\nu in www 300 a 192.0.2.4\n"
		"u in z 1 a 192.0.2.1", "REFUSED");
	WHY("www.example. A: more records than max-records-per-type");
	ASK("u in www 300 a 192.0.2.3", "NOERROR");
	ASK("u in www 300 a 192.0.2.4\nu none www 0 a 192.0.2.3", "NOERROR");
	ASK("u in www 1 aaaa ::\nu in www 1 mx 1 a", "REFUSED");
	WHY("www.example. ANY: more types than max-types-per-name");
	ASK("u in www 1 aaaa ::\nu in www 1 RRSIG A 8 2 1 20300101000000 "
		"20200101000000 1 example. AAAA", "NOERROR");
	/* A signature that goes makes no room for a type. */
	ASK("u any www.example. rrsig\nu in www 1 mx 1 a", "REFUSED");
	batch_take();
	batch_options.records_max = 2;
	batch_options.types_max = 2;
	ASK("u none www 0 a 192.0.2.1", "NOERROR");
	ASK("u in www 1 txt b", "NOERROR");
	TAKE("-SOA 13\n-www.example. 300 A 192.0.2.1\n+SOA 14\n"
		"-SOA 14\n+SOA 15\n+www.example. 1 TXT \"b\"\n");
}

/* RFC 6672 section 2.4: there is no data below a DNAME */
static void
dname_has_nothing_below(void **state)
{
	batch_load(HEAD "d 1 DNAME www\na.b.c 1 A 192.0.2.1\n"
		"b.c 1 A 192.0.2.1\n");
	ASK("u in x.d 1 a 192.0.2.1", "REFUSED");
	WHY("d.example. DNAME: there would be data below it");
	ASK("u in x.y.d 1 a 192.0.2.1", "REFUSED");
	ASK("u in dd 1 a 192.0.2.1\nu in d 1 a 192.0.2.1", "NOERROR");
	ASK("u in c 1 dname www", "REFUSED");
	WHY("c.example. DNAME: there would be data below it");
	ASK("u in c 1 dname www\nu any a.b.c.example. any", "REFUSED");
	ASK("u in c 1 dname www\nu any a.b.c.example. any\n"
		"u any b.c.example. any", "NOERROR");
	ASK("u in b.c 1 a 192.0.2.1", "REFUSED");
	/* Data that a message before has brought. */
	ASK("u in x.new 1 a 192.0.2.1", "NOERROR");
	ASK("u in new 1 dname www", "REFUSED");
	ASK("u any x.new.example. a", "NOERROR");
	ASK("u in new 1 dname www", "NOERROR");
	ASK("u in x.new 1 a 192.0.2.1\nu any new.example. dname", "NOERROR");
	batch_take();
}

/* Values of a zone file that break a rule, but are loaded with a warning: the
 * build refuses a name with them that is made anew. */
static void
wrong_values_have_to_go_first(void **state)
{
	batch_load(HEAD "d 60 NS ns\nd 60 DS \\# 6 000108020102\n");
	ASK("u in d 60 txt a", "REFUSED");
	WHY("d.example. DS: the zone has a record with a wrong value, which has"
		" to be removed first");
	ASK("u in e 60 txt a", "NOERROR");
	batch_take();
	ASK("u in d 60 txt a\nu none d 0 DS \\# 6 000108020102", "NOERROR");
	batch_take();
	/* The apex is made anew with each update. */
	batch_load(HEAD "@ 60 CDS \\# 6 000108020102\n");
	ASK("u in e 60 txt a", "REFUSED");
	ASK("u in e 60 txt a\nu any @ cds", "NOERROR");
	batch_take();
}

/* A message that has no room goes into the next batch; one that never has any
 * is refused */
static void
octets_have_a_limit(void **state)
{
	char text[300], line[400];

	memset(text, 'a', 250);
	text[250] = '\0';
	snprintf(line, sizeof(line), "u in x 1 txt %s", text);
	batch_load(HEAD);
	batch_options.octets_max = 600;
	ASK(line, "NOERROR");
	batch_message_init(&m);
	line[strlen(line) - 1] = 'b';
	batch_message_add(&m, line);
	assert_int_equal(batch_apply(&m), NSD_E_LIMIT);
	ASK("u in x 1 a 192.0.2.1", "NOERROR");
	batch_take();
	assert_int_equal(batch_serial(), 12);
	assert_int_equal(ask_message(), RCODE_NOERROR);
	batch_take();
	batch_options.octets_max = 600;
	ASK("u any x.example. any", "REFUSED");
	WHY("the update changes more than 600 octets");
	TAKE("");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zone_section_is_one_soa),
		cmocka_unit_test(rrset_exists_or_not),
		cmocka_unit_test(name_is_in_use_or_not),
		cmocka_unit_test(rrset_exists_with_values),
		cmocka_unit_test(prerequisites_are_refused),
		cmocka_unit_test(prescan_refuses_all_or_nothing),
		cmocka_unit_test(values_are_checked),
		cmocka_unit_test(messages_may_be_cut),
		cmocka_unit_test(records_are_added),
		cmocka_unit_test(ttl_is_that_of_the_rrset),
		cmocka_unit_test(cname_stands_alone),
		cmocka_unit_test(some_types_are_replaced),
		cmocka_unit_test(soa_goes_upwards),
		cmocka_unit_test(rrsets_and_names_are_removed),
		cmocka_unit_test(records_are_removed),
		cmocka_unit_test(apex_keeps_soa_and_ns),
		cmocka_unit_test(serial_follows_the_policy),
		cmocka_unit_test(messages_see_those_before),
		cmocka_unit_test(limits_refuse_what_grows),
		cmocka_unit_test(dname_has_nothing_below),
		cmocka_unit_test(wrong_values_have_to_go_first),
		cmocka_unit_test(octets_have_a_limit),
	};

	return cmocka_run_group_tests(tests, batch_setup, batch_teardown);
}
