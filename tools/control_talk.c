/* control_talk.c - a connection of nsd-control to a server. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "control_talk.h"
#include "ctl/command.h"
#include "net/socket.h"

#define HOST_MAX 256

/* The server to connect to. */
struct control_server {
	union {
		struct sockaddr any;
		struct sockaddr_un path;
		struct sockaddr_storage address;
	} to;
	socklen_t len;
	bool tls;
	char text[HOST_MAX]; /* for people */
};

void
control_talk_print_diag(struct diag_sink *sink, const struct diag *d)
{
	char text[4096];

	conf_print_diag(d, text, sizeof(text));
	fprintf(stderr, "%s\n", text);
}

int
control_talk_fail(const char *what, const char *where)
{
	fprintf(stderr, "error: %s (%s): %s\n", what, where, strerror(errno));
	return EXIT_ERROR;
}

static int
talk_fail(const struct control_talk *talk, const char *what, const char *where)
{
	return talk->silent ? EXIT_ERROR : control_talk_fail(what, where);
}

/* ---- the server ---------------------------------------------------------- */

/* Makes the address of a server that listens everywhere one to connect to. */
static void
server_make_local(struct sockaddr_storage *address)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)address;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)address;

	if (address->ss_family == AF_INET && v4->sin_addr.s_addr == INADDR_ANY)
		v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else if (address->ss_family == AF_INET6
		&& IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr))
		v6->sin6_addr = in6addr_loopback;
}

/* The first address of a network interface. */
static bool
server_find_device(const char *text, uint16_t port,
	struct sockaddr_storage *address)
{
	char name[HOST_MAX], *at;
	struct ifaddrs *all, *i;
	size_t len;

	snprintf(name, sizeof(name), "%s", text);
	at = strchr(name, '@');
	if (at != NULL) {
		*at = '\0';
		port = (uint16_t)atoi(at + 1);
	}
	if (getifaddrs(&all) == -1)
		return false;
	for (i = all; i != NULL; i = i->ifa_next)
		if (i->ifa_addr != NULL && strcmp(i->ifa_name, name) == 0
			&& (i->ifa_addr->sa_family == AF_INET
				|| i->ifa_addr->sa_family == AF_INET6))
			break;
	if (i != NULL) {
		len = i->ifa_addr->sa_family == AF_INET
			? sizeof(struct sockaddr_in)
			: sizeof(struct sockaddr_in6);
		memset(address, 0, sizeof(*address));
		memcpy(address, i->ifa_addr, len);
		if (address->ss_family == AF_INET)
			((struct sockaddr_in *)address)->sin_port =
				htons(port);
		else
			((struct sockaddr_in6 *)address)->sin6_port =
				htons(port);
	}
	freeifaddrs(all);
	return i != NULL;
}

static bool
server_find(const char *text, const struct conf *conf,
	struct control_server *server)
{
	const struct conf_interfaces *own =
		&conf->remote_control.control_interface;
	uint16_t port = (uint16_t)conf->remote_control.control_port;

	memset(server, 0, sizeof(*server));
	if (text == NULL)
		text = own->count > 0 ? own->items[0].text : "127.0.0.1";
	snprintf(server->text, sizeof(server->text), "%s", text);
	if (text[0] == '/') {
		if (strlen(text) >= sizeof(server->to.path.sun_path)) {
			errno = ENAMETOOLONG;
			return false;
		}
		server->to.path.sun_family = AF_UNIX;
		strcpy(server->to.path.sun_path, text);
		server->len = sizeof(server->to.path);
		return true;
	}
	if (net_parse_address(text, port, &server->to.address) != NSD_OK
		&& !server_find_device(text, port, &server->to.address)) {
		errno = EINVAL;
		return false;
	}
	server_make_local(&server->to.address);
	net_print_address(&server->to.address, true, server->text);
	server->len = net_address_len(&server->to.address);
	/* A server whose first control-interface is a path has no TLS. */
	server->tls = own->count == 0 || own->items[0].text[0] != '/';
	return true;
}

/* ---- the connection ------------------------------------------------------ */

static int
talk_fail_tls(const struct control_talk *talk, const char *what)
{
	char reason[128];

	tls_print_reason(reason, sizeof(reason));
	if (!talk->silent)
		fprintf(stderr, "error: %s: %s\n", what, reason);
	return EXIT_ERROR;
}

/* A server may listen and not answer. */
static int
talk_set_limit(const struct control_talk *talk)
{
	const struct timeval limit = {
		.tv_sec = talk->limit_msec / 1000,
		.tv_usec = talk->limit_msec % 1000 * 1000,
	};

	return setsockopt(talk->fd, SOL_SOCKET, SO_RCVTIMEO, &limit,
		       sizeof(limit)) == -1
			|| setsockopt(talk->fd, SOL_SOCKET, SO_SNDTIMEO,
				   &limit, sizeof(limit)) == -1
		? talk_fail(talk, "setsockopt", "timeout")
		: 0;
}

static int
talk_open_tls(struct control_talk *talk, const struct conf *conf)
{
	const struct conf_remote_control *o = &conf->remote_control;
	const struct ctl_tls_files files = {
		.key = o->control_key_file,
		.cert = o->control_cert_file,
		.authority = o->server_cert_file,
	};
	struct diag_sink sink = {
		.on_diag = talk->silent ? NULL : control_talk_print_diag,
	};

	if (ctl_tls_create_client(&files, &sink, &talk->tls) != NSD_OK)
		return EXIT_ERROR;
	talk->ssl = ctl_tls_open(talk->tls);
	if (talk->ssl == NULL || SSL_set_fd(talk->ssl, talk->fd) != 1)
		return talk_fail_tls(talk, "no memory for TLS");
	if (SSL_connect(talk->ssl) != 1) {
		if (SSL_get_verify_result(talk->ssl) != X509_V_OK
			&& !talk->silent)
			fprintf(stderr, "error: the server's certificate: %s\n",
				X509_verify_cert_error_string(
					SSL_get_verify_result(talk->ssl)));
		return talk_fail_tls(talk, "could not connect with TLS");
	}
	/* Modes by which each side can be read while the other is waited
	 * for. */
	SSL_set_mode(talk->ssl, SSL_MODE_ENABLE_PARTIAL_WRITE
		| SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	return 0;
}

int
control_talk_open(struct control_talk *talk, const char *to,
	const struct conf *conf)
{
	struct control_server server;
	int status = 0;

	if (!server_find(to, conf, &server))
		return talk_fail(talk, "cannot parse the server's address",
			to != NULL ? to : server.text);
	talk->fd = socket(server.to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC,
		0);
	if (talk->fd == -1)
		return talk_fail(talk, "socket", server.text);
	if (talk->limit_msec > 0 && talk_set_limit(talk) != 0)
		return EXIT_ERROR;
	if (connect(talk->fd, &server.to.any, server.len) == -1) {
		talk->refused = errno == ECONNREFUSED || errno == ENOENT;
		return talk_fail(talk, "connect", server.text);
	}
	if (server.tls)
		status = talk_open_tls(talk, conf);
	if (status == 0 && fcntl(talk->fd, F_SETFL, O_NONBLOCK) == -1)
		return talk_fail(talk, "fcntl", server.text);
	return status;
}

/* ---- octets -------------------------------------------------------------- */

static void
talk_note_tail(struct control_talk *talk, const char *octets, size_t len)
{
	size_t room = sizeof(talk->tail), drop;

	if (len > room) {
		octets += len - room;
		len = room;
	}
	drop = talk->tail_len + len > room ? talk->tail_len + len - room : 0;
	talk->tail_len -= drop;
	memmove(talk->tail, talk->tail + drop, talk->tail_len);
	memcpy(talk->tail + talk->tail_len, octets, len);
	talk->tail_len += len;
}

/* Notes how lines begin. */
static void
talk_note(struct control_talk *talk, const char *octets, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		/* A line begins behind the end of another. */
		if (!talk->begun || (talk->last_len > 0
				&& talk->last[talk->last_len - 1] == '\n')) {
			talk->in_first = !talk->begun;
			talk->last_len = 0;
		}
		talk->begun = true;
		if (octets[i] == '\n') {
			if (talk->last_len == sizeof(talk->last))
				talk->last_len--;
			talk->last[talk->last_len++] = '\n';
		} else if (talk->last_len < sizeof(talk->last) - 1) {
			talk->last[talk->last_len++] = octets[i];
		}
		if (talk->in_first && talk->first_len < sizeof(talk->first)
			&& octets[i] != '\n')
			talk->first[talk->first_len++] = octets[i];
	}
}

/* A UNIX socket tells no end of an answer from that of the server's process. A
 * server that lives has said that it sends no more, and reads on until we
 * close. */
static bool
talk_is_deserted(const struct control_talk *talk)
{
	return send(talk->fd, "", 0, MSG_DONTWAIT | MSG_NOSIGNAL) == -1
		&& errno == EPIPE;
}

/* Takes what has come. Returns false at the end, whatever its reason. */
static bool
talk_read(struct control_talk *talk)
{
	char in[16384];
	ssize_t n;
	int why;

	for (;;) {
		if (talk->ssl == NULL) {
			n = read(talk->fd, in, sizeof(in));
			if (n == -1 && (errno == EAGAIN || errno == EINTR))
				return true;
			talk->clean = n == 0;
			talk->deserted = n == 0 && talk_is_deserted(talk);
		} else {
			ERR_clear_error();
			n = SSL_read(talk->ssl, in, sizeof(in));
			why = n > 0 ? SSL_ERROR_NONE
				    : SSL_get_error(talk->ssl, (int)n);
			talk->want_write = why == SSL_ERROR_WANT_WRITE;
			if (why == SSL_ERROR_WANT_READ || talk->want_write)
				return true;
			talk->clean = why == SSL_ERROR_ZERO_RETURN;
			/* With TLS 1.3 the server refuses us only now. */
			if (why == SSL_ERROR_SSL)
				(void)talk_fail_tls(talk,
					"the server has refused");
		}
		if (n <= 0)
			return false;
		talk_note(talk, in, (size_t)n);
		talk_note_tail(talk, in, (size_t)n);
		if (!talk->on_answer(talk->ctx, in, (size_t)n))
			return false;
	}
}

/* Sends the octets at hand. False: the server takes no more. Its answer so far
 * is still to be read. */
static bool
talk_write(struct control_talk *talk)
{
	while (talk->out_len > 0) {
		ssize_t n;
		int why;

		if (talk->ssl == NULL) {
			n = send(talk->fd, talk->out, talk->out_len,
				MSG_NOSIGNAL);
			if (n == -1)
				return errno == EAGAIN || errno == EINTR;
		} else {
			ERR_clear_error();
			n = SSL_write(talk->ssl, talk->out,
				(int)talk->out_len);
			why = n > 0 ? SSL_ERROR_NONE
				    : SSL_get_error(talk->ssl, (int)n);
			if (n <= 0)
				return why == SSL_ERROR_WANT_READ
					|| why == SSL_ERROR_WANT_WRITE;
		}
		talk->out_len -= (size_t)n;
		memmove(talk->out, talk->out + n, talk->out_len);
	}
	return true;
}

/* Reads on from standard input; its end is the octet 4. False: it fails within
 * a line, and half of one is not to be done. */
static bool
talk_feed(struct control_talk *talk)
{
	static const char end[] = {'\n', CTL_LINES_END, '\n'};
	static char before = '\n';
	ssize_t n = read(STDIN_FILENO, talk->out, sizeof(talk->out));
	size_t skip = before == '\n';

	if (n == -1 && (errno == EINTR || errno == EAGAIN))
		return true;
	if (n > 0) {
		talk->out_len = (size_t)n;
		before = talk->out[n - 1];
		return true;
	}
	if (n == -1) {
		(void)talk_fail(talk, "cannot read", "standard input");
		talk->input_failed = true;
		if (before != '\n')
			return false;
	}
	/* A last line may lack its end. */
	memcpy(talk->out, end + skip, sizeof(end) - skip);
	talk->out_len = sizeof(end) - skip;
	talk->lines = false;
	return true;
}

/* ---- time ---------------------------------------------------------------- */

/* The times of work without an event. */
struct talk_times {
	int64_t tick, end; /* of clock.h */
};

static struct talk_times
talk_begin_times(const struct control_talk *talk)
{
	int64_t now = clock_now_msec();

	return (struct talk_times){
		.tick = talk->on_tick != NULL ? now + talk->tick_msec
					      : INT64_MAX,
		.end = talk->limit_msec > 0 ? now + talk->limit_msec
					    : INT64_MAX,
	};
}

/* The time to wait for octets. */
static int
talk_find_wait(const struct talk_times *times)
{
	int64_t next = times->tick < times->end ? times->tick : times->end;
	int64_t wait = next - clock_now_msec();

	return next == INT64_MAX ? -1 : wait > 0 ? (int)wait : 0;
}

/* Calls on_tick when it is due. False: the time of the talk is over. */
static bool
talk_mind_times(const struct control_talk *talk, struct talk_times *times)
{
	if (clock_now_msec() >= times->end)
		return false;
	if (clock_now_msec() >= times->tick) {
		talk->on_tick(talk->ctx);
		times->tick = clock_now_msec() + talk->tick_msec;
	}
	return true;
}

void
control_talk_run(struct control_talk *talk)
{
	struct talk_times times = talk_begin_times(talk);
	bool goes_on = true;

	while (goes_on && talk_mind_times(talk, &times)) {
		struct pollfd fds[2] = {
			{.fd = talk->fd, .events = POLLIN},
			{.fd = STDIN_FILENO, .events = POLLIN},
		};
		bool feed = talk->lines && talk->out_len == 0;

		if (talk->out_len > 0 || talk->want_write)
			fds[0].events |= POLLOUT;
		if ((talk->ssl == NULL || SSL_pending(talk->ssl) == 0)
			&& poll(fds, feed ? 2 : 1, talk_find_wait(&times)) == -1
			&& errno != EINTR)
			return;
		if (feed && fds[1].revents != 0 && !talk_feed(talk))
			return;
		if (!talk_write(talk)) {
			talk->out_len = 0;
			talk->lines = false;
		}
		goes_on = talk_read(talk);
	}
}

void
control_talk_close(struct control_talk *talk)
{
	SSL_free(talk->ssl);
	ctl_tls_destroy(talk->tls);
	if (talk->fd != -1)
		close(talk->fd);
}
