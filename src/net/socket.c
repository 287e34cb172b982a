/*
 * socket.c - listening sockets with the per-socket options of nsd.conf.
 */
#include "config.h"

#include "net/socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

/* RFC 8200 section 5: every link carries this much. So packets of this size
 * need no fragments but those that the sender makes. */
#define IP6_MTU_MIN 1280

/* Octets that wait in the kernel for a client that does not read, beside what
 * its window takes. */
#define TCP_UNSENT_MAX (128 * 1024)

/* A socket under construction. */
struct making {
	const struct net_listen *options;
	struct diag_sink *sink;
	int fd;
};

static void
warn_socket(const struct making *m, const char *what)
{
	char address[NET_ADDRESS_TEXT_MAX];
	int error = errno;

	net_print_address(&m->options->address, true, address);
	diag_emit(m->sink, DIAG_WARNING, NULL, 0, 0, "%s: cannot set %s: %s",
		address, what, strerror(error));
}

static bool
set_int(const struct making *m, int level, int name, int value)
{
	return setsockopt(m->fd, level, name, &value, sizeof(value)) == 0;
}

/* Sets an option that the socket works without. */
static void
try_int(const struct making *m, int level, int name, int value,
	const char *what)
{
	if (!set_int(m, level, name, value))
		warn_socket(m, what);
}

/* Sets a buffer's size: beyond the system's maximum if we may (CAP_NET_ADMIN),
 * else up to it. *got: the size that it has then. False: it is refused. */
static bool
size_buffer(const struct making *m, int name, int force_name, int octets,
	int *got)
{
	socklen_t len = sizeof(*got);

	*got = octets;
	if (set_int(m, SOL_SOCKET, force_name, octets))
		return true;
	if (!set_int(m, SOL_SOCKET, name, octets))
		return false;
	/* The kernel reports twice what it was asked for, for its own use. */
	if (getsockopt(m->fd, SOL_SOCKET, name, got, &len) == 0)
		*got /= 2;
	return true;
}

static bool
buffer_fits(const struct making *m, int name, int force_name, int octets)
{
	int got;

	return octets <= 0
		|| (size_buffer(m, name, force_name, octets, &got)
			&& got >= octets);
}

static void
set_buffer(const struct making *m, int name, int force_name, int octets,
	const char *what)
{
	int got;

	if (octets <= 0)
		return;
	if (!size_buffer(m, name, force_name, octets, &got))
		warn_socket(m, what);
	else if (got < octets)
		diag_emit(m->sink, DIAG_WARNING, NULL, 0, 0,
			"%s is %d octets, not the %d asked for: the system's "
			"maximum is lower", what, got, octets);
}

static void
set_placement(const struct making *m)
{
	bool ip6 = m->options->address.ss_family == AF_INET6;

	if (m->options->transparent)
		try_int(m, ip6 ? SOL_IPV6 : SOL_IP,
			ip6 ? IPV6_TRANSPARENT : IP_TRANSPARENT, 1,
			"ip-transparent");
	if (m->options->freebind)
		try_int(m, SOL_IP, IP_FREEBIND, 1, "ip-freebind");
	if (m->options->device != NULL
	    && setsockopt(m->fd, SOL_SOCKET, SO_BINDTODEVICE,
		    m->options->device,
		    (socklen_t)strlen(m->options->device) + 1) != 0)
		warn_socket(m, "bindtodevice");
}

/*
 * A forged "fragmentation needed" must not shrink our path MTU, and long
 * answers must not be lost because of DF. OMIT ignores what ICMP claims.
 */
static void
set_udp_mtu(const struct making *m)
{
	if (m->options->address.ss_family == AF_INET6) {
		try_int(m, SOL_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_OMIT,
			"IPV6_MTU_DISCOVER");
		try_int(m, SOL_IPV6, IPV6_MTU, IP6_MTU_MIN, "IPV6_MTU");
	} else if (!set_int(m, SOL_IP, IP_MTU_DISCOVER, IP_PMTUDISC_OMIT)) {
		try_int(m, SOL_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DONT,
			"IP_MTU_DISCOVER");
	}
}

/* All clients share a socket for datagrams. */
static void
set_udp_buffers(const struct making *m)
{
	set_buffer(m, SO_SNDBUF, SO_SNDBUFFORCE, m->options->send_buffer,
		"send-buffer-size");
	set_buffer(m, SO_RCVBUF, SO_RCVBUFFORCE, m->options->receive_buffer,
		"receive-buffer-size");
}

/* 0 leaves it to the system again. */
static void
set_tcp_mss(const struct making *m)
{
	try_int(m, IPPROTO_TCP, TCP_MAXSEG, m->options->tcp_mss, "tcp-mss");
}

/*
 * Accepted sockets inherit these from the listener. The system sizes their
 * buffers by what each connection needs: a size that is set here would be held
 * by every client that does not read. TCP_NOTSENT_LOWAT bounds what waits.
 */
static void
set_tcp(const struct making *m)
{
	try_int(m, IPPROTO_TCP, TCP_NOTSENT_LOWAT, TCP_UNSENT_MAX,
		"TCP_NOTSENT_LOWAT");
	try_int(m, IPPROTO_TCP, TCP_NODELAY, 1, "TCP_NODELAY");
	if (m->options->tcp_mss > 0)
		set_tcp_mss(m);
	if (m->options->tcp_fastopen > 0)
		try_int(m, IPPROTO_TCP, TCP_FASTOPEN,
			m->options->tcp_fastopen, "TCP_FASTOPEN");
}

static bool
set_options(const struct making *m)
{
	/* A TCP port must be usable again while old connections linger. On
	 * UDP the option would let two servers share a port unnoticed. */
	if (m->options->tcp && !set_int(m, SOL_SOCKET, SO_REUSEADDR, 1))
		return false;
	if (m->options->reuseport
	    && !set_int(m, SOL_SOCKET, SO_REUSEPORT, 1))
		return false;
	if (m->options->address.ss_family == AF_INET6
	    && !set_int(m, SOL_IPV6, IPV6_V6ONLY, 1))
		return false;
	set_placement(m);
	if (m->options->tcp) {
		set_tcp(m);
	} else {
		set_udp_buffers(m);
		set_udp_mtu(m);
	}
	return true;
}

static bool
set_backlog(const struct making *m)
{
	int backlog = m->options->tcp_backlog;

	return listen(m->fd, backlog < 0 ? INT32_MAX : backlog) == 0;
}

static enum nsd_err
listen_fail(const struct making *m, const char *what)
{
	char address[NET_ADDRESS_TEXT_MAX];
	int error = errno;

	net_print_address(&m->options->address, true, address);
	diag_emit(m->sink, DIAG_ERROR, NULL, 0, 0, "can't %s %s socket %s: %s",
		what, m->options->tcp ? "tcp" : "udp", address,
		strerror(error));
	if (m->fd != -1)
		close(m->fd);
	errno = error;
	return NSD_E_SYSTEM;
}

enum nsd_err
net_listen(const struct net_listen *options, struct diag_sink *sink, int *fd)
{
	struct making m = { options, sink, -1 };
	int type = options->tcp ? SOCK_STREAM : SOCK_DGRAM;

	m.fd = socket(options->address.ss_family,
		type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (m.fd == -1)
		return listen_fail(&m, "create");
	if (!set_options(&m))
		return listen_fail(&m, "set the options of");
	if (bind(m.fd, (const struct sockaddr *)&options->address,
		    net_address_len(&options->address)) != 0)
		return listen_fail(&m, "bind");
	if (options->tcp && !set_backlog(&m))
		return listen_fail(&m, "listen on");
	*fd = m.fd;
	return NSD_OK;
}

void
net_listen_again(int fd, const struct net_listen *options,
	struct diag_sink *sink)
{
	struct making m = { options, sink, fd };

	if (!options->tcp) {
		set_udp_buffers(&m);
		return;
	}
	set_tcp_mss(&m);
	if (!set_backlog(&m))
		warn_socket(&m, "tcp-listen-queue");
}

/* ---- sizes that may be asked for ----------------------------------------- */

/* A UDP socket to try something with. */
static int
open_trial(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd != -1 ? fd : socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

bool
net_may_force_buffers(void)
{
	struct making m = { NULL, NULL, open_trial() };
	bool may = m.fd != -1 && set_int(&m, SOL_SOCKET, SO_RCVBUFFORCE, 1);

	if (m.fd != -1)
		close(m.fd);
	return may;
}

bool
net_buffers_fit(int send_octets, int receive_octets)
{
	struct making m = { NULL, NULL, open_trial() };
	bool fit = m.fd != -1
		&& buffer_fits(&m, SO_SNDBUF, SO_SNDBUFFORCE, send_octets)
		&& buffer_fits(&m, SO_RCVBUF, SO_RCVBUFFORCE, receive_octets);

	if (m.fd != -1)
		close(m.fd);
	return fit;
}
