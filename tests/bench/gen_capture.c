/*
 * gen_capture.c - makes a capture like an hour of a TLD's server, without
 * anybody's data. The same arguments make the same octets.
 *
 *	gen_capture [options] EXISTING ABSENT FILE
 *	  -t SEC  how long (3600)           -r RATE queries a second (5000)
 *	  -S SEED (1)                       -c N    clients (50000)
 *	  -z X    exponent of the names' Zipf distribution (0.9)
 *	  -y X    that of the clients' (1.1)
 *	  -n PCT  queries for names that do not exist (25)
 *	  -6 PCT  over IPv6 (35)            -T PCT  over TCP (2)
 *	  -e SIZE of all queries with EDNS, in place of these sizes
 *	  -v ZONE as validators ask: SOA and DNSKEY of the zone, and DS of the
 *	          name above a name
 *
 * EXISTING and ABSENT have lines "NAME TYPE", of which the names are used: line
 * k is asked for with a probability of 1/k^X. Queries come at random
 * (exponential gaps). Types: A 40 %, AAAA 20, NS 11, DS 9, HTTPS 6, MX 5, TXT
 * 5, SOA 2, DNSKEY 1, CNAME 1. EDNS: 10 % have none, 5 % 512 octets, 50 % 1232
 * and 35 % 4096; of these 80 % have DO.
 *
 * The capture is pcap of nanoseconds, link type raw IP. The server's addresses
 * are 192.0.2.53 and 2001:db8::53. Only what clients send is in it.
 */
#include "config.h"

#include <err.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gen.h"
#include "query_list.h"

#define PACKET_MAX (40 + 20 + 2 + QUERY_LIST_MAX)
#define START_SEC 1759276800u /* 2025-10-01, midnight */
#define TCP_FIN 1
#define TCP_SYN 2
#define TCP_ACK 16

struct ranks {
	double *sums; /* of the weights up to each */
	size_t count;
};

struct names {
	char **names;
	size_t count, room;
	struct ranks ranks;
};

struct mix {
	double seconds, rate, name_power, client_power;
	unsigned absent, ip6, tcp; /* percent */
	uint16_t edns_size; /* 0: a mix */
	const char *zone;   /* NULL: names alone */
	size_t client_count;
	struct names existing, missing;
	struct ranks clients;
	FILE *out;
};

/* A packet in the making. */
struct packet {
	uint8_t octets[PACKET_MAX];
	size_t len;
	bool ip6;
	uint8_t protocol;
	uint32_t client;
	uint16_t client_port;
	uint64_t ns;
};

/* ---- chances */

static double
random_share(void)
{
	return (double)(random_next() >> 11) / 9007199254740992.0;
}

static void
ranks_init(struct ranks *r, size_t count, double power)
{
	double sum = 0;

	r->sums = calloc(count, sizeof(*r->sums));
	if (r->sums == NULL)
		err(1, NULL);
	r->count = count;
	for (size_t i = 0; i < count; i++)
		r->sums[i] = sum += pow((double)(i + 1), -power);
}

static size_t
ranks_choose(const struct ranks *r)
{
	double wanted = random_share() * r->sums[r->count - 1];
	size_t low = 0, high = r->count - 1;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (r->sums[mid] < wanted)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* ---- queries */

static void
add_name(void *ctx, const char *name, uint16_t type)
{
	struct names *n = ctx;

	(void)type;
	if (n->count == n->room) {
		n->room = n->room * 2 + 1024;
		n->names = realloc(n->names, n->room * sizeof(*n->names));
		if (n->names == NULL)
			err(1, NULL);
	}
	n->names[n->count] = strdup(name);
	if (n->names[n->count++] == NULL)
		err(1, NULL);
}

static void
names_read(struct names *n, const char *file, double power)
{
	query_list_read(file, add_name, n);
	if (n->count == 0)
		errx(1, "%s: no names", file);
	ranks_init(&n->ranks, n->count, power);
}

static uint16_t
choose_type(void)
{
	static const struct { uint16_t type; unsigned percent; } rows[] = {
		{ 1, 40 }, { 28, 20 }, { 2, 11 }, { 43, 9 }, { 65, 6 },
		{ 15, 5 }, { 16, 5 }, { 6, 2 }, { 48, 1 }, { 5, 1 } };
	unsigned left = random_below(100);
	size_t i = 0;

	while (left >= rows[i].percent)
		left -= rows[i++].percent;
	return rows[i].type;
}

/* The name that a validator asks for a type. */
static const char *
choose_name(const struct mix *m, const char *name, uint16_t type)
{
	const char *above;

	if (m->zone != NULL && (type == 6 || type == 48))
		return m->zone;
	above = strchr(name, '.');
	return m->zone != NULL && type == 43 && above != NULL
		&& above[1] != '\0' ? above + 1 : name;
}

static struct query_edns
choose_edns(const struct mix *m)
{
	unsigned one = random_below(100);
	struct query_edns edns = {
		.size = one < 10 ? 0 : one < 15 ? 512 : one < 65 ? 1232 : 4096,
		.dnssec = random_below(100) < 80,
	};

	if (edns.size != 0 && m->edns_size != 0)
		edns.size = m->edns_size;
	return edns;
}

static size_t
make_query(const struct mix *m, uint8_t *at)
{
	const struct names *n = random_below(100) < m->absent ? &m->missing
		: &m->existing;
	const char *name = n->names[ranks_choose(&n->ranks)];
	uint16_t type = choose_type(), question;
	struct query_edns edns = choose_edns(m);
	size_t len = query_list_write(at, choose_name(m, name, type), type,
		&edns, &question);

	at[0] = (uint8_t)random_below(256);
	at[1] = (uint8_t)random_below(256);
	return len;
}

/* ---- packets */

static uint8_t *
put_u16(uint8_t *at, unsigned number)
{
	at[0] = (uint8_t)(number >> 8);
	at[1] = (uint8_t)number;
	return at + 2;
}

static uint8_t *
put_u32(uint8_t *at, uint32_t number)
{
	return put_u16(put_u16(at, number >> 16), number & 0xffff);
}

/* The sum of RFC 1071, before its complement. */
static uint32_t
sum_octets(const uint8_t *at, size_t len, uint32_t sum)
{
	for (size_t i = 0; i < len; i++)
		sum += i % 2 == 0 ? (uint32_t)at[i] << 8 : at[i];
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static size_t
ip_head_len(const struct packet *p)
{
	return p->ip6 ? 40 : 20;
}

/* Writes the head of IP before len octets, with a client of its own prefix. */
static void
put_ip(struct packet *p, size_t len)
{
	uint8_t *at = p->octets;

	memset(at, 0, ip_head_len(p));
	if (p->ip6) {
		at[0] = 0x60;
		put_u16(at + 4, (unsigned)len);
		at[6] = p->protocol;
		at[7] = 64;
		put_u32(put_u32(at + 8, 0x20010db8), p->client);
		at[23] = 1;
		put_u32(at + 24, 0x20010db8);
		at[39] = 0x53;
		return;
	}
	at[0] = 0x45;
	put_u16(at + 2, (unsigned)len + 20);
	at[8] = 64;
	at[9] = p->protocol;
	put_u32(at + 12, 10u << 24 | p->client);
	put_u32(at + 16, 0xc0000235);
	put_u16(at + 10, 0xffff & ~sum_octets(at, 20, 0));
}

/* Completes a packet of len octets of transport, and writes it. */
static void
packet_write(struct packet *p, size_t len, size_t checksum_at, FILE *out)
{
	uint8_t *transport = p->octets + ip_head_len(p), head[16];
	size_t addresses = p->ip6 ? 8 : 12;
	uint32_t sum;

	put_ip(p, len);
	put_u16(transport + checksum_at, 0);
	sum = sum_octets(p->octets + addresses, ip_head_len(p) - addresses,
		(uint32_t)len + p->protocol);
	sum = 0xffff & ~sum_octets(transport, len, sum);
	put_u16(transport + checksum_at, sum != 0 ? sum : 0xffff);
	p->len = ip_head_len(p) + len;
	/* In the order of this machine, which the magic number tells. */
	memcpy(head, &(uint32_t){ START_SEC + (uint32_t)(p->ns / 1000000000) },
		4);
	memcpy(head + 4, &(uint32_t){ (uint32_t)(p->ns % 1000000000) }, 4);
	memcpy(head + 8, &(uint32_t){ (uint32_t)p->len }, 4);
	memcpy(head + 12, &(uint32_t){ (uint32_t)p->len }, 4);
	fwrite(head, sizeof(head), 1, out);
	fwrite(p->octets, p->len, 1, out);
}

static void
write_udp(const struct mix *m, struct packet *p)
{
	uint8_t *at = p->octets + ip_head_len(p);
	size_t len = 8 + make_query(m, at + 8);

	p->protocol = 17;
	put_u16(put_u16(put_u16(at, p->client_port), 53), (unsigned)len);
	packet_write(p, len, 6, m->out);
}

static void
write_segment(const struct mix *m, struct packet *p, uint32_t seq,
	unsigned flags, size_t len)
{
	uint8_t *at = p->octets + ip_head_len(p);

	p->protocol = 6;
	at = put_u32(put_u16(put_u16(at, p->client_port), 53), seq);
	at = put_u32(at, (flags & TCP_ACK) != 0 ? 1 : 0);
	put_u32(put_u32(at, 0x5000ffff | flags << 16), 0);
	packet_write(p, 20 + len, 16, m->out);
}

/* A connection of one query, of a client that is 20 us away. */
static void
write_tcp(const struct mix *m, struct packet *p)
{
	uint32_t seq = (uint32_t)random_next();
	uint8_t *data;
	size_t len;

	write_segment(m, p, seq, TCP_SYN, 0);
	p->ns += 20000;
	data = p->octets + ip_head_len(p) + 20;
	len = make_query(m, data + 2);
	put_u16(data, (unsigned)len);
	write_segment(m, p, seq + 1, TCP_ACK, len + 2);
	p->ns += 20000;
	write_segment(m, p, seq + 1 + (uint32_t)len + 2, TCP_ACK | TCP_FIN,
		0);
}

static void
write_all(const struct mix *m)
{
	double now = 0;

	for (;;) {
		struct packet p = { .len = 0 };

		now -= log(1 - random_share()) / m->rate;
		if (now >= m->seconds)
			return;
		p.ns = (uint64_t)(now * 1e9);
		p.client = (uint32_t)ranks_choose(&m->clients) * 256 + 1;
		p.client &= 0xffffff;
		p.client_port = (uint16_t)(1024 + random_below(64512));
		p.ip6 = random_below(100) < m->ip6;
		if (random_below(100) < m->tcp)
			write_tcp(m, &p);
		else
			write_udp(m, &p);
	}
}

static void
write_head(FILE *out)
{
	const struct {
		uint32_t magic;
		uint16_t version[2];
		uint32_t zone, accuracy, length_max, link;
	} head = { 0xa1b23c4d, { 2, 4 }, 0, 0, 65535, 101 };

	fwrite(&head, sizeof(head), 1, out);
}

static double
parse_number(const char *text)
{
	char *end;
	double number = strtod(text, &end);

	if (end == text || *end != '\0' || !(number >= 0))
		errx(1, "%s: not a number from 0 on", text);
	return number;
}

static void
parse_option(struct mix *m, int letter, const char *text)
{
	double number = letter == 'v' ? 0 : parse_number(text);

	switch (letter) {
	case 't': m->seconds = number; break;
	case 'r': m->rate = number; break;
	case 'S': random_seed((uint64_t)number); break;
	case 'c': m->client_count = (size_t)number; break;
	case 'z': m->name_power = number; break;
	case 'y': m->client_power = number; break;
	case 'n': m->absent = (unsigned)number; break;
	case '6': m->ip6 = (unsigned)number; break;
	case 'T': m->tcp = (unsigned)number; break;
	case 'e': m->edns_size = (uint16_t)number; break;
	case 'v': m->zone = text; break;
	}
}

int
main(int argc, char **argv)
{
	static struct mix m = { .seconds = 3600, .rate = 5000,
		.name_power = 0.9, .client_power = 1.1, .absent = 25,
		.ip6 = 35, .tcp = 2, .client_count = 50000 };
	int letter;

	random_seed(1);
	while ((letter = getopt(argc, argv, "t:r:S:c:z:y:n:6:T:e:v:")) != -1) {
		if (letter == '?')
			errx(2, "see the comment at the top of this program");
		parse_option(&m, letter, optarg);
	}
	if (argc - optind != 3 || m.client_count == 0 || m.rate <= 0)
		errx(2, "usage: gen_capture [options] EXISTING ABSENT FILE");
	names_read(&m.existing, argv[optind], m.name_power);
	names_read(&m.missing, argv[optind + 1], m.name_power);
	ranks_init(&m.clients, m.client_count, m.client_power);
	m.out = fopen(argv[optind + 2], "wb");
	if (m.out == NULL)
		err(1, "%s", argv[optind + 2]);
	setvbuf(m.out, NULL, _IOFBF, 1 << 20);
	write_head(m.out);
	write_all(&m);
	finish(m.out);
	return 0;
}
