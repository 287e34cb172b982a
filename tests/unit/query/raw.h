/* raw.h - requests that are changed octet by octet before they are sent. */
#ifndef TESTS_QUERY_RAW_H
#define TESTS_QUERY_RAW_H

#include "expect.h"

static const char raw_zone_text[] =
	"example. 3600 SOA ns1.example. root.example. 9 7200 3600 86400 300\n"
	"example. 3600 NS ns1.example.\n"
	"ns1.example. 3600 A 192.0.2.1\n";

static inline void
start(struct world *w)
{
	world_init(w);
	world_add_zone(w, "example.", raw_zone_text);
	world_start(w);
}

static const struct ask plain = { .qname = "example.", .type = TYPE_SOA };

/* A request made from plain, which the caller changes, and its reply. */
struct raw {
	uint8_t request[1024];
	size_t len;
	struct reply_parts parts;
};

static inline void
raw_init(struct raw *raw, const struct ask *ask)
{
	raw->len = ask_write(ask, raw->request);
}

static inline void
raw_send(struct world *w, struct raw *raw)
{
	raw->parts.len = send_octets(w, raw->request, raw->len,
		raw->parts.octets, sizeof(raw->parts.octets));
	if (raw->parts.len > 0) {
		reply_read(&raw->parts);
		reply_fini(&raw->parts);
	}
}

/* Checks that the reply is nothing but a header, with this flags word. */
static inline void
raw_expect_header(const struct raw *raw, uint16_t flags)
{
	assert_int_equal(raw->parts.len, 12);
	assert_memory_equal(raw->parts.octets, raw->request, 2);
	assert_int_equal(raw->parts.flags, flags);
	assert_memory_equal(raw->parts.octets + 4, "\0\0\0\0\0\0\0\0", 8);
}

#endif
