/*
 * test_keys.c - requests signed with TSIG (RFC 8945) while settings are
 * published anew: keys come, go, and change places, and references are used
 * again.
 */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/key_store.h"
#include "base/mac.h"
#include "dns/tsig.h"
#include "expect.h"
#include "store/writer.h"

#define NOW 1000000u
#define KEYS_MAX 4u
/* In settings. */
#define SIZE_OF_KEY (sizeof(store_ref) + sizeof(struct key_handle))

/* A key is a letter: the name, and what makes its secret. */
struct octets {
	const uint8_t *at;
	size_t len;
};

static struct octets
name_of(char letter)
{
	static uint8_t names[KEYS_MAX][3];
	static unsigned next;
	uint8_t *name = names[next++ % KEYS_MAX];

	name[0] = 1;
	name[1] = (uint8_t)letter;
	name[2] = 0;
	return (struct octets){name, 3};
}

static struct octets
secret_of(char letter)
{
	static uint8_t secret[16];

	memset(secret, letter, sizeof(secret));
	return (struct octets){secret, sizeof(secret)};
}

static struct key_store *key_store;
/* Of the letters; id 0: it has no secret. */
static struct key_handle places[128];

static void
give_secret(char letter, char of)
{
	const struct octets secret = secret_of(of);

	assert_int_equal(key_store_add(key_store, secret.at, secret.len,
				 &places[(unsigned char)letter]),
		NSD_OK);
}

/* Publishes settings with these keys, in this order. */
static void
publish(struct world *w, const char *letters, enum mac_kind kind)
{
	struct settings_setup setup = w->options;
	struct settings_edit *edit;
	struct key_handle secrets[KEYS_MAX];
	store_ref keys[KEYS_MAX];
	char filler[KEYS_MAX * SIZE_OF_KEY + 1];

	memset(filler, 'v', sizeof(filler) - 1);
	filler[sizeof(filler) - 1] = '\0';

	assert_int_equal(settings_edit_begin(w->writer, &edit), NSD_OK);
	for (setup.key_count = 0; letters[setup.key_count] != '\0';
		setup.key_count++) {
		char letter = letters[setup.key_count];

		secrets[setup.key_count] = places[(unsigned char)letter];
		assert_int_equal(settings_edit_key(edit, name_of(letter).at,
					 kind, &keys[setup.key_count]),
			NSD_OK);
	}
	setup.keys = keys;
	setup.secrets = secrets;
	/* Settings have one size, so new ones take the place of old ones. */
	setup.version = filler + setup.key_count * SIZE_OF_KEY;
	assert_int_equal(settings_edit_publish(edit, &setup), NSD_OK);
	settings_edit_end(edit);
}

/* Writes a request that a key has signed, with a secret. */
static size_t
write_signed(uint8_t *out, size_t room, char letter, char secret,
	enum mac_kind kind)
{
	const struct ask ask = {.qname = "z.", .type = TYPE_SOA};
	const struct tsig_stamp stamp = {.time_sec = NOW, .fudge_sec = 300,
		.error = RCODE_NOERROR};
	struct tsig_key key = {.kind = kind};
	struct tsig_chain chain;
	size_t len = ask_write(&ask, out);

	memcpy(key.name, name_of(letter).at, 3);
	assert_int_equal(mac_create(kind, secret_of(secret).at,
				 secret_of(secret).len, &key.mac),
		NSD_OK);
	tsig_begin(&chain, &key);
	assert_int_equal(tsig_sign(&chain, out, &len, room, &stamp), NSD_OK);
	mac_destroy(key.mac);
	return len;
}

/* The RCODE of a reply to such a request. */
static enum rcode
ask_keyed(struct world *w, char letter, char secret, enum mac_kind kind)
{
	static uint8_t request[1024], reply[WORLD_REPLY_MAX];
	struct sockaddr_in from = {.sin_family = AF_INET,
		.sin_port = htons(4000)};
	struct sockaddr_storage peer;
	struct exchange x;

	memcpy(&peer, &from, sizeof(from));
	x = (struct exchange){.request = request,
		.request_len = (uint32_t)write_signed(request,
			sizeof(request), letter, secret, kind),
		.reply = reply,
		.reply_capacity = sizeof(reply),
		.transport = TRANSPORT_UDP,
		.peer = &peer};
	query_set_time(w->ctx, NOW, 0);
	(void)query_answer_batch(w->ctx, store_writer_view(w->writer), &x, 1);
	assert_true(x.reply_len >= 12);
	return (enum rcode)(reply[3] & 15);
}

static enum rcode
ask_signed(struct world *w, char letter, enum mac_kind kind)
{
	return ask_keyed(w, letter, letter, kind);
}

static void
start(struct world *w, const char *secrets)
{
	world_init(w);
	world_add_apex(world_add_zone(w, "z.", ""));
	memset(places, 0, sizeof(places));
	assert_int_equal(key_store_create(KEYS_MAX, 0, &key_store), NSD_OK);
	for (; *secrets != '\0'; secrets++)
		give_secret(*secrets, *secrets);
	w->query_options.key_store = key_store;
	world_start(w);
}

static void
end(struct world *w)
{
	world_fini(w);
	key_store_destroy(key_store);
}

static void
keys_may_change_their_places(void **state)
{
	static const char *const orders[] = {"ab", "ba", "b", "ab", "cab",
		"a", "bca", "ab"};
	struct world w;

	start(&w, "ab");
	for (unsigned i = 0; i < sizeof(orders) / sizeof(*orders); i++) {
		publish(&w, orders[i], MAC_HMAC_SHA256);
		for (const char *c = "ab"; *c != '\0'; c++)
			assert_int_equal(ask_signed(&w, *c, MAC_HMAC_SHA256),
				strchr(orders[i], *c) != NULL ? RCODE_NOERROR
							      : RCODE_NOTAUTH);
	}
	end(&w);
}

/* No query came while other settings were there in between. */
static void
more_keys_may_be_at_the_same_address(void **state)
{
	const struct store_view *view;
	const struct settings *of_one;
	bool same = false;
	struct world w;

	start(&w, "ab");
	view = store_writer_view(w.writer);
	for (unsigned i = 0; i < 8; i++) {
		publish(&w, "a", MAC_HMAC_SHA256);
		of_one = settings_get(view);
		assert_int_equal(ask_signed(&w, 'a', MAC_HMAC_SHA256),
			RCODE_NOERROR);
		for (unsigned k = 0; k < 4; k++) {
			publish(&w, "ab", MAC_HMAC_SHA256);
			(void)store_reclaim(w.writer);
			if (settings_get(view) == of_one)
				break;
		}
		same = same || settings_get(view) == of_one;
		assert_int_equal(ask_signed(&w, 'b', MAC_HMAC_SHA256),
			RCODE_NOERROR);
	}
	assert_true(same);
	end(&w);
}

static void
key_without_a_secret_is_none(void **state)
{
	struct world w;

	start(&w, "a");
	publish(&w, "c", MAC_HMAC_SHA256);
	assert_int_equal(ask_signed(&w, 'c', MAC_HMAC_SHA256), RCODE_NOTAUTH);
	/* The new key is at the reference of the old one. */
	publish(&w, "a", MAC_HMAC_SHA256);
	assert_int_equal(ask_signed(&w, 'a', MAC_HMAC_SHA256), RCODE_NOERROR);
	publish(&w, "", MAC_HMAC_SHA256);
	publish(&w, "c", MAC_HMAC_SHA256);
	assert_int_equal(ask_signed(&w, 'c', MAC_HMAC_SHA256), RCODE_NOTAUTH);
	assert_int_equal(ask_signed(&w, 'a', MAC_HMAC_SHA256), RCODE_NOTAUTH);
	end(&w);
}

/* The settings decide which one counts, from one batch to the next. */
static void
secret_is_that_of_the_settings(void **state)
{
	struct key_handle old;
	struct world w;

	start(&w, "a");
	publish(&w, "a", MAC_HMAC_SHA256);
	assert_int_equal(ask_signed(&w, 'a', MAC_HMAC_SHA256), RCODE_NOERROR);
	old = places['a'];
	give_secret('a', 'x');
	assert_int_equal(ask_signed(&w, 'a', MAC_HMAC_SHA256), RCODE_NOERROR);
	publish(&w, "a", MAC_HMAC_SHA256);
	assert_int_equal(ask_signed(&w, 'a', MAC_HMAC_SHA256), RCODE_NOTAUTH);
	assert_int_equal(ask_keyed(&w, 'a', 'x', MAC_HMAC_SHA256),
		RCODE_NOERROR);
	key_store_remove(key_store, old);
	assert_int_equal(ask_keyed(&w, 'a', 'x', MAC_HMAC_SHA256),
		RCODE_NOERROR);
	/* A secret is overwritten while the settings still name it. */
	key_store_remove(key_store, places['a']);
	publish(&w, "a", MAC_HMAC_SHA256);
	give_secret('a', 'y');
	for (const char *c = "axy"; *c != '\0'; c++)
		assert_int_equal(ask_keyed(&w, 'a', *c, MAC_HMAC_SHA256),
			RCODE_NOTAUTH);
	end(&w);
}

static void
algorithm_is_that_of_now(void **state)
{
	struct world w;

	start(&w, "a");
	publish(&w, "a", MAC_HMAC_SHA256);
	assert_int_equal(ask_signed(&w, 'a', MAC_HMAC_SHA256), RCODE_NOERROR);
	publish(&w, "a", MAC_HMAC_SHA512);
	assert_int_equal(ask_signed(&w, 'a', MAC_HMAC_SHA256), RCODE_NOTAUTH);
	assert_int_equal(ask_signed(&w, 'a', MAC_HMAC_SHA512), RCODE_NOERROR);
	end(&w);
}

/* ---- requests that end before their TSIG is checked -------------------- */

/* The faults of such a request. */
enum early_end {
	END_RCODE,       /* an RCODE in the header */
	END_NO_QUESTION,
	END_TWO_QUESTIONS,
	EARLY_ENDS,
};

/* Writes a request with the TSIG of a key, whose MAC nobody has made. */
static size_t
write_ended(uint8_t *out, size_t room, char letter, enum early_end how,
	uint16_t opcode, bool edns)
{
	const struct ask ask = {.qname = "z.", .type = TYPE_SOA,
		.flags = (uint16_t)(opcode << 11), .edns = edns,
		.size = 1232};
	uint8_t mac[32] = {0};
	struct tsig tsig = {.time_sec = NOW, .fudge_sec = 300,
		.mac_len = sizeof(mac), .mac = mac};
	const uint8_t *algorithm = tsig_algorithm_name(MAC_HMAC_SHA256);
	size_t len = ask_write(&ask, out), tail = len - 12, at;

	assert_true(room >= 512);
	tsig.key.len = 3;
	memcpy(tsig.key.name, name_of(letter).at, 3);
	tsig.algorithm.len = (uint8_t)name_len(algorithm);
	memcpy(tsig.algorithm.name, algorithm, tsig.algorithm.len);
	if (how == END_RCODE) {
		out[3] |= RCODE_NOTAUTH;
	} else if (how == END_NO_QUESTION) {
		tail -= 3 + 4;
		memmove(out + 12, out + 12 + 3 + 4, tail);
		out[5] = 0;
	} else {
		memmove(out + 12 + 3 + 4, out + 12, tail);
		tail += 3 + 4;
		out[5] = 2;
	}
	len = 12 + tail;
	/* tsig_refuse leaves the MAC out; it is put back here. */
	assert_int_equal(tsig_refuse(&tsig, RCODE_NOERROR, out, &len, room),
		NSD_OK);
	at = len - 6;
	memmove(out + at + sizeof(mac), out + at, 6);
	memset(out + at, 0, sizeof(mac));
	out[at - 1] = sizeof(mac);
	out[at - 2 - 8 - tsig.algorithm.len - 1] += sizeof(mac);
	len += sizeof(mac);
	assert_int_equal(tsig_read(out, len, 12 + tail, &tsig), NSD_OK);
	return len;
}

/* FORMERR without a TSIG, with an OPT if the request has one that was read. */
static void
expect_unsigned_formerr(const struct exchange *x)
{
	struct message_rr rr;
	struct cursor c;
	unsigned count;

	assert_true(x->reply_len >= 12);
	assert_int_equal(x->reply[3] & 15, RCODE_FORMERR);
	assert_int_equal(x->reply[5], 0);
	cursor_init(&c, x->reply, x->reply_len);
	cursor_read_octets(&c, 12);
	count = message_get_count(x->reply, MESSAGE_ARCOUNT);
	assert_true(count <= 1);
	if (count == 1) {
		assert_int_equal(message_read_rr(&c, &rr), NSD_OK);
		assert_int_equal(rr.type, TYPE_OPT);
	}
	assert_int_equal(cursor_left(&c), 0);
}

/* Sends all of them, with the TSIG of a key, over a transport. */
static void
send_ended(struct world *w, char letter, enum exchange_transport transport)
{
	static uint8_t request[1024], reply[WORLD_REPLY_MAX];
	struct sockaddr_in from = {.sin_family = AF_INET,
		.sin_port = htons(4000)};
	struct sockaddr_storage peer;

	memcpy(&peer, &from, sizeof(from));
	query_set_time(w->ctx, NOW, 0);
	for (unsigned i = 0; i < EARLY_ENDS * 2 * 2; i++) {
		struct exchange x = {.request = request,
			.reply = reply,
			.reply_capacity = sizeof(reply),
			.transport = transport,
			.peer = &peer};

		x.request_len = (uint32_t)write_ended(request,
			sizeof(request), letter, i / 4,
			(i & 1) != 0 ? OPCODE_NOTIFY : OPCODE_QUERY,
			(i & 2) != 0);
		(void)query_answer_batch(w->ctx, store_writer_view(w->writer),
			&x, 1);
		expect_unsigned_formerr(&x);
	}
}

/* RFC 8945 section 5.2: the sender of the request was not checked. */
static void
request_that_ends_early_has_no_signed_reply(void **state)
{
	struct world w;

	start(&w, "a");
	for (unsigned keys = 0; keys < 2; keys++) {
		publish(&w, keys == 0 ? "" : "a", MAC_HMAC_SHA256);
		for (unsigned t = TRANSPORT_UDP; t <= TRANSPORT_TLS; t++) {
			send_ended(&w, 'a', t);
			send_ended(&w, 'k', t);
		}
	}
	end(&w);
}

/* The previous request in this place was signed. */
static void
strangers_reply_is_not_signed_for_the_one_before(void **state)
{
	struct world w;

	start(&w, "a");
	publish(&w, "a", MAC_HMAC_SHA256);
	for (unsigned t = TRANSPORT_UDP; t <= TRANSPORT_TLS; t++) {
		assert_int_equal(ask_signed(&w, 'a', MAC_HMAC_SHA256),
			RCODE_NOERROR);
		send_ended(&w, 'a', t);
		/* Signed with another secret: its chain has a key, too. */
		assert_int_equal(ask_keyed(&w, 'a', 'x', MAC_HMAC_SHA256),
			RCODE_NOTAUTH);
		send_ended(&w, 'a', t);
	}
	end(&w);
}

/* The key that was checked in its place is gone: the other request of the batch
 * is the first to see the new settings. */
static void
key_of_the_one_before_may_be_gone(void **state)
{
	static uint8_t requests[2][1024], replies[2][WORLD_REPLY_MAX];
	struct world w;
	struct sockaddr_in from = {.sin_family = AF_INET,
		.sin_port = htons(4000)};
	struct sockaddr_storage peer;
	struct exchange x[2];

	memcpy(&peer, &from, sizeof(from));
	start(&w, "ab");
	for (unsigned how = 0; how < EARLY_ENDS; how++) {
		publish(&w, "a", MAC_HMAC_SHA256);
		assert_int_equal(ask_signed(&w, 'a', MAC_HMAC_SHA256),
			RCODE_NOERROR);
		publish(&w, "b", MAC_HMAC_SHA256);
		for (unsigned i = 0; i < 2; i++)
			x[i] = (struct exchange){.request = requests[i],
				.reply = replies[i],
				.reply_capacity = sizeof(replies[i]),
				.transport = TRANSPORT_UDP,
				.peer = &peer};
		x[0].request_len = (uint32_t)write_ended(requests[0],
			sizeof(requests[0]), 'a', how, OPCODE_QUERY, false);
		x[1].request_len = (uint32_t)write_signed(requests[1],
			sizeof(requests[1]), 'b', 'b', MAC_HMAC_SHA256);
		(void)query_answer_batch(w.ctx, store_writer_view(w.writer),
			x, 2);
		expect_unsigned_formerr(&x[0]);
		assert_int_equal(replies[1][3] & 15, RCODE_NOERROR);
	}
	end(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_may_change_their_places),
		cmocka_unit_test(more_keys_may_be_at_the_same_address),
		cmocka_unit_test(key_without_a_secret_is_none),
		cmocka_unit_test(secret_is_that_of_the_settings),
		cmocka_unit_test(algorithm_is_that_of_now),
		cmocka_unit_test(request_that_ends_early_has_no_signed_reply),
		cmocka_unit_test(
			strangers_reply_is_not_signed_for_the_one_before),
		cmocka_unit_test(key_of_the_one_before_may_be_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
