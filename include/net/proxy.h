/*
 * proxy.h - the header of the PROXY protocol, version 2, by which a proxy names
 * the client of the request behind it. Source: "The PROXY protocol, Versions 1
 * & 2" of HAProxy (2020), section 2.2. Numbers are in network order.
 *
 *   octets 0-11   signature: 0d 0a 0d 0a 00 0d 0a 51 55 49 54 0a
 *          12     version 2 in the high half; command in the low half:
 *                 0 LOCAL (the proxy's own), 1 PROXY
 *          13     family in the high half: 0 unspecified, 1 IPv4, 2 IPv6,
 *                 3 UNIX; in the low half 0 unspecified, 1 stream, 2 datagram
 *          14-15  octets that follow
 *          16-    with PROXY the addresses of source and destination, then the
 *                 ports of both: 12 octets with IPv4, 36 with IPv6
 *          ...    any number of additions: a type, two octets of length, and
 *                 so many octets
 */
#ifndef NET_PROXY_H
#define NET_PROXY_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define PROXY_HEAD_LEN 16u
/* The longest header that is taken. Proxies stay below 536 octets (section 2.2)
 * unless they send certificates. */
#define PROXY_HEADER_MAX 2048u

struct proxy_header {
	uint32_t len;    /* octets of the header: the request is behind them */
	bool has_client; /* false: the proxy speaks for itself (LOCAL), or does
			  * not know for whom (family unspecified) */
	struct sockaddr_storage client; /* if has_client: address and port */
	union {                         /* the same of the client's server */
		struct sockaddr sa;
		struct sockaddr_in ip4;
		struct sockaddr_in6 ip6;
	} server;
};

enum proxy_outcome {
	PROXY_WHOLE,      /* *header is set */
	PROXY_INCOMPLETE, /* more octets can make it whole: len of them cannot
			   * be PROXY_HEADER_MAX or more */
	PROXY_MALFORMED,  /* no octets can: no header of version 2, one that is
			   * too long, a command, family or protocol that
			   * there is not, or UNIX; additions that do not end
			   * with it, or a wrong CRC32c among them */
};

/*
 * Reads the header that data begins with, of which len octets are there.
 * Cost: linear in the header, some ns an octet if it has a CRC32c.
 */
enum proxy_outcome proxy_read_header(const uint8_t *data, size_t len,
	struct proxy_header *header);

#endif
