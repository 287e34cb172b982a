/* acl.h - who may ask (doc/surface.md 1.7). */
#ifndef QUERY_ACL_H
#define QUERY_ACL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "store/store.h"
#include "zone/zone.h"

/* True for an address with port 0: nobody listens there. */
bool acl_peer_port_is_zero(const struct sockaddr_storage *peer);

/*
 * True if a list allows the peer: an element matches it, and none that matches
 * blocks it. Elements that ask for a key match no unsigned request. A peer of
 * NULL matches nothing.
 */
bool acl_allows(const struct acl_element *elements, uint32_t count,
	const struct sockaddr_storage *peer);

/*
 * True if the peer may query the zone. An empty list lets everyone in. Whoever
 * may have the whole zone may also ask for its SOA (of_apex_soa).
 */
bool acl_allows_query(const struct store_view *view,
	const struct zone_entry *entry, const struct sockaddr_storage *peer,
	bool of_apex_soa);

#endif
