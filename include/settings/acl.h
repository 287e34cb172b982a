/* acl.h - finds whether a client is in an access list of nsd.conf
 * (doc/surface.md 1.7). */
#ifndef SETTINGS_ACL_H
#define SETTINGS_ACL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/exchange.h"
#include "settings/acl_index.h"
#include "settings/settings.h"

/* True for an address with port 0, which no socket has: it is forged. */
bool acl_peer_port_is_zero(const struct sockaddr_storage *peer);

/* The client of a request, to be matched with lists. */
struct acl_client {
	const struct sockaddr_storage *peer; /* NULL: matches nothing */
	const struct sockaddr *proxy; /* the proxy that the request came
				       * through; NULL: none */
	store_ref key; /* struct settings_key with which the request is signed;
			* none: it is not signed */
	const struct exchange_identity *identity; /* NULL: shown none */
	const struct store_view *view; /* of the list; NULL without an
					* identity */
};

/* A list. If it has an index, the elements that the index does not cover come
 * first. */
struct acl_list {
	const struct acl_element *elements;
	uint32_t count;
	const struct acl_index *index; /* NULL: none */
};

/* Gets a list of a zone. Lent until the reader is quiescent. */
static inline struct acl_list
acl_list_get(const struct settings_options *options, enum settings_list list)
{
	struct acl_list acl = {.index = NULL};
	uint32_t at = options->index_at[list];

	acl.elements = settings_options_list(options, list, &acl.count);
	if (at != 0)
		acl.index = (const struct acl_index *)
			((const uint8_t *)options + at);
	return acl;
}

/*
 * Makes a list in memory of its own, with an index; from is copied, need not be
 * aligned, and has no keys. NSD_E_MEMORY: *list is as it was. Released with
 * acl_list_free, which takes a zeroed list, too.
 */
enum nsd_err acl_list_make(const void *from, uint32_t count,
	struct acl_list *list) MUST_USE;
void acl_list_free(struct acl_list *list);

/* True if an element that is BLOCKED matches the client's proxy. Other elements
 * do not apply to proxies. Cost: a test without a proxy, else as below. */
bool acl_list_blocks_proxy(const struct acl_list *list,
	const struct acl_client *client);

/* The element that blocks a client. */
struct acl_block {
	struct acl_element element;
	bool of_proxy; /* the element matches the client's proxy, not the
			* client */
};

/* True if an element that is BLOCKED matches the client's proxy, or else the
 * client; *block is the first such element. Cost: that of acl_list_allows;
 * and 3 to 4 ns for each element, if one that the index covers blocks. */
bool acl_list_find_block(const struct acl_list *list,
	const struct acl_client *client, struct acl_block *block);

/*
 * True if a list allows the client: an element matches it, and no matching
 * element blocks it or its proxy. An element with a key matches only requests
 * signed with that key, an element with NOKEY only unsigned ones; an element
 * with an identity, clients that have shown it. Cost: with an index that of one
 * to four searches in it, and 3 to 4 ns for each element that it does not
 * cover; without, that for each. With a proxy, at most twice that.
 */
bool acl_list_allows(const struct acl_list *list,
	const struct acl_client *client);

#endif
