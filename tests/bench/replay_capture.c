/*
 * replay_capture.c - reads a capture: frames of pcap, packets, datagrams, and
 * streams of TCP as far as their segments are there in order.
 */
#include "config.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "replay_input.h"

#define MAGIC_USEC 0xa1b2c3d4u
#define MAGIC_NSEC 0xa1b23c4du
#define MAGIC_PCAPNG 0x0a0d0d0au
#define FILE_HEAD 24
#define FRAME_HEAD 16

#define LINK_NULL 0
#define LINK_ETHERNET 1
#define LINK_RAW_BSD 12
#define LINK_RAW 101
#define LINK_LINUX_COOKED 113
#define LINK_LINUX_COOKED2 276
#define LINK_IPV4 228
#define LINK_IPV6 229

#define ETHER_VLAN 0x8100
#define ETHER_VLAN_OUTER 0x88a8 /* IEEE 802.1ad */
#define PROTOCOL_TCP 6
#define PROTOCOL_UDP 17
#define TCP_FIN 1
#define TCP_SYN 2
#define TCP_RST 4

#define FLOW_SLOTS 65536
#define FLOWS_MAX 1000000

/* The octets that a client has sent on a connection, from the next message's
 * beginning on. */
struct flow {
	struct flow *next;
	uint8_t key[36]; /* addresses, ports */
	uint32_t next_seq;
	size_t have;
	bool broken; /* until it begins anew: octets are missing */
	uint8_t *data;
};

struct capture {
	struct replay_input *in;
	bool swapped;
	bool nsec;
	uint32_t link;
	uint16_t port;
	uint64_t first_ns, last_ns;
	bool begun;
	struct flow **flows;
	size_t flow_count;
	/* The packet in hand. */
	struct replay_query like;
	uint8_t key[36];
};

/* A part of the packet that is not read yet. */
struct span {
	const uint8_t *at;
	size_t len;
};

static uint16_t
get_u16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static uint32_t
get_u32(const uint8_t *at)
{
	return (uint32_t)get_u16(at) << 16 | get_u16(at + 2);
}

/* A number in the order of the file. */
static uint32_t
file_u32(const struct capture *c, const uint8_t *at)
{
	uint32_t number;

	memcpy(&number, at, sizeof(number));
	return c->swapped ? __builtin_bswap32(number) : number;
}

/* Takes len octets off. False: there are not so many. */
static bool
span_take(struct span *s, size_t len)
{
	if (s->len < len)
		return false;
	s->at += len;
	s->len -= len;
	return true;
}

static uint32_t
hash_octets(const uint8_t *at, size_t len)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ at[i]) * 16777619u;
	hash ^= hash >> 15;
	return hash * 2246822519u;
}

/* ---- streams */

static struct flow **
flow_find(struct capture *c)
{
	struct flow **at = &c->flows[hash_octets(c->key, sizeof(c->key))
		% FLOW_SLOTS];

	while (*at != NULL && memcmp((*at)->key, c->key, sizeof(c->key)) != 0)
		at = &(*at)->next;
	return at;
}

static void
flow_remove(struct capture *c, struct flow **at)
{
	struct flow *flow = *at;

	*at = flow->next;
	free(flow->data);
	free(flow);
	c->flow_count--;
}

static struct flow *
flow_begin(struct capture *c, struct flow **at, uint32_t seq)
{
	struct flow *flow;

	if (c->flow_count == FLOWS_MAX)
		return NULL;
	flow = calloc(1, sizeof(*flow));
	if (flow == NULL)
		err(1, NULL);
	memcpy(flow->key, c->key, sizeof(flow->key));
	flow->next_seq = seq;
	flow->next = *at;
	*at = flow;
	c->flow_count++;
	return flow;
}

/* Takes the whole messages. */
static void
flow_messages(struct capture *c, struct flow *flow)
{
	size_t at = 0;

	while (flow->have - at >= 2) {
		size_t len = get_u16(flow->data + at);

		if (flow->have - at < 2 + len)
			break;
		input_add(c->in, &c->like, flow->data + at + 2, len);
		at += 2 + len;
	}
	flow->have -= at;
	memmove(flow->data, flow->data + at, flow->have);
}

static void
flow_add(struct capture *c, struct flow *flow, uint32_t seq, struct span data)
{
	uint32_t known = flow->next_seq - seq;

	if ((int32_t)known < 0)
		flow->broken = true;
	if (flow->broken || !span_take(&data, known) || data.len == 0) {
		c->in->skipped += flow->broken;
		return;
	}
	flow->data = realloc(flow->data, flow->have + data.len);
	if (flow->data == NULL)
		err(1, NULL);
	memcpy(flow->data + flow->have, data.at, data.len);
	flow->have += data.len;
	flow->next_seq += (uint32_t)data.len;
	flow_messages(c, flow);
}

static void
read_tcp(struct capture *c, struct span s)
{
	const uint8_t *head = s.at;
	struct flow **at, *flow;
	uint32_t seq;

	if (s.len < 20 || get_u16(head + 2) != c->port
	    || (head[12] >> 4) < 5 || !span_take(&s, (head[12] >> 4) * 4u))
		return;
	memcpy(c->key + 32, head, 4);
	at = flow_find(c);
	seq = get_u32(head + 4) + ((head[13] & TCP_SYN) != 0);
	if ((head[13] & TCP_SYN) != 0 && *at != NULL)
		flow_remove(c, at);
	flow = *at;
	if (flow == NULL && ((head[13] & TCP_SYN) != 0 || s.len > 0))
		flow = flow_begin(c, at, seq);
	if (flow == NULL)
		return;
	c->like.tcp = true;
	if (s.len > 0)
		flow_add(c, flow, seq, s);
	if ((head[13] & (TCP_FIN | TCP_RST)) != 0)
		flow_remove(c, at);
}

/* ---- packets */

static void
read_udp(struct capture *c, struct span s)
{
	const uint8_t *head = s.at;
	size_t len;

	if (s.len < 8 || get_u16(head + 2) != c->port)
		return;
	len = get_u16(head + 4);
	if (len < 8 || len > s.len) {
		c->in->skipped++;
		return;
	}
	c->like.tcp = false;
	input_add(c->in, &c->like, head + 8, len - 8);
}

static void
read_transport(struct capture *c, unsigned protocol, struct span s)
{
	c->like.source = hash_octets(c->key, 16);
	if (protocol == PROTOCOL_UDP)
		read_udp(c, s);
	else if (protocol == PROTOCOL_TCP)
		read_tcp(c, s);
}

static void
read_ip4(struct capture *c, struct span s)
{
	const uint8_t *head = s.at;
	size_t total;

	if (s.len < 20 || head[0] >> 4 != 4 || (head[0] & 15) < 5)
		return;
	total = get_u16(head + 2);
	/* Fragments but for whole packets are left out. */
	if (total > s.len || (get_u16(head + 6) & 0x3fff) != 0) {
		c->in->skipped++;
		return;
	}
	s.len = total;
	if (!span_take(&s, (head[0] & 15) * 4u))
		return;
	memset(c->key, 0, 32);
	memcpy(c->key, head + 12, 4);
	memcpy(c->key + 16, head + 16, 4);
	c->like.ip6 = false;
	read_transport(c, head[9], s);
}

static bool
is_extension(unsigned header)
{
	return header == 0 || header == 43 || header == 60;
}

static void
read_ip6(struct capture *c, struct span s)
{
	const uint8_t *head = s.at;
	unsigned next;
	size_t len;

	if (s.len < 40 || head[0] >> 4 != 6)
		return;
	len = get_u16(head + 4);
	next = head[6];
	memcpy(c->key, head + 8, 32);
	if (!span_take(&s, 40) || len > s.len) {
		c->in->skipped++;
		return;
	}
	s.len = len;
	while (is_extension(next) && s.len >= 8) {
		next = s.at[0];
		if (!span_take(&s, (s.at[1] + 1u) * 8))
			return;
	}
	c->like.ip6 = true;
	read_transport(c, next, s);
}

static void
read_ip(struct capture *c, struct span s)
{
	if (s.len > 0 && s.at[0] >> 4 == 4)
		read_ip4(c, s);
	else if (s.len > 0 && s.at[0] >> 4 == 6)
		read_ip6(c, s);
}

static bool
is_vlan(uint16_t type)
{
	return type == ETHER_VLAN || type == ETHER_VLAN_OUTER;
}

static void
read_frame(struct capture *c, struct span s)
{
	size_t head = 0;

	if (c->link == LINK_ETHERNET) {
		head = 14;
		while (s.len >= head + 4
			&& is_vlan(get_u16(s.at + head - 2)))
			head += 4;
	} else if (c->link == LINK_LINUX_COOKED) {
		head = 16;
	} else if (c->link == LINK_LINUX_COOKED2) {
		head = 20;
	} else if (c->link == LINK_NULL) {
		head = 4;
	}
	if (span_take(&s, head))
		read_ip(c, s);
}

/* The time since the first packet; those that are out of order come at once. */
static uint64_t
frame_ns(struct capture *c, const uint8_t *head)
{
	uint64_t ns = (uint64_t)file_u32(c, head) * 1000000000
		+ (uint64_t)file_u32(c, head + 4) * (c->nsec ? 1 : 1000);

	if (!c->begun)
		c->first_ns = c->last_ns = ns;
	c->begun = true;
	if (ns > c->last_ns)
		c->last_ns = ns;
	return c->last_ns - c->first_ns;
}

static void
read_frames(struct capture *c, struct span s)
{
	while (s.len >= FRAME_HEAD) {
		const uint8_t *head = s.at;
		size_t len = file_u32(c, head + 8);
		struct span frame = { head + FRAME_HEAD, len };

		(void)span_take(&s, FRAME_HEAD);
		if (!span_take(&s, len))
			break;
		c->like.ns = frame_ns(c, head);
		read_frame(c, frame);
	}
	if (s.len > 0)
		warnx("the capture ends amid a packet");
}

static bool
is_known_link(uint32_t link)
{
	static const uint32_t links[] = { LINK_NULL, LINK_ETHERNET,
		LINK_RAW_BSD, LINK_RAW, LINK_LINUX_COOKED, LINK_LINUX_COOKED2,
		LINK_IPV4, LINK_IPV6 };

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		if (links[i] == link)
			return true;
	return false;
}

/* Makes the first query's time 0. */
static void
input_begin_at_0(struct replay_input *in)
{
	uint64_t first = in->count > 0 ? in->queries[0].ns : 0;

	for (size_t i = 0; i < in->count; i++)
		in->queries[i].ns -= first;
}

bool
capture_read(struct replay_input *in, const uint8_t *data, size_t len,
	uint16_t port)
{
	struct capture c = { .in = in, .port = port };
	uint32_t magic;

	if (len < FILE_HEAD)
		return false;
	magic = file_u32(&c, data);
	if (magic == MAGIC_PCAPNG)
		errx(1, "a capture of the form pcapng: one of pcap is needed,"
			" as editcap -F pcap makes it");
	c.swapped = magic == __builtin_bswap32(MAGIC_USEC)
		|| magic == __builtin_bswap32(MAGIC_NSEC);
	magic = file_u32(&c, data);
	if (magic != MAGIC_USEC && magic != MAGIC_NSEC)
		return false;
	c.nsec = magic == MAGIC_NSEC;
	c.link = file_u32(&c, data + 20) & 0xffff;
	if (!is_known_link(c.link))
		errx(1, "captures of the link type %u are not known here",
			(unsigned)c.link);
	c.flows = calloc(FLOW_SLOTS, sizeof(struct flow *));
	if (c.flows == NULL)
		err(1, NULL);
	read_frames(&c, (struct span){ data + FILE_HEAD, len - FILE_HEAD });
	for (size_t i = 0; i < FLOW_SLOTS; i++)
		while (c.flows[i] != NULL)
			flow_remove(&c, &c.flows[i]);
	free(c.flows);
	input_begin_at_0(in);
	return true;
}
