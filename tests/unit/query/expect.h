/* expect.h - short ways to ask, and to say what a reply has to have. */
#ifndef TESTS_QUERY_EXPECT_H
#define TESTS_QUERY_EXPECT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

/* Record types and sections, short. */
enum { AN, NS, AR };

static inline struct reply_parts *
ask_with(struct world *w, const struct ask *ask)
{
	struct reply_parts *p = malloc(sizeof(*p));

	assert_non_null(p);
	world_ask(w, ask, p);
	return p;
}

/* Asks over TCP, without EDNS. */
static inline struct reply_parts *
ask_for(struct world *w, const char *name, uint16_t type)
{
	const struct ask ask = { .qname = name, .type = type,
		.transport = TRANSPORT_TCP };

	return ask_with(w, &ask);
}

static inline struct reply_parts *
ask_dnssec(struct world *w, const char *name, uint16_t type)
{
	const struct ask ask = { .qname = name, .type = type,
		.transport = TRANSPORT_TCP, .dnssec = true };

	return ask_with(w, &ask);
}

static inline void
done(struct reply_parts *p)
{
	reply_fini(p);
	free(p);
}

#define expect_rcode(p, want) assert_int_equal((p)->rcode, want)
#define expect_flag(p, flag) assert_true(((p)->flags & (flag)) != 0)
#define expect_no_flag(p, flag) assert_true(((p)->flags & (flag)) == 0)
#define expect_counts(p, an, ns, ar)                               \
	do {                                                       \
		assert_int_equal((p)->section[AN].count, an);      \
		assert_int_equal((p)->section[NS].count, ns);      \
		assert_int_equal((p)->section[AR].count, ar);      \
	} while (0)

/* Asks, and checks only the counts of records in the reply. */
#define expect_reply(w, name, type, an, ns, ar)                    \
	do {                                                       \
		struct reply_parts *reply = ask_for(w, name, type); \
		expect_counts(reply, an, ns, ar);                  \
		done(reply);                                       \
	} while (0)

/* Checks that the record, with its TTL, is in the section. */
#define expect_rr(p, where, line) expect_rr_at(p, where, line, __LINE__)

static inline void
expect_rr_at(const struct reply_parts *p, unsigned section, const char *line,
	int at)
{
	const struct world_rrs *rrs = &p->section[section];
	struct world_rr rr;

	world_parse_record(line, &rr);
	for (size_t i = 0; i < rrs->count; i++)
		if (rrs->rrs[i].type == rr.type
			&& rrs->rrs[i].ttl_sec == rr.ttl_sec
			&& rrs->rrs[i].rrclass == rr.rrclass
			&& rrs->rrs[i].rdlen == rr.rdlen
			&& memcmp(rrs->rrs[i].rdata, rr.rdata, rr.rdlen) == 0
			&& name_equal(rrs->rrs[i].owner, rr.owner))
			return;
	fail_msg("line %d: no %s in section %u", at, line, section);
}

#define expect_no_type(p, section_, type_)                                   \
	do {                                                                 \
		for (size_t i_ = 0; i_ < (p)->section[section_].count; i_++) \
			assert_int_not_equal(                                \
				(p)->section[section_].rrs[i_].type, type_); \
	} while (0)

/* Sends octets as they are; returns the reply's length. */
static inline size_t
send_octets(struct world *w, const void *octets, size_t len, uint8_t *reply,
	size_t room)
{
	const struct ask how = { .transport = TRANSPORT_UDP };

	return world_send(w, octets, len, &how, reply, room);
}

static inline void
expect_ede(const struct reply_parts *p, uint16_t code, const char *text)
{
	uint16_t len;
	const uint8_t *data = reply_option(p, EDNS_EDE, &len);

	assert_non_null(data);
	assert_int_equal(octets_get_u16(data), code);
	assert_int_equal(len, 2 + (text != NULL ? strlen(text) : 0));
	if (text != NULL)
		assert_memory_equal(data + 2, text, strlen(text));
}

#endif
