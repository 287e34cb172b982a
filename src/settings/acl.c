/* acl.c - matches clients with access control lists. */
#include <endian.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "settings/acl.h"

/* A client. Its address is compared in two words; an IPv4 one ends in zeros, as
 * in elements. */
struct acl_peer {
	uint8_t family; /* 4 or 6 */
	uint16_t port;
	uint64_t address[2];
};

static uint64_t
read_word(const uint8_t *octets)
{
	uint64_t word;

	memcpy(&word, octets, sizeof(word));
	return word;
}

static inline __attribute__((always_inline)) bool
peer_read(const struct sockaddr *addr, struct acl_peer *peer)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)addr;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)addr;

	if (addr == NULL)
		return false;
	switch (addr->sa_family) {
	case AF_INET:
		peer->family = 4;
		peer->port = ntohs(in->sin_port);
		peer->address[0] = htobe64(
			(uint64_t)ntohl(in->sin_addr.s_addr) << 32);
		peer->address[1] = 0;
		return true;
	case AF_INET6:
		peer->family = 6;
		peer->port = ntohs(in6->sin6_port);
		memcpy(peer->address, &in6->sin6_addr, 16);
		return true;
	default:
		return false;
	}
}

bool
acl_peer_port_is_zero(const struct sockaddr_storage *addr)
{
	struct acl_peer peer;

	return peer_read((const struct sockaddr *)addr, &peer)
		&& peer.port == 0;
}

/* True if an address is less than another or equal. */
static bool
in_order(const uint64_t a[2], const uint64_t b[2])
{
	uint64_t x = be64toh(a[0]), y = be64toh(b[0]);

	return x < y || (x == y && be64toh(a[1]) <= be64toh(b[1]));
}

static inline bool
element_matches(const struct acl_element *e, const struct acl_peer *peer)
{
	const uint64_t *p = peer->address;
	const uint64_t a[2] = {read_word(e->address),
		read_word(e->address + 8)};
	const uint64_t b[2] = {read_word(e->other), read_word(e->other + 8)};

	if (e->family != peer->family
		|| (e->port != 0 && e->port != peer->port))
		return false;
	switch (e->kind) {
	case ACL_SINGLE:
		return a[0] == p[0] && a[1] == p[1];
	case ACL_MASK:
		return (((a[0] ^ p[0]) & b[0]) | ((a[1] ^ p[1]) & b[1])) == 0;
	case ACL_RANGE:
		return in_order(a, p) && in_order(p, b);
	default:
		return false;
	}
}

/* True if an element has the key of a request. An element without a key does
 * not match a signed request. */
static bool
key_matches(const struct acl_element *e, store_ref key)
{
	if (e->blocked)
		return true;
	return e->needs_key ? e->key != STORE_NONE && e->key == key
			    : key == STORE_NONE;
}

/* True if the peer is in a range for any port or for its own. */
static bool
index_has(const struct acl_index *index, uint64_t kind,
	const struct acl_peer *peer)
{
	const uint64_t address[2] = {be64toh(peer->address[0]),
		be64toh(peer->address[1])};

	kind |= peer->family == 6 ? ACL_KIND_IP6 : 0;
	return acl_index_has(index, kind, address)
		|| (index->has_ports && acl_index_has(index,
			kind | ACL_KIND_PORT(peer->port), address));
}

/* True if the client has shown the certificate that an element wants, if
 * any. */
static bool
identity_matches(const struct acl_element *e, const struct acl_client *client)
{
	const struct settings_key *wanted;

	if (e->identity == STORE_NONE)
		return true;
	if (client->identity == NULL)
		return false;
	wanted = store_get(client->view, e->identity);
	return client->identity->is_named(client->identity,
		(const char *)wanted->name);
}

/* True if a list lets an address of the client in. allowed: the address is let
 * in unless an element blocks it. Inlined, with the functions that it calls: so
 * proxies cost no calls where there are none. */
static inline __attribute__((always_inline)) bool
list_allows(const struct acl_list *list, const struct acl_client *client,
	const struct sockaddr *addr, bool allowed)
{
	const struct acl_index *index = list->index;
	uint32_t walked = index != NULL ? index->walk_count : list->count;
	struct acl_peer peer;

	if (!peer_read(addr, &peer))
		return false;
	for (uint32_t i = 0; i < walked; i++) {
		const struct acl_element *e = &list->elements[i];

		if ((allowed && !e->blocked) || !key_matches(e, client->key))
			continue;
		if (!element_matches(e, &peer) || !identity_matches(e, client))
			continue;
		if (e->blocked)
			return false;
		allowed = true;
	}
	if (index == NULL)
		return allowed;
	if (index->has_blocked && index_has(index, 0, &peer))
		return false;
	return allowed || index_has(index,
		ACL_KIND_ALLOWS | ACL_KIND_KEY(client->key), &peer);
}

__attribute__((cold, noinline)) bool
acl_list_blocks_proxy(const struct acl_list *list,
	const struct acl_client *client)
{
	return client->proxy != NULL
		&& !list_allows(list, client, client->proxy, true);
}

/* Elements that the index covers are walked only if one of them blocks. */
static const struct acl_element *
find_block(const struct acl_list *list, const struct acl_client *client,
	const struct sockaddr *addr)
{
	const struct acl_index *index = list->index;
	uint32_t walked = list->count;
	struct acl_peer peer;

	if (!peer_read(addr, &peer))
		return NULL;
	if (index != NULL
		&& !(index->has_blocked && index_has(index, 0, &peer)))
		walked = index->walk_count;
	for (uint32_t i = 0; i < walked; i++) {
		const struct acl_element *e = &list->elements[i];

		if (e->blocked && element_matches(e, &peer)
			&& identity_matches(e, client))
			return e;
	}
	return NULL;
}

__attribute__((cold, noinline)) bool
acl_list_find_block(const struct acl_list *list,
	const struct acl_client *client, struct acl_block *block)
{
	const struct acl_element *e = find_block(list, client, client->proxy);

	block->of_proxy = e != NULL;
	if (e == NULL)
		e = find_block(list, client,
			(const struct sockaddr *)client->peer);
	if (e != NULL)
		block->element = *e;
	return e != NULL;
}

bool
acl_list_allows(const struct acl_list *list, const struct acl_client *client)
{
	return (client->proxy == NULL || !acl_list_blocks_proxy(list, client))
		&& list_allows(list, client,
			(const struct sockaddr *)client->peer, false);
}

/* ---- lists of one's own -------------------------------------------------- */

enum nsd_err
acl_list_make(const void *from, uint32_t count, struct acl_list *list)
{
	struct acl_element *copy = calloc(count + 1u, sizeof(*copy));
	struct acl_element *elements = calloc(count + 1u, sizeof(*elements));
	struct acl_index *index = calloc(1, acl_index_size_max(count));
	enum nsd_err err = NSD_E_MEMORY;

	if (copy != NULL && elements != NULL && index != NULL) {
		if (count > 0)
			memcpy(copy, from, count * sizeof(*copy));
		(void)acl_index_copy(copy, count, elements);
		err = acl_index_make(elements, count, index);
	}
	free(copy);
	if (err != NSD_OK) {
		free(elements);
		free(index);
		return err;
	}
	*list = (struct acl_list){elements, count, index};
	return NSD_OK;
}

void
acl_list_free(struct acl_list *list)
{
	free((void *)(uintptr_t)list->elements);
	free((void *)(uintptr_t)list->index);
	*list = (struct acl_list){.index = NULL};
}
