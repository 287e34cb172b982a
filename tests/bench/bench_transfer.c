/*
 * bench_transfer.c - how long it takes to read a zone transfer: a TLD of
 * delegations, with addresses of their servers, or messages of a file (each
 * behind its length in 2 octets, as on a stream).
 *
 * usage: bench_transfer [DELEGATIONS [FILE APEX]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dns/message.h"
#include "dns/rrtype.h"
#include "xfr/reader.h"

#define MESSAGE_FULL 16384u

static uint8_t apex[NAME_MAX_LEN] = "\003tld";

/* The messages, each behind its length. */
static uint8_t *octets;
static size_t len, room, message_at;

static void
put(const void *what, size_t what_len)
{
	if (room - len < what_len) {
		room = 2 * room + (1u << 20);
		octets = realloc(octets, room);
		if (octets == NULL)
			abort();
	}
	memcpy(octets + len, what, what_len);
	len += what_len;
}

static void
end_message(void)
{
	if (message_at < len)
		octets_put_u16(octets + message_at,
			(uint16_t)(len - message_at - 2));
	message_at = len;
}

static void
begin_message(void)
{
	end_message();
	put("\0\0\0\1\x84\0\0\1\0\0\0\0\0\0\003tld\0\0\xfc\0\1", 23);
}

static void
put_rr(uint16_t owner_at, uint16_t type, const void *rdata, size_t rdlen)
{
	uint8_t fixed[12];
	uint8_t *count = octets + message_at + 2 + MESSAGE_ANCOUNT;

	octets_put_u16(fixed, 0xc000u | owner_at);
	octets_put_u16(fixed + 2, type);
	octets_put_u16(fixed + 4, CLASS_IN);
	octets_put_u32(fixed + 6, 3600);
	octets_put_u16(fixed + 10, (uint16_t)rdlen);
	octets_put_u16(count, (uint16_t)(octets_get_u16(count) + 1));
	if (owner_at != 0)
		put(fixed, sizeof(fixed));
	else
		put(fixed + 2, sizeof(fixed) - 2); /* the labels are there */
	put(rdata, rdlen);
}

static void
put_soa(void)
{
	put_rr(12, TYPE_SOA, "\002ns\xc0\x0c\004host\xc0\x0c\0\0\0\1\0\0\0\1"
		"\0\0\0\1\0\0\0\1\0\0\0\1", 32);
}

/* Two NS, one of them below the cut, and its address. */
static void
put_delegation(unsigned number)
{
	uint16_t at = (uint16_t)(len - message_at - 2), server_at;
	uint8_t ns[8] = "\003ns1", owner[16];
	uint32_t address = number;

	owner[0] = (uint8_t)snprintf((char *)owner + 1, 14, "zone%07u",
		number);
	put(owner, 1u + owner[0]);
	put("\xc0\x0c", 2);
	octets_put_u16(ns + 4, 0xc000u | at);
	put_rr(0, TYPE_NS, ns, 6);
	server_at = (uint16_t)(len - message_at - 2 - 6);
	put_rr(at, TYPE_NS, "\003ns2\007hosting\xc0\x0c", 14);
	put_rr(server_at, TYPE_A, &address, 4);
}

static void
make(unsigned delegations)
{
	begin_message();
	put_soa();
	for (unsigned i = 0; i < delegations; i++) {
		if (len - message_at > MESSAGE_FULL - 100)
			begin_message();
		put_delegation(i);
	}
	put_soa();
	end_message();
}

static void
load(const char *path, const char *name)
{
	FILE *file = fopen(path, "rb");
	uint8_t buffer[65536];
	size_t count;
	const char *why;

	if (file == NULL || name_parse_text(name, strlen(name),
		(const uint8_t *)"", apex, &count, &why) != NSD_OK) {
		perror(path);
		exit(1);
	}
	while ((count = fread(buffer, 1, sizeof(buffer), file)) > 0)
		put(buffer, count);
	fclose(file);
}

static enum nsd_err
on_octets(void *ctx, const uint8_t *out, size_t out_len)
{
	return NSD_OK;
}

static double
now_sec(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
read_once(struct xfr_room *work)
{
	const struct xfr_read_setup setup = {
		.apex = apex,
		.asking = XFR_ASK_AXFR,
		.id = octets_get_u16(octets + 2),
		.sink = {on_octets, NULL},
	};
	struct xfr_reader reader;
	enum xfr_verdict verdict = XFR_READ_MORE;
	double start = now_sec(), took;

	xfr_reader_init(&reader, &setup);
	for (size_t at = 0; verdict == XFR_READ_MORE && at + 2 < len;) {
		size_t message = octets_get_u16(octets + at);

		verdict = xfr_reader_take(&reader, octets + at + 2, message,
			0, work);
		at += 2 + message;
	}
	took = now_sec() - start;
	if (verdict != XFR_READ_DONE) {
		printf("not done: %s\n",
			xfr_fault_text(reader.result.fault));
		exit(1);
	}
	printf("%.0f records, %.1f MB in, %.1f MB out: %.3f s, %.0f MB/s, "
		"%.1f ns a record\n", (double)reader.result.records,
		(double)len / 1e6, (double)reader.result.octets / 1e6, took,
		(double)len / 1e6 / took,
		took * 1e9 / (double)reader.result.records);
}

int
main(int argc, char *argv[])
{
	struct xfr_room *work = malloc(sizeof(*work));

	if (work == NULL)
		return 1;
	if (argc > 3)
		load(argv[2], argv[3]);
	else
		make(argc > 1 ? (unsigned)atoi(argv[1]) : 333333);
	for (unsigned i = 0; i < 5; i++)
		read_once(work);
	free(work);
	free(octets);
	return 0;
}
