/*
 * vet_part.h - parts of the work of table_vet, each by one thread; for vet*.c
 * only.
 *
 * A part goes down from a reference and claims each object before it relies on
 * anything in it. The first fault ends a part.
 */
#ifndef VET_VET_PART_H
#define VET_VET_PART_H

#include "dns/name.h"
#include "names/trie_key.h"
#include "store/claim.h"
#include "vet/vet.h"
#include "zone/share.h"
#include "zone/zone.h"

struct store_claims;
struct store_writer;

/* What an object is claimed as. */
#define VET_KIND_LIST(X)                                             \
	X(VET_NONE, "store")                                         \
	X(VET_TABLE, "table of zones")                               \
	X(VET_BRANCH, "branch of a trie")                            \
	X(VET_ENTRY, "entry of a zone")                              \
	X(VET_OPTIONS, "options of a zone")                          \
	X(VET_SOURCES, "list of files")                              \
	X(VET_ZONE, "zone")                                          \
	X(VET_NODE, "node")                                          \
	X(VET_RRSET, "RRset")                                        \
	X(VET_SIGS, "signatures")                                    \
	X(VET_TEMPLATE, "template of signatures")                    \
	X(VET_TARGET, "target")                                      \
	X(VET_CHANGE, "change of a cell")                            \
	X(VET_CHANGE_LINKED, "change of a cell")                     \
	X(VET_CHAIN, "NSEC3 chain")                                  \
	X(VET_PAGE, "page of an NSEC3 chain")                        \
	X(VET_RECORD, "NSEC3 record")                                \
	X(VET_FORM, "form of NSEC3 records")                         \
	X(VET_INDEX, "index of contents")

#define VET_ENUM(kind, text) kind,
enum vet_kind { VET_KIND_LIST(VET_ENUM) };
#undef VET_ENUM

#define SENT_STARTS 8192u /* sent offsets that pointers reach */

struct vet_part;

/* Room of one thread. */
struct vet_scratch {
	struct vet_part *parts; /* of a zone that is not cut: its head and
				 * VET_ZONE_PARTS */
	uint8_t rdata[65536 + 4 * NAME_MAX_LEN];
	/* Where labels of names that pointers may lead to stand; all NULL
	 * between RRsets. */
	const uint8_t *starts[SENT_STARTS];
	uint16_t marked[SENT_STARTS]; /* those that are not */
	unsigned marked_count;
};

struct vet {
	struct store_writer *writer;
	const struct store_view *view;
	struct store_claims *claims;
	uint64_t key[2]; /* random */
	unsigned threads;
	struct vet_scratch *scratch; /* of the thread that calls */
};

/* A version of a zone, as far as its parts have to know it. */
struct vet_zone {
	const struct zone_entry *entry;
	const struct zone *zone;
	store_ref entry_ref;
	store_ref ref;
	struct share share;      /* as updates use it */
	const struct share_index *index; /* or NULL */
	struct vet_fault fault;  /* text NULL: none */
};

/* Two neighbours in a trie part at a branch: where in the key, and the symbols
 * that they have there. */
struct vet_seam {
	uint16_t offset;
	uint8_t low, high;
};

/* Leaves wait for their turn until what they lead to has come from memory. */
#define VET_QUEUE 16u
struct vet_leaf {
	store_ref ref;
	struct vet_seam seam; /* between it and the one before */
};

/* The name of a depth that was last seen; what is below it follows. */
struct vet_above {
	const uint8_t *name;
	uint8_t len;
	bool known;      /* flags are; else it lies in a part before */
	uint16_t flags;
	/* What names below an unknown one ask of it. */
	bool used;
	bool covers;     /* hides them; if used */
	bool wildcard;   /* has a wildcard below it */
};

struct vet_part {
	struct vet *vet;
	struct vet_zone *zone;
	struct vet_scratch *scratch;
	struct vet_fault fault; /* text NULL: none */
	/* References to counted objects less the counts of these: 0 in the
	 * end, each multiplied with a random number of the object. */
	uint64_t held;
	uint64_t nodes;
	uint64_t rrs;
	uint64_t wildcards;
	uint64_t wildcard_parents;
	uint64_t dnames;
	uint64_t records; /* of the chain */
	uint64_t pending; /* changes that cells have to come to */
	uint64_t indexed; /* contents that the index has */

	/* A part of a trie. */
	bool (*on_leaf)(struct vet_part *p, store_ref ref);
	/* Fetches what an object, which may be anything, leads to. */
	void (*prefetch)(struct vet_part *p, store_ref ref);
	void *leaf_ctx;
	struct trie_entry entry;
	int above_offset;           /* of the branch above; -1: none */
	struct vet_seam seam;       /* before the leaf that comes next */
	unsigned queue_first, queue_count;
	struct vet_seam seam_after; /* between this part and the next */
	const struct trie_leaf *first, *last; /* leaves */
	unsigned key_at;            /* of the last one */
	unsigned above_count;       /* depths that are in above */
	/* A part of a chain. */
	store_ref page;
	unsigned height;
	const uint8_t *low;  /* the first hash, as the page above has it */
	const uint8_t *high; /* what all are less than; NULL: the end */

	/* From here on nothing is set at first. */
	struct vet_leaf queue[VET_QUEUE];
	uint8_t keys[2][TRIE_KEY_ROOM];
	unsigned key_len[2];
	struct vet_above above[NAME_MAX_LABELS + 1];
};

/* Notes a fault; false. */
bool vet_fail(struct vet_part *p, enum vet_kind kind, store_ref ref,
	const char *text);
const char *vet_kind_text(enum vet_kind kind);

/* So many octets of an object that can be looked at; NULL and a fault. */
static inline const void *
vet_get(struct vet_part *p, enum vet_kind kind, store_ref ref, size_t len)
{
	if (store_claims_reach(p->vet->claims, ref, len))
		return store_get(p->vet->view, ref);
	vet_fail(p, kind, ref, "lies outside of the store");
	return NULL;
}

/* Claims an object that has one holder. */
static inline bool
vet_claim(struct vet_part *p, enum vet_kind kind, store_ref ref, size_t len)
{
	return store_claim(p->vet->claims, ref, len, (uint8_t)kind)
			== CLAIM_NEW
		|| vet_fail(p, kind, ref, "is not in use, or used twice");
}

/* A number of an object that nobody can guess. */
static inline uint64_t
vet_mix(const struct vet *v, store_ref ref)
{
	uint64_t x = (ref ^ v->key[0]) * (v->key[1] | 1);

	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	x ^= x >> 29;
	return x * 0x9e3779b97f4a7c15u;
}

/* Somebody holds an object that counts its holders. */
static inline void
vet_hold(struct vet_part *p, store_ref ref)
{
	p->held += vet_mix(p->vet, ref);
}

static inline void
vet_held(struct vet_part *p, store_ref ref, uint32_t refs)
{
	p->held -= vet_mix(p->vet, ref) * refs;
}

/* ---- vet_trie.c: what begins with struct trie_leaf */

/* Looks at the entry of a part; on_leaf claims what a leaf refers to and has
 * looked at its name when it returns true. */
bool vet_trie(struct vet_part *p);
/* A part for the whole of a trie. */
void vet_trie_init(struct vet_part *p, const struct trie *trie,
	bool (*on_leaf)(struct vet_part *p, store_ref ref));
/* Cuts the first of count parts, in canonical order, into at most max, where
 * there are branches; returns how many there are. */
size_t vet_trie_split(struct vet_part *parts, size_t max);
/* The parts of a trie fit together; a fault of one goes to the first. */
bool vet_trie_join(struct vet_part *parts, size_t count);
/* The name of a leaf: labels in lower case, as many as it says. */
bool vet_name(const uint8_t *name, unsigned len, unsigned labels);

/* ---- vet_node.c */
void vet_node_prefetch(struct vet_part *p, store_ref ref);
bool vet_node(struct vet_part *p, store_ref ref);
/* An owner of NSEC3 records that are in no chain. */
bool vet_node_aside(struct vet_part *p, store_ref ref);
/* What names ask of those above them in parts before. */
bool vet_node_join(struct vet_part *parts, size_t count);
/* Signatures at an offset of an object: *end is where they end. */
bool vet_sig_list(struct vet_part *p, enum vet_kind kind, store_ref ref,
	size_t offset, size_t *end);
bool vet_templates(struct vet_part *p, const struct rrset_sigs *sigs,
	uint16_t covered);

/* ---- vet_rrset.c */
/* node: a holder; NULL: the chain. */
bool vet_rrset(struct vet_part *p, store_ref ref, uint16_t type,
	const struct node *node);

/* ---- vet_chain.c */
bool vet_chain_head(struct vet_part *p);
bool vet_chain(struct vet_part *p);
/* As vet_trie_split; there is room for NSEC3_INNER_MAX more than max. */
size_t vet_chain_split(struct vet_part *parts, size_t max);

/* ---- vet_glue.c */
bool vet_target(struct vet_part *p, store_ref ref);
bool vet_pending(struct vet_part *p);
/* Once the names are known to be sound. */
bool vet_cells(struct vet_part *p);

/* ---- vet_index.c: what updates find equal contents by */
bool vet_index_head(struct vet_part *p);
/* Something that may be in the index: then it is counted. */
void vet_index_rrset(struct vet_part *p, store_ref ref);
void vet_index_template(struct vet_part *p, store_ref ref);

/* ---- vet_zone.c */
#define VET_ZONE_PARTS 4u

void vet_part_init(struct vet_part *p, struct vet *vet, struct vet_zone *zone,
	struct vet_scratch *scratch);
/* A version of a zone, by the calling thread; or if it is large by all. */
void vet_zone(struct vet *vet, struct vet_zone *zone,
	struct vet_scratch *scratch);
enum nsd_err vet_zone_large(struct vet *vet, struct vet_zone *zone) MUST_USE;

/* ---- vet.c */
/*
 * Cuts the first of parts as long as there are pieces that can be cut. expand
 * puts what is below a part in its place, those behind it move up, and returns
 * how many more there are then: 0 if there is nothing below it, or it would
 * come to too many, or has a fault. Returns how many parts there are.
 */
size_t vet_split(struct vet_part *parts, size_t max,
	size_t (*expand)(struct vet_part *parts, size_t count, size_t at,
		size_t max));
/* Calls run for 0 to count less 1, by all threads. */
void vet_run(struct vet *vet, size_t count,
	void (*run)(void *ctx, size_t i, struct vet_scratch *scratch),
	void *ctx);

#endif
