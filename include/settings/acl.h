/* acl.h - who is in a list of nsd.conf (doc/surface.md 1.7). */
#ifndef SETTINGS_ACL_H
#define SETTINGS_ACL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "settings/settings.h"

/* True for an address with port 0: nobody listens there. */
bool acl_peer_port_is_zero(const struct sockaddr_storage *peer);

/* Who asks. */
struct acl_client {
	const struct sockaddr_storage *peer; /* NULL: matches nothing */
	store_ref key; /* struct settings_key: whose signature is right; none:
			* the request is not signed */
};

/*
 * True if a list allows the client: an element matches it, and none that
 * matches blocks it. An element with a key matches requests signed with that
 * key alone, one with NOKEY unsigned ones alone. Cost: the operator decides by
 * the length of the list, 3 to 4 ns an element.
 */
bool acl_allows(const struct acl_element *elements, uint32_t count,
	const struct acl_client *client);

#endif
