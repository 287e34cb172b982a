/*
 * zone.h - a zone in the store: its layout, and how to read it.
 *
 * All structures here lie in the zone store and are read by several processes;
 * they hold references, never pointers. Written by zone/build.h and
 * zone/table.h alone.
 *
 *   table (trie of apexes) -> zone_entry -> zone -> trie of names -> node
 *                                                -> NSEC3 chain (zone/nsec3.h)
 *                                                -> other NSEC3 owners -> node
 *   node -> rrset (shared by all nodes with the same contents)
 *        -> signatures of that rrset
 *   rrset -> glue cells -> address rrsets
 */
#ifndef ZONE_ZONE_H
#define ZONE_ZONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/octets.h"
#include "dns/rrtype.h"
#include "names/trie.h"
#include "store/store.h"

/* ---- RRsets ------------------------------------------------------------ */

/*
 * An RRset, ready to be copied into a message. Identical contents are stored
 * once. data is `len` octets: for each RR, in canonical order,
 *
 *   +0 RDLENGTH  2  network order, as it will be sent
 *   +2 RDATA        as it will be sent, but for pointer cells
 *
 * The names of RDATA that may be compressed (RFC 3597 section 4) end in a
 * pointer cell of 2 octets in place of the root label where that saves room.
 * Offsets of cells and pointers are in *sent coordinates*: octets from the
 * first octet of the RRset in the message, where each RR of data is preceded
 * by a compressed owner (2), TYPE (2), CLASS (2) and TTL (4). A cell holds
 *
 *   11 0 ooooooooooooo  pointer to sent offset o of this RRset
 *   11 1 sssssssssssss  pointer to octet s of the zone's apex name
 *
 * and is made real by adding the RRset's offset in the message, or replaced
 * by the offset where the apex stands in the message plus s.
 *
 * Behind data, at the next multiple of 4, if RRSET_HAS_TAIL:
 *
 *   +0 fixup_count 2, target_count 2
 *   +4 fixups: fixup_count x 2, sent offset of each cell, ascending; padded
 *      to 4
 *      targets: target_count x struct rrset_target
 */
struct rrset {
	uint32_t ttl_sec;
	uint32_t refs;      /* holders; the writer's */
	uint32_t len_flags; /* len: low 28 bits; flags: high 4 */
	uint16_t type;
	uint16_t count;     /* RRs; sticks at 65535: walk by len, not count */
	uint8_t data[];
};

#define RRSET_LEN_MASK 0x0fffffffu
#define RRSET_HAS_TAIL 0x10000000u

#define RRSET_RR_HEAD 10u /* sent octets before RDLENGTH: owner 2, type 2,
			   * class 2, TTL 4 */
#define RRSET_CELL_APEX 0x2000u

struct rrset_tail {
	uint16_t fixup_count;
	uint16_t target_count;
	uint16_t fixups[];
};

/* A name in RDATA whose addresses go into the additional section. */
struct rrset_target {
	uint16_t offset; /* sent offset of the name */
	uint16_t flags;  /* enum target_flags */
	store_ref glue;  /* struct glue_cell; none: no addresses in this zone */
};

enum target_flags {
	TARGET_IN_DOMAIN = 1, /* at or below the owner of this NS RRset: glue
			       * that a referral must not lack (RFC 9471) */
};

/*
 * The addresses of one name, as additional data may use them. One cell a
 * name; shared by all RRsets that have it as a target, and by the versions of
 * a zone: read it with glue_cell_get. The link leads to what is there from a
 * later version on, in one word:
 *
 *   bits 0 to 31   struct glue_cell, or none
 *   bits 32 to 62  the first version of the zone for which that counts
 *   bit 63         GLUE_CELL_HIDDEN: of this cell's own addresses
 */
struct glue_cell {
	store_ref a;    /* struct rrset or none */
	store_ref aaaa;
	store_ref a_sigs; /* struct rrset_sigs or none */
	store_ref aaaa_sigs;
	uint64_t link;
};

#define GLUE_CELL_HIDDEN (UINT64_C(1) << 63)
#define ZONE_VERSION_MASK 0x7fffffffu /* versions count modulo 2^31 */

/*
 * A name in the zone that RRsets have as a target, leaf of zone.targets; the
 * targets refer to its cell. A name that has no addresses (yet) has an empty
 * cell: that is where an update that brings some puts them. What the cell
 * refers to belongs to the name's node.
 */
struct glue_target {
	struct trie_leaf leaf; /* name relative to the apex */
	uint8_t unused;
	uint32_t refs;         /* targets of RRsets; the writer's */
	struct glue_cell cell; /* one granule from the start */
	uint8_t name[];
};

#define GLUE_CELL_GRANULES 1u /* from a glue_target to its cell */

static inline uint32_t
rrset_len(const struct rrset *rrset)
{
	return rrset->len_flags & RRSET_LEN_MASK;
}

static inline const struct rrset_tail *
rrset_get_tail(const struct rrset *rrset)
{
	if ((rrset->len_flags & RRSET_HAS_TAIL) == 0)
		return NULL;
	return (const struct rrset_tail *)(rrset->data
		+ ((rrset_len(rrset) + 3) & ~3u));
}

static inline const struct rrset_target *
rrset_tail_targets(const struct rrset_tail *tail)
{
	return (const struct rrset_target *)(tail->fixups
		+ ((tail->fixup_count + 1u) & ~1u));
}

/*
 * The RRSIGs that cover one RRset of one owner. What all signatures of a key
 * on a type have in common is stored once in a sig_template.
 */
struct sig {
	store_ref template_ref; /* struct sig_template */
	uint32_t expiration;    /* seconds since 1970, host order */
	uint32_t inception;
	uint16_t len;           /* octets of signature */
	uint8_t labels;
	uint8_t unused;
	uint8_t signature[];    /* padded so that the next sig is at 4 */
};

struct rrset_sigs {
	uint32_t ttl_sec;
	uint16_t count;
	uint16_t unused;
	uint8_t data[]; /* count x struct sig, each at a multiple of 4 */
};

struct sig_template {
	uint32_t refs;
	uint32_t original_ttl_sec;
	uint16_t covered;
	uint16_t key_tag;
	uint8_t algorithm;
	uint8_t signer_len;
	uint8_t signer[]; /* wire name with root label, case as in the zone */
};

static inline size_t
sig_size(const struct sig *sig)
{
	return (sizeof(*sig) + sig->len + 3) & ~(size_t)3;
}

/* ---- nodes ------------------------------------------------------------- */

enum node_flags {
	NODE_APEX = 1,
	NODE_CUT = 2,          /* zone cut: NS here and not the apex */
	NODE_OCCLUDED = 4,     /* below a cut or a DNAME: glue, or hidden */
	NODE_WILDCARD = 8,     /* its first label is an asterisk */
	NODE_WILDCARD_CHILD = 16, /* there is a wildcard right below it */
	NODE_DNAME = 32,
	NODE_CNAME = 64,
	NODE_EMPTY = 128,      /* empty non-terminal: no RRsets */
	NODE_HAS_DS = 256,
	NODE_HASHED = 512,     /* the start of its NSEC3 hash is kept */
	NODE_WILDCARD_HASHED = 1024, /* and that of the wildcard below it */
};

struct node_rrset {
	uint16_t type;  /* for signatures: the type they cover */
	uint16_t flags; /* enum node_rrset_flags */
	store_ref ref;  /* struct rrset, or struct rrset_sigs */
};

enum node_rrset_flags { NODE_RRSET_SIGS = 1 };

/*
 * A name of the zone. Behind the name, at the next multiple of 4, stand
 * entry_count x struct node_rrset, ascending by type; the signatures of an
 * RRset stand right behind it. Then, 8 octets each, the starts of the name's
 * NSEC3 hash and of that of the wildcard below it, if their flags are set
 * (zone/nsec3.h).
 */
struct node {
	struct trie_leaf leaf; /* name relative to the apex; name_at 8 */
	uint8_t unused;
	uint16_t flags;        /* enum node_flags */
	uint16_t entry_count;
	uint8_t name[];
};

static inline const struct node_rrset *
node_entries(const struct node *node)
{
	return (const struct node_rrset *)((const uint8_t *)node
		+ ((sizeof(*node) + node->leaf.name_len + 3u) & ~3u));
}

/* The entry of a type, or NULL; its signatures, if any, by
 * node_entry_sigs. */
static inline const struct node_rrset *
node_find_entry(const struct node *node, uint16_t type)
{
	const struct node_rrset *e = node_entries(node);

	for (unsigned i = 0; i < node->entry_count; i++)
		if (e[i].type == type && (e[i].flags & NODE_RRSET_SIGS) == 0)
			return &e[i];
	return NULL;
}

static inline store_ref
node_entry_sigs(const struct node *node, const struct node_rrset *entry)
{
	const struct node_rrset *end = node_entries(node) + node->entry_count;

	if (entry + 1 < end && (entry[1].flags & NODE_RRSET_SIGS) != 0
		&& entry[1].type == entry->type)
		return entry[1].ref;
	return STORE_NONE;
}

/* The addresses of a name, as a cell has them. The cell is empty before. */
static inline void
node_read_addresses(const struct node *node, struct glue_cell *cell)
{
	const struct node_rrset *a = node_find_entry(node, TYPE_A);
	const struct node_rrset *aaaa = node_find_entry(node, TYPE_AAAA);

	if (a != NULL) {
		cell->a = a->ref;
		cell->a_sigs = node_entry_sigs(node, a);
	}
	if (aaaa != NULL) {
		cell->aaaa = aaaa->ref;
		cell->aaaa_sigs = node_entry_sigs(node, aaaa);
	}
}

/* ---- zones ------------------------------------------------------------- */

enum zone_flags {
	ZONE_SIGNED = 1,    /* DNSKEY and RRSIG at the apex */
	ZONE_NSEC = 2,
	ZONE_NSEC3 = 4,     /* has a chain of NSEC3 records in use */
	ZONE_WILDCARDS = 8, /* some name is a wildcard */
	ZONE_DNAMES = 16,
};

/* One version of a zone's data. */
struct zone {
	uint32_t flags;
	uint32_t serial;
	uint32_t version;   /* one more with each update, modulo 2^31 */
	struct trie names;  /* struct node; apex and empty non-terminals, too */
	struct trie nsec3;  /* struct node: owners that have only NSEC3 (and
			     * its RRSIG) and are not in the chain; not names
			     * for look-ups, RFC 5155 7.2.8 */
	struct trie targets; /* struct glue_target */
	store_ref chain;    /* struct nsec3_chain in use, or none */
	store_ref apex;     /* struct node */
	store_ref soa;      /* struct rrset */
	store_ref soa_sigs;
	uint32_t negative_ttl_sec; /* min(SOA TTL, SOA MINIMUM), RFC 2308 5 */
	uint64_t node_count;
	uint64_t rr_count;
	/* The writer's alone. */
	uint32_t wildcard_count; /* names */
	uint32_t dname_count;
	store_ref share;         /* struct share_index, or none */
	store_ref pending_first; /* struct glue_change, the oldest first */
	store_ref pending_last;
};

/* What a cell holds from a version on. Goes into the cell's own words when
 * every reader has come to that version. The writer's but for the cell. */
struct glue_change {
	struct glue_cell cell;
	store_ref of;    /* the cell; none: that is gone */
	store_ref next;  /* of the zone's list; not looked at in the last */
	uint64_t epoch;  /* of the store, when the version was published */
};

/* True if this version of the zone has what the link leads to. */
static inline bool
glue_link_counts(uint64_t link, uint32_t version)
{
	return (store_ref)link != STORE_NONE
		&& ((version - (uint32_t)(link >> 32)) & ZONE_VERSION_MASK)
			<= ZONE_VERSION_MASK / 2;
}

/* The cell that holds what counts for this version of the zone. Lent until
 * the reader is quiescent; a version that is pinned beyond that must not look
 * at cells (doc/zone.md). */
static inline const struct glue_cell *
glue_cell_get(const struct store_view *view, store_ref ref,
	const struct zone *zone)
{
	const struct glue_cell *cell = store_get(view, ref);

	for (;;) {
		uint64_t link = __atomic_load_n(&cell->link, __ATOMIC_ACQUIRE);

		if (!glue_link_counts(link, zone->version))
			return cell;
		cell = store_get(view, (store_ref)link);
	}
}

/* The addresses lie at or below a zone cut or a DNAME: they may go beside an
 * NS RRset, and nowhere else, for they are not the zone's to give. */
static inline bool
glue_cell_is_hidden(const struct glue_cell *cell)
{
	return (__atomic_load_n(&cell->link, __ATOMIC_RELAXED)
		       & GLUE_CELL_HIDDEN) != 0;
}

enum zone_entry_flags {
	ZONE_ENTRY_EXPIRED = 1,
	ZONE_ENTRY_SECONDARY = 2,
	ZONE_ENTRY_ADDED = 4, /* by a message: not of the configuration */
};

/* A zone that is configured: leaf of the table. Lives as long as the zone is
 * configured; `zone` and `options` are swung in place. */
struct zone_entry {
	struct trie_leaf leaf; /* whole apex name */
	uint8_t deaths;        /* of loaders that read it; the writer's */
	uint32_t flags;        /* enum zone_entry_flags */
	store_ref zone;        /* struct zone; none: not loaded */
	store_ref options;     /* struct zone_options; none: defaults */
	store_ref sources;     /* struct zone_sources; none: not from files */
	uint32_t id;           /* index into the loader's list */
	uint8_t name[];        /* leaf.name_len octets and the root label */
};

/* ---- access control ---------------------------------------------------- */

enum acl_kind { ACL_SINGLE, ACL_MASK, ACL_RANGE };

/* One ACL element (doc/surface.md 1.7). Addresses in network order; IPv4 in the
 * first 4 octets. */
struct acl_element {
	uint8_t family;    /* 4 or 6 */
	uint8_t kind;      /* enum acl_kind */
	uint8_t blocked;   /* BLOCKED */
	uint8_t needs_key; /* a TSIG key is asked for: key_id */
	uint16_t port;     /* 0: any */
	uint16_t key_id;
	uint8_t address[16];
	uint8_t other[16]; /* mask, or last address of the range */
};

/* The per-zone options that workers need. */
struct zone_options {
	uint32_t query_acl_count; /* 0: anyone may ask */
	uint32_t provide_acl_count;
	struct acl_element acl[]; /* query, then provide */
};

/* Serial, SOA and what flags the apex gives, of a zone's apex. */
void zone_read_apex(const struct store_view *view, struct zone *zone);

#endif
