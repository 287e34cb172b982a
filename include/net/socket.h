/*
 * socket.h - listening sockets with the per-socket options of nsd.conf.
 */
#ifndef NET_SOCKET_H
#define NET_SOCKET_H

#include <stdbool.h>
#include <sys/socket.h>

#include "base/diag.h"
#include "base/err.h"

struct net_listen {
	struct sockaddr_storage address; /* family, address, port */
	bool tcp;               /* else UDP */
	bool reuseport;         /* one of several sockets on this address */
	bool transparent;       /* ip-transparent */
	bool freebind;          /* ip-freebind */
	const char *device;     /* bindtodevice; NULL: none */
	int send_buffer;        /* octets; 0: the system's */
	int receive_buffer;
	int tcp_mss;            /* 0: the system's */
	int tcp_backlog;        /* -1: as large as the system lets */
	int tcp_fastopen;       /* 0: off */
};

/*
 * Makes a non-blocking close-on-exec socket, bound and, for TCP, listening.
 * IPv6 sockets are IPv6-only. UDP: path-MTU discovery off where the system
 * lets (forged ICMP is ignored; IPv4 without DF until net_udp_open sets it;
 * IPv6 sends at most 1280).
 * An option the system lacks is a warning to the sink; a bind that fails is
 * an error with the address in its text, and NSD_E_SYSTEM with its errno.
 */
enum nsd_err net_listen(const struct net_listen *options,
	struct diag_sink *sink, int *fd) MUST_USE;

/* "ADDR" or "ADDR@PORT" to an address; default_port in host order. */
enum nsd_err net_parse_address(const char *text, uint16_t default_port,
	struct sockaddr_storage *address) MUST_USE;
#define NET_ADDRESS_TEXT_MAX 64
/* "192.0.2.1" and, with_port, "192.0.2.1@53". Returns the length. */
size_t net_print_address(const struct sockaddr_storage *address,
	bool with_port, char out[NET_ADDRESS_TEXT_MAX]);
socklen_t net_address_len(const struct sockaddr_storage *address);

#endif
