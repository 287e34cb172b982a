/*
 * test_client_update.c - UPDATE (RFC 2136): for which zones, by whom and of
 * which records; what is passed on, and the reply to that.
 */
#include "config.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/key_store.h"
#include "base/log.h"
#include "base/mac.h"
#include "base/octets.h"
#include "dns/tsig.h"
#include "raw.h"
#include "settings/update_policy.h"
#include "store/writer.h"
#include "zonedb/table_edit.h"

#define NOW 1000000u
#define UPDATE_FLAGS (OPCODE_UPDATE << 11)

static const struct acl_element primary = {
	.family = 4, .kind = ACL_SINGLE, .address = {192, 0, 2, 9}};
static const uint8_t secret[16] = "0123456789abcde";

/* Zones: taken. takes updates of 192.0.2.1, and with the key k. of 192.0.2.2;
 * policy. by update-policy; passed. passes them on; none. takes none. */
struct fixture {
	struct world w;
	struct key_store *key_store;
	struct key_handle handles[2];
};

static void
publish(struct fixture *f, bool takes, bool with_keys)
{
	struct settings_setup setup = f->w.options;
	struct settings_edit *edit;
	struct store_writer *writer = f->w.writer;
	store_ref keys[2], options;
	const uint16_t txt = TYPE_TXT;
	struct update_policy_line line = {
		.name = (const uint8_t *)"\017_acme-challenge", .types = &txt,
		.type_count = 1, .kind = UPDATE_POLICY_LABELS};
	struct acl_element from[3] = {
		{.family = 4, .kind = ACL_SINGLE, .address = {192, 0, 2, 1}},
		{.family = 4, .kind = ACL_SINGLE, .address = {192, 0, 2, 2},
			.needs_key = 1},
		{.family = 4, .kind = ACL_SINGLE, .address = {192, 0, 2, 3},
			.blocked = 1},
	};
	struct settings_lists lists = {
		.lists[SETTINGS_ALLOW_UPDATE] = from,
		.counts[SETTINGS_ALLOW_UPDATE] = 3,
	};
	struct settings_lists policy = {
		.lists[SETTINGS_ALLOW_UPDATE] = from + 2,
		.counts[SETTINGS_ALLOW_UPDATE] = 1,
		.policies = &line, .policy_count = 1};
	struct settings_lists passed = {
		.lists = {[SETTINGS_UPDATE_FORWARD] = from,
			[SETTINGS_REQUEST_XFR] = &primary},
		.counts = {[SETTINGS_UPDATE_FORWARD] = 3,
			[SETTINGS_REQUEST_XFR] = 1}};
	struct settings_lists *const all[] = {&lists, &policy, &passed};

	assert_int_equal(settings_edit_begin(writer, &edit), NSD_OK);
	assert_int_equal(settings_edit_key(edit, (const uint8_t *)"\1k",
		MAC_HMAC_SHA256, &keys[0]), NSD_OK);
	assert_int_equal(settings_edit_key(edit, (const uint8_t *)"\1p",
		MAC_HMAC_SHA256, &keys[1]), NSD_OK);
	from[1].key = keys[0];
	line.key = keys[1];
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(settings_edit_options(edit, all[i],
			&options), NSD_OK);
		table_set_options(writer, f->w.zones[i].entry, options);
	}
	setup.takes_updates = takes;
	setup.keys = keys;
	setup.secrets = f->handles;
	setup.key_count = with_keys ? 2 : 0;
	assert_int_equal(settings_edit_publish(edit, &setup), NSD_OK);
	settings_edit_end(edit);
}

static void
begin(struct fixture *f)
{
	static const char *const names[] = {"taken.", "policy.", "passed.",
		"none."};

	memset(f, 0, sizeof(*f));
	world_init(&f->w);
	for (unsigned i = 0; i < 4; i++) {
		struct world_zone *zone = world_add_zone(&f->w, names[i], "");
		char line[128];

		snprintf(line, sizeof(line), "%s 60 SOA n.%s r.%s 1 2 3 4 5",
			names[i], names[i], names[i]);
		world_add_record(zone, line);
		snprintf(line, sizeof(line), "%s 60 NS n.", names[i]);
		world_add_record(zone, line);
	}
	assert_int_equal(key_store_create(2, 0, &f->key_store), NSD_OK);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(key_store_add(f->key_store, secret,
			sizeof(secret), &f->handles[i]), NSD_OK);
	f->w.query_options.key_store = f->key_store;
	world_start(&f->w);
	publish(f, true, true);
	query_set_time(f->w.ctx, NOW, 0);
}

static void
end(struct fixture *f)
{
	world_fini(&f->w);
	key_store_destroy(f->key_store);
}

/* ---- messages ------------------------------------------------------------ */

struct request {
	const char *zone;
	uint16_t type;        /* of the zone section; 0: SOA */
	uint16_t rrclass;     /* 0: IN */
	const char *owners[3]; /* of records that are added; NULL: no more */
	uint16_t rr_type;     /* 0: TXT */
	uint16_t rr_class;    /* 0: IN */
	bool no_edns;
	char key;             /* a name of one letter; 0: not signed */
	uint64_t at_sec;      /* 0: NOW */
};

static size_t
put_name(uint8_t *out, const char *text)
{
	const struct ask ask = {.qname = text, .type = TYPE_A};
	uint8_t message[1024];
	size_t len = ask_write(&ask, message) - MESSAGE_HEADER_LEN
		- MESSAGE_QUESTION_TAIL;

	memcpy(out, message + MESSAGE_HEADER_LEN, len);
	return len;
}

static size_t
write_request(const struct request *r, uint8_t *out, size_t room)
{
	const struct ask ask = {.qname = r->zone,
		.type = r->type != 0 ? r->type : TYPE_SOA,
		.rrclass = r->rrclass, .flags = UPDATE_FLAGS};
	struct tsig_stamp stamp = {.time_sec = r->at_sec != 0 ? r->at_sec
			: NOW, .fudge_sec = 300, .error = RCODE_NOERROR};
	struct tsig_key key = {.kind = MAC_HMAC_SHA256};
	struct tsig_chain chain;
	size_t len = ask_write(&ask, out);

	for (unsigned i = 0; i < 3 && r->owners[i] != NULL; i++) {
		len += put_name(out + len, r->owners[i]);
		octets_put_u16(out + len,
			r->rr_type != 0 ? r->rr_type : TYPE_TXT);
		octets_put_u16(out + len + 2,
			r->rr_class != 0 ? r->rr_class : CLASS_IN);
		memcpy(out + len + 4, "\0\0\0\0\0\2\1x", 8);
		len += 12;
		out[MESSAGE_NSCOUNT + 1]++;
	}
	if (!r->no_edns) {
		memcpy(out + len, "\0\0\051\004\320\0\0\0\0\0\0", 11);
		len += 11;
		out[MESSAGE_ARCOUNT + 1]++;
	}
	if (r->key == 0)
		return len;
	memcpy(key.name, (uint8_t[]){1, (uint8_t)r->key, 0}, 3);
	assert_int_equal(mac_create(MAC_HMAC_SHA256, secret, sizeof(secret),
		&key.mac), NSD_OK);
	tsig_begin(&chain, &key);
	assert_int_equal(tsig_sign(&chain, out, &len, room, &stamp), NSD_OK);
	mac_destroy(key.mac);
	return len;
}

/* A message, and its reply. */
struct result {
	uint8_t request[2048];
	size_t request_len;
	struct sockaddr_storage peer;
	struct exchange x;
	uint8_t reply[4096];
};

static void
send_octets_from(struct fixture *f, struct result *o, const char *from,
	enum exchange_seen seen)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&o->peer;
	size_t passed_on;

	memset(&o->peer, 0, sizeof(o->peer));
	in->sin_family = AF_INET;
	in->sin_port = htons(4000);
	assert_int_equal(inet_pton(AF_INET, from, &in->sin_addr), 1);
	o->x = (struct exchange){.request = o->request,
		.request_len = (uint32_t)o->request_len, .reply = o->reply,
		.reply_capacity = sizeof(o->reply), .seen = seen,
		.transport = TRANSPORT_TCP, .peer = &o->peer};
	passed_on = query_answer_batch(f->w.ctx,
		store_writer_view(f->w.writer), &o->x, 1);
	assert_int_equal(passed_on, o->x.pass_on);
}

static void
send_from(struct fixture *f, struct result *o, const struct request *r,
	const char *from)
{
	o->request_len = write_request(r, o->request, sizeof(o->request));
	send_octets_from(f, o, from, EXCHANGE_NEW);
}

static unsigned
rcode_of(const struct result *o)
{
	assert_true(o->x.reply_len >= MESSAGE_HEADER_LEN);
	assert_memory_equal(o->reply, o->request, 2);
	assert_int_equal(message_get_opcode(o->reply), OPCODE_UPDATE);
	assert_int_equal(message_get_flags(o->reply)
		& (MESSAGE_QR | MESSAGE_AA), MESSAGE_QR);
	return message_get_rcode(o->reply);
}

/* The error of the TSIG of a reply; 0xffff: it has none. */
static unsigned
tsig_error_of(const struct result *o)
{
	unsigned count = message_get_count(o->reply, MESSAGE_ARCOUNT);
	struct message_question question;
	struct message_rr rr = {.type = 0};
	struct cursor c;
	struct tsig tsig;

	cursor_init(&c, o->reply, o->x.reply_len);
	c.at += MESSAGE_HEADER_LEN;
	for (unsigned i = 0; i < message_get_count(o->reply, MESSAGE_QDCOUNT);
		i++)
		assert_int_equal(message_read_question(&c, &question),
			NSD_OK);
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(message_read_rr(&c, &rr), NSD_OK);
	if (rr.type != TYPE_TSIG)
		return 0xffff;
	assert_int_equal(tsig_read(o->reply, o->x.reply_len, rr.owner_at,
		&tsig), NSD_OK);
	return tsig.error;
}

static void
expect_passed_on(const struct result *o)
{
	assert_true(o->x.pass_on);
	assert_int_equal(o->x.reply_len, 0);
}

/* A refusal, with an extended error that has this in its text. */
static void
expect_refused(const struct result *o, unsigned rcode, unsigned ede,
	const char *text)
{
	const uint8_t *at;

	assert_false(o->x.pass_on);
	assert_int_equal(rcode_of(o), rcode);
	for (at = o->reply; at + 6 <= o->reply + o->x.reply_len; at++)
		if (octets_get_u16(at) == EDNS_EDE
			&& octets_get_u16(at + 4) == ede
			&& octets_get_u16(at + 2) >= 2 + strlen(text)
			&& memmem(at + 6, octets_get_u16(at + 2) - 2u, text,
				strlen(text)) != NULL)
			return;
	fail_msg("no extended error %u %s", ede, text);
}

/* ---- tests --------------------------------------------------------------- */

static void
allowed_update_is_passed_on(void **state)
{
	struct fixture f;
	struct result o;

	begin(&f);
	send_from(&f, &o, &(struct request){.zone = "taken.",
		.owners = {"x.taken."}}, "192.0.2.1");
	expect_passed_on(&o);
	send_from(&f, &o, &(struct request){.zone = "TAKEN.", .key = 'k',
		.owners = {"x.taken."}}, "192.0.2.2");
	expect_passed_on(&o);
	/* Prerequisites alone, and no record: the list allows it. */
	send_from(&f, &o, &(struct request){.zone = "taken."}, "192.0.2.1");
	expect_passed_on(&o);
	assert_int_equal(f.w.counters.update_received, 3);
	assert_int_equal(f.w.counters.dropped, 0);
	end(&f);
}

static void
zone_without_updates_says_notimp(void **state)
{
	static const char *const zones[] = {"none.", "taken.", "x."};
	struct fixture f;
	struct result o;

	begin(&f);
	for (unsigned i = 0; i < 3; i++) {
		const struct request r = {.zone = zones[i], .key = 'k'};

		if (i == 1)
			publish(&f, false, true);
		send_from(&f, &o, &r, "192.0.2.1");
		assert_false(o.x.pass_on);
		assert_int_equal(o.x.reply_len, MESSAGE_HEADER_LEN);
		assert_int_equal(rcode_of(&o), RCODE_NOTIMP);
		assert_memory_equal(o.reply + 4, "\0\0\0\0\0\0\0\0", 8);
	}
	assert_int_equal(f.w.counters.update_received, 0);
	end(&f);
}

static void
client_that_no_list_has_is_refused(void **state)
{
	struct fixture f;
	struct result o;

	begin(&f);
	send_from(&f, &o, &(struct request){.zone = "taken."}, "192.0.2.2");
	expect_refused(&o, RCODE_REFUSED, EDE_PROHIBITED, "allow-update");
	assert_int_equal(tsig_error_of(&o), 0xffff);
	/* Signed, where the element wants it unsigned. */
	send_from(&f, &o, &(struct request){.zone = "taken.", .key = 'k'},
		"192.0.2.1");
	expect_refused(&o, RCODE_REFUSED, EDE_PROHIBITED, "allow-update");
	assert_int_equal(tsig_error_of(&o), 0);
	send_from(&f, &o, &(struct request){.zone = "taken.", .key = 'p'},
		"192.0.2.2");
	expect_refused(&o, RCODE_REFUSED, EDE_PROHIBITED, "allow-update");
	assert_int_equal(f.w.counters.update_rcode[RCODE_REFUSED], 3);
	end(&f);
}

static void
policy_is_about_each_record(void **state)
{
	struct request r = {.zone = "policy.", .key = 'p',
		.owners = {"_acme-challenge.policy.",
			"_ACME-challenge.www.policy."}};
	struct fixture f;
	struct result o;

	begin(&f);
	send_from(&f, &o, &r, "198.51.100.1");
	expect_passed_on(&o);
	/* The element that blocks holds even so. */
	send_from(&f, &o, &r, "192.0.2.3");
	expect_refused(&o, RCODE_REFUSED, EDE_PROHIBITED, "allow-update");
	r.owners[2] = "www.policy.";
	send_from(&f, &o, &r, "198.51.100.1");
	expect_refused(&o, RCODE_REFUSED, EDE_PROHIBITED,
		"update-policy does not allow TXT of www.policy.");
	r.owners[2] = "_acme-challenge.elsewhere.";
	send_from(&f, &o, &r, "198.51.100.1");
	expect_refused(&o, RCODE_REFUSED, EDE_PROHIBITED, "elsewhere.");
	r.owners[2] = NULL;
	r.rr_type = TYPE_A;
	send_from(&f, &o, &r, "198.51.100.1");
	expect_refused(&o, RCODE_REFUSED, EDE_PROHIBITED, "allow A of");
	/* All records of a name. */
	r.rr_type = TYPE_ANY;
	r.rr_class = CLASS_ANY;
	send_from(&f, &o, &r, "198.51.100.1");
	expect_refused(&o, RCODE_REFUSED, EDE_PROHIBITED, "allow ANY of");
	/* Not signed, or by another key. */
	r.rr_type = TYPE_TXT;
	r.rr_class = CLASS_IN;
	r.key = 0;
	send_from(&f, &o, &r, "198.51.100.1");
	expect_refused(&o, RCODE_REFUSED, EDE_PROHIBITED,
		"update-policy needs a key");
	r.key = 'k';
	send_from(&f, &o, &r, "198.51.100.1");
	expect_refused(&o, RCODE_REFUSED, EDE_PROHIBITED, "update-policy");
	/* No record: there is nothing that a line could allow. */
	r.key = 'p';
	r.owners[0] = NULL;
	send_from(&f, &o, &r, "198.51.100.1");
	expect_refused(&o, RCODE_REFUSED, EDE_PROHIBITED,
		"update-policy allows changes");
	end(&f);
}

static void
zone_of_another_server_is_notauth(void **state)
{
	static const char *const zones[] = {"x.", "sub.taken.", "."};
	struct fixture f;
	struct result o;

	begin(&f);
	for (unsigned i = 0; i < 3; i++) {
		send_from(&f, &o, &(struct request){.zone = zones[i],
			.key = 'k'}, "192.0.2.1");
		expect_refused(&o, RCODE_NOTAUTH, EDE_NOT_AUTHORITATIVE, "");
		assert_int_equal(tsig_error_of(&o), 0);
	}
	send_from(&f, &o, &(struct request){.zone = "taken.",
		.rrclass = CLASS_CH}, "192.0.2.1");
	expect_refused(&o, RCODE_NOTAUTH, EDE_NOT_AUTHORITATIVE, "");
	end(&f);
}

/* RFC 8945 section 5.2 */
static void
wrong_signature_is_notauth(void **state)
{
	struct fixture f;
	struct result o;

	begin(&f);
	send_from(&f, &o, &(struct request){.zone = "taken.", .key = 'u'},
		"192.0.2.2");
	expect_refused(&o, RCODE_NOTAUTH, EDE_PROHIBITED, "not known");
	assert_int_equal(tsig_error_of(&o), RCODE_BADKEY);
	send_from(&f, &o, &(struct request){.zone = "taken.", .key = 'k',
		.at_sec = NOW - 301}, "192.0.2.2");
	expect_refused(&o, RCODE_NOTAUTH, EDE_PROHIBITED,
		"says 999699, and it is 1000000 here");
	assert_int_equal(tsig_error_of(&o), RCODE_BADTIME);
	o.request_len = write_request(&(struct request){.zone = "taken.",
		.key = 'k'}, o.request, sizeof(o.request));
	o.request[o.request_len - 10] ^= 1;
	send_octets_from(&f, &o, "192.0.2.2", EXCHANGE_NEW);
	expect_refused(&o, RCODE_NOTAUTH, EDE_PROHIBITED,
		"signature of the TSIG is wrong");
	assert_int_equal(tsig_error_of(&o), RCODE_BADSIG);
	end(&f);
}

/* RFC 2136 section 3.1.1 */
static void
malformed_update_is_formerr(void **state)
{
	const struct request r = {.zone = "taken.", .key = 'k',
		.owners = {"x.taken.", "y.taken."}};
	struct fixture f;
	struct result o;
	size_t len;

	begin(&f);
	send_from(&f, &o, &(struct request){.zone = "taken.",
		.type = TYPE_A}, "192.0.2.1");
	assert_int_equal(rcode_of(&o), RCODE_FORMERR);
	len = o.request_len = write_request(&r, o.request, sizeof(o.request));
	for (unsigned count = 0; count <= 2; count += 2) {
		o.request[MESSAGE_QDCOUNT + 1] = (uint8_t)count;
		send_octets_from(&f, &o, "192.0.2.1", EXCHANGE_NEW);
		assert_int_equal(rcode_of(&o), RCODE_FORMERR);
	}
	write_request(&r, o.request, sizeof(o.request));
	for (size_t cut = MESSAGE_HEADER_LEN; cut < len; cut++) {
		o.request_len = cut;
		send_octets_from(&f, &o, "192.0.2.1", EXCHANGE_NEW);
		assert_false(o.x.pass_on);
		assert_int_equal(rcode_of(&o), RCODE_FORMERR);
	}
	end(&f);
}

/* Of a zone that passes them on, a key may be the primary's alone. */
static void
forwarded_update_may_have_a_key_of_the_primary(void **state)
{
	struct fixture f;
	struct result o;

	begin(&f);
	for (const char *key = "ukp"; *key != '\0'; key++) {
		send_from(&f, &o, &(struct request){.zone = "passed.",
			.key = *key}, "192.0.2.1");
		expect_passed_on(&o);
	}
	send_from(&f, &o, &(struct request){.zone = "passed."}, "192.0.2.1");
	expect_passed_on(&o);
	/* This element wants a key of ours. */
	send_from(&f, &o, &(struct request){.zone = "passed.", .key = 'k'},
		"192.0.2.2");
	expect_passed_on(&o);
	send_from(&f, &o, &(struct request){.zone = "passed.", .key = 'u'},
		"192.0.2.2");
	expect_refused(&o, RCODE_NOTAUTH, EDE_PROHIBITED, "not known");
	send_from(&f, &o, &(struct request){.zone = "passed.", .key = 'p'},
		"192.0.2.2");
	expect_refused(&o, RCODE_REFUSED, EDE_PROHIBITED, "update-forward");
	send_from(&f, &o, &(struct request){.zone = "passed."},
		"192.0.2.3");
	expect_refused(&o, RCODE_REFUSED, EDE_PROHIBITED, "update-forward");
	end(&f);
}

/* A request that was put off is passed on when it comes again; one whose reply
 * was to come already is not. */
static void
update_that_comes_again_is_passed_on_once(void **state)
{
	struct fixture f;
	struct result o;

	begin(&f);
	o.request_len = write_request(&(struct request){.zone = "taken."},
		o.request, sizeof(o.request));
	send_octets_from(&f, &o, "192.0.2.1", EXCHANGE_PUT_OFF);
	expect_passed_on(&o);
	send_octets_from(&f, &o, "192.0.2.1", EXCHANGE_ANSWERED);
	assert_false(o.x.pass_on);
	assert_int_equal(o.x.reply_len, 0);
	assert_int_equal(f.w.counters.update_received, 0);
	end(&f);
}

static void
answer(struct fixture *f, struct result *o,
	const struct query_outcome *outcome)
{
	o->x.seen = EXCHANGE_ANSWERED;
	query_answer_update(f->w.ctx, store_writer_view(f->w.writer), &o->x,
		outcome);
	assert_false(o->x.pass_on);
}

static void
outcome_is_replied_and_signed(void **state)
{
	static const struct query_outcome done = {RCODE_NOERROR, EDE_NONE,
		NULL};
	static const struct query_outcome exists = {RCODE_YXDOMAIN, EDE_OTHER,
		"x.taken. is in use"};
	struct fixture f;
	struct result o;

	begin(&f);
	send_from(&f, &o, &(struct request){.zone = "taken.", .key = 'k'},
		"192.0.2.2");
	expect_passed_on(&o);
	/* No zone takes any by now; and the request is old. */
	publish(&f, false, true);
	answer(&f, &o, &done);
	assert_int_equal(rcode_of(&o), RCODE_NOERROR);
	assert_int_equal(message_get_count(o.reply, MESSAGE_QDCOUNT), 1);
	assert_memory_equal(o.reply + 12, "\5taken\0\0\6\0\1", 11);
	assert_int_equal(tsig_error_of(&o), 0);
	answer(&f, &o, &exists);
	expect_refused(&o, RCODE_YXDOMAIN, EDE_OTHER, "x.taken. is in use");
	assert_int_equal(tsig_error_of(&o), 0);
	assert_int_equal(f.w.counters.update_received, 1);
	assert_int_equal(f.w.counters.update_rcode[RCODE_NOERROR], 1);
	assert_int_equal(f.w.counters.update_rcode[RCODE_YXDOMAIN], 1);
	assert_int_equal(f.w.counters.rcode[RCODE_YXDOMAIN], 1);
	assert_int_equal(f.w.counters.opcode[OPCODE_UPDATE], 1);
	end(&f);
}

/* A reply without the signature would be taken for a failure. */
static void
outcome_is_kept_back_if_the_key_is_gone(void **state)
{
	static const struct query_outcome done = {RCODE_NOERROR, EDE_NONE,
		NULL};
	static const struct query_outcome failed = {RCODE_SERVFAIL, EDE_OTHER,
		"no"};
	struct fixture f;
	struct result o;

	begin(&f);
	send_from(&f, &o, &(struct request){.zone = "taken.", .key = 'k'},
		"192.0.2.2");
	publish(&f, true, false);
	answer(&f, &o, &done);
	assert_int_equal(o.x.reply_len, 0);
	answer(&f, &o, &failed);
	expect_refused(&o, RCODE_SERVFAIL, EDE_OTHER, "no");
	assert_int_equal(tsig_error_of(&o), 0xffff);
	end(&f);
}

static void
refusals_are_noted_for_the_log(void **state)
{
	const struct query_access *access;
	struct fixture f;
	struct result o;
	size_t count;

	begin(&f);
	send_from(&f, &o, &(struct request){.zone = "policy.", .key = 'p',
		.owners = {"www.policy."}}, "198.51.100.1");
	access = query_accesses(f.w.ctx, &count);
	assert_int_equal(count, 1);
	assert_int_equal(access->kind, QUERY_ACCESS_UPDATE);
	assert_int_equal(access->fault, QUERY_FAULT_POLICY);
	assert_memory_equal(access->of, "\3www\6policy", 12);
	assert_int_equal(access->type, TYPE_TXT);
	assert_memory_equal(access->key, "\1p", 3);
	send_from(&f, &o, &(struct request){.zone = "taken.", .key = 'k',
		.at_sec = NOW + 500}, "192.0.2.2");
	access = query_accesses(f.w.ctx, &count);
	assert_int_equal(count, 1);
	assert_int_equal(access->fault, QUERY_FAULT_TIME);
	assert_memory_equal(access->of, "\1k", 3);
	assert_int_equal(access->key[0], 0);
	assert_int_equal(access->signed_sec, NOW + 500);
	assert_int_equal(access->now_sec, NOW);
	/* The element that blocks is looked for if the log wants it. */
	for (unsigned verbosity = 0; verbosity <= 1; verbosity++) {
		log_set_verbosity(verbosity);
		send_from(&f, &o, &(struct request){.zone = "taken."},
			"192.0.2.3");
		access = query_accesses(f.w.ctx, &count);
		assert_int_equal(count, 1);
		assert_int_equal(access->fault, QUERY_FAULT_NONE);
		assert_int_equal(access->blocked, verbosity == 1);
	}
	log_set_verbosity(0);
	send_from(&f, &o, &(struct request){.zone = "policy.",
		.owners = {"a.policy."}}, "198.51.100.1");
	access = query_accesses(f.w.ctx, &count);
	assert_int_equal(count, 1);
	assert_int_equal(access->fault, QUERY_FAULT_UNSIGNED);
	expect_refused(&o, RCODE_REFUSED, EDE_PROHIBITED,
		"The update is not signed: update-policy needs a key");
	send_from(&f, &o, &(struct request){.zone = "taken."}, "192.0.2.1");
	(void)query_accesses(f.w.ctx, &count);
	assert_int_equal(count, 0);
	end(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(allowed_update_is_passed_on),
		cmocka_unit_test(zone_without_updates_says_notimp),
		cmocka_unit_test(client_that_no_list_has_is_refused),
		cmocka_unit_test(policy_is_about_each_record),
		cmocka_unit_test(zone_of_another_server_is_notauth),
		cmocka_unit_test(wrong_signature_is_notauth),
		cmocka_unit_test(malformed_update_is_formerr),
		cmocka_unit_test(
			forwarded_update_may_have_a_key_of_the_primary),
		cmocka_unit_test(update_that_comes_again_is_passed_on_once),
		cmocka_unit_test(outcome_is_replied_and_signed),
		cmocka_unit_test(outcome_is_kept_back_if_the_key_is_gone),
		cmocka_unit_test(refusals_are_noted_for_the_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
