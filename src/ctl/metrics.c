/*
 * metrics.c - serves the page of metrics over HTTP.
 *
 * System calls, for the filter of them: those of acceptor.c, read, write and
 * shutdown.
 */
#include "config.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "acceptor.h"
#include "base/list.h"
#include "crowd.h"
#include "ctl/metrics.h"

/* Octets of the page that are printed at a time, once those before are sent. */
#define WAITING_MAX 32768u
/* Time for a client to close that has the whole page. */
#define LINGER_MSEC 2000u

struct metrics_listener {
	struct metrics_listener *next;
	struct acceptor *acceptor;
};

struct ctl_metrics {
	struct ctl_metrics_options options;
	struct metrics_listener *listeners;
	struct cds_list_head conns; /* by crowd.node, the oldest first */
	unsigned count;
};

enum metrics_state { CONN_READS, CONN_WRITES, CONN_LINGERS };

struct metrics_conn {
	struct crowd_one crowd;
	struct ctl_metrics *metrics;
	enum metrics_state state;
	int fd;
	struct event *read_event;
	struct event *write_event;
	struct event *late_event;
	size_t len; /* octets of request */
	char request[CTL_METRICS_REQUEST_MAX];
	bool chunked;
	void *page; /* NULL: printed to its end */
	struct statistics_text piece; /* of the page */
	struct statistics_text out;
	size_t sent; /* octets of out */
};

static void
metrics_close(struct metrics_conn *conn)
{
	struct ctl_metrics *m = conn->metrics;

	cds_list_del(&conn->crowd.node);
	m->count--;
	if (conn->page != NULL)
		m->options.close(conn->page);
	if (conn->read_event != NULL)
		event_free(conn->read_event);
	if (conn->write_event != NULL)
		event_free(conn->write_event);
	if (conn->late_event != NULL)
		event_free(conn->late_event);
	statistics_text_free(&conn->piece);
	statistics_text_free(&conn->out);
	close(conn->fd);
	free(conn);
}

static bool
conn_set_late(struct metrics_conn *conn, unsigned msec)
{
	struct timeval wait = {
		.tv_sec = msec / 1000,
		.tv_usec = (msec % 1000) * 1000,
	};

	return event_add(conn->late_event, &wait) == 0;
}

static void
conn_on_late(evutil_socket_t fd, short what, void *arg)
{
	metrics_close(arg);
}

/* ---- writing ------------------------------------------------------------- */

static const char *
status_text(unsigned status)
{
	switch (status) {
	case 200:
		return "OK";
	case 400:
		return "Bad Request";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	case 431:
		return "Request Header Fields Too Large";
	default:
		return "Service Unavailable";
	}
}

/* Prints the next piece of the page. False: the rest is for another turn. */
static bool
conn_print(struct metrics_conn *conn)
{
	struct ctl_metrics_options *o = &conn->metrics->options;
	bool more;

	conn->piece.len = 0;
	more = o->print(conn->page, &conn->piece);
	conn->out.failed |= conn->piece.failed;
	if (conn->piece.len > 0 && conn->chunked)
		statistics_text_printf(&conn->out, "%zx\r\n",
			conn->piece.len);
	if (conn->piece.len > 0)
		statistics_text_printf(&conn->out, "%.*s%s",
			(int)conn->piece.len, conn->piece.text,
			conn->chunked ? "\r\n" : "");
	if (more)
		return conn->piece.len > 0;
	o->close(conn->page);
	conn->page = NULL;
	if (conn->chunked)
		statistics_text_printf(&conn->out, "0\r\n\r\n");
	return false;
}

/* Waits for the client to close, as all is sent. A client that has sent more
 * than we have read would lose the octets it has not read yet, if we closed at
 * once. */
static void
metrics_linger(struct metrics_conn *conn)
{
	conn->state = CONN_LINGERS;
	event_del(conn->write_event);
	if (shutdown(conn->fd, SHUT_WR) == -1
		|| !conn_set_late(conn, LINGER_MSEC)
		|| event_add(conn->read_event, NULL) == -1)
		metrics_close(conn);
}

/* A turn: prints some, and sends it. */
static void
conn_on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct metrics_conn *conn = arg;
	ssize_t n;

	if (conn->sent == conn->out.len) {
		conn->sent = conn->out.len = 0;
		while (conn->out.len < WAITING_MAX && !conn->out.failed
			&& conn->page != NULL && conn_print(conn))
			continue;
	}
	if (conn->out.failed) {
		metrics_close(conn);
		return;
	}
	n = write(fd, conn->out.text + conn->sent,
		conn->out.len - conn->sent);
	if (n == -1 && errno != EAGAIN && errno != EINTR) {
		metrics_close(conn);
		return;
	}
	conn->sent += n > 0 ? (size_t)n : 0;
	if (conn->sent == conn->out.len && conn->page == NULL)
		metrics_linger(conn);
}

static void
conn_reply(struct metrics_conn *conn, unsigned status)
{
	struct ctl_metrics_options *o = &conn->metrics->options;
	struct statistics_text *out = &conn->out;

	if (status == 200) {
		conn->page = o->open(o->ctx);
		if (conn->page == NULL)
			status = 503;
	}
	statistics_text_printf(out, "HTTP/1.1 %u %s\r\nConnection: close\r\n",
		status, status_text(status));
	if (status == 405)
		statistics_text_printf(out, "Allow: GET\r\n");
	if (conn->page != NULL)
		statistics_text_printf(out, "Content-Type: text/plain;"
			" version=0.0.4\r\n%s\r\n", conn->chunked
			? "Transfer-Encoding: chunked\r\n" : "");
	else
		statistics_text_printf(out, "Content-Type: text/plain\r\n"
			"Content-Length: %zu\r\n\r\n%s\n",
			strlen(status_text(status)) + 1,
			status_text(status));
	conn->state = CONN_WRITES;
	event_del(conn->read_event);
	if (!conn_set_late(conn, o->reply_msec)
		|| event_add(conn->write_event, NULL) == -1)
		metrics_close(conn);
}

/* ---- reading ------------------------------------------------------------- */

static void
conn_read_request(struct metrics_conn *conn)
{
	struct ctl_metrics_request request;

	ctl_metrics_read(conn->request, conn->len,
		conn->metrics->options.path, &request);
	conn->chunked = request.chunked;
	if (request.status != 0)
		conn_reply(conn, request.status);
	else if (conn->len == sizeof(conn->request))
		conn_reply(conn, 431);
}

static void
conn_on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct metrics_conn *conn = arg;
	size_t room = sizeof(conn->request);
	ssize_t n;

	/* Octets behind the request are thrown away. */
	if (conn->state == CONN_LINGERS)
		conn->len = 0;
	n = read(fd, conn->request + conn->len, room - conn->len);
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		metrics_close(conn);
		return;
	}
	if (conn->state != CONN_READS)
		return;
	conn->len += (size_t)n;
	conn_read_request(conn);
}

/* ---- connections --------------------------------------------------------- */

/* Weighs most a connection of the network that has most, rather one that is not
 * being sent the page. */
static unsigned
conn_weigh(const struct crowd_one *one, unsigned count, void *arg)
{
	const struct metrics_conn *conn = cds_list_entry(one,
		struct metrics_conn, crowd);

	return 2 * count + (conn->state != CONN_WRITES);
}

/* The connection that makes room for another. There is one. */
static struct metrics_conn *
conn_find_place(struct ctl_metrics *m)
{
	return cds_list_entry(crowd_pick(&m->conns, conn_weigh, NULL),
		struct metrics_conn, crowd);
}

/* Takes a connection, and fd. */
static bool
metrics_accept(void *ctx, int fd, const struct sockaddr_storage *peer)
{
	struct ctl_metrics *m = ctx;
	struct metrics_conn *conn = calloc(1, sizeof(*conn));

	if (conn == NULL) {
		close(fd);
		return false;
	}
	if (m->count == m->options.conns_max)
		metrics_close(conn_find_place(m));
	conn->metrics = m;
	conn->fd = fd;
	conn->read_event = event_new(m->options.base, fd,
		EV_READ | EV_PERSIST, conn_on_readable, conn);
	conn->write_event = event_new(m->options.base, fd,
		EV_WRITE | EV_PERSIST, conn_on_writable, conn);
	conn->late_event = event_new(m->options.base, -1, 0, conn_on_late,
		conn);
	conn->crowd.net = crowd_find_net(peer);
	cds_list_add_tail(&conn->crowd.node, &m->conns);
	m->count++;
	if (conn->read_event == NULL || conn->write_event == NULL
		|| conn->late_event == NULL
		|| !conn_set_late(conn, m->options.request_msec)
		|| event_add(conn->read_event, NULL) == -1) {
		metrics_close(conn);
		return false;
	}
	return true;
}

enum nsd_err
ctl_metrics_listen(struct ctl_metrics *m, int fd)
{
	struct metrics_listener *listener = calloc(1, sizeof(*listener));
	const struct acceptor_hooks hooks = {
		.ctx = m, .on_conn = metrics_accept};

	if (listener == NULL)
		return NSD_E_MEMORY;
	if (acceptor_open(m->options.base, fd, &hooks, &listener->acceptor)
		!= NSD_OK) {
		free(listener);
		return NSD_E_MEMORY;
	}
	listener->next = m->listeners;
	m->listeners = listener;
	return NSD_OK;
}

/* ---- begin and end ------------------------------------------------------- */

enum nsd_err
ctl_metrics_create(const struct ctl_metrics_options *options,
	struct ctl_metrics **metrics)
{
	struct ctl_metrics *m = calloc(1, sizeof(*m));

	if (m == NULL)
		return NSD_E_MEMORY;
	m->options = *options;
	if (m->options.conns_max == 0)
		m->options.conns_max = CTL_METRICS_CONNS_MAX;
	if (m->options.request_msec == 0)
		m->options.request_msec = CTL_METRICS_REQUEST_MSEC;
	if (m->options.reply_msec == 0)
		m->options.reply_msec = CTL_METRICS_REPLY_MSEC;
	CDS_INIT_LIST_HEAD(&m->conns);
	*metrics = m;
	return NSD_OK;
}

void
ctl_metrics_set_path(struct ctl_metrics *m, const char *path)
{
	m->options.path = path;
}

void
ctl_metrics_close(struct ctl_metrics *m)
{
	while (m->listeners != NULL) {
		struct metrics_listener *listener = m->listeners;

		m->listeners = listener->next;
		acceptor_close(listener->acceptor);
		free(listener);
	}
}

void
ctl_metrics_destroy(struct ctl_metrics *m)
{
	if (m == NULL)
		return;
	while (!cds_list_empty(&m->conns))
		metrics_close(cds_list_entry(m->conns.next, struct metrics_conn,
			crowd.node));
	ctl_metrics_close(m);
	free(m);
}
