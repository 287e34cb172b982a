/*
 * udp.c - requests over UDP: a batch in, the handler, a batch out.
 */
#include "config.h"

#include "net/server.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "later.h"
#include "net/count.h"
#include "net/proxy.h"

/* No request that a name server serves is longer. If one is, this much is
 * handed over, and its sender gets the error that a message cut short
 * deserves. */
#define REQUEST_SIZE NET_ROOM_DATAGRAM
/* Batches taken before other events get their turn. */
#define BATCHES_MAX 8
/* While this many are answered more arrive, unless there is only one client. So
 * ask for them at once. After a smaller batch the loop may as well sleep. */
#define BATCH_AGAIN 8
/* After a batch this large the socket leaves the loop's epoll set until there
 * is nothing more to read. In the set each datagram that is sent costs a call
 * into it, some 150 ns; leaving and joining again costs less than 1 us. */
#define BATCH_UNWATCHED 16
/* Time until the next try if joining failed. */
#define WATCH_RETRY_MS 20
/* Replies of up to this size are sent with DF. With their headers they fit into
 * 1280 octets, which every link of the Internet carries in practice. */
#define DONT_FRAGMENT_MAX 1232
/* The most that an IPv4 datagram carries, whatever is configured. */
#define DATAGRAM_MAX (65535 - 20 - 8)
/* Time for which a batch waits for room in the send buffer; then it is
 * dropped. */
#define SEND_WAIT_MS 1
#define CACHE_LINE NET_ROOM_LINE
/* Octets that wait in a socket, some 400 small datagrams, before a careful
 * reader makes haste: half a second of 1,000 queries a second. */
#define WAITING_MAX (512u * 1024)

/* Room for either family's IP_PKTINFO. */
#define CONTROL_SIZE (CMSG_SPACE(sizeof(struct in6_pktinfo)))

struct net_udp {
	struct event event;
	struct event retry;
	bool watched; /* event is added */
	int fd;
	struct net_handler handler;
	uint32_t reply_size;
	uint32_t batch_max; /* datagrams that are read at once */
	uint32_t lost;     /* as the kernel said last */
	bool may_fragment; /* replies are sent without DF */
	struct net_udp_room *room;
	struct net_udp_room *own_room; /* NULL: the caller gave it */
	uint8_t *replies;
	uint8_t *control; /* NULL unless bound to a wildcard address */
	struct sockaddr_in6 address; /* or sockaddr_in: of the socket */
	struct sockaddr_in6 locals[EXCHANGE_BATCH_MAX]; /* the same, asked on
						  * a wildcard address */
	struct mmsghdr in[EXCHANGE_BATCH_MAX];
	struct iovec in_iov[EXCHANGE_BATCH_MAX];
	bool for_proxies;
	struct cds_list_head laters; /* replies that come later */
	/* All of the room. */
	struct sockaddr_storage *peer;
	struct proxy_header *headers;
	struct exchange *exchanges;
	/* The index of an exchange's datagram in `in`. */
	uint8_t slot[EXCHANGE_BATCH_MAX];
	struct mmsghdr out[EXCHANGE_BATCH_MAX];
	struct iovec out_iov[EXCHANGE_BATCH_MAX];
};

/* The distance of the buffers: an odd number of cache lines. Buffers at a power
 * of two from each other would all begin in the same set of the cache. */
static size_t
buffer_stride(size_t size)
{
	size_t lines = (size + CACHE_LINE - 1) / CACHE_LINE;

	return (lines | 1) * CACHE_LINE;
}

static uint16_t
peer_port(const struct sockaddr_storage *peer)
{
	if (peer->ss_family == AF_INET6)
		return ((const struct sockaddr_in6 *)peer)->sin6_port;
	return ((const struct sockaddr_in *)peer)->sin_port;
}

/*
 * Turns the control data of a request into that of its reply, which is sent
 * from the address that was asked, by the route that the system picks. False
 * if that address was a broadcast or multicast one: these are never answered.
 */
static bool
control_turn(struct msghdr *msg)
{
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg);
	struct in_pktinfo *info4;
	struct in6_pktinfo *info6;

	if (cmsg == NULL)
		return true;
	if (cmsg->cmsg_level == IPPROTO_IP && cmsg->cmsg_type == IP_PKTINFO) {
		info4 = (struct in_pktinfo *)CMSG_DATA(cmsg);
		info4->ipi_ifindex = 0;
		return info4->ipi_spec_dst.s_addr == info4->ipi_addr.s_addr;
	}
	if (cmsg->cmsg_level == IPPROTO_IPV6
	    && cmsg->cmsg_type == IPV6_PKTINFO) {
		info6 = (struct in6_pktinfo *)CMSG_DATA(cmsg);
		if (!IN6_IS_ADDR_LINKLOCAL(&info6->ipi6_addr))
			info6->ipi6_ifindex = 0;
		return !IN6_IS_ADDR_MULTICAST(&info6->ipi6_addr);
	}
	return true;
}

/* Receives up to a batch; returns the count of datagrams. */
static size_t
receive_batch(struct net_udp *udp)
{
	unsigned tries;
	int got;

	for (size_t i = 0; i < udp->batch_max; i++) {
		POISON_HOT(udp->in_iov[i].iov_base, REQUEST_SIZE);
		POISON_HOT(&udp->peer[i], sizeof(udp->peer[i]));
		udp->in[i].msg_hdr.msg_namelen = sizeof(udp->peer[i]);
		if (udp->control != NULL)
			udp->in[i].msg_hdr.msg_controllen = CONTROL_SIZE;
	}
	/* An ICMP error to an earlier reply is reported here, instead of
	 * datagrams that are there. Ask again, a bounded number of times. */
	for (tries = 0; tries < EXCHANGE_BATCH_MAX; tries++) {
		got = recvmmsg(udp->fd, udp->in, udp->batch_max,
			MSG_DONTWAIT, NULL);
		if (got >= 0)
			return (size_t)got;
		if (errno == EAGAIN || errno == EWOULDBLOCK)
			return 0;
		if (errno != EINTR)
			net_count_add(udp->handler.rx_err, 1);
	}
	return 0;
}

/* Finds the address that a datagram was sent to; it is lent until the next
 * batch. */
static const struct sockaddr *
find_local(struct net_udp *udp, size_t i)
{
	struct sockaddr_in6 *local = &udp->locals[i];
	struct cmsghdr *cmsg = udp->control != NULL
		? CMSG_FIRSTHDR(&udp->in[i].msg_hdr) : NULL;

	if (cmsg == NULL)
		return (const struct sockaddr *)&udp->address;
	*local = udp->address;
	if (cmsg->cmsg_level == IPPROTO_IP && cmsg->cmsg_type == IP_PKTINFO)
		((struct sockaddr_in *)local)->sin_addr
			= ((struct in_pktinfo *)CMSG_DATA(cmsg))->ipi_addr;
	else if (cmsg->cmsg_level == IPPROTO_IPV6
		&& cmsg->cmsg_type == IPV6_PKTINFO)
		local->sin6_addr
			= ((struct in6_pktinfo *)CMSG_DATA(cmsg))->ipi6_addr;
	return (const struct sockaddr *)local;
}

/* Takes the header of a proxy off its datagram. False: it is to be dropped. */
static bool
take_header(struct net_udp *udp, size_t i, struct exchange *x)
{
	struct proxy_header *header = &udp->headers[i];

	if (udp->handler.may_proxy != NULL
	    && !udp->handler.may_proxy(udp->handler.ctx, &udp->peer[i]))
		return false;
	if (proxy_read_header(x->request, x->request_len, header)
	    != PROXY_WHOLE)
		return false;
	x->request += header->len;
	x->request_len -= header->len;
	if (header->has_client) {
		x->peer = &header->client;
		x->proxy = (const struct sockaddr *)&udp->peer[i];
		x->local = &header->server.sa;
	}
	return true;
}

/* Fills exchanges with datagrams that deserve an answer; returns how many. */
static size_t
prepare_batch(struct net_udp *udp, size_t got)
{
	bool local = net_wants_local(&udp->handler);
	size_t count = 0;

	for (size_t i = 0; i < got; i++) {
		struct exchange *x = &udp->exchanges[count];

		/* Port 0 cannot receive: the source is forged. */
		if (peer_port(&udp->peer[i]) == 0
		    || (udp->control != NULL
			    && !control_turn(&udp->in[i].msg_hdr))) {
			net_count_add(udp->handler.rx_err, 1);
			continue;
		}
		x->request = udp->in_iov[i].iov_base;
		x->request_len = udp->in[i].msg_len;
		x->reply = udp->out_iov[count].iov_base;
		x->reply_capacity = udp->reply_size;
		x->reply_len = 0;
		x->transport = TRANSPORT_UDP;
		/* Fields of streams stay as they were made. */
		ASSERT_HOT(x->seen == EXCHANGE_NEW && !x->put_off
			&& !x->is_dated && x->idle_100ms == 0
			&& x->identity == NULL && x->later == NULL);
		x->peer = &udp->peer[i];
		x->proxy = NULL; /* a former batch may have set it */
		x->local = local ? find_local(udp, i) : NULL;
		x->stream = NULL;
		if (udp->for_proxies && !take_header(udp, i, x)) {
			net_count_add(udp->handler.rx_err, 1);
			continue;
		}
		udp->slot[count++] = (uint8_t)i;
	}
	return count;
}

/*
 * RFC 9715 section 3.1: UDP replies should not be fragmented, if that is safe.
 * PROBE sets DF and ignores ICMP's claims about the path, so forged ones cannot
 * make replies vanish. It also spares the kernel an identifier for each
 * datagram. If replies may be longer, since the operator asked for it, they may
 * be fragmented. A worker before us may have set either.
 */
static void
choose_fragments(struct net_udp *udp)
{
	bool fragment = udp->reply_size > DONT_FRAGMENT_MAX;
	int how = fragment ? IP_PMTUDISC_OMIT : IP_PMTUDISC_PROBE, domain = 0;
	socklen_t len = sizeof(domain);

	udp->may_fragment = getsockopt(udp->fd, SOL_SOCKET, SO_DOMAIN, &domain,
				    &len) != 0
		|| domain != AF_INET
		|| setsockopt(udp->fd, SOL_IP, IP_MTU_DISCOVER, &how,
			sizeof(how)) != 0
		|| fragment;
}

/* The first link itself is too narrow: sends without DF from now on. False if
 * it did so already, or cannot. */
static bool
begin_to_fragment(struct net_udp *udp)
{
	int how = IP_PMTUDISC_OMIT;

	if (udp->may_fragment)
		return false;
	udp->may_fragment = true;
	return setsockopt(udp->fd, SOL_IP, IP_MTU_DISCOVER, &how, sizeof(how))
		== 0;
}

/* A reply that comes later: the address that it goes to, and the one that it
 * comes from. */
struct udp_later {
	struct net_later base;
	struct net_udp *udp;
	struct sockaddr_storage peer; /* the proxy's, if there is one */
	socklen_t peer_len;
	size_t control_len;
	uint8_t control[CONTROL_SIZE]
		__attribute__((aligned(__alignof__(struct cmsghdr))));
};

static void
udp_later_end(struct net_later *base, const uint8_t *reply, size_t len,
	bool closes)
{
	struct udp_later *later = (struct udp_later *)base;
	struct net_udp *udp = later->udp;
	struct iovec iov = {.iov_base = (void *)(uintptr_t)reply,
		.iov_len = len};
	struct msghdr msg = {
		.msg_name = &later->peer,
		.msg_namelen = later->peer_len,
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = later->control_len > 0 ? later->control : NULL,
		.msg_controllen = later->control_len,
	};
	ssize_t sent;

	cds_list_del(&base->by_owner);
	if (reply == NULL)
		return;
	do {
		sent = sendmsg(udp->fd, &msg, MSG_DONTWAIT);
	} while (sent == -1 && (errno == EINTR
		|| (errno == EMSGSIZE && begin_to_fragment(udp))));
	if (sent == -1)
		net_count_add(udp->handler.tx_err, 1);
}

/* Keeps the way back to the client of an exchange whose reply comes later. */
static __attribute__((noinline, cold)) void
take_later(struct net_udp *udp, size_t i)
{
	const struct msghdr *in = &udp->in[udp->slot[i]].msg_hdr;
	struct udp_later *later = calloc(1, sizeof(*later));
	void *of = udp->exchanges[i].later;

	udp->exchanges[i].later = NULL;
	if (later != NULL) {
		later->base.end = udp_later_end;
		later->udp = udp;
		memcpy(&later->peer, in->msg_name, in->msg_namelen);
		later->peer_len = in->msg_namelen;
		if (udp->control != NULL) {
			later->control_len = in->msg_controllen;
			memcpy(later->control, in->msg_control,
				later->control_len);
		}
		cds_list_add_tail(&later->base.by_owner, &udp->laters);
	}
	udp->handler.on_later(udp->handler.ctx, of,
		later != NULL ? &later->base : NULL);
}

/* Lines up the replies that are to be sent; returns how many. */
static size_t
line_up(struct net_udp *udp, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		const struct msghdr *in = &udp->in[udp->slot[i]].msg_hdr;
		struct msghdr *out = &udp->out[n].msg_hdr;

		if (udp->exchanges[i].reply_len == 0) {
			if (udp->exchanges[i].later != NULL)
				take_later(udp, i);
			continue;
		}
		udp->out_iov[i].iov_len = udp->exchanges[i].reply_len;
		out->msg_iov = &udp->out_iov[i];
		out->msg_name = in->msg_name;
		out->msg_namelen = in->msg_namelen;
		if (udp->control != NULL) {
			out->msg_control = in->msg_control;
			out->msg_controllen = in->msg_controllen;
		}
		n++;
	}
	return n;
}

static void
send_all(struct net_udp *udp, size_t count)
{
	struct pollfd room = { .fd = udp->fd, .events = POLLOUT };
	bool waited = false;
	size_t at = 0;

	while (at < count) {
		int sent = sendmmsg(udp->fd, udp->out + at,
			(unsigned)(count - at), MSG_DONTWAIT);

		if (sent > 0) {
			at += (size_t)sent;
			continue;
		}
		if (errno == EINTR
		    || (errno == EMSGSIZE && begin_to_fragment(udp)))
			continue;
		if (errno == EAGAIN || errno == EWOULDBLOCK
		    || errno == ENOBUFS) {
			if (waited || poll(&room, 1, SEND_WAIT_MS) <= 0) {
				net_count_add(udp->handler.tx_err, count - at);
				return;
			}
			waited = true;
			continue;
		}
		/* A datagram may be refused for itself; the others are sent. */
		net_count_add(udp->handler.tx_err, 1);
		at++;
	}
}

static void
socket_unwatch(struct net_udp *udp)
{
	if (udp->watched)
		udp->watched = event_del(&udp->event) != 0;
}

static void
socket_watch(struct net_udp *udp)
{
	static const struct timeval wait = { .tv_usec = WATCH_RETRY_MS * 1000 };

	if (!udp->watched)
		udp->watched = event_add(&udp->event, NULL) == 0;
	/* Without memory no event: datagrams that arrive meanwhile wait in the
	 * socket. */
	if (!udp->watched)
		(void)event_add(&udp->retry, &wait);
}

/* Takes batches of datagrams, has them answered and sends the replies, until
 * few are left or others are to have their turn. */
static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct net_udp *udp = arg;
	struct latency_block *block = udp->handler.latency;
	int64_t begun = net_count_begin(&udp->handler), ended;
	size_t got, count, answers;

	net_count_add(udp->handler.turns, 1);
	for (unsigned batch = 0; batch < BATCHES_MAX; batch++) {
		got = receive_batch(udp);
		if (got >= BATCH_UNWATCHED)
			socket_unwatch(udp);
		count = prepare_batch(udp, got);
		if (count > 0) {
			net_count_add(udp->handler.requests, count);
			udp->handler.on_batch(udp->handler.ctx,
				udp->exchanges, count);
			answers = line_up(udp, count);
			send_all(udp, answers);
			/* One look at the clock for each batch: the end of one
			 * is the begin of the next. */
			if (block != NULL) {
				ended = clock_now_usec();
				latency_add(&block->udp, ended - begun,
					answers);
				begun = ended;
			}
		}
		if (got < BATCH_AGAIN && got < udp->batch_max)
			break;
	}
	socket_watch(udp);
}

/* A socket on a wildcard address has to learn which address was asked. */
static enum nsd_err
control_begin(struct net_udp *udp)
{
	struct sockaddr_storage address;
	const struct sockaddr_in *ip4 = (const struct sockaddr_in *)&address;
	const struct sockaddr_in6 *ip6 = (const struct sockaddr_in6 *)&address;
	socklen_t len = sizeof(address);
	int on = 1, failed = 0;

	memset(&address, 0, sizeof(address));
	if (getsockname(udp->fd, (struct sockaddr *)&address, &len) != 0)
		return NSD_E_SYSTEM;
	memcpy(&udp->address, &address, sizeof(udp->address));
	if (address.ss_family == AF_INET
	    && ip4->sin_addr.s_addr == htonl(INADDR_ANY))
		failed = setsockopt(udp->fd, SOL_IP, IP_PKTINFO, &on,
			sizeof(on));
	else if (address.ss_family == AF_INET6
	    && IN6_IS_ADDR_UNSPECIFIED(&ip6->sin6_addr))
		failed = setsockopt(udp->fd, SOL_IPV6, IPV6_RECVPKTINFO, &on,
			sizeof(on));
	else
		return NSD_OK;
	if (failed != 0)
		return NSD_E_SYSTEM;
	udp->control = calloc(EXCHANGE_BATCH_MAX, CONTROL_SIZE);
	return udp->control != NULL ? NSD_OK : NSD_E_MEMORY;
}

/* Sets what changes only with the buffers in the message headers. */
static void
headers_init(struct net_udp *udp)
{
	size_t out_stride = buffer_stride(udp->reply_size);

	for (size_t i = 0; i < EXCHANGE_BATCH_MAX; i++) {
		struct msghdr *in = &udp->in[i].msg_hdr;

		udp->in_iov[i].iov_base = udp->room->requests[i];
		udp->in_iov[i].iov_len = REQUEST_SIZE;
		in->msg_iov = &udp->in_iov[i];
		in->msg_iovlen = 1;
		in->msg_name = &udp->peer[i];
		if (udp->control != NULL)
			in->msg_control = udp->control + i * CONTROL_SIZE;
		udp->out_iov[i].iov_base = udp->replies + i * out_stride;
		udp->out[i].msg_hdr.msg_iovlen = 1;
	}
}

/* NULL without memory. */
static uint8_t *
replies_make(uint32_t reply_size)
{
	return aligned_alloc(CACHE_LINE,
		EXCHANGE_BATCH_MAX * buffer_stride(reply_size));
}

static enum nsd_err
room_open(struct net_udp *udp, struct net_udp_room *room)
{
	if (room == NULL) {
		room = aligned_alloc(CACHE_LINE, sizeof(*room));
		if (room == NULL)
			return NSD_E_MEMORY;
		memset(room, 0, offsetof(struct net_udp_room, requests));
		udp->own_room = room;
	}
	udp->room = room;
	udp->peer = room->peer;
	udp->headers = room->headers;
	udp->exchanges = room->exchanges;
	/* The room may have been that of a process that is dead. */
	for (size_t i = 0; i < EXCHANGE_BATCH_MAX; i++)
		room->exchanges[i].later = NULL;
	return NSD_OK;
}

/* No reply has more than a datagram carries. */
static uint32_t
bound_reply_size(size_t size)
{
	return (uint32_t)(size < DATAGRAM_MAX ? size : DATAGRAM_MAX);
}

enum nsd_err
net_udp_set_reply_size(struct net_udp *udp, size_t reply_size)
{
	uint32_t size = bound_reply_size(reply_size);
	uint8_t *replies;

	if (size == udp->reply_size)
		return NSD_OK;
	replies = replies_make(size);
	if (replies == NULL)
		return NSD_E_MEMORY;
	free(udp->replies);
	udp->replies = replies;
	udp->reply_size = size;
	headers_init(udp);
	choose_fragments(udp);
	return NSD_OK;
}

/* Reads a number of the socket's memory, SK_MEMINFO_*; 0, too, if the kernel
 * does not tell. */
static uint32_t
control_read_number(const struct net_udp *udp, unsigned which)
{
	uint32_t values[SK_MEMINFO_VARS] = { 0 };
	socklen_t len = sizeof(values);

	if (getsockopt(udp->fd, SOL_SOCKET, SO_MEMINFO, values, &len) != 0)
		return 0;
	return values[which];
}

/*
 * Reads the count of datagrams that the kernel has dropped on the socket so
 * far. SO_RXQ_OVFL would bring the same number with each datagram, at a cost
 * for each; this costs nothing until the count is wanted.
 */
static uint32_t
read_lost(const struct net_udp *udp)
{
	return control_read_number(udp, SK_MEMINFO_DROPS);
}

void
net_udp_set_careful(struct net_udp *udp, bool careful)
{
	bool short_of_time = control_read_number(udp, SK_MEMINFO_RMEM_ALLOC)
		> WAITING_MAX;

	udp->batch_max = careful && !short_of_time ? 1 : EXCHANGE_BATCH_MAX;
}

uint32_t
net_udp_take_lost(struct net_udp *udp)
{
	uint32_t before = udp->lost;

	udp->lost = read_lost(udp);
	return udp->lost - before;
}

enum nsd_err
net_udp_open(struct event_base *base, int fd,
	const struct net_udp_options *options,
	const struct net_handler *handler, struct net_udp **result)
{
	struct net_udp *udp = calloc(1, sizeof(*udp));
	enum nsd_err err = NSD_E_MEMORY;

	if (udp == NULL)
		return NSD_E_MEMORY;
	udp->fd = fd;
	udp->handler = *handler;
	CDS_INIT_LIST_HEAD(&udp->laters);
	udp->batch_max = EXCHANGE_BATCH_MAX;
	udp->reply_size = bound_reply_size(options->reply_size);
	udp->for_proxies = options->for_proxies;
	udp->replies = replies_make(udp->reply_size);
	if (udp->replies == NULL)
		goto fail_udp;
	err = room_open(udp, options->room);
	if (err != NSD_OK)
		goto fail_replies;
	err = control_begin(udp);
	if (err != NSD_OK)
		goto fail_room;
	headers_init(udp);
	choose_fragments(udp);
	udp->lost = read_lost(udp);
	err = NSD_E_SYSTEM;
	evtimer_assign(&udp->retry, base, on_readable, udp);
	if (event_assign(&udp->event, base, fd, EV_READ | EV_PERSIST,
		    on_readable, udp) != 0
	    || event_add(&udp->event, NULL) != 0)
		goto fail_control;
	udp->watched = true;
	*result = udp;
	return NSD_OK;

fail_control:
	free(udp->control);
fail_room:
	free(udp->own_room);
fail_replies:
	free(udp->replies);
fail_udp:
	free(udp);
	return err;
}

void
net_udp_close(struct net_udp *udp)
{
	if (udp == NULL)
		return;
	event_del(&udp->event);
	event_del(&udp->retry);
	later_forget_all(&udp->laters);
	free(udp->control);
	free(udp->own_room);
	free(udp->replies);
	free(udp);
}
