/*
 * call.c - a connection of nsd-control: its command, its lines, its answer.
 *
 * A connection is a struct ctl_call from its first octet on. The stream is
 * freed when the client goes; the rest stays until the handler has ended the
 * call.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "ctl/inside.h"

/* Octets of an answer that wait for the client while a long answer pauses. */
#define OUTPUT_FULL (64u * 1024)
/* The most octets of the answer that wait before further lines are taken. NSD's
 * nsd-control reads nothing before it has sent all lines: 100,000 zones are
 * some 2 MB of answers. */
#define LINES_FULL (CTL_OUTPUT_MAX / 4 * 3)
/* Octets that are read ahead. */
#define INPUT_FULL (2u * CTL_LINE_MAX)
/* Lines that are taken in one turn of the loop. */
#define TURN_LINES 64
/* Time for which octets behind a command are read, so that the system does not
 * take the answer back (RFC 1122 section 4.2.2.13). */
#define LINGER_MSEC 2000

/* ---- begin and end ------------------------------------------------------- */

static void
call_set_late(struct ctl_call *call, unsigned msec)
{
	const struct timeval wait = {
		.tv_sec = msec / 1000,
		.tv_usec = msec % 1000 * 1000,
	};

	event_add(call->late_event, &wait);
}

static void
call_wake(struct ctl_call *call)
{
	static const struct timeval at_once = {.tv_sec = 0};

	/* A pending event is not added again: that would put it off. */
	if (!event_pending(call->turn_event, EV_TIMEOUT, NULL))
		event_add(call->turn_event, &at_once);
}

/* Calls on_sent, if it is set. */
static void
call_tell_sent(struct ctl_call *call, bool sent)
{
	ctl_on_sent *on_sent = call->on_sent;

	call->on_sent = NULL;
	if (on_sent != NULL)
		on_sent(call->sent_ctx, sent);
}

static void
call_free(struct ctl_call *call)
{
	call_tell_sent(call, false);
	cds_list_del(&call->crowd.node);
	event_free(call->turn_event);
	event_free(call->late_event);
	/* A command may have had a secret. */
	explicit_bzero(call->line, sizeof(call->line));
	free(call);
}

static bool
call_is_open(const struct ctl_call *call)
{
	return call->state == CALL_RUNS || call->state == CALL_LINES;
}

/* Takes a whole command. The client's end is all that may still come, and it is
 * to be seen while a handler works. */
static void
call_run(struct ctl_call *call)
{
	struct evbuffer *in = bufferevent_get_input(call->stream);

	call->state = CALL_RUNS;
	event_del(call->late_event);
	(void)evbuffer_drain(in, evbuffer_get_length(in));
	if (!call->eof)
		(void)bufferevent_enable(call->stream, EV_READ);
}

/* The client sends no more. True: it reads no more either. Only a UNIX socket
 * tells: TCP's closes the same way for both (RFC 9293 section 3.6). */
static bool
call_is_deserted(const struct ctl_call *call)
{
	return send(bufferevent_getfd(call->stream), "", 0,
		       MSG_DONTWAIT | MSG_NOSIGNAL) == -1
		&& errno == EPIPE;
}

bool
call_may_be_deserted(const struct ctl_call *call)
{
	return call->stream != NULL && call->state == CALL_RUNS
		&& (call->eof || call->surplus > INPUT_FULL);
}

/* Drops a client that has gone, and tells the handler. */
static void
call_lose(struct ctl_call *call)
{
	if (call->stream == NULL)
		return;
	bufferevent_free(call->stream);
	call->stream = NULL;
	call->channel->count--;
	event_del(call->turn_event);
	event_del(call->late_event);
	if (!call_is_open(call)) {
		call_free(call);
		return;
	}
	if (call->hooks.on_gone != NULL)
		call->hooks.on_gone(call);
}

void
call_drop(struct ctl_call *call)
{
	call_lose(call);
}

static size_t
call_output(const struct ctl_call *call)
{
	return evbuffer_get_length(bufferevent_get_output(call->stream));
}

/* Closes our side: all of the answer is sent. */
static void
call_say_end(struct ctl_call *call)
{
	if (call->tls) {
		(void)SSL_shutdown(bufferevent_openssl_get_ssl(call->stream));
		ERR_clear_error();
	}
	(void)shutdown(bufferevent_getfd(call->stream), SHUT_WR);
}

/* Ends the answer, and waits for the client to close. */
static void
call_linger(struct ctl_call *call)
{
	struct evbuffer *in = bufferevent_get_input(call->stream);

	call->state = CALL_LINGERS;
	call_say_end(call);
	(void)evbuffer_drain(in, evbuffer_get_length(in));
	if (call->eof || bufferevent_enable(call->stream, EV_READ) == -1)
		call_lose(call);
	else
		call_set_late(call, LINGER_MSEC);
}

bool
call_is_busy(const struct ctl_call *call)
{
	if (call->stream == NULL)
		return false;
	if (call->cut)
		return call_output(call) > 0;
	return call->state != CALL_COMMAND && call->state != CALL_LINGERS;
}

/* Ends a call whose answer is whole, but perhaps not sent yet. */
static void
call_finish(struct ctl_call *call)
{
	call->state = CALL_ENDED;
	event_del(call->late_event);
	bufferevent_disable(call->stream, EV_READ);
	if (call_output(call) == 0)
		call_wake(call);
}

static void
call_refuse(struct ctl_call *call, const char *error)
{
	ctl_printf(call, "%s\n", error);
	call_finish(call);
}

/* ---- input --------------------------------------------------------------- */

/* Takes the next line, without its end. False: it is not here yet, or too long,
 * which has been said. */
static bool
call_take_line(struct ctl_call *call, char *line, size_t *len)
{
	struct evbuffer *in = bufferevent_get_input(call->stream);
	struct evbuffer_ptr end = evbuffer_search_eol(in, NULL, NULL,
		EVBUFFER_EOL_LF);
	size_t have = end.pos != -1 ? (size_t)end.pos
				    : evbuffer_get_length(in);

	if (have >= CTL_LINE_MAX) {
		ctl_printf(call, "error the line is too long\n");
		/* The handler waits for lines, which it does not get any
		 * more: drops the client. */
		if (call_is_open(call)) {
			call->over = true;
			call_wake(call);
		} else {
			call_finish(call);
		}
		return false;
	}
	if (end.pos == -1)
		return false;
	(void)evbuffer_remove(in, line, have + 1);
	/* A line without its end is shorter than that. */
	if (call->state == CALL_LINES
		&& evbuffer_get_length(in) < INPUT_FULL / 2)
		(void)bufferevent_enable(call->stream, EV_READ);
	if (have > 0 && line[have - 1] == '\r')
		have--;
	line[have] = '\0';
	*len = have;
	return true;
}

/* True if so many commands are under way that soon none could be taken, not
 * even one that asks for the state or stops the server. */
static bool
call_must_be_quick(const struct ctl_channel *channel)
{
	const struct ctl_call *other;
	unsigned count = 0;

	cds_list_for_each_entry(other, &channel->calls, crowd.node)
		count += other->stream != NULL && (other->state == CALL_RUNS
			|| other->state == CALL_LINES);
	return count >= channel->options.conns_max / 4 * 3;
}

/* Begins the command, once its line is whole. */
static void
call_begin(struct ctl_call *call)
{
	struct ctl_channel *channel = call->channel;
	char error[CTL_ERROR_MAX];
	size_t len;

	if (!call_take_line(call, call->line, &len))
		return;
	if (ctl_command_parse(call->line, len, &call->command, error)
		!= NSD_OK) {
		call_refuse(call, error);
		return;
	}
	if ((ctl_verb_rows[call->command.verb].flags & CTL_QUICK) == 0
		&& call_must_be_quick(channel)) {
		call_refuse(call, "error too many commands are under way: try"
				  " again when some have ended");
		return;
	}
	if ((ctl_verb_rows[call->command.verb].flags & CTL_LINES) != 0) {
		call->state = CALL_LINES;
		call_set_late(call, channel->options.lines_msec);
		call_wake(call);
	} else {
		call_run(call);
	}
	channel->options.on_call(channel->options.ctx, call);
}

static bool
call_takes_lines(const struct ctl_call *call)
{
	return call->state == CALL_LINES && call->stream != NULL
		&& !call->over && call->holds == 0
		&& call_output(call) < LINES_FULL;
}

/* Hands lines on, as many as are here and may be. */
static void
call_take_lines(struct ctl_call *call)
{
	char line[CTL_LINE_MAX + 1];
	size_t len;

	for (unsigned i = 0; i < TURN_LINES; i++) {
		if (!call_takes_lines(call))
			return;
		if (!call_take_line(call, line, &len)) {
			if (call->eof)
				call_lose(call);
			return;
		}
		call_set_late(call, call->channel->options.lines_msec);
		if (len == 1 && line[0] == CTL_LINES_END) {
			call_run(call);
			if (call->hooks.on_lines_end != NULL)
				call->hooks.on_lines_end(call);
			return;
		}
		/* A NUL ends a line early, and a line is a command. */
		if (call->hooks.on_line != NULL)
			call->hooks.on_line(call, strlen(line) == len
					? line : "");
	}
	call_wake(call);
}

static void
call_on_read(struct bufferevent *stream, void *arg)
{
	struct ctl_call *call = arg;
	struct evbuffer *in = bufferevent_get_input(stream);

	switch (call->state) {
	case CALL_COMMAND:
		call_begin(call);
		break;
	case CALL_LINES:
		/* Reading stops, or libevent would call this again and
		 * again. */
		if (evbuffer_get_length(in) >= INPUT_FULL)
			(void)bufferevent_disable(stream, EV_READ);
		call_wake(call);
		break;
	case CALL_RUNS:
		call->surplus += evbuffer_get_length(in);
		(void)evbuffer_drain(in, evbuffer_get_length(in));
		/* A client that sends without end is not read. */
		if (call->surplus > INPUT_FULL)
			(void)bufferevent_disable(stream, EV_READ);
		break;
	case CALL_ENDED:
	case CALL_LINGERS:
		(void)evbuffer_drain(in, evbuffer_get_length(in));
		break;
	}
}

/* ---- turns --------------------------------------------------------------- */

/* The client has taken all octets so far. */
static void
call_on_written(struct bufferevent *stream, void *arg)
{
	call_wake(arg);
}

static void
call_on_turn(evutil_socket_t fd, short what, void *arg)
{
	struct ctl_call *call = arg;

	if (call->stream == NULL)
		return;
	if (call->over) {
		call_lose(call);
		return;
	}
	if (call->cut) {
		if (call_output(call) == 0) {
			call_say_end(call);
			call_lose(call);
		}
		return;
	}
	if (call->state == CALL_ENDED) {
		if (call_output(call) > 0)
			return;
		/* Before the client sees the end. */
		call_tell_sent(call, true);
		call_linger(call);
		return;
	}
	if (call->state == CALL_LINES)
		call_take_lines(call);
	else if (call->state == CALL_RUNS && call->hooks.on_room != NULL
		&& call_output(call) < OUTPUT_FULL) {
		/* Before the hook: the call may end there. */
		call_wake(call);
		call->hooks.on_room(call);
	}
}

static void
call_on_event(struct bufferevent *stream, short what, void *arg)
{
	struct ctl_call *call = arg;

	if ((what & BEV_EVENT_CONNECTED) != 0) {
		call->greeted = true;
		/* The client has shown a certificate: others are refused. */
		throttle_give(&call->channel->throttle, &call->peer,
			call->hellos, clock_now_msec());
		return;
	}
	/* The end of what it sends, and no more: it may be waiting for the
	 * answer, or its lines are not looked at yet. */
	if ((what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)) == BEV_EVENT_EOF
		&& (call_is_open(call) || call->state == CALL_ENDED)) {
		call->eof = true;
		if (call->state == CALL_LINES)
			call_wake(call);
		else if (call->state == CALL_RUNS && call_is_deserted(call))
			call_lose(call);
		return;
	}
	call_lose(call);
}

static void
call_on_late(evutil_socket_t fd, short what, void *arg)
{
	call_lose(arg);
}

/* ---- a connection comes -------------------------------------------------- */

/* A ClientHello has come. True: the server may go on. */
static bool
call_on_hello(void *arg)
{
	struct ctl_call *call = arg;

	if (!throttle_take(&call->channel->throttle, &call->peer,
		    clock_now_msec()))
		return false;
	call->hellos++;
	return true;
}

static struct bufferevent *
call_open_stream(struct ctl_listener *listener, struct ctl_call *call, int fd)
{
	struct event_base *base = listener->channel->options.base;
	SSL *ssl;

	if (listener->tls == NULL)
		return bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
	call->gate = (struct ctl_tls_gate){call_on_hello, call};
	ssl = ctl_tls_accept(listener->tls, &call->gate);
	/* With this option libevent frees ssl also if it fails. */
	return ssl == NULL ? NULL : bufferevent_openssl_socket_new(base, fd,
		ssl, BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE);
}

bool
call_open(struct ctl_listener *listener, int fd,
	const struct sockaddr_storage *peer)
{
	struct ctl_channel *channel = listener->channel;
	const unsigned msec = channel->options.read_msec;
	const struct timeval wait = {
		.tv_sec = msec / 1000,
		.tv_usec = msec % 1000 * 1000,
	};
	struct ctl_call *call = calloc(1, sizeof(*call));

	if (call == NULL) {
		close(fd);
		return false;
	}
	call->channel = channel;
	call->opened_msec = clock_now_msec();
	call->tls = listener->tls != NULL;
	call->greeted = listener->tls == NULL;
	call->peer = *peer;
	call->turn_event = event_new(channel->options.base, -1, 0,
		call_on_turn, call);
	call->late_event = event_new(channel->options.base, -1, 0,
		call_on_late, call);
	if (call->turn_event != NULL && call->late_event != NULL)
		call->stream = call_open_stream(listener, call, fd);
	if (call->stream == NULL) {
		if (call->turn_event != NULL)
			event_free(call->turn_event);
		if (call->late_event != NULL)
			event_free(call->late_event);
		free(call);
		close(fd);
		return false;
	}
	call->crowd.net = crowd_find_net(peer);
	cds_list_add_tail(&call->crowd.node, &channel->calls);
	channel->count++;
	bufferevent_setcb(call->stream, call_on_read, call_on_written,
		call_on_event, call);
	bufferevent_setwatermark(call->stream, EV_READ, 0, INPUT_FULL);
	bufferevent_set_timeouts(call->stream, NULL, &wait);
	call_set_late(call, channel->options.command_msec);
	if (bufferevent_enable(call->stream, EV_READ | EV_WRITE) == -1)
		call_lose(call);
	return true;
}

/* ---- functions for handlers ---------------------------------------------- */

struct ctl_call_hooks *
ctl_hooks(struct ctl_call *call)
{
	return &call->hooks;
}

const struct ctl_command *
ctl_command(const struct ctl_call *call)
{
	return &call->command;
}

const char *
ctl_argument(const struct ctl_call *call, unsigned index)
{
	return index < call->command.count ? call->command.arguments[index]
					   : NULL;
}

bool
ctl_is_gone(const struct ctl_call *call)
{
	return call->stream == NULL || call->over || call->cut;
}

/* Checks the result of printing. */
static void
call_printed(struct ctl_call *call, int result)
{
	if (result != -1 && call_output(call) <= CTL_OUTPUT_MAX)
		return;
	/* A part of an answer is of no use: ends the call. */
	call->over = true;
	call_wake(call);
}

void
ctl_vprintf(struct ctl_call *call, const char *format, va_list args)
{
	if (ctl_is_gone(call))
		return;
	call_printed(call, evbuffer_add_vprintf(
				   bufferevent_get_output(call->stream),
				   format, args));
}

void
ctl_printf(struct ctl_call *call, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	ctl_vprintf(call, format, args);
	va_end(args);
}

void
ctl_write(struct ctl_call *call, const void *octets, size_t len)
{
	if (ctl_is_gone(call))
		return;
	call_printed(call, evbuffer_add(bufferevent_get_output(call->stream),
				   octets, len));
}

static void
call_wipe(const void *octets, size_t len, void *copy)
{
	(void)octets;
	explicit_bzero(copy, len);
	free(copy);
}

void
ctl_write_secret(struct ctl_call *call, const void *octets, size_t len)
{
	uint8_t *copy;
	int result = -1;

	if (ctl_is_gone(call) || len == 0)
		return;
	copy = malloc(len);
	if (copy != NULL) {
		memcpy(copy, octets, len);
		result = evbuffer_add_reference(
			bufferevent_get_output(call->stream), copy, len,
			call_wipe, copy);
		if (result == -1)
			call_wipe(NULL, len, copy);
	}
	call_printed(call, result);
}

void
ctl_stream(struct ctl_call *call, void (*on_room)(struct ctl_call *call))
{
	call->hooks.on_room = on_room;
	if (call->stream != NULL)
		call_wake(call);
}

void
ctl_hold(struct ctl_call *call)
{
	call->holds++;
}

void
ctl_release(struct ctl_call *call)
{
	assert(call->holds > 0);
	call->holds--;
	if (call->holds == 0 && call->stream != NULL)
		call_wake(call);
}

void
ctl_break_off(struct ctl_call *call, const char *line)
{
	ctl_printf(call, "%s\n", line);
	call->hooks = (struct ctl_call_hooks){.ctx = NULL};
	call->cut = true;
	if (call->stream == NULL)
		return;
	bufferevent_disable(call->stream, EV_READ);
	event_del(call->late_event);
	call_wake(call);
}

void
ctl_end_and(struct ctl_call *call, ctl_on_sent *on_sent, void *ctx)
{
	call->on_sent = on_sent;
	call->sent_ctx = ctx;
	ctl_end(call);
}

void
ctl_end(struct ctl_call *call)
{
	assert(call_is_open(call));
	call->hooks = (struct ctl_call_hooks){.ctx = NULL};
	if (call->stream == NULL) {
		call_free(call);
		return;
	}
	if (call->over || call->cut) {
		/* The call is freed when its stream is. */
		call->state = CALL_ENDED;
		return;
	}
	call_finish(call);
}
