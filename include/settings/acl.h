/* acl.h - who is in a list of nsd.conf (doc/surface.md 1.7). */
#ifndef SETTINGS_ACL_H
#define SETTINGS_ACL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "settings/settings.h"

/* True for an address with port 0: nobody listens there. */
bool acl_peer_port_is_zero(const struct sockaddr_storage *peer);

/*
 * True if a list allows the peer: an element matches it, and none that matches
 * blocks it. Elements that ask for a key match no unsigned request. A peer of
 * NULL matches nothing. Cost: the operator decides by the length of the list,
 * 3 to 4 ns an element.
 */
bool acl_allows(const struct acl_element *elements, uint32_t count,
	const struct sockaddr_storage *peer);

#endif
