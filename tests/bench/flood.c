/*
 * flood.c - a flood of questions whose sources are forged, with honest clients
 * amid it. IPv4, on the loopback of a network namespace (limits_attack.py makes
 * it). Prints one line of JSON.
 *
 *	flood [options] PORT NAME
 *	  -t SEC   how long (3)
 *	  -r RATE  forged questions a second (0)
 *	  -n N     sources of these (1)
 *	  -f ADDR  the first of them (16.0.0.1)
 *	  -s N     addresses from one to the next (251)
 *	  -R RATE  questions a second of all honest clients (0)
 *	  -N N     honest clients (1)
 *	  -F ADDR  the first of them (10.9.0.1)
 *	  -S N     addresses from one to the next (256)
 *	  -e N     of the honest questions one of N is for a name that there is
 *	           (1: all)
 *
 * Forged questions are for names below NAME that there are not. Honest ones are
 * for h0.NAME to h999.NAME, or for such ones, too. Each client has a socket of
 * its own.
 */
#include "config.h"

#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BATCH 64u
#define CLIENTS_MAX 1000u
#define PACKET_MAX 512u
#define NAMES 1000u
#define SEC_NS UINT64_C(1000000000)
/* Answers that come later are none. */
#define DRAIN_NS (SEC_NS / 2)

struct side {
	double rate;
	unsigned count;   /* addresses */
	uint32_t first;   /* host order */
	uint32_t step;
	uint64_t sent;
	uint64_t octets;  /* with the headers of IP and UDP */
};

static double seconds = 3;
static uint16_t port;
static const char *zone;
static unsigned one_exists = 1;
static struct side forged = { .count = 1, .first = 0x10000001, .step = 251 };
static struct side honest = { .count = 1, .first = 0x0a090001, .step = 256 };
static uint64_t whole, cut, answer_octets;
static uint64_t chance = 88172645463325252u;
static int clients[CLIENTS_MAX];

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SEC_NS + (uint64_t)now.tv_nsec;
}

/* xorshift64 */
static uint32_t
random_below(uint32_t limit)
{
	chance ^= chance << 13;
	chance ^= chance >> 7;
	chance ^= chance << 17;
	return (uint32_t)((chance >> 32) * limit >> 32);
}

static uint8_t *
write_label(uint8_t *at, const char *text, size_t len)
{
	*at = (uint8_t)len;
	memcpy(at + 1, text, len);
	return at + 1 + len;
}

/* A question of type A for a name below the zone. */
static size_t
write_question(uint8_t *out, uint16_t id, bool exists)
{
	static const uint8_t head[10] = { 0, 0, 0, 1 };
	static const uint8_t tail[4] = { 0, 1, 0, 1 };
	const char *part = zone;
	uint8_t *at = out + 12;
	char label[16];

	out[0] = (uint8_t)(id >> 8);
	out[1] = (uint8_t)id;
	memcpy(out + 2, head, sizeof(head));
	if (exists)
		snprintf(label, sizeof(label), "h%u", random_below(NAMES));
	else
		snprintf(label, sizeof(label), "x%08x",
			random_below(UINT32_MAX));
	at = write_label(at, label, strlen(label));
	while (*part != '\0') {
		size_t len = strcspn(part, ".");

		at = write_label(at, part, len);
		part += len + (part[len] == '.');
	}
	*at++ = 0;
	memcpy(at, tail, sizeof(tail));
	return (size_t)(at + sizeof(tail) - out);
}

static struct sockaddr_in
address(uint32_t number, uint16_t at_port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_port = htons(at_port),
		.sin_addr = { htonl(number) } };
}

/* ---- forged ---- */

static int
forged_open(void)
{
	int fd = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);

	if (fd == -1)
		err(1, "a raw socket");
	return fd;
}

/* A whole packet; the kernel fills in its sum. */
static size_t
forged_write(uint8_t *packet)
{
	struct iphdr *ip = (struct iphdr *)packet;
	struct udphdr *udp = (struct udphdr *)(ip + 1);
	size_t len = sizeof(*ip) + sizeof(*udp);

	len += write_question(packet + len, (uint16_t)chance, false);
	*ip = (struct iphdr){ .version = 4, .ihl = 5, .ttl = 64,
		.protocol = IPPROTO_UDP, .tot_len = htons((uint16_t)len),
		.saddr = htonl(forged.first + random_below(forged.count)
			* forged.step),
		.daddr = htonl(INADDR_LOOPBACK) };
	*udp = (struct udphdr){
		.source = htons((uint16_t)(1024 + random_below(60000))),
		.dest = htons(port),
		.len = htons((uint16_t)(len - sizeof(*ip))) };
	return len;
}

static void
forged_send(int fd, uint64_t count)
{
	static _Alignas(8) uint8_t packets[BATCH][PACKET_MAX];
	static struct mmsghdr msgs[BATCH];
	static struct iovec iovs[BATCH];
	struct sockaddr_in to = address(INADDR_LOOPBACK, 0);
	int done;

	if (count > BATCH)
		count = BATCH;
	for (uint64_t i = 0; i < count; i++) {
		iovs[i].iov_base = packets[i];
		iovs[i].iov_len = forged_write(packets[i]);
		msgs[i].msg_hdr = (struct msghdr){ .msg_iov = &iovs[i],
			.msg_iovlen = 1, .msg_name = &to,
			.msg_namelen = sizeof(to) };
	}
	done = sendmmsg(fd, msgs, (unsigned)count, 0);
	if (done < 0)
		err(1, "sendmmsg");
	for (int i = 0; i < done; i++)
		forged.octets += iovs[i].iov_len;
	forged.sent += (uint64_t)done;
}

/* ---- honest ---- */

static void
honest_open(void)
{
	struct sockaddr_in to = address(INADDR_LOOPBACK, port);

	for (unsigned i = 0; i < honest.count; i++) {
		struct sockaddr_in from = address(honest.first
			+ i * honest.step, 0);

		clients[i] = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
		if (clients[i] == -1
			|| bind(clients[i], (struct sockaddr *)&from,
				sizeof(from)) != 0
			|| connect(clients[i], (struct sockaddr *)&to,
				sizeof(to)) != 0)
			err(1, "a client's socket");
	}
}

static void
honest_send(void)
{
	uint8_t question[PACKET_MAX];
	bool exists = honest.sent % one_exists == 0;
	size_t len = write_question(question, (uint16_t)honest.sent, exists);

	if (send(clients[honest.sent / one_exists % honest.count], question,
		    len, 0) != (ssize_t)len)
		warn("send");
	honest.sent++;
}

static void
honest_receive(void)
{
	uint8_t reply[4096];
	ssize_t len;

	for (unsigned i = 0; i < honest.count; i++)
		while ((len = recv(clients[i], reply, sizeof(reply), 0))
			>= 12) {
			bool is_cut = (reply[2] & 2) != 0;

			cut += is_cut;
			whole += !is_cut;
			answer_octets += (uint64_t)len;
		}
}

/* ---- both ---- */

static uint64_t
due(const struct side *side, uint64_t passed_ns)
{
	uint64_t all = (uint64_t)((double)passed_ns / 1e9 * side->rate);

	return all > side->sent ? all - side->sent : 0;
}

static void
run(void)
{
	uint64_t begin = now_ns(), end = begin + (uint64_t)(seconds * 1e9);
	uint64_t now = begin, looked = begin;
	int raw = forged.rate > 0 ? forged_open() : -1;

	honest_open();
	while (now < end) {
		uint64_t some = due(&forged, now - begin);
		bool idle = some < 8;

		if (some > 0)
			forged_send(raw, some);
		some = due(&honest, now - begin);
		for (; some > 0; some--)
			honest_send();
		if (now - looked > SEC_NS / 200) {
			honest_receive();
			looked = now;
		}
		if (idle)
			usleep(100);
		now = now_ns();
	}
	for (end = now_ns() + DRAIN_NS; now_ns() < end; usleep(1000))
		honest_receive();
}

static uint32_t
read_address(const char *text)
{
	struct in_addr a;

	if (inet_pton(AF_INET, text, &a) != 1)
		errx(2, "%s: no address of IPv4", text);
	return ntohl(a.s_addr);
}

static void
parse_options(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "t:r:n:f:s:R:N:F:S:e:")) != -1) {
		unsigned long number = strtoul(optarg == NULL ? "" : optarg,
			NULL, 10);

		switch (c) {
		case 't': seconds = atof(optarg); break;
		case 'r': forged.rate = atof(optarg); break;
		case 'n': forged.count = (unsigned)number; break;
		case 'f': forged.first = read_address(optarg); break;
		case 's': forged.step = (uint32_t)number; break;
		case 'R': honest.rate = atof(optarg); break;
		case 'N': honest.count = (unsigned)number; break;
		case 'F': honest.first = read_address(optarg); break;
		case 'S': honest.step = (uint32_t)number; break;
		case 'e': one_exists = (unsigned)number; break;
		default: exit(2);
		}
	}
	if (argc - optind != 2 || honest.count < 1
		|| honest.count > CLIENTS_MAX || forged.count < 1
		|| one_exists < 1 || strlen(argv[optind + 1]) > 200)
		errx(2, "usage: flood [options] PORT NAME");
	port = (uint16_t)atoi(argv[optind]);
	zone = argv[optind + 1];
}

int
main(int argc, char **argv)
{
	parse_options(argc, argv);
	run();
	printf("{\"forged\":%llu,\"forged_octets\":%llu,\"honest\":%llu,"
		"\"whole\":%llu,\"cut\":%llu,\"octets\":%llu}\n",
		(unsigned long long)forged.sent,
		(unsigned long long)forged.octets,
		(unsigned long long)honest.sent, (unsigned long long)whole,
		(unsigned long long)cut, (unsigned long long)answer_octets);
	return 0;
}
