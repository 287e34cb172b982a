/*
 * zone.h - a zone in the store: its layout, and how to read it.
 *
 * All structures here lie in the zone store and are read by several processes.
 * They hold references, never pointers. Only the loader writes them: by
 * compile/build.h, update/update.h and the headers of zonedb.
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
#include "dns/name.h"
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
 * A name in RDATA that may be compressed (RFC 3597 section 4) ends in a pointer
 * cell where that saves room: 2 octets, in place of its last labels and the
 * root. Offsets of cells and pointers are in *sent coordinates*. These count
 * octets from the first octet of the RRset in the message, where a compressed
 * owner (2), TYPE (2), CLASS (2) and TTL (4) precede each RR. If the owner is
 * the root (RRSET_OWNER_ROOT), it takes one octet only. A cell holds
 *
 *   11 oooooooooooooo   pointer to sent offset o of this RRset
 *   10 000000 ssssssss  pointer to octet s of the zone's apex name
 *
 * A pointer to the RRset becomes a real one when the RRset's offset in the
 * message is added. A pointer to the apex is replaced by one to the offset of
 * the apex in the message plus s. The first octet of a cell is 128 or more; the
 * length of a label never is.
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
	uint16_t count;     /* RRs; 65535 means as many or more, so walk by
			     * len */
	uint8_t data[];
};

#define RRSET_LEN_MASK 0x0fffffffu
#define RRSET_HAS_TAIL 0x10000000u
#define RRSET_OWNER_ROOT 0x20000000u /* of the apex of the root zone */

#define RRSET_RR_HEAD 10u /* sent octets before RDLENGTH: owner 2, type 2,
			   * class 2, TTL 4 */
#define RRSET_CELL 0x8000u        /* in each cell */
#define RRSET_CELL_INNER 0x4000u  /* in cells that lead into this RRset */
#define RRSET_CELL_OFFSET 0x3fffu /* o or s */
/* The sent octets, from the first on, that inner cells lead to. A pointer (14
 * bits) gets that far if the RRset stands right behind the longest question: 12
 * octets of header, 255 of name, 4 of type and class. */
#define RRSET_CELL_REACH (16384u - 12u - 255u - 4u)

/* True if the octet begins a cell, not a label. */
static inline bool
rrset_octet_is_cell(uint8_t octet)
{
	return octet >= RRSET_CELL >> 8;
}

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
 * The addresses of one name, for additional data. Each name has one cell, which
 * all RRsets with that target and all versions of the zone share: read it with
 * glue_cell_get. The link leads to the addresses of later versions, in one
 * word:
 *
 *   bits 0 to 31   struct glue_cell, or none
 *   bits 32 to 62  the first version of the zone to which that cell applies
 *   bit 63         GLUE_CELL_HIDDEN: this cell's own addresses are hidden
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
 * A name in the zone that RRsets have as a target: a leaf of zone.targets. The
 * targets refer to its cell. The cell of a name without addresses is empty; an
 * update that adds addresses puts them there. The objects that the cell refers
 * to belong to the name's node.
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

/* RRSET_RR_HEAD, or one less if the owner is the root. */
static inline uint32_t
rrset_rr_head(const struct rrset *rrset)
{
	return RRSET_RR_HEAD
		- ((rrset->len_flags & RRSET_OWNER_ROOT) != 0 ? 1 : 0);
}

/*
 * An RRSIG. The common part of all signatures of a key on a type is stored
 * once, in a sig_template.
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

/* The RRSIGs that cover one RRset of one owner. */
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
	NODE_WILDCARD = 8,     /* the first label is an asterisk */
	NODE_WILDCARD_CHILD = 16, /* there is a wildcard right below it */
	NODE_DNAME = 32,
	NODE_CNAME = 64,
	NODE_EMPTY = 128,      /* empty non-terminal: no RRsets */
	NODE_HAS_DS = 256,
	NODE_HASHED = 512,     /* the start of the NSEC3 hash is kept */
	NODE_WILDCARD_HASHED = 1024, /* the start of the NSEC3 hash of the
				      * wildcard below it is kept */
};

struct node_rrset {
	uint16_t type;  /* for signatures: the type they cover */
	uint16_t flags; /* enum node_rrset_flags */
	store_ref ref;  /* struct rrset, or struct rrset_sigs */
};

enum node_rrset_flags { NODE_RRSET_SIGS = 1 };

/*
 * A name of the zone. Behind the name, at the next multiple of 4, stand
 * entry_count x struct node_rrset, ascending by type; the entry of an RRset's
 * signatures is right behind that of the RRset. Then come 8 octets of the
 * name's NSEC3 hash if NODE_HASHED, and 8 octets of the hash of the wildcard
 * below it if NODE_WILDCARD_HASHED (zone/nsec3.h).
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

/* The order of an entry among those of a node: they ascend. */
static inline uint32_t
node_entry_key(const struct node_rrset *entry)
{
	return (uint32_t)entry->type << 1 | (entry->flags & NODE_RRSET_SIGS);
}

/* The entry with a key among any number of them; NULL if there is none. Cold:
 * names in practice have few entries, and searching these costs no register
 * more for the call. */
__attribute__((cold)) const struct node_rrset *zone_search_entries(
	const struct node_rrset *entries, size_t count, uint32_t key);

/* The most entries of a node that are searched one by one. */
#define NODE_ENTRIES_SEARCHED 16u

/* The entry of a type with these flags (enum node_rrset_flags); NULL if there
 * is none. */
static inline const struct node_rrset *
node_find_kind(const struct node *node, uint16_t type, uint16_t flags)
{
	const struct node_rrset *e = node_entries(node);

	if (node->entry_count > NODE_ENTRIES_SEARCHED)
		return zone_search_entries(e, node->entry_count,
			(uint32_t)type << 1 | flags);
	for (unsigned i = 0; i < node->entry_count; i++)
		if (e[i].type == type && e[i].flags == flags)
			return &e[i];
	return NULL;
}

/* The entry of the RRset of a type; NULL if there is none. */
static inline const struct node_rrset *
node_find_entry(const struct node *node, uint16_t type)
{
	return node_find_kind(node, type, 0);
}

/* The struct rrset_sigs of an entry that node_find_entry found, or none. */
static inline store_ref
node_entry_sigs(const struct node *node, const struct node_rrset *entry)
{
	const struct node_rrset *end = node_entries(node) + node->entry_count;

	if (entry + 1 < end && (entry[1].flags & NODE_RRSET_SIGS) != 0
		&& entry[1].type == entry->type)
		return entry[1].ref;
	return STORE_NONE;
}

/* Fills a cell with the addresses of a name. The cell has to be empty. */
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
	ZONE_VERIFIED = 32, /* dnssec-verify has found its signatures right;
			     * the writer's */
};

/* A version of a zone's data. */
struct zone {
	uint32_t flags;
	uint32_t serial;
	uint32_t version;   /* raised by each update, modulo 2^31 */
	struct trie names;  /* struct node; apex and empty non-terminals, too */
	struct trie nsec3;  /* struct node: owners of nothing but NSEC3 and its
			     * RRSIG, outside of the chain in use; look-ups of
			     * names do not see them, RFC 5155 7.2.8 */
	struct trie targets; /* struct glue_target */
	store_ref chain;    /* struct nsec3_chain, the one in use; or none */
	store_ref apex;     /* struct node */
	store_ref soa;      /* struct rrset */
	store_ref soa_sigs;
	uint32_t negative_ttl_sec; /* min(SOA TTL, SOA MINIMUM), RFC 2308 5 */
	uint64_t node_count;
	uint64_t rr_count;
	/* For the writer alone. */
	uint32_t wildcard_count; /* names */
	uint32_t dname_count;
	store_ref share;         /* struct share_index, or none */
	store_ref pending_first; /* struct glue_change, the oldest first */
	store_ref pending_last;
	uint64_t data_count;     /* records that xfr-max-change counts
				  * (loader/load_change.h); 0: not counted */
};

/* The addresses of a cell from some version on. The writer copies them into the
 * cell itself once every reader has come to that version. Readers look at
 * `cell` alone. */
struct glue_change {
	struct glue_cell cell;
	store_ref of;    /* the cell that changes; none: it was removed */
	store_ref next;  /* in the zone's list; without meaning in the last
			  * one */
	uint64_t epoch;  /* of the store, when the version was published */
};

/* True if this version of the zone has to follow the link. */
static inline bool
glue_link_counts(uint64_t link, uint32_t version)
{
	return (store_ref)link != STORE_NONE
		&& ((version - (uint32_t)(link >> 32)) & ZONE_VERSION_MASK)
			<= ZONE_VERSION_MASK / 2;
}

/* Gets the cell that has the addresses of this version of the zone. Lent until
 * the reader is quiescent. A reader that has a version pinned for longer must
 * not look at cells (doc/zone.md). */
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

/* True if the addresses lie at or below a zone cut or a DNAME. They are not the
 * zone's to give, except beside an NS RRset. */
static inline bool
glue_cell_is_hidden(const struct glue_cell *cell)
{
	return (__atomic_load_n(&cell->link, __ATOMIC_RELAXED)
		       & GLUE_CELL_HIDDEN) != 0;
}

enum zone_entry_flags {
	/* Versions of the zone come from xfrd: conf_is_from_xfrd. */
	ZONE_ENTRY_FROM_XFRD = 2,
	/* The zone's file could not be used: an older version is served. For
	 * readers, who may not look at sources. Unlike those, set also if the
	 * file could not be opened. Not of the configuration. */
	ZONE_ENTRY_FILE_FAILED = 4,
	/* Files of differences beside the zone file may not lead to the served
	 * version, and are to be removed. Set by the reading of the zone. */
	ZONE_ENTRY_CHANGESETS_STALE = 8,
	/* The zone was added at run time: it has a line in the zone list. */
	ZONE_ENTRY_LISTED = 16,
	/* The zone's name was written with a dot at its end. */
	ZONE_ENTRY_DOT = 32,
	/* Versions come from files, and came from xfrd before, since the start:
	 * the last one of these may still have to be written to its file. */
	ZONE_ENTRY_WAS_FROM_XFRD = 64,
	/* The zone's file waits for a verifier: the next loader reads it. Not
	 * of the configuration. */
	ZONE_ENTRY_FILE_WAITS = 128,
};

struct settings_storing;

/* Facts of nsd.conf about one zone that do not follow from its apex and its
 * pattern. The entry alone holds them. */
struct zone_own {
	uint32_t len;    /* octets of this object */
	uint32_t has_name;
	char octets[];   /* the name as written, if any; then its zone file, or
			  * nothing; each with a NUL */
};

static inline size_t
zone_own_size(const struct zone_own *own)
{
	return own->len;
}

/* The two texts of zone_own. NULL: there is none. own may be NULL. */
const char *zone_own_name(const struct zone_own *own);
const char *zone_own_file(const struct zone_own *own);

/*
 * A configured zone: a leaf of the table. It lives as long as the zone is
 * configured. `flags`, `zone`, `candidate`, `options`, `pattern`, `own`,
 * `history` and `expires_sec` are replaced in place.
 *
 * A candidate is a version that is being verified. Only a reader whose view has
 * candidates looks at it, by zone_entry_version; all others look at `zone`. It
 * ends in `zone`, or is retired. A loader that dies leaves it to the next one,
 * which takes it away.
 *
 * expires_sec (RFC 1035 section 3.3.13, EXPIRE) is a time of CLOCK_MONOTONIC,
 * which cannot be set: seconds since this boot, so it has no meaning in a store
 * that another server has left. In the running server it comes from the message
 * EXPIRY. It is one word: a refresh changes it without a transaction.
 */
struct zone_entry {
	struct trie_leaf leaf; /* whole apex name */
	uint8_t crash_count;   /* loaders that died reading it; the writer's */
	uint32_t flags;        /* enum zone_entry_flags. Atomic */
	store_ref zone;        /* struct zone; none: not loaded */
	store_ref options;     /* struct settings_options; none: no lists */
	store_ref pattern;     /* struct settings_pattern */
	store_ref own;         /* struct zone_own; none: nothing */
	store_ref sources;     /* struct zone_sources; none: not from files */
	uint32_t id;           /* index into the loader's list */
	uint32_t expires_sec;  /* the zone is not answered from, from then on;
				* 0: never */
	uint32_t group;        /* of zonestats: its queries are counted there,
				* too; 0: none. Atomic */
	store_ref history;     /* struct zone_changeset (zone/history.h); none:
				* no differences are kept */
	store_ref candidate;   /* struct zone that is being verified; none */
	uint8_t name[];        /* leaf.name_len octets and the root label */
};

/* Loads the version of a zone for a view, with candidates or without. none: not
 * loaded. */
static inline store_ref
zone_entry_version(const struct zone_entry *entry, bool candidates)
{
	store_ref ref = candidates ? store_load_ref(&entry->candidate)
				   : STORE_NONE;

	return ref != STORE_NONE ? ref : store_load_ref(&entry->zone);
}

/* True if the zone is not to be answered from. now_sec: of CLOCK_MONOTONIC. */
static inline bool
zone_entry_is_expired(const struct zone_entry *entry, uint32_t now_sec)
{
	uint32_t expires = __atomic_load_n(&entry->expires_sec,
		__ATOMIC_RELAXED);

	return expires != 0 && now_sec >= expires;
}

/* The name of a zone as it was written, with its NUL: as zone_own has it, or
 * made of the apex at out. Lent until the reader is quiescent. */
const char *zone_entry_name(const struct store_view *view,
	const struct zone_entry *entry, char out[NAME_TEXT_MAX]);
/* The zone file of a zone, % and all, lent as its name. NULL: it has none. */
const char *zone_entry_file(const struct store_view *view,
	const struct zone_entry *entry);

/* The settings of the zone's stored differences, lent as its name. NULL: none
 * are stored. */
const struct settings_storing *zone_entry_storing(
	const struct store_view *view, const struct zone_entry *entry);

/*
 * Fills the fields of a zone that follow from its apex: soa, soa_sigs, serial,
 * negative_ttl_sec, and the flags ZONE_SIGNED and ZONE_NSEC, which it only
 * sets. zone->apex is set, and that node has an SOA.
 */
void zone_read_apex(const struct store_view *view, struct zone *zone);

#endif
