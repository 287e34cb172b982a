/*
 * socket.h - listening sockets with the per-socket options of nsd.conf.
 */
#ifndef NET_SOCKET_H
#define NET_SOCKET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/diag.h"
#include "base/err.h"

struct net_listen {
	struct sockaddr_storage address; /* family, address, port */
	bool tcp;               /* false: UDP */
	bool reuseport;         /* one of several sockets on this address */
	bool transparent;       /* ip-transparent */
	bool freebind;          /* ip-freebind */
	const char *device;     /* bindtodevice; NULL: none */
	int send_buffer;        /* UDP, octets; 0: the system's */
	int receive_buffer;
	int tcp_mss;            /* 0: the system's */
	int tcp_backlog;        /* -1: as large as the system lets */
	int tcp_fastopen;       /* 0: off */
};

/*
 * Makes a non-blocking close-on-exec socket, bound and, for TCP, listening.
 * IPv6 sockets are IPv6-only. A UDP socket ignores ICMP's claims about the
 * path, as far as the system lets it: IPv4 datagrams have no DF until
 * net_udp_open sets it, and IPv6 packets have at most 1280 octets.
 * returns NSD_OK with *fd; NSD_E_SYSTEM with errno, and an error to the sink
 *     with the address in it, if there is no socket, it refuses an option that
 *     it must have, or bind or listen fails. Any other option that the system
 *     refuses is a warning to the sink.
 */
enum nsd_err net_listen(const struct net_listen *options,
	struct diag_sink *sink, int *fd) MUST_USE;

/*
 * Sets options anew on a socket of net_listen that is served: buffers of UDP
 * (0: they stay), segments and backlog of TCP. Open connections keep their
 * segments.
 * in: options as of net_listen, of which it takes these and the address. An
 * option that the system refuses is a warning to the sink.
 */
void net_listen_again(int fd, const struct net_listen *options,
	struct diag_sink *sink);

/* True if buffers of any size may be asked for (CAP_NET_ADMIN). */
bool net_may_force_buffers(void);

/* True if a new UDP socket would get buffers of these sizes; 0: any. */
bool net_buffers_fit(int send_octets, int receive_octets);

/*
 * Has the kernel choose among the sockets of an address (net_listen with
 * reuseport) by the processor that takes a packet in: cpus[i] is that of the
 * socket that was bound as number i. Packets of other processors are spread by
 * their hash, as before.
 * in: fd, any of the sockets; all of them are bound. Of the sockets of one
 * processor, the first gets all packets.
 * returns NSD_OK; NSD_E_LIMIT if count is 0 or above 2047; NSD_E_MEMORY;
 *     NSD_E_SYSTEM with errno if the system refuses. After an error all is as
 *     it was.
 */
enum nsd_err net_steer_by_cpu(int fd, const uint32_t *cpus, unsigned count)
	MUST_USE;

/* Reads "ADDR" or "ADDR@PORT"; an IPv6 ADDR may end in "%SCOPE". default_port
 * is in host order. Returns NSD_E_SYNTAX, with *address untouched, if the text
 * is not of that form, or the scope is neither an interface nor a number. */
enum nsd_err net_parse_address(const char *text, uint16_t default_port,
	struct sockaddr_storage *address) MUST_USE;
#define NET_ADDRESS_TEXT_MAX 64
/* Prints "192.0.2.1" or, with_port, "192.0.2.1@53", NUL-terminated. Returns the
 * length. */
size_t net_print_address(const struct sockaddr_storage *address,
	bool with_port, char out[NET_ADDRESS_TEXT_MAX]);
/* The size of the address as its family has it. */
socklen_t net_address_len(const struct sockaddr_storage *address);

#endif
