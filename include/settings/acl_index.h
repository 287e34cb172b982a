/*
 * acl_index.h - the addresses of a long list in order, so that a search among a
 * thousand costs as much as among ten. See doc/decisions/0108.
 *
 * An index lies in the settings behind the elements of its list, or in memory
 * of its own. Elements of the same kind (family, port, key, blocked or not) are
 * a part of it: ranges of addresses that do not touch each other.
 */
#ifndef SETTINGS_ACL_INDEX_H
#define SETTINGS_ACL_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "settings/settings.h"

/* The most elements that are walked one by one: an index of them would cost
 * more than it saves. */
#define ACL_WALK_MAX 8u

/* The kind of an element: what a client must match besides the address, as a
 * number. Kinds that block come first. */
#define ACL_KIND_KEY(key) ((uint64_t)(key) << 17) /* 0: unsigned requests */
#define ACL_KIND_PORT(port) ((uint64_t)(port) << 1) /* 0: any */
#define ACL_KIND_IP6 UINT64_C(1)
#define ACL_KIND_ALLOWS (UINT64_C(1) << 49)

/* The ranges of a kind, as bounds: of each range the address before it and its
 * last one, in order. An address is in a range if an odd number of bounds are
 * not before it; so a range from the first address there is has one bound. */
struct acl_part {
	uint64_t kind; /* ACL_KIND_* */
	uint32_t at;   /* of the tree of bounds, in octets from the index */
	uint32_t count; /* bounds */
};

struct acl_index {
	uint32_t len;        /* octets of this object */
	uint32_t part_count;
	uint32_t walk_count; /* elements without a range, which come first in
			      * the list */
	uint8_t has_blocked; /* some part blocks */
	uint8_t has_ports;   /* some part is of one port */
	uint8_t reserved[2];
	struct acl_part parts[]; /* by kind; the trees are behind them */
};

/* The alignment of an index in the object that holds it: a node of a tree is a
 * cache line or two. */
#define ACL_INDEX_ALIGN 64u

/* The most octets of an index for a number of elements. */
static inline size_t
acl_index_size_max(uint32_t count)
{
	return sizeof(struct acl_index) + ACL_INDEX_ALIGN + (size_t)count
		* (sizeof(struct acl_part) + 128);
}

/* True if a range can stand for the element. For a mask with a zero before a
 * one none can: it means many ranges. Such elements stand first in a list that
 * has an index, and are walked. */
bool acl_index_covers(const struct acl_element *e);
/* Copies a list in the order that its index wants. Returns the end of the
 * copy. */
struct acl_element *acl_index_copy(const struct acl_element *from,
	uint32_t count, struct acl_element *to);

/*
 * Makes the index of a list; leaves out elements that acl_index_covers does
 * not, and those that can match no client.
 * in: acl_index_size_max(count) octets at *index, all zero and aligned to 8;
 * octets behind its end are zero again. returns NSD_OK; NSD_E_MEMORY. Cost: a
 * sort.
 */
enum nsd_err acl_index_make(const struct acl_element *elements,
	uint32_t count, struct acl_index *index) MUST_USE;

/* True if an address is in a range of this kind. Address: the most significant
 * octets first, as numbers of this machine; behind an IPv4 address zeros
 * follow. Cost: a line or two of memory for every factor of 16 (IPv4) or 8
 * (IPv6). */
bool acl_index_has(const struct acl_index *index, uint64_t kind,
	const uint64_t address[2]);

#endif
