/* query_server.c - makes and changes what answers in fuzz_query. */
#include "fuzz/query_server.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/key_store.h"
#include "dns/rrtype.h"
#include "fuzz/mutate_dns.h"
#include "fuzz/target.h"
#include "lib/history_fixture.h"
#include "query/rssac.h"
#include "store/writer.h"
#include "zonedb/settings_edit.h"
#include "zonedb/table_edit.h"

/* ---- zones --------------------------------------------------------------- */

static const char example_text[] =
	"$TTL 300\n"
	"@ SOA ns1 root 3 2 3 4 5\n"
	"@ NS ns1\n@ NS ns.other.\n@ MX 1 mail\n@ MX 2 mail.other.\n"
	"@ RRSIG SOA 13 1 300 20300101000000 20200101000000 1 example. AAAA\n"
	"@ DNSKEY 257 3 13 AAAA\n"
	"ns1 A 192.0.2.1\nns1 AAAA 2001:db8::1\n"
	"mail A 192.0.2.2\n"
	"mail RRSIG A 13 2 300 20300101000000 20200101000000 1 example. AAAA\n"
	"*.w TXT wild\n*.w MX 1 mail\n*.c CNAME a.b.c.d.e\n"
	"a.b.c.d.e A 192.0.2.3\n"
	"cut NS ns.cut\ncut NS ns1\nns.cut A 192.0.2.4\n"
	"cut DS 1 13 2 0000000000000000000000000000000000000000000000000000000"
	"000000000\n"
	"sub NS ns.sub\nns.sub A 192.0.2.5\n"
	"loop1 CNAME loop2\nloop2 CNAME loop1\n"
	"far CNAME www.other.\nout CNAME www.nowhere.\n"
	"dn DNAME deep.w\ndx DNAME dn\ndl DNAME a.dl.other.\n"
	"svc HTTPS 1 . alpn=h2\nsvc A 192.0.2.9\nsvc2 SVCB 1 mail\n"
	"txt TXT aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"
	"txt TXT bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n"
	"txt TXT ccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
	"cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc\n"
	"txt TXT ddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"
	"dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd\n"
	"srv SRV 1 2 3 mail\nsrv SRV 1 2 4 mail.other.\n";
static const char sub_text[] =
	"$TTL 300\n@ SOA ns root 1 2 3 4 5\n@ NS ns\nns A 192.0.2.5\n"
	"x CNAME y.example.\nd DNAME dn.example.\n";
static const char other_text[] =
	"$TTL 300\n@ SOA ns root 1 2 3 4 5\n@ NS ns\nns A 192.0.2.6\n"
	"www A 192.0.2.7\nmail A 192.0.2.8\nback CNAME far.example.\n"
	"*.dl DNAME dl.example.\n";
#define SIG(type) " RRSIG " type \
	" 13 1 300 20300101000000 20200101000000 1 z. AAAA\n"
static const char signed_text[] =
	"$TTL 300\n@ SOA ns root 1 2 3 4 5\n@" SIG("SOA")
	"@ NS ns\n@" SIG("NS") "@ DNSKEY 257 3 13 AAAA\n@" SIG("DNSKEY")
	"@ NSEC *.w NS SOA RRSIG NSEC DNSKEY\n@" SIG("NSEC")
	"*.w A 192.0.2.1\n*.w" SIG("A")
	"*.w NSEC cut A RRSIG NSEC\n*.w" SIG("NSEC")
	"cut NS ns.cut\nns.cut A 192.0.2.1\n"
	"cut NSEC ns NS RRSIG NSEC\ncut" SIG("NSEC")
	"ns A 192.0.2.1\nns" SIG("A")
	"ns NSEC @ A RRSIG NSEC\nns" SIG("NSEC");

/* RRsets that no pointer reaches over, and that are too long for a message. */
#define BIG_TEXT_MAX (256u << 10)
#define BIG_RECORDS 80u
#define LONG_RECORDS 1500u
static char big_text[BIG_TEXT_MAX];

static void
make_big_text(void)
{
	size_t len = (size_t)sprintf(big_text, "$TTL 300\n"
		"@ SOA ns root 1 2 3 4 5\n@ NS ns\nns A 192.0.2.1\n"
		"c CNAME b\n");

	for (unsigned i = 0; i < BIG_RECORDS; i++)
		len += (size_t)sprintf(big_text + len, "b TXT %0200u\n"
			"b MX 1 Mail%u.In-Letters-Of-Both-Cases.Other\n"
			"b NS N%u.in-letters-of-both-cases.other\n", i, i, i);
	for (unsigned i = 0; i < LONG_RECORDS; i++)
		len += (size_t)sprintf(big_text + len,
			"l PTR n%u.%s.%s.other.\n", i,
			i % 2 != 0 ? "In-Letters-Of-Both-Cases"
				: "in-letters-of-both-cases",
			i % 3 != 0 ? "and-more" : "And-More");
	MUST(len < BIG_TEXT_MAX);
}

static const struct {
	const char *apex, *text; /* text NULL: it is not loaded */
} zones[SERVER_ZONES] = {
	{"example.", example_text}, {"sub.example.", sub_text},
	{"other.", other_text}, {"z.", signed_text}, {"gone.", other_text},
	{"closed.", NULL}, {"big.", big_text},
};
#define ZONE_GONE 4u /* an expired zone */

static const char *const names[] = {"", "\7example", "\3ns1\7example",
	"\4mail\7example", "\1a\1w\7example", "\1a\1c\7example",
	"\1a\3cut\7example", "\1a\3sub\7example", "\5loop1\7example",
	"\3far\7example", "\3out\7example", "\1a\2dn\7example",
	"\1a\2dl\7example", "\3svc\7example", "\3txt\7example",
	"\3srv\7example", "\3sub\7example", "\1x\3sub\7example", "\5other",
	"\3www\5other", "\1z", "\1a\1z", "\1a\1w\1z", "\1a\3cut\1z", "\4gone",
	"\6closed", "\2id\6server", "\7version\4bind", "\7nowhere",
	"\4back\5other", "\1d\3sub\7example",
	"\3big", "\1b\3big", "\1c\3big", "\1l\3big", "\1a\1b\3big"};

/* The keys that the server may have, with both secrets, and an unknown one. */
static const struct mutate_key keys[2 * SERVER_KEYS + 1] = {
	{"\1k\4test", MAC_HMAC_SHA256, "secret"},
	{"\1k\4test", MAC_HMAC_SHA256, "another"},
	{"\2k2", MAC_HMAC_SHA1, "second"},
	{"\2k2", MAC_HMAC_SHA1, "another"},
	{"\2k3", MAC_HMAC_SHA512, "third"},
	{"\2k3", MAC_HMAC_SHA512, "another"},
	{"\7unknown", MAC_HMAC_SHA256, "nobody's"},
};

static const struct cookie_secrets cookie_secrets[2] = {
	{2, {"sixteen octets A", "sixteen octets B"}},
	{1, {"sixteen octets B"}},
};
static uint8_t right_cookie[COOKIE_LEN];

const struct mutate_dns server_dns = {
	.names = names,
	.name_count = sizeof(names) / sizeof(*names),
	.keys = keys,
	.key_count = sizeof(keys) / sizeof(*keys),
	.now_sec = SERVER_NOW,
	.cookie = right_cookie,
};

/* ---- settings ------------------------------------------------------------ */

enum how {
	HOW_HIDDEN = 1,
	HOW_NSID = 2,
	HOW_MINIMAL = 4,
	HOW_ROUND_ROBIN = 8,
	HOW_REFUSE_ANY = 16,
	HOW_CONFINE = 32,
	HOW_DROP_UPDATES = 64,
	HOW_TLS_AUTH = 128,
};

enum more {
	MORE_SMALL = 1,
	MORE_LIMITS = 2,
	MORE_SLIP = 4,
	MORE_NO_COOKIES = 8,
	MORE_AGENT = 16,
	MORE_REJECT = 32,
	MORE_WIDER = 64,
	MORE_CLOSED = 128, /* lists need keys */
};

/* Lists for all zones: networks, one client that is blocked, a key, and whom
 * a certificate names. All have a primary, or no NOTIFY is taken. */
static store_ref
make_options(struct settings_edit *edit, const store_ref *of_keys, bool closed)
{
	struct acl_element any = {.family = 4, .kind = ACL_MASK};
	struct acl_element any6 = {.family = 6, .kind = ACL_MASK};
	struct acl_element blocked = {.family = 4, .kind = ACL_SINGLE,
		.blocked = 1, .address = {192, 0, 2, 2}};
	struct acl_element keyed = {.family = 4, .kind = ACL_MASK,
		.needs_key = 1, .key = of_keys[0]};
	struct acl_element shown = {.family = 6, .kind = ACL_MASK};
	struct acl_element range = {.family = 4, .kind = ACL_RANGE,
		.address = {192, 0, 2, 4}, .other = {192, 0, 2, 7}};
	struct acl_element query[] = {any, any6, blocked};
	struct acl_element provide[] = {keyed, range, shown, blocked};
	struct acl_element notify[] = {any, blocked};
	struct settings_lists lists = {
		.lists = {[SETTINGS_ALLOW_QUERY] = query,
			[SETTINGS_PROVIDE_XFR] = provide,
			[SETTINGS_ALLOW_NOTIFY] = notify,
			[SETTINGS_REQUEST_XFR] = &blocked},
		.counts = {[SETTINGS_ALLOW_QUERY] = 3,
			[SETTINGS_PROVIDE_XFR] = 4,
			[SETTINGS_ALLOW_NOTIFY] = 2,
			[SETTINGS_REQUEST_XFR] = 1},
	};
	store_ref options;

	MUST(settings_edit_identity(edit, "client.example",
		&provide[2].identity) == NSD_OK);
	if (closed) {
		query[0] = notify[0] = keyed;
		query[1].needs_key = 1;
		query[1].key = of_keys[1];
		lists.counts[SETTINGS_PROVIDE_XFR] = 1;
	}
	MUST(settings_edit_options(edit, &lists, &options) == NSD_OK);
	return options;
}

static struct settings_setup
make_setup(const struct server_settings *now)
{
	struct settings_setup setup = {
		.identity = now->how & HOW_HIDDEN ? NULL : "id",
		.version = "v",
		.nsid = (const uint8_t *)"nsid",
		.nsid_len = now->how & HOW_NSID ? 4 : 0,
		.udp4_size = now->more & MORE_SMALL ? 512 : 1232,
		.udp6_size = now->more & MORE_SMALL ? 4096 : 1220,
		.minimal_responses = (now->how & HOW_MINIMAL) != 0,
		.round_robin = (now->how & HOW_ROUND_ROBIN) != 0,
		.refuse_any = (now->how & HOW_REFUSE_ANY) != 0,
		.confine_to_zone = (now->how & HOW_CONFINE) != 0,
		.drop_updates = (now->how & HOW_DROP_UPDATES) != 0,
		.tls_auth_xfr_only = (now->how & HOW_TLS_AUTH) != 0,
		.tcp_reject_overflow = (now->more & MORE_REJECT) != 0,
		.rrl_ratelimit = now->more & MORE_LIMITS ? 1 : 0,
		.rrl_whitelist_ratelimit = 2,
		.rrl_slip = now->more & MORE_SLIP ? 0 : 2,
		.rrl_ip4 = {now->more & MORE_WIDER ? 2 : 1,
			{{24, 1}, {16, 2}}},
		.rrl_ip6 = {1, {{64, 1}}},
		.rrl_size = SERVER_BUCKETS,
		.answer_cookie = (now->more & MORE_NO_COOKIES) == 0,
		.report_channel = now->more & MORE_AGENT
			? (const uint8_t *)"\5agent" : NULL,
	};

	return setup;
}

static void
publish(struct server *s, const struct server_settings *now)
{
	struct settings_setup setup = make_setup(now);
	store_ref refs[SERVER_KEYS], of_keys[SERVER_KEYS] = {STORE_NONE};
	struct key_handle secrets[SERVER_KEYS];
	struct settings_edit *edit;
	store_ref options;

	MUST(settings_edit_begin(s->zones.writer, &edit) == NSD_OK);
	for (unsigned i = 0; i < SERVER_KEYS; i++) {
		if ((now->keys & 1u << i) == 0)
			continue;
		secrets[setup.key_count] = s->places[i][now->fresh >> i & 1];
		MUST(settings_edit_key(edit, (const uint8_t *)keys[2 * i].name,
			keys[2 * i].kind, &of_keys[i]) == NSD_OK);
		refs[setup.key_count++] = of_keys[i];
	}
	setup.keys = refs;
	setup.secrets = secrets;
	options = make_options(edit, of_keys, (now->more & MORE_CLOSED) != 0);
	for (unsigned i = 0; i < s->zone_count; i++)
		table_set_options(s->zones.writer, s->entries[i], options);
	MUST(settings_edit_publish(edit, &setup) == NSD_OK);
	settings_edit_end(edit);
	store_reclaim(s->zones.writer);
	s->now = *now;
}

/* ---- a server ------------------------------------------------------------ */

static void
add_zone(struct server *s, unsigned i)
{
	const struct zone_setup setup = {
		.apex = zone_fixture_name(zones[i].apex)};
	static const struct history_limits limits = {5, 0};

	MUST(table_add(s->zones.writer, &setup, 1, &s->entries[i]) == NSD_OK);
	if (zones[i].text != NULL)
		MUST(zone_fixture_load(&s->zones, zones[i].apex, zones[i].text,
			NULL) == NSD_OK);
	if (i != 0)
		return;
	history_fixture_push(s->zones.writer, s->entries[0], &limits,
		"@ 300 SOA ns1 root 1 2 3 4 5\nold 300 A 192.0.2.1\n",
		"@ 300 SOA ns1 root 2 2 3 4 5\nmail 300 A 192.0.2.9\n");
	history_fixture_push(s->zones.writer, s->entries[0], &limits,
		"@ 300 SOA ns1 root 2 2 3 4 5\nmail 300 A 192.0.2.9\n",
		"@ 300 SOA ns1 root 3 2 3 4 5\nmail 300 A 192.0.2.2\n"
		"Mail 300 A 192.0.2.1\nold 600 A 192.0.2.1\n");
}

static void
set_zones(struct server *s)
{
	for (unsigned i = 0; i < s->zone_count; i++) {
		table_set_group(s->zones.writer, s->entries[i], i % 3);
		table_set_expiry(s->zones.writer, s->entries[i],
			i == ZONE_GONE ? 1 : 0);
		table_set_changesets_stale(s->zones.writer, s->entries[i],
			false);
		table_set_flags(s->zones.writer, s->entries[i],
			i % 2 != 0 ? ZONE_ENTRY_FROM_XFRD : 0);
	}
	s->is_changed = false;
}

static void *
get_memory(size_t size)
{
	void *memory = aligned_alloc(64, (size + 63) & ~(size_t)63);

	MUST(memory != NULL);
	memset(memory, 0, (size + 63) & ~(size_t)63);
	return memory;
}

void
server_init(struct server *s, bool only_one)
{
	struct sockaddr_storage client = {.ss_family = AF_INET};

	((struct sockaddr_in *)&client)->sin_addr.s_addr = inet_addr(
		"192.0.2.0");
	cookie_make(&cookie_secrets[0], (const uint8_t *)"fuzzfuzz", &client,
		SERVER_NOW, right_cookie);
	make_big_text();
	memset(s, 0, sizeof(*s));
	zone_fixture_init(&s->zones);
	s->zone_count = only_one ? 1 : SERVER_ZONES;
	for (unsigned i = 0; i < s->zone_count; i++)
		add_zone(s, i);
	set_zones(s);
	MUST(store_reader_open(s->zones.store, 0, "fuzz", &s->reader)
		== NSD_OK);
	MUST(key_store_create(2 * SERVER_KEYS, 0, &s->key_store) == NSD_OK);
	for (unsigned i = 0; i < 2 * SERVER_KEYS; i++)
		MUST(key_store_add(s->key_store,
			(const uint8_t *)keys[i].secret,
			strlen(keys[i].secret), &s->places[i / 2][i % 2])
			== NSD_OK);
	rrl_init(&s->limits, get_memory(rrl_octets(SERVER_BUCKETS)),
		SERVER_BUCKETS,
		(const uint8_t *)"0123456789abcdef0123456789abcdef");
	counters_block_init(&s->block, get_memory(counters_block_size(
		SERVER_GROUPS)), SERVER_GROUPS);
	publish(s, &s->now);
}

void
server_begin(struct server *s, const struct server_settings *settings,
	unsigned cname_max)
{
	const struct query_options options = {
		.cname_max = cname_max,
		.block = &s->block,
		.key_store = s->key_store,
		.limits = &s->limits,
		.cookies = &s->cookies,
		.reader = s->reader,
	};

	memset(s->limits.lines, 0, rrl_octets(SERVER_BUCKETS));
	memset(&s->cookies, 0, sizeof(s->cookies));
	cookie_share_write(&s->cookies, &cookie_secrets[0]);
	if (s->is_changed)
		set_zones(s);
	if (memcmp(&s->now, settings, sizeof(s->now)) != 0)
		publish(s, settings);
	MUST(query_ctx_create(&options, &s->counters, &s->ctx) == NSD_OK);
	s->now_sec = SERVER_NOW;
	s->now_msec = 1000000;
	query_set_time(s->ctx, s->now_sec, 100);
	query_set_msec(s->ctx, s->now_msec);
}

void
server_end(struct server *s)
{
	query_ctx_destroy(s->ctx);
	s->ctx = NULL;
}

/* ---- changes ------------------------------------------------------------- */

/* A secret goes and comes again at another place. */
static void
move_secret(struct server *s, unsigned key)
{
	const char *secret = keys[key].secret;
	struct key_handle *place = &s->places[key / 2][key % 2];

	key_store_remove(s->key_store, *place);
	MUST(key_store_add(s->key_store, (const uint8_t *)secret,
		strlen(secret),
		place) == NSD_OK);
}

static void
change_zone(struct server *s, unsigned zone, uint8_t how)
{
	store_ref entry = s->entries[zone % s->zone_count];

	s->is_changed = true;
	switch (how % 4) {
	case 0:
		table_set_expiry(s->zones.writer, entry, how / 4);
		break;
	case 1:
		table_set_group(s->zones.writer, entry, how / 4
			% (SERVER_GROUPS + 2));
		break;
	case 2:
		table_set_changesets_stale(s->zones.writer, entry, how / 4 % 2);
		break;
	default: /* the same, at another place */
		zone %= s->zone_count;
		if (zones[zone].text != NULL)
			MUST(zone_fixture_load(&s->zones, zones[zone].apex,
				zones[zone].text, NULL) == NSD_OK);
	}
}

void
server_change(struct server *s, uint8_t what, const uint8_t *data, size_t len)
{
	static struct rssac rssac;
	struct server_settings next = s->now;
	uint8_t first = len > 0 ? data[0] : 0, second = len > 1 ? data[1] : 0;

	switch (what % 8) {
	case 0:
		next.keys = first & 7;
		next.fresh = second & 7;
		publish(s, &next);
		break;
	case 1:
		next.how = first;
		next.more = second;
		publish(s, &next);
		break;
	case 2:
		query_forget_keys(s->ctx);
		break;
	case 3:
		s->now_sec += first;
		s->now_msec += first * 100u;
		query_set_time(s->ctx, s->now_sec, 100u + first);
		query_set_msec(s->ctx, s->now_msec);
		break;
	case 4:
		cookie_share_write(&s->cookies, &cookie_secrets[first % 2]);
		break;
	case 5:
		change_zone(s, first, second);
		break;
	case 6:
		query_set_rssac(s->ctx, first % 2 != 0 ? &rssac : NULL);
		break;
	default:
		move_secret(s, first % (2 * SERVER_KEYS));
		publish(s, &next);
	}
}

/* ---- replies ------------------------------------------------------------- */

void
server_check_message(const uint8_t *reply, size_t len)
{
	struct message_question question;
	struct message_name name;
	struct message_rr rr;
	struct cursor c;
	unsigned records = 0;

	MUST(len >= MESSAGE_HEADER_LEN);
	cursor_init(&c, reply, len);
	c.at += MESSAGE_HEADER_LEN;
	MUST((message_get_flags(reply) & MESSAGE_QR) != 0);
	MUST(message_get_count(reply, MESSAGE_QDCOUNT) <= 1);
	if (message_get_count(reply, MESSAGE_QDCOUNT) == 1)
		MUST(message_read_question(&c, &question) == NSD_OK);
	for (unsigned at = MESSAGE_ANCOUNT; at <= MESSAGE_ARCOUNT; at += 2)
		records += octets_get_u16(reply + at);
	while (records-- > 0) {
		MUST(message_read_rr(&c, &rr) == NSD_OK);
		MUST(message_expand_name(reply, len, rr.owner_at, &name)
			== NSD_OK);
		if (rr.type == TYPE_NS || rr.type == TYPE_CNAME)
			MUST(message_expand_name(reply, len,
				(size_t)(rr.rdata - reply), &name) == NSD_OK);
	}
	MUST(cursor_left(&c) == 0);
}

/* ---- signatures ---------------------------------------------------------- */

size_t
server_find_tsig(const uint8_t *message, size_t len)
{
	struct message_question question;
	struct message_rr rr = {.type = 0};
	struct cursor c;
	unsigned records = 0;

	if (len < MESSAGE_HEADER_LEN)
		return 0;
	cursor_init(&c, message, len);
	c.at += MESSAGE_HEADER_LEN;
	for (unsigned i = message_get_count(message, MESSAGE_QDCOUNT); i > 0;
		i--)
		if (message_read_question(&c, &question) != NSD_OK)
			return 0;
	for (unsigned at = MESSAGE_ANCOUNT; at <= MESSAGE_ARCOUNT; at += 2)
		records += octets_get_u16(message + at);
	if (message_get_count(message, MESSAGE_ARCOUNT) == 0)
		return 0;
	while (records-- > 0)
		if (message_read_rr(&c, &rr) != NSD_OK)
			return 0;
	return rr.type == TYPE_TSIG ? rr.owner_at : 0;
}

bool
server_has_signed(const struct server *s, const uint8_t *request, size_t len,
	struct tsig_chain *chain)
{
	static struct tsig_key tsig_keys[2 * SERVER_KEYS];
	size_t at = server_find_tsig(request, len);
	struct tsig tsig;

	if (at == 0 || tsig_read(request, len, at, &tsig) != NSD_OK)
		return false;
	for (unsigned i = 0; i < SERVER_KEYS; i++) {
		unsigned which = 2 * i + (s->now.fresh >> i & 1);
		struct tsig_key *key = &tsig_keys[which];
		enum rcode rcode;

		if ((s->now.keys & 1u << i) == 0)
			continue;
		key->kind = keys[which].kind;
		memcpy(key->name, keys[which].name,
			strlen(keys[which].name) + 1);
		if (key->mac == NULL)
			MUST(mac_create(key->kind,
				(const uint8_t *)keys[which].secret,
				strlen(keys[which].secret), &key->mac)
				== NSD_OK);
		tsig_begin(chain, key);
		rcode = tsig_check(chain, request, &tsig, s->now_sec);
		if (rcode == RCODE_NOERROR || rcode == RCODE_BADTIME)
			return true;
	}
	return false;
}
