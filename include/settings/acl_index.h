/*
 * acl_index.h - the addresses of a long list in order, so that to find one
 * among a thousand costs as much as among ten. See doc/decisions/0108.
 *
 * An index lies in the settings behind the elements of its list, or in memory
 * of its own. It has a row for each range of addresses; rows of the same kind
 * (family, port, key, blocked or not) do not touch each other.
 */
#ifndef SETTINGS_ACL_INDEX_H
#define SETTINGS_ACL_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "settings/settings.h"

/* Up to so many elements are walked: an index would cost more than it saves. */
#define ACL_WALK_MAX 8u

/* Numbers are of this machine, so that rows can be compared by words. */
struct acl_row {
	uint64_t kind;     /* ACL_ROW_* */
	uint64_t first[2]; /* address, the most significant octets first */
	uint64_t last[2];
};

/* Of acl_row.kind. Rows that block come first. */
#define ACL_ROW_KEY(key) ((uint64_t)(key) << 17) /* 0: unsigned requests */
#define ACL_ROW_PORT(port) ((uint64_t)(port) << 1) /* 0: any */
#define ACL_ROW_IP6 UINT64_C(1)
#define ACL_ROW_ALLOWS (UINT64_C(1) << 49)

struct acl_index {
	uint32_t row_count;
	uint32_t walk_count; /* elements that no row stands for, which come
			      * first in the list */
	uint8_t has_blocked; /* some row blocks */
	uint8_t has_ports;   /* some row is of one port */
	uint8_t reserved[6];
	struct acl_row rows[]; /* by kind, then by address */
};

static inline size_t
acl_index_size(const struct acl_index *index)
{
	return sizeof(*index)
		+ (size_t)index->row_count * sizeof(index->rows[0]);
}

/* The most octets that an index of so many elements has. */
static inline size_t
acl_index_size_max(uint32_t count)
{
	return sizeof(struct acl_index) + (size_t)count
		* sizeof(struct acl_row);
}

/* True if a row can stand for the element. None can for a mask with a zero
 * before a one: it means many ranges. Such elements stand first in a list that
 * has an index, and are walked. */
bool acl_index_covers(const struct acl_element *e);
/* Copies a list in the order that its index wants; behind the copy is where the
 * result leads. */
struct acl_element *acl_index_copy(const struct acl_element *from,
	uint32_t count, struct acl_element *to);

/*
 * Makes the index of a list; leaves elements out that acl_index_covers does
 * not, and those that match nobody.
 * in: acl_index_size_max(count) octets at *index, all zero and aligned to 8;
 * what is behind its rows is zero again in the end. Cost: a sort.
 */
void acl_index_make(const struct acl_element *elements, uint32_t count,
	struct acl_index *index);

/* The row of this kind with an address, or NULL. Cost: a search in
 * four parts, down to 16 rows. */
const struct acl_row *acl_index_find(const struct acl_index *index,
	uint64_t kind, const uint64_t address[2]);

#endif
