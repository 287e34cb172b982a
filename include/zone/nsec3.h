/*
 * nsec3.h - the NSEC3 chain of a zone (RFC 5155), and the record that matches
 * or covers a hash.
 *
 * Names do not refer to records of the chain, nor records to names. A node
 * keeps the start of its hash (NODE_HASHED). If it can be a closest encloser,
 * it also keeps that of the wildcard below it (NODE_WILDCARD_HASHED). The chain
 * is ordered by hash, and looked up by it. So a change of the chain touches no
 * name, a change of a name touches only its own record, and no query has to
 * hash a name that exists.
 *
 * Records that are not in the chain in use (other parameters, unknown
 * algorithm, an owner that is no hash) are in zone.nsec3, for transfers alone.
 */
#ifndef ZONE_NSEC3_H
#define ZONE_NSEC3_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dns/nsec3.h"
#include "store/store.h"
#include "zone/zone.h"

#define NSEC3_PREFIX_LEN 8u /* octets of a hash that a node keeps */

/*
 * The common part of many records of a chain, stored once. The RDATA of a
 * record is the head (algorithm to hash length), the next hash, the bitmap.
 */
struct nsec3_template {
	uint32_t refs;
	uint32_t ttl_sec;
	uint16_t head_len;
	uint16_t bitmap_len;
	uint8_t data[]; /* head, bitmap */
};

enum nsec3_record_flags {
	NSEC3_OWN_NEXT = 1, /* the chain has a hole behind this record: its
			     * next hash is not that of the record that
			     * follows, but stands behind the signatures, 20
			     * octets */
	NSEC3_RRSET = 2,    /* the owner has several records: template is a
			     * struct rrset that has them whole, with next
			     * hashes */
};

/* An NSEC3 RRset of the chain. */
struct nsec3_record {
	store_ref template; /* struct nsec3_template, or struct rrset:
			     * NSEC3_RRSET */
	uint32_t flags; /* enum nsec3_record_flags */
	struct rrset_sigs sigs; /* count 0: not signed */
};

/* The chain in use; zone.chain refers to it. A zone has one if it has an
 * NSEC3PARAM that can be used, and a record with its parameters. */
struct nsec3_chain {
	uint32_t count;      /* records */
	uint16_t iterations;
	uint8_t salt_len;
	uint8_t flags;       /* enum nsec3_chain_flags */
	store_ref index;     /* root of the tree of pages by hash; private to
			      * src/zone/nsec3*.c */
	uint8_t salt[];
};

enum nsec3_chain_flags {
	NSEC3_CHAIN_COSTLY = 1, /* more iterations than allowed: the build
				 * hashes the apex alone, a query hashes
				 * nothing */
};

/* A look-up in a chain. */
struct nsec3_find {
	/* in */
	const struct nsec3_chain *chain;
	uint8_t hash[NSEC3_HASH_LEN];
	bool is_prefix; /* only NSEC3_PREFIX_LEN octets of hash are known */
	/* out */
	const struct nsec3_record *record; /* NULL: the chain is empty */
	const uint8_t *owner_hash;  /* of the record */
	const uint8_t *next_hash;   /* NULL for NSEC3_RRSET */
	bool matches;   /* true: the record has this hash. False: it is the
			 * record before the hash (the last one if there is
			 * none before), and covers the hash unless the chain
			 * has a hole there */
	bool ambiguous; /* several records begin with the prefix: hash the name
			 * and find again */
};

/* Does all look-ups, interleaved so that their cache misses overlap. The `in`
 * fields of each have to be set. Records found are prefetched, and only read if
 * they have flags. Cannot fail, allocates nothing. Readers and writer. */
void nsec3_find_batch(const struct store_view *view,
	struct nsec3_find *const *finds, size_t count);

/* The start of the hash of the node's name (NSEC3_PREFIX_LEN octets), or of
 * "*" below it; NULL if it is not kept. */
const uint8_t *nsec3_node_hash(const struct node *node);
const uint8_t *nsec3_node_wildcard_hash(const struct node *node);

#endif
