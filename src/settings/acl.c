/* acl.c - matches clients with access control lists. */
#include <netinet/in.h>
#include <string.h>

#include "settings/acl.h"

struct acl_peer {
	uint8_t family; /* 4 or 6 */
	uint8_t len;    /* octets of address */
	uint16_t port;
	const uint8_t *address;
};

static bool
peer_read(const struct sockaddr_storage *addr, struct acl_peer *peer)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)addr;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)addr;

	if (addr == NULL)
		return false;
	switch (addr->ss_family) {
	case AF_INET:
		peer->family = 4;
		peer->len = 4;
		peer->port = ntohs(in->sin_port);
		peer->address = (const uint8_t *)&in->sin_addr;
		return true;
	case AF_INET6:
		peer->family = 6;
		peer->len = 16;
		peer->port = ntohs(in6->sin6_port);
		peer->address = (const uint8_t *)&in6->sin6_addr;
		return true;
	default:
		return false;
	}
}

bool
acl_peer_port_is_zero(const struct sockaddr_storage *addr)
{
	struct acl_peer peer;

	return peer_read(addr, &peer) && peer.port == 0;
}

static bool
element_matches(const struct acl_element *e, const struct acl_peer *peer)
{
	if (e->family != peer->family
		|| (e->port != 0 && e->port != peer->port))
		return false;
	switch (e->kind) {
	case ACL_SINGLE:
		return memcmp(e->address, peer->address, peer->len) == 0;
	case ACL_MASK:
		for (unsigned i = 0; i < peer->len; i++)
			if (((e->address[i] ^ peer->address[i]) & e->other[i])
				!= 0)
				return false;
		return true;
	case ACL_RANGE:
		return memcmp(e->address, peer->address, peer->len) <= 0
			&& memcmp(peer->address, e->other, peer->len) <= 0;
	default:
		return false;
	}
}

bool
acl_allows(const struct acl_element *elements, uint32_t count,
	const struct sockaddr_storage *addr)
{
	struct acl_peer peer;
	bool allowed = false;

	if (!peer_read(addr, &peer))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		const struct acl_element *e = &elements[i];

		if (!e->blocked && (allowed || e->needs_key))
			continue;
		if (!element_matches(e, &peer))
			continue;
		if (e->blocked)
			return false;
		allowed = true;
	}
	return allowed;
}
