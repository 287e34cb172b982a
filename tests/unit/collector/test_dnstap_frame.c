/* test_dnstap_frame.c - frames of dnstap, read back by the library of Protocol
 * Buffers: each field is the record's. */
#include "config.h"

#include <event2/buffer.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "collector/dnstap.pb-c.h"
#include "collector/dnstap_frame.h"

#define SEC INT64_C(1000000000)
#define BOTH (TAP_QUERY | TAP_RESPONSE)

static const uint8_t question[] =
	"\x12\x34\0\0\0\1\0\0\0\0\0\0" "\3wWw\7Example\0\0\1\0\1";
static uint8_t octets[TAP_MESSAGE_MAX];

/* A record of a query whose zone is example. */
static struct tap_record
record_make(void)
{
	return (struct tap_record){
		.kind = TAP_AUTH,
		.parts = BOTH,
		.protocol = TAP_DOT,
		.query_nsec = 1796000000 * SEC + 123456789,
		.response_nsec = 1796000001 * SEC + 7,
		.peer = {{192, 0, 2, 1}, 65535, 4},
		.local = {{192, 0, 2, 2}, 53, 4},
		.zone_len = 9,
		.query = question,
		.query_len = sizeof(question) - 1,
		.response = octets,
		.response_len = 200,
	};
}

static void
check_octets(const ProtobufCBinaryData *field, const void *at, size_t len)
{
	assert_int_equal(field->len, len);
	if (len > 0)
		assert_memory_equal(field->data, at, len);
}

static void
check_address(const struct tap_address *address, size_t family_len,
	const ProtobufCBinaryData *field, bool has, uint32_t port)
{
	assert_int_equal(has,
		address->len != 0 && address->len == family_len);
	if (!has)
		return;
	check_octets(field, address->octets, address->len);
	assert_int_equal(port, address->port);
}

static void
check_common(const Dnstap__Message *m, const struct tap_record *r)
{
	size_t len = r->peer.len != 0 ? r->peer.len : r->local.len;

	assert_int_equal(m->socket_protocol, r->protocol);
	assert_int_equal(m->has_socket_family, len != 0);
	if (len != 0)
		assert_int_equal(m->socket_family, len == 4 ? 1 : 2);
	assert_int_equal(m->has_query_address, m->has_query_port);
	assert_int_equal(m->has_response_address, m->has_response_port);
	check_address(&r->peer, len, &m->query_address, m->has_query_address,
		m->query_port);
	check_address(&r->local, len, &m->response_address,
		m->has_response_address, m->response_port);
	assert_int_equal(m->query_time_sec, r->query_nsec / SEC);
	assert_int_equal(m->query_time_nsec, r->query_nsec % SEC);
	assert_int_equal(m->has_query_zone, r->zone_len != 0);
	if (m->has_query_zone)
		check_octets(&m->query_zone, "\7example", 9);
}

static void
check_message(const Dnstap__Message *m, const struct tap_record *r,
	enum tap_part part)
{
	bool is_update = r->kind == TAP_UPDATE, is_query = part == TAP_QUERY;

	assert_int_equal(m->type,
		(is_update ? 13 : 1) + (is_query ? 0 : 1));
	check_common(m, r);
	assert_int_equal(m->has_query_message, is_query);
	assert_int_equal(m->has_response_message, !is_query);
	assert_int_equal(m->has_response_time_sec, !is_query);
	assert_int_equal(m->has_response_time_nsec, !is_query);
	if (is_query) {
		check_octets(&m->query_message, r->query, r->query_len);
		return;
	}
	check_octets(&m->response_message, r->response, r->response_len);
	assert_int_equal(m->response_time_sec, r->response_nsec / SEC);
	assert_int_equal(m->response_time_nsec, r->response_nsec % SEC);
}

/* Takes a frame off the buffer, and checks it. */
static void
check_frame(struct evbuffer *in, const struct dnstap_names *names,
	const struct tap_record *r, enum tap_part part)
{
	uint8_t head[4];
	const uint8_t *frame;
	Dnstap__Dnstap *d;
	size_t len;

	assert_int_equal(evbuffer_remove(in, head, 4), 4);
	len = (size_t)head[0] << 24 | (size_t)head[1] << 16
		| (size_t)head[2] << 8 | head[3];
	frame = evbuffer_pullup(in, (ev_ssize_t)len);
	assert_non_null(frame);
	d = dnstap__dnstap__unpack(NULL, len, frame);
	assert_non_null(d);
	assert_int_equal(d->type, 1);
	assert_int_equal(d->has_identity, names->identity != NULL);
	if (d->has_identity)
		check_octets(&d->identity, names->identity,
			strlen(names->identity));
	assert_int_equal(d->has_version, names->version != NULL);
	if (d->has_version)
		check_octets(&d->version, names->version,
			strlen(names->version));
	check_message(d->message, r, part);
	/* The library would have packed it in as many octets. */
	assert_int_equal(dnstap__dnstap__get_packed_size(d), len);
	dnstap__dnstap__free_unpacked(d, NULL);
	assert_int_equal(evbuffer_drain(in, len), 0);
}

static void
check_parts(const struct dnstap_names *names, const struct tap_record *r,
	unsigned parts)
{
	struct evbuffer *out = evbuffer_new();

	assert_non_null(out);
	assert_int_equal(dnstap_frame_add(out, names, r, parts), NSD_OK);
	if ((parts & TAP_QUERY) != 0)
		check_frame(out, names, r, TAP_QUERY);
	if ((parts & TAP_RESPONSE) != 0)
		check_frame(out, names, r, TAP_RESPONSE);
	assert_int_equal(evbuffer_get_length(out), 0);
	evbuffer_free(out);
}

static void
check_record(const struct tap_record *r)
{
	static const struct dnstap_names names[] = {
		{NULL, NULL}, {"ns1.example", NULL}, {NULL, "NSD 5"},
		{"here", "there"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		for (unsigned parts = TAP_QUERY; parts <= BOTH; parts++)
			check_parts(&names[i], r, parts);
}

/* ---- tests --------------------------------------------------------------- */

static void
fields_are_those_of_the_record(void **state)
{
	struct tap_record r = record_make();

	check_record(&r);
	r.kind = TAP_UPDATE;
	check_record(&r);
	r.zone_len = 0;
	check_record(&r);
}

static void
addresses_of_each_family_or_none(void **state)
{
	const struct tap_address addresses[] = {
		{.len = 0}, {{192, 0, 2, 1}, 0, 4},
		{{0x20, 1, 0xd, 0xb8, [15] = 1}, 127, 16},
	};

	for (unsigned i = 0; i < 9; i++) {
		struct tap_record r = record_make();

		r.peer = addresses[i % 3];
		r.local = addresses[i / 3];
		check_record(&r);
	}
}

/* Lengths of messages and of numbers where one octet more is needed. */
static void
lengths_and_numbers_of_any_size(void **state)
{
	const uint32_t lengths[] = {0, 1, 60, 100, 127, 128, 16000, 16383,
		16384, TAP_MESSAGE_MAX};
	const int64_t seconds[] = {0, 127, 128, 16383, 16384,
		INT64_MAX / SEC};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		struct tap_record r = record_make();

		r.zone_len = 0;
		r.query = octets;
		r.query_len = r.response_len = lengths[i];
		r.response = lengths[i] > 0 ? octets : NULL;
		check_record(&r);
	}
	for (size_t i = 0; i < sizeof(seconds) / sizeof(*seconds); i++) {
		struct tap_record r = record_make();

		r.query_nsec = r.response_nsec = seconds[i] * SEC;
		check_record(&r);
	}
}

/* Each length around the places where the message's or the frame's length takes
 * an octet more. */
static void
lengths_one_by_one(void **state)
{
	static const struct dnstap_names names = {NULL, NULL};
	struct tap_record r = record_make();

	for (uint32_t len = 0; len < 300; len++) {
		r.response_len = len;
		check_parts(&names, &r, BOTH);
	}
	for (uint32_t len = 16200; len < 16500; len++) {
		r.response_len = len;
		check_parts(&names, &r, BOTH);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_those_of_the_record),
		cmocka_unit_test(addresses_of_each_family_or_none),
		cmocka_unit_test(lengths_and_numbers_of_any_size),
		cmocka_unit_test(lengths_one_by_one),
	};

	for (size_t i = 0; i < sizeof(octets); i++)
		octets[i] = (uint8_t)(i * 7 + i / 251);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
