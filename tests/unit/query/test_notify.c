/*
 * test_notify.c - NOTIFY (RFC 1996): who may send it, what is replied, and
 * which are passed on.
 */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "lib/settings_fixture.h"
#include "raw.h"
#include "store/writer.h"

/* An SOA at the apex with serial 9, for the answer section. */
static const uint8_t soa[] = "\xc0\x0c\0\6\0\1\0\0\0\x3c\0\x16\0\0"
	"\0\0\0\x09\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4";
#define SOA_LEN (sizeof(soa) - 1)
#define QUESTION_END 25u /* of example. */

static const struct acl_element primary = {
	.family = 4,
	.kind = ACL_SINGLE,
	.address = {192, 0, 2, 1},
};
static const struct acl_element anyone = {.family = 4, .kind = ACL_MASK};

/* The outcome of a request. */
struct outcome {
	size_t passed_on; /* as query says */
	struct exchange x;
	struct reply_parts parts;
};

static struct outcome *
send_from(struct world *w, const uint8_t *octets, size_t len,
	const char *from, enum exchange_seen seen)
{
	struct outcome *o = calloc(1, sizeof(*o));
	struct sockaddr_storage peer = {.ss_family = AF_INET};
	struct sockaddr_in *in = (struct sockaddr_in *)&peer;
	uint8_t *copy = malloc(len);

	assert_true(o != NULL && copy != NULL);
	memcpy(copy, octets, len);
	in->sin_port = htons(4000);
	assert_int_equal(inet_pton(AF_INET, from, &in->sin_addr), 1);
	o->x = (struct exchange){
		.request = copy,
		.request_len = (uint32_t)len,
		.reply = o->parts.octets,
		.reply_capacity = sizeof(o->parts.octets),
		.transport = seen == EXCHANGE_NEW ? TRANSPORT_UDP
						  : TRANSPORT_TCP,
		.seen = seen,
		.peer = &peer,
		.pass_on = true, /* of a request before */
	};
	o->passed_on = query_answer_batch(w->ctx,
		store_writer_view(w->writer), &o->x, 1);
	assert_int_equal(o->passed_on, o->x.pass_on);
	o->parts.len = o->x.reply_len;
	if (o->parts.len > 0)
		reply_read(&o->parts);
	free(copy);
	return o;
}

static void
outcome_free(struct outcome *o)
{
	if (o->parts.len > 0)
		reply_fini(&o->parts);
	free(o);
}

static size_t
write_notify(const char *name, bool with_soa, uint8_t *out)
{
	const struct ask ask = {.qname = name, .type = TYPE_SOA,
		.flags = OPCODE_NOTIFY << 11 | MESSAGE_AA};
	size_t len = ask_write(&ask, out);

	if (with_soa) {
		memcpy(out + len, soa, SOA_LEN);
		out[MESSAGE_ANCOUNT + 1] = 1;
		len += SOA_LEN;
	}
	return len;
}

/* Sends a NOTIFY; checks the rcode, and that it was passed on if that is
 * NOERROR. */
static void
expect(struct world *w, const char *name, const char *from, uint16_t rcode)
{
	uint8_t request[1024];
	size_t len = write_notify(name, true, request);
	struct outcome *o = send_from(w, request, len, from, EXCHANGE_NEW);

	assert_int_equal(o->parts.flags, MESSAGE_QR | MESSAGE_AA
		| OPCODE_NOTIFY << 11 | rcode);
	assert_int_equal(o->passed_on, rcode == RCODE_NOERROR);
	/* An error is a header alone, else the question is there, too. */
	assert_int_equal(o->parts.len, rcode == RCODE_NOERROR
		? len - SOA_LEN : MESSAGE_HEADER_LEN);
	outcome_free(o);
}

static void
set_lists(struct world *w, struct world_zone *zone,
	const struct acl_element *allow, uint32_t allow_count,
	const struct acl_element *request)
{
	const struct settings_lists lists = {
		.lists = {[SETTINGS_ALLOW_NOTIFY] = allow,
			[SETTINGS_REQUEST_XFR] = request,
			[SETTINGS_PROVIDE_XFR] = &anyone},
		.counts = {[SETTINGS_ALLOW_NOTIFY] = allow_count,
			[SETTINGS_REQUEST_XFR] = request != NULL,
			[SETTINGS_PROVIDE_XFR] = 1},
	};

	settings_fixture_set(w->writer, zone->entry, &lists);
}

static struct world_zone *
start_secondary(struct world *w)
{
	struct world_zone *zone;

	world_init(w);
	zone = world_add_zone(w, "example.", raw_zone_text);
	world_start(w);
	set_lists(w, zone, &primary, 1, &primary);
	return zone;
}

/* RFC 1996 section 3.10 */
static void
notify_is_taken_from_whom_the_list_names(void **state)
{
	struct acl_element two[2] = {anyone, primary};
	struct world_zone *zone;
	struct world w;

	zone = start_secondary(&w);
	expect(&w, "example.", "192.0.2.1", RCODE_NOERROR);
	expect(&w, "EXAMPLE.", "192.0.2.1", RCODE_NOERROR);
	expect(&w, "example.", "192.0.2.2", RCODE_REFUSED);
	expect(&w, "ns1.example.", "192.0.2.1", RCODE_NXDOMAIN);
	expect(&w, "other.", "192.0.2.1", RCODE_NXDOMAIN);
	expect(&w, ".", "192.0.2.1", RCODE_NXDOMAIN);
	two[1].blocked = 1;
	set_lists(&w, zone, two, 2, &primary);
	expect(&w, "example.", "192.0.2.1", RCODE_REFUSED);
	expect(&w, "example.", "192.0.2.2", RCODE_NOERROR);
	/* Needs a key. */
	two[0].needs_key = 1;
	set_lists(&w, zone, two, 1, &primary);
	expect(&w, "example.", "192.0.2.2", RCODE_REFUSED);
	/* No list, and no primary. */
	set_lists(&w, zone, NULL, 0, &primary);
	expect(&w, "example.", "192.0.2.1", RCODE_REFUSED);
	set_lists(&w, zone, &anyone, 1, NULL);
	expect(&w, "example.", "192.0.2.1", RCODE_REFUSED);
	world_fini(&w);
}

/* A NOTIFY for a zone without data, or an expired one, is accepted. */
static void
zone_without_data_or_expired_is_told(void **state)
{
	struct world_zone *zone;
	struct world w;

	world_init(&w);
	zone = world_add_zone(&w, "example.", "");
	zone->not_loaded = true;
	world_start(&w);
	set_lists(&w, zone, &primary, 1, &primary);
	expect(&w, "example.", "192.0.2.1", RCODE_NOERROR);
	world_fini(&w);

	world_init(&w);
	zone = world_add_zone(&w, "example.", raw_zone_text);
	zone->expires_sec = 1000;
	world_start(&w);
	query_set_time(w.ctx, 0, 1000);
	set_lists(&w, zone, &primary, 1, &primary);
	expect(&w, "example.", "192.0.2.1", RCODE_NOERROR);
	world_fini(&w);
}

static void
malformed_notify_is_not_passed_on(void **state)
{
	uint8_t request[1024];
	struct outcome *o;
	struct world w;
	size_t len;

	start_secondary(&w);
	len = write_notify("example.", true, request);
	for (size_t cut = 1; cut < len; cut++) {
		o = send_from(&w, request, cut, "192.0.2.1", EXCHANGE_NEW);
		assert_int_equal(o->passed_on, 0);
		outcome_free(o);
	}
	/* Another type or class; two questions; an answer that is none. */
	for (unsigned i = 0; i < 4; i++) {
		static const struct { size_t at; uint8_t value, rcode; }
			changes[] = {
				{QUESTION_END - 3, TYPE_A, RCODE_FORMERR},
				{QUESTION_END - 1, CLASS_CH, RCODE_REFUSED},
				{MESSAGE_QDCOUNT + 1, 2, RCODE_FORMERR},
				{MESSAGE_ANCOUNT + 1, 2, RCODE_FORMERR},
			};

		write_notify("example.", true, request);
		request[changes[i].at] = changes[i].value;
		o = send_from(&w, request, len, "192.0.2.1", EXCHANGE_NEW);
		assert_int_equal(o->parts.rcode, changes[i].rcode);
		assert_int_equal(o->passed_on, 0);
		outcome_free(o);
	}
	world_fini(&w);
}

/* A reply to a stream that was not sent is made again. */
static void
notify_that_comes_again_is_passed_on_once(void **state)
{
	uint8_t request[1024];
	struct outcome *o;
	struct world w;
	size_t len;

	start_secondary(&w);
	len = write_notify("example.", false, request);
	for (enum exchange_seen seen = EXCHANGE_PUT_OFF;
		seen <= EXCHANGE_ANSWERED; seen++) {
		o = send_from(&w, request, len, "192.0.2.1", seen);
		assert_int_equal(o->parts.rcode, RCODE_NOERROR);
		assert_int_equal(o->parts.len, len);
		assert_int_equal(o->passed_on, seen == EXCHANGE_PUT_OFF);
		outcome_free(o);
	}
	world_fini(&w);
}

static void
queries_are_not_passed_on(void **state)
{
	const struct ask ask = {.qname = "example.", .type = TYPE_SOA};
	uint8_t request[1024];
	struct outcome *o;
	struct world w;

	start_secondary(&w);
	o = send_from(&w, request, ask_write(&ask, request), "192.0.2.1",
		EXCHANGE_NEW);
	assert_int_equal(o->parts.rcode, RCODE_NOERROR);
	assert_int_equal(o->passed_on, 0);
	outcome_free(o);
	world_fini(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(notify_is_taken_from_whom_the_list_names),
		cmocka_unit_test(zone_without_data_or_expired_is_told),
		cmocka_unit_test(malformed_notify_is_not_passed_on),
		cmocka_unit_test(notify_that_comes_again_is_passed_on_once),
		cmocka_unit_test(queries_are_not_passed_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
