/* proxy.c - reads headers of the PROXY protocol, version 2. */
#include "config.h"

#include "net/proxy.h"

#include <netinet/in.h>
#include <string.h>

#include "base/octets.h"

#define SIGNATURE_LEN 12u
#define VERSION 2u
#define CRC32C_LEN 4u
#define CRC32C_POLYNOMIAL 0x82f63b78u /* reflected */

enum proxy_command { COMMAND_LOCAL, COMMAND_PROXY };

enum proxy_family { FAMILY_NONE, FAMILY_IP4, FAMILY_IP6 };

/* The protocol of the client's side. It says nothing about ours. */
enum proxy_protocol { PROTOCOL_NONE, PROTOCOL_STREAM, PROTOCOL_DATAGRAM };

/* A type of additions, section 2.2.3. */
enum { ADDITION_CRC32C = 3 };

static const uint8_t signature[SIGNATURE_LEN] = {
	0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a,
};

/* An address of IPv6 that begins so is that of a client of IPv4, which has come
 * to a socket for both (RFC 4291 section 2.5.5.2). */
static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

/* Octets of addresses and ports. */
static size_t
addresses_len(unsigned family)
{
	switch (family) {
	case FAMILY_IP4:
		return 2 * 4 + 2 * 2;
	case FAMILY_IP6:
		return 2 * 16 + 2 * 2;
	default:
		return 0;
	}
}

/* Adds an octet to a CRC32c (RFC 3720 appendix B.4). */
static uint32_t
crc_add(uint32_t crc, uint8_t octet)
{
	crc ^= octet;
	for (unsigned i = 0; i < 8; i++)
		crc = (crc >> 1) ^ ((crc & 1) != 0 ? CRC32C_POLYNOMIAL : 0);
	return crc;
}

/* Checks the CRC32c of the whole header, with zeros in the place of the sum
 * (section 2.2.3). */
static bool
crc_is_right(const uint8_t *header, size_t len, const uint8_t *sum)
{
	uint32_t crc = UINT32_MAX;

	for (const uint8_t *at = header; at < header + len; at++)
		crc = crc_add(crc,
			at >= sum && at < sum + CRC32C_LEN ? 0 : *at);
	return (crc ^ UINT32_MAX) == octets_get_u32(sum);
}

/* Steps over the additions, and checks the first CRC32c: a second one would
 * only cost time. */
static bool
additions_are_right(const uint8_t *header, size_t len, size_t at)
{
	const uint8_t *sum = NULL;
	struct cursor c;

	cursor_init(&c, header + at, len - at);
	while (cursor_left(&c) > 0) {
		uint8_t type = cursor_read_u8(&c);
		uint16_t size = cursor_read_u16(&c);
		const uint8_t *data = cursor_read_octets(&c, size);

		if (c.failed || (type == ADDITION_CRC32C
			&& (size != CRC32C_LEN || sum != NULL)))
			return false;
		if (type == ADDITION_CRC32C)
			sum = data;
	}
	return sum == NULL || crc_is_right(header, len, sum);
}

/* Writes an address to *out, which has room for a struct sockaddr_in6. */
static void
read_address(const uint8_t *address, const uint8_t *port, unsigned family,
	void *out)
{
	struct sockaddr_in *in = out;
	struct sockaddr_in6 *in6 = out;
	bool is_mapped = family == FAMILY_IP6
		&& memcmp(address, mapped, sizeof(mapped)) == 0;

	if (family == FAMILY_IP4 || is_mapped) {
		in->sin_family = AF_INET;
		memcpy(&in->sin_addr, address
				+ (is_mapped ? sizeof(mapped) : 0), 4);
		memcpy(&in->sin_port, port, 2);
	} else {
		in6->sin6_family = AF_INET6;
		memcpy(&in6->sin6_addr, address, 16);
		memcpy(&in6->sin6_port, port, 2);
	}
}

/* Reads the addresses of client and server. */
static void
read_addresses(const uint8_t *addresses, unsigned family,
	struct proxy_header *header)
{
	size_t len = family == FAMILY_IP4 ? 4 : 16;

	memset(&header->client, 0, sizeof(header->client));
	memset(&header->server, 0, sizeof(header->server));
	read_address(addresses, addresses + 2 * len, family, &header->client);
	read_address(addresses + len, addresses + 2 * len + 2, family,
		&header->server);
}

enum proxy_outcome
proxy_read_header(const uint8_t *data, size_t len, struct proxy_header *header)
{
	unsigned command, family, protocol;
	size_t most = len < SIGNATURE_LEN ? len : SIGNATURE_LEN;
	size_t total, at = PROXY_HEAD_LEN;

	/* Checked with the first octets: a client that sends something else
	 * does not wait. */
	if (memcmp(data, signature, most) != 0)
		return PROXY_MALFORMED;
	if (len < PROXY_HEAD_LEN)
		return PROXY_INCOMPLETE;
	command = data[12] & 0xfu;
	family = data[13] >> 4;
	protocol = data[13] & 0xfu;
	total = PROXY_HEAD_LEN + octets_get_u16(data + 14);
	if (data[12] >> 4 != VERSION || command > COMMAND_PROXY
		|| total > PROXY_HEADER_MAX)
		return PROXY_MALFORMED;
	header->len = (uint32_t)total;
	header->has_client = command == COMMAND_PROXY && family != FAMILY_NONE;
	if (header->has_client) {
		at += addresses_len(family);
		if (family > FAMILY_IP6 || protocol == PROTOCOL_NONE
			|| protocol > PROTOCOL_DATAGRAM || at > total)
			return PROXY_MALFORMED;
	}
	if (len < total)
		return PROXY_INCOMPLETE;
	if (!header->has_client)
		/* Octets behind a LOCAL header are to be skipped unread
		 * (section 2.2). */
		return PROXY_WHOLE;
	if (!additions_are_right(data, total, at))
		return PROXY_MALFORMED;
	read_addresses(data + PROXY_HEAD_LEN, family, header);
	return PROXY_WHOLE;
}
