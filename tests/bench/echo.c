/*
 * echo.c - the floor that servers are measured against: what the kernel alone
 * costs to take a message and send one back, with the batching of a good
 * server and nothing else.
 *
 *	echo udp|tcp PORT [OCTETS]
 *
 * OCTETS: a reply has so many at least, the query and what happens to stand
 * behind it: longer messages cost the kernel more. Over TCP the messages are
 * then told apart by their lengths, and a reply is sent for each.
 */
#include "config.h"

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define BATCH 64
#define SIZE 4160
#define EVENTS 64

static size_t reply_size;

static int
listener(int type, uint16_t port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, type, 0), on = 1, buffer = 1 << 20;

	if (fd == -1)
		err(1, "socket");
	if (type == SOCK_STREAM)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		err(1, "bind");
	return fd;
}

static void
serve_udp(int fd)
{
	static uint8_t data[BATCH][SIZE];
	static struct mmsghdr in[BATCH];
	static struct iovec iov[BATCH];
	static struct sockaddr_in peer[BATCH];

	for (int i = 0; i < BATCH; i++) {
		iov[i].iov_base = data[i];
		in[i].msg_hdr.msg_iov = &iov[i];
		in[i].msg_hdr.msg_iovlen = 1;
		in[i].msg_hdr.msg_name = &peer[i];
	}
	for (;;) {
		int got, sent = 0;

		for (int i = 0; i < BATCH; i++) {
			iov[i].iov_len = SIZE;
			in[i].msg_hdr.msg_namelen = sizeof(peer[i]);
		}
		got = recvmmsg(fd, in, BATCH, MSG_WAITFORONE, NULL);
		for (int i = 0; i < got; i++)
			iov[i].iov_len = in[i].msg_len > reply_size
				? in[i].msg_len : reply_size;
		while (sent < got) {
			int n = sendmmsg(fd, in + sent,
				(unsigned)(got - sent), 0);

			sent += n > 0 ? n : 1;
		}
	}
}

/* Sends a reply for each message; -1: they are not whole, or not so many. */
static ssize_t
answer_each(int fd, uint8_t *data, size_t len)
{
	static uint8_t out[BATCH][SIZE];
	struct iovec iov[BATCH];
	struct msghdr msg = { .msg_iov = iov };
	ssize_t total = 0;

	for (size_t at = 0, n = 0; at < len; n++) {
		size_t size = 2u + (data[at] << 8 | data[at + 1]);
		size_t reply = size > reply_size + 2 ? size : reply_size + 2;

		if (at + size > len || n == BATCH)
			return -1;
		memcpy(out[n], data + at, size < SIZE ? size : SIZE);
		out[n][0] = (uint8_t)((reply - 2) >> 8);
		out[n][1] = (uint8_t)(reply - 2);
		iov[n].iov_base = out[n];
		iov[n].iov_len = reply;
		msg.msg_iovlen++;
		total += (ssize_t)reply;
		at += size;
	}
	return sendmsg(fd, &msg, MSG_NOSIGNAL) == total ? (ssize_t)len : -1;
}

static void
echo_tcp(int fd)
{
	static uint8_t data[65536];
	ssize_t got = recv(fd, data, sizeof(data) - 1, 0);

	if (got > 0 && (reply_size > 0 ? answer_each(fd, data, (size_t)got)
			: send(fd, data, (size_t)got, MSG_NOSIGNAL)) == got)
		return;
	if (got == -1 && errno == EAGAIN)
		return;
	close(fd);
}

static void
serve_tcp(int fd)
{
	struct epoll_event events[EVENTS], event = { .events = EPOLLIN };
	int epoll = epoll_create1(0), on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (listen(fd, 4096) != 0)
		err(1, "listen");
	event.data.fd = fd;
	epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
	for (;;) {
		int count = epoll_wait(epoll, events, EVENTS, -1);

		for (int i = 0; i < count; i++) {
			int conn = events[i].data.fd;

			if (conn != fd) {
				echo_tcp(conn);
				continue;
			}
			conn = accept4(fd, NULL, NULL, SOCK_NONBLOCK);
			if (conn == -1)
				continue;
			event.data.fd = conn;
			epoll_ctl(epoll, EPOLL_CTL_ADD, conn, &event);
		}
	}
}

int
main(int argc, char **argv)
{
	int type, fd;

	if (argc < 3)
		errx(2, "usage: echo udp|tcp PORT [OCTETS]");
	if (argc > 3)
		reply_size = (size_t)atoi(argv[3]);
	if (reply_size > SIZE - 2)
		errx(2, "at most %d octets", SIZE - 2);
	type = strcmp(argv[1], "tcp") == 0 ? SOCK_STREAM : SOCK_DGRAM;
	fd = listener(type, (uint16_t)atoi(argv[2]));
	if (type == SOCK_STREAM)
		serve_tcp(fd);
	else
		serve_udp(fd);
	return 0;
}
