/*
 * ask_primary.c - asks a primary on 127.0.0.1 as a secondary does, and prints
 * what the reader of transfers makes of its replies.
 *
 *   ask_primary PORT APEX soa|axfr|ixfr|ixfr-udp SERIAL|-
 *       [KEY ALGORITHM SECRET]
 *
 * KEY is a name, ALGORITHM that of a TSIG, SECRET in hexadecimal. Prints one of
 *
 *   soa SERIAL REFRESH RETRY EXPIRE [expire SECONDS]
 *   whole TO | diffs FROM TO, and the records: +|- OWNER TTL TYPE RDATA
 *   unchanged SERIAL | use tcp | TEXT OF A FAULT RCODE
 */
#include "config.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "dns/rdata.h"
#include "xfr/reader.h"

#define WAIT_SEC 20

static uint8_t apex[NAME_MAX_LEN];
static struct tsig_key key;
static struct tsig_chain chain;
static uint8_t *kept;
static size_t kept_len;

static void
die(const char *what)
{
	fprintf(stderr, "ask_primary: %s\n", what);
	exit(2);
}

static void
parse_name(const char *text, uint8_t *name)
{
	const char *why;
	size_t len;

	if (name_parse_text(text, strlen(text), (const uint8_t *)"", name,
		&len, &why) != NSD_OK)
		die(why);
	name_lower(name);
}

static void
open_key(char **words)
{
	uint8_t secret[256], algorithm[NAME_MAX_LEN];
	size_t len = 0;
	unsigned octet;

	parse_name(words[0], key.name);
	parse_name(words[1], algorithm);
	for (const char *at = words[2]; len < sizeof(secret)
		&& sscanf(at, "%2x", &octet) == 1; at += 2)
		secret[len++] = (uint8_t)octet;
	if (!tsig_find_algorithm(algorithm, &key.kind)
		|| mac_create(key.kind, secret, len, &key.mac) != NSD_OK)
		die("no such algorithm");
	tsig_begin(&chain, &key);
}

static int
open_socket(const char *port, bool udp)
{
	const struct timeval wait = {.tv_sec = WAIT_SEC};
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)atoi(port)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, udp ? SOCK_DGRAM : SOCK_STREAM, 0);

	if (fd == -1 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait,
			sizeof(wait)) != 0
		|| connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
		die("no connection");
	return fd;
}

static void
send_request(int fd, const struct xfr_ask *ask, bool udp)
{
	uint8_t octets[2 + XFR_ASK_MAX];
	size_t len;

	if (xfr_ask_write(ask, (uint64_t)time(NULL), octets + 2, &len)
		!= NSD_OK)
		die("no request");
	octets_put_u16(octets, (uint16_t)len);
	if (write(fd, octets + (udp ? 2 : 0), len + (udp ? 0 : 2)) == -1)
		die("the request cannot be sent");
}

static void
read_octets(int fd, uint8_t *octets, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t n = read(fd, octets + at, len - at);

		if (n <= 0)
			die("the connection ends");
		at += (size_t)n;
	}
}

static size_t
read_message(int fd, bool udp, uint8_t octets[MESSAGE_MAX_LEN])
{
	uint8_t len[2];
	ssize_t n;

	if (udp) {
		n = read(fd, octets, MESSAGE_MAX_LEN);
		if (n < 0)
			die("no reply");
		return (size_t)n;
	}
	read_octets(fd, len, 2);
	read_octets(fd, octets, octets_get_u16(len));
	return octets_get_u16(len);
}

static enum nsd_err
on_octets(void *ctx, const uint8_t *octets, size_t len)
{
	kept = realloc(kept, kept_len + len);
	if (kept == NULL)
		return NSD_E_MEMORY;
	memcpy(kept + kept_len, octets, len);
	kept_len += len;
	return NSD_OK;
}

static void
print_fault(enum xfr_fault fault, unsigned rcode)
{
	printf("%s %u\n", xfr_fault_text(fault), rcode);
}

static void
print_records(void)
{
	static char text[5 * RDATA_MAX_LEN];
	char owner[NAME_TEXT_MAX], type[RRTYPE_TEXT_MAX];
	struct changes changes;
	struct changes_rr rr;

	if (changes_open(&changes, kept, kept_len) != NSD_OK)
		die("what was given on is malformed");
	while (changes_read(&changes, &rr) == NSD_OK) {
		name_print_text(rr.owner, owner);
		rrtype_print(rr.type, type);
		if (rdata_print(rr.type, rr.rdata, rr.rdlen, text,
			sizeof(text)) >= sizeof(text))
			die("a long record");
		printf("%c %s %u %s %s\n", rr.action == XFR_ADD ? '+' : '-',
			owner, rr.ttl_sec, type, text);
	}
	if (changes_close(&changes, NULL) != NSD_OK)
		die("what was given on is not whole");
}

static void
read_soa(int fd, const struct xfr_ask *ask)
{
	static uint8_t octets[MESSAGE_MAX_LEN];
	struct xfr_answer answer;
	size_t len = read_message(fd, true, octets);
	enum xfr_fault fault = xfr_answer_read(ask, octets, len,
		(uint64_t)time(NULL), &answer);

	if (fault != XFR_FAULT_NONE) {
		print_fault(fault, answer.rcode);
		return;
	}
	printf("soa %u %u %u %u", answer.soa.serial, answer.soa.refresh_sec,
		answer.soa.retry_sec, answer.soa.expire_sec);
	if (answer.has_expire)
		printf(" expire %u", answer.expire_sec);
	printf("\n");
}

static void
read_transfer(int fd, const struct xfr_ask *ask, bool udp, bool has_serial)
{
	static uint8_t octets[MESSAGE_MAX_LEN];
	static struct xfr_room room;
	const struct xfr_read_setup setup = {
		.apex = apex,
		.asking = ask->asking,
		.id = ask->id,
		.udp = udp,
		.has_serial = has_serial,
		.serial = ask->serial,
		.chain = ask->chain,
		.sink = {on_octets, NULL},
	};
	enum xfr_verdict verdict = XFR_READ_MORE;
	struct xfr_reader reader;

	xfr_reader_init(&reader, &setup);
	while (verdict == XFR_READ_MORE)
		verdict = xfr_reader_take(&reader, octets,
			read_message(fd, udp, octets), (uint64_t)time(NULL),
			&room);
	switch (verdict) {
	case XFR_READ_DONE:
		if (reader.result.kind == XFR_WHOLE)
			printf("whole %u\n", reader.result.to);
		else
			printf("diffs %u %u\n", reader.result.from,
				reader.result.to);
		print_records();
		break;
	case XFR_READ_UNCHANGED:
		printf("unchanged %u\n", reader.result.to);
		break;
	case XFR_READ_USE_TCP:
		printf("use tcp\n");
		break;
	default:
		print_fault(reader.result.fault, reader.result.rcode);
	}
}

int
main(int argc, char **argv)
{
	struct xfr_ask ask = {.id = (uint16_t)getpid(), .apex = apex,
		.asking = XFR_ASK_AXFR, .udp_size = 1232,
		.wants_expire = true};
	bool soa, udp, has_serial;
	int fd;

	if (argc != 5 && argc != 8)
		die("usage: see the source");
	parse_name(argv[2], apex);
	soa = strcmp(argv[3], "soa") == 0;
	udp = soa || strcmp(argv[3], "ixfr-udp") == 0;
	has_serial = strcmp(argv[4], "-") != 0;
	ask.serial = (uint32_t)strtoul(argv[4], NULL, 10);
	if (soa)
		ask.asking = XFR_ASK_SOA;
	else if (strncmp(argv[3], "ixfr", 4) == 0)
		ask.asking = XFR_ASK_IXFR;
	if (argc == 8) {
		open_key(argv + 5);
		ask.chain = &chain;
	}
	fd = open_socket(argv[1], udp);
	send_request(fd, &ask, udp);
	if (soa)
		read_soa(fd, &ask);
	else
		read_transfer(fd, &ask, udp, has_serial);
	close(fd);
	mac_destroy(key.mac);
	free(kept);
	return 0;
}
