/*
 * address.c - addresses to and from the text of nsd.conf and of log lines.
 */
#include "config.h"

#include "net/socket.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The longest address: 45 octets of IPv6, '%', an interface, and a NUL. */
#define ADDRESS_MAX (INET6_ADDRSTRLEN + 1 + IF_NAMESIZE)

/* Reads a port, 0..65535; the whole text is decimal digits. */
static enum nsd_err
parse_port(const char *text, uint16_t *port)
{
	uint32_t value = 0;

	if (*text == '\0')
		return NSD_E_SYNTAX;
	for (; *text != '\0'; text++) {
		if (*text < '0' || *text > '9')
			return NSD_E_SYNTAX;
		value = value * 10 + (uint32_t)(*text - '0');
		if (value > 65535)
			return NSD_E_SYNTAX;
	}
	*port = (uint16_t)value;
	return NSD_OK;
}

/* Reads the scope of a link-local address: "eth0" or "2" of fe80::1%eth0 and
 * fe80::1%2. */
static enum nsd_err
parse_scope(const char *text, uint32_t *scope)
{
	uint16_t number;

	*scope = if_nametoindex(text);
	if (*scope != 0)
		return NSD_OK;
	if (parse_port(text, &number) != NSD_OK || number == 0)
		return NSD_E_SYNTAX;
	*scope = number;
	return NSD_OK;
}

static enum nsd_err
parse_ip6(char *text, uint16_t port, struct sockaddr_in6 *address)
{
	char *percent = strchr(text, '%');

	if (percent != NULL) {
		*percent++ = '\0';
		if (parse_scope(percent, &address->sin6_scope_id) != NSD_OK)
			return NSD_E_SYNTAX;
	}
	if (inet_pton(AF_INET6, text, &address->sin6_addr) != 1)
		return NSD_E_SYNTAX;
	address->sin6_family = AF_INET6;
	address->sin6_port = htons(port);
	return NSD_OK;
}

enum nsd_err
net_parse_address(const char *text, uint16_t default_port,
	struct sockaddr_storage *address)
{
	const char *at = strchr(text, '@');
	size_t len = at != NULL ? (size_t)(at - text) : strlen(text);
	char host[ADDRESS_MAX];
	struct sockaddr_storage result;
	struct sockaddr_in *ip4 = (struct sockaddr_in *)&result;
	uint16_t port = default_port;

	if (len == 0 || len >= sizeof(host))
		return NSD_E_SYNTAX;
	if (at != NULL && parse_port(at + 1, &port) != NSD_OK)
		return NSD_E_SYNTAX;
	memcpy(host, text, len);
	host[len] = '\0';
	memset(&result, 0, sizeof(result));
	if (strchr(host, ':') != NULL) {
		if (parse_ip6(host, port, (struct sockaddr_in6 *)&result)
		    != NSD_OK)
			return NSD_E_SYNTAX;
	} else {
		if (inet_pton(AF_INET, host, &ip4->sin_addr) != 1)
			return NSD_E_SYNTAX;
		ip4->sin_family = AF_INET;
		ip4->sin_port = htons(port);
	}
	*address = result;
	return NSD_OK;
}

size_t
net_print_address(const struct sockaddr_storage *address, bool with_port,
	char out[NET_ADDRESS_TEXT_MAX])
{
	const struct sockaddr_in *ip4 = (const struct sockaddr_in *)address;
	const struct sockaddr_in6 *ip6 = (const struct sockaddr_in6 *)address;
	uint16_t port = 0;
	size_t len;

	out[0] = '\0';
	if (address->ss_family == AF_INET) {
		inet_ntop(AF_INET, &ip4->sin_addr, out, NET_ADDRESS_TEXT_MAX);
		port = ntohs(ip4->sin_port);
	} else if (address->ss_family == AF_INET6) {
		inet_ntop(AF_INET6, &ip6->sin6_addr, out,
			NET_ADDRESS_TEXT_MAX);
		port = ntohs(ip6->sin6_port);
	} else {
		strcpy(out, "unknown");
	}
	len = strlen(out);
	if (with_port)
		len += (size_t)snprintf(out + len, NET_ADDRESS_TEXT_MAX - len,
			"@%u", (unsigned)port);
	return len;
}

socklen_t
net_address_len(const struct sockaddr_storage *address)
{
	if (address->ss_family == AF_INET)
		return sizeof(struct sockaddr_in);
	if (address->ss_family == AF_INET6)
		return sizeof(struct sockaddr_in6);
	return sizeof(*address);
}
