/*
 * send_updates.c - many clients that send UPDATEs to a server on loopback, each
 * the next one once the last is answered. Prints one line of JSON.
 *
 *	send_updates [-c CLIENTS] [-t SEC] PORT MESSAGES
 *
 * MESSAGES are whole, signed or not, each behind its length in two octets.
 * Client n of N sends those at n, n + N and so on, in this order. A message
 * without a reply is sent again after two seconds.
 */
#include "config.h"

#include <arpa/inet.h>
#include <err.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "latency.h"

#define AGAIN_NS 2000000000u
#define CLIENTS_MAX 1000u
#define TURN_MSEC 100

struct message {
	const uint8_t *at;
	uint16_t len;
};

struct client {
	int fd;
	size_t next; /* of messages; that which is under way */
	uint64_t first_ns;
	uint64_t sent_ns;
	bool rests; /* end of its messages */
};

static struct message *messages;
static size_t message_count;
static struct client clients[CLIENTS_MAX];
static unsigned client_count = 100;
static uint64_t answered, again, rcodes[16];

static void
read_messages(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *text;
	long size;
	size_t room = 0;

	if (f == NULL || fseek(f, 0, SEEK_END) != 0)
		err(1, "%s", path);
	size = ftell(f);
	rewind(f);
	text = malloc(size > 0 ? (size_t)size : 1);
	if (size <= 0 || text == NULL
		|| fread(text, (size_t)size, 1, f) != 1)
		err(1, "%s", path);
	fclose(f);
	for (size_t i = 0; i + 2 <= (size_t)size;) {
		uint16_t len = (uint16_t)(text[i] << 8 | text[i + 1]);

		if (message_count == room) {
			room = room * 2 + 1024;
			messages = realloc(messages,
				room * sizeof(*messages));
			if (messages == NULL)
				err(1, NULL);
		}
		if (i + 2 + len > (size_t)size)
			errx(1, "%s: is cut short", path);
		messages[message_count++] = (struct message){
			text + i + 2, len};
		i += 2u + len;
	}
}

static void
client_open(struct client *c, uint16_t port, int epoll)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = c}};

	c->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	if (c->fd == -1
		|| connect(c->fd, (struct sockaddr *)&to, sizeof(to)) != 0
		|| epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event) != 0)
		err(1, "socket");
	latency_enable(c->fd);
}

static void
client_send(struct client *c)
{
	if (c->next >= message_count) {
		c->rests = true;
		return;
	}
	c->sent_ns = latency_now_ns();
	if (send(c->fd, messages[c->next].at, messages[c->next].len, 0) < 0)
		again++; /* as if it were lost */
}

static void
client_begin(struct client *c)
{
	client_send(c);
	c->first_ns = c->sent_ns;
}

static void
client_hear(struct client *c, bool goes_on)
{
	_Alignas(struct cmsghdr) uint8_t control[64];
	uint8_t reply[4096];
	struct iovec iov = {reply, sizeof(reply)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control)};
	ssize_t len = recvmsg(c->fd, &msg, 0);

	if (len < 12 || c->rests
		|| memcmp(reply, messages[c->next].at, 2) != 0)
		return;
	rcodes[reply[3] & 15]++;
	answered++;
	latency_note(c->first_ns, latency_heard_ns(&msg));
	c->next += client_count;
	if (goes_on)
		client_begin(c);
	else
		c->rests = true;
}

static bool
send_again(void)
{
	uint64_t now = latency_now_ns();
	bool some = false;

	for (unsigned i = 0; i < client_count; i++) {
		if (clients[i].rests)
			continue;
		some = true;
		if (now - clients[i].sent_ns < AGAIN_NS)
			continue;
		again++;
		client_send(&clients[i]);
	}
	return some;
}

static void
run(int epoll, double seconds)
{
	struct epoll_event events[64];
	uint64_t begin = latency_now_ns(), end, counted = 0, last = begin;

	end = begin + (uint64_t)(seconds * 1e9);
	for (unsigned i = 0; i < client_count; i++)
		client_begin(&clients[i]);
	/* Messages under way at the end may still take a while. */
	while (last < end + 5 * (uint64_t)AGAIN_NS && send_again()) {
		int n = epoll_wait(epoll, events, 64, TURN_MSEC);

		for (int i = 0; i < n; i++)
			client_hear(events[i].data.ptr, last < end);
		last = latency_now_ns();
		if (last < end || counted == 0)
			counted = answered;
	}
	if (last > end)
		last = end;
	printf("{\"seconds\":%.3f,\"in_time\":%" PRIu64 ",\"answered\":%" PRIu64
		",\"again\":%" PRIu64 ",\"rcodes\":[", (double)(last - begin)
		/ 1e9, counted, answered, again);
	for (size_t i = 0; i < 16; i++)
		printf("%s%" PRIu64, i == 0 ? "" : ",", rcodes[i]);
	printf("]");
	latency_print();
	printf("}\n");
}

int
main(int argc, char **argv)
{
	double seconds = 5;
	int epoll = epoll_create1(0), letter;

	while ((letter = getopt(argc, argv, "c:t:")) != -1)
		if (letter == 'c')
			client_count = (unsigned)atoi(optarg);
		else if (letter == 't')
			seconds = atof(optarg);
		else
			return 1;
	if (argc - optind != 2 || client_count == 0
		|| client_count > CLIENTS_MAX)
		errx(1, "send_updates [-c CLIENTS] [-t SEC] PORT MESSAGES");
	read_messages(argv[optind + 1]);
	latency_init(1000000000);
	for (unsigned i = 0; i < client_count; i++) {
		clients[i] = (struct client){.next = i};
		client_open(&clients[i], (uint16_t)atoi(argv[optind]), epoll);
	}
	run(epoll, seconds);
	return 0;
}
