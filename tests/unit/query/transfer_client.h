/*
 * transfer_client.h - a client of zone transfers, message by message.
 */
#ifndef TESTS_UNIT_QUERY_TRANSFER_CLIENT_H
#define TESTS_UNIT_QUERY_TRANSFER_CLIENT_H

#include <netinet/in.h>
#include <stdlib.h>

#include "expect.h"
#include "query/state.h"

#define SMALL "z. 60 SOA ns.z. host.z. 7 2 3 4 5\nz. 60 NS ns.z.\n" \
	"ns.z. 60 A 192.0.2.1\n"

static const struct acl_element anyone = {
	.family = 4,
	.kind = ACL_MASK,
};

struct client {
	struct world w;
	struct store_reader *reader;
	struct world_zone *zone;
	void *stream;
	unsigned messages;
	size_t octets;
};

static inline void
client_init(struct client *c, const char *apex, const char *text)
{
	memset(c, 0, sizeof(*c));
	world_init(&c->w);
	c->zone = world_add_zone(&c->w, apex, text);
	c->zone->provide_acl = &anyone;
	c->zone->provide_acl_count = 1;
}

static inline void
client_start(struct client *c)
{
	world_start(&c->w);
	assert_int_equal(store_reader_open(c->w.store, 0, "test", &c->reader),
		NSD_OK);
	c->w.ctx->options.reader = c->reader;
}

static inline void
client_fini(struct client *c)
{
	if (c->stream != NULL)
		query_stream_end(c->w.ctx, c->stream);
	store_reader_close(c->reader);
	world_fini(&c->w);
}

/* Sends a request; the reply is empty if a stream begins. */
static inline struct reply_parts *
send_request(struct client *c, const uint8_t *request, size_t len,
	enum exchange_transport transport)
{
	struct reply_parts *p = calloc(1, sizeof(*p));
	struct sockaddr_storage peer = { .ss_family = AF_INET };
	struct sockaddr_in *in = (struct sockaddr_in *)&peer;
	struct exchange x = {
		.request = request,
		.request_len = (uint32_t)len,
		.reply_capacity = WORLD_REPLY_MAX,
		.transport = transport,
		.peer = &peer,
	};

	assert_non_null(p);
	in->sin_port = 4000;
	x.reply = p->octets;
	store_reader_online(c->reader);
	query_answer_batch(c->w.ctx, store_reader_view(c->reader), &x, 1);
	store_reader_offline(c->reader);
	c->stream = x.stream;
	p->len = x.reply_len;
	if (c->stream != NULL)
		assert_int_equal(p->len, 0);
	if (p->len > 0)
		reply_read(p);
	return p;
}

/* The next message; NULL: there are no more. */
static inline struct reply_parts *
next_message(struct client *c)
{
	struct reply_parts *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	p->len = query_stream_next(c->w.ctx, c->stream, p->octets,
		WORLD_REPLY_MAX);
	if (p->len == 0) {
		free(p);
		query_stream_end(c->w.ctx, c->stream);
		c->stream = NULL;
		return NULL;
	}
	reply_read(p);
	c->messages++;
	c->octets += p->len;
	return p;
}

static inline size_t
write_ixfr(uint8_t *out, const char *qname, uint32_t serial)
{
	const struct ask ask = { .qname = qname, .type = TYPE_IXFR };
	static const uint8_t soa[] = {0xc0, 12, 0, 6, 0, 1, 0, 0, 0, 0, 0, 22,
		0, 0};
	size_t len = ask_write(&ask, out);

	octets_put_u16(out + MESSAGE_NSCOUNT, 1);
	memcpy(out + len, soa, sizeof(soa));
	len += sizeof(soa);
	memset(out + len, 0, 20);
	octets_put_u32(out + len, serial);
	return len + 20;
}

#endif
