/*
 * echo.c - the floor that servers are measured against: what the kernel alone
 * costs to take a message and send one back, with the batching of a good
 * server and nothing else.
 *
 *	echo udp|tcp PORT [REUSEPORT]
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

static int
listener(int type, uint16_t port, int reuseport)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, type, 0), on = 1, buffer = 1 << 20;

	if (fd == -1)
		err(1, "socket");
	if (type == SOCK_STREAM)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (reuseport)
		setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
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
			iov[i].iov_len = in[i].msg_len;
		while (sent < got) {
			int n = sendmmsg(fd, in + sent,
				(unsigned)(got - sent), 0);

			sent += n > 0 ? n : 1;
		}
	}
}

static void
echo_tcp(int fd)
{
	static uint8_t data[65536];
	ssize_t got = recv(fd, data, sizeof(data), 0);

	if (got > 0 && send(fd, data, (size_t)got, MSG_NOSIGNAL) == got)
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
		errx(2, "usage: echo udp|tcp PORT [REUSEPORT]");
	type = strcmp(argv[1], "tcp") == 0 ? SOCK_STREAM : SOCK_DGRAM;
	fd = listener(type, (uint16_t)atoi(argv[2]), argc > 3);
	if (type == SOCK_STREAM)
		serve_tcp(fd);
	else
		serve_udp(fd);
	return 0;
}
