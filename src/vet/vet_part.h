/*
 * vet_part.h - what the files of vet share: parts of the work, each done by one
 * thread.
 *
 * A part starts at a reference and follows it downwards. It claims each object
 * (store/claim.h) before it relies on anything in it. The first fault ends the
 * part.
 *
 * The files, from the bottom up:
 *
 * vet_part.c     faults; a part's first state; cutting a part in pieces
 * vet_threads.c  shares work out to threads
 * vet_trie.c     tries
 * vet_index.c    the index by which updates find equal contents
 * vet_rrset.c    RRsets
 * vet_sigs.c     signatures
 * vet_node.c     names and their flags
 * vet_chain.c    the NSEC3 chain
 * vet_glue.c     targets and their cells
 * vet_zone.c     one version of a zone
 * vet_settings.c settings and options of zones, while they are read
 * vet_history.c  what the last versions of a zone differ by
 * vet_table.c    the table of zones and its entries
 * vet.c          everything, and what is done about faults
 *
 * The functions below that return bool return false after noting a fault with
 * vet_fail, unless their comment says otherwise.
 */
#ifndef VET_VET_PART_H
#define VET_VET_PART_H

#include "dns/name.h"
#include "keep/share.h"
#include "names/trie_key.h"
#include "settings/settings.h"
#include "store/claim.h"
#include "vet/vet.h"
#include "zone/zone.h"

struct store_claims;
struct store_writer;

/* What an object is claimed as, and its name in messages. */
#define VET_KIND_LIST(X)                                             \
	X(VET_NONE, "store")                                         \
	X(VET_TABLE, "table of zones")                               \
	X(VET_BRANCH, "branch of a trie")                            \
	X(VET_ENTRY, "entry of a zone")                              \
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
	X(VET_STEP, "difference between versions")                   \
	X(VET_INDEX, "index of contents")                            \
	X(VET_OPTIONS, "options of a zone")                          \
	X(VET_KEY, "key")                                            \
	X(VET_SETTINGS, "settings")

#define VET_ENUM(kind, text) kind,
enum vet_kind { VET_KIND_LIST(VET_ENUM) };
#undef VET_ENUM

struct vet_part;

/* Working memory of one thread. */
struct vet_scratch {
	struct vet_part *parts; /* 1 + VET_ZONE_PARTS: head and parts of a zone
				 * that one thread looks at alone */
	uint8_t rdata[65536 + 4 * NAME_MAX_LEN];
	/* Of the RRset being read, by sent offset: the label that stands
	 * there, if a pointer may lead to it. All NULL between RRsets. */
	const uint8_t *starts[RRSET_CELL_REACH];
	uint16_t marked[RRSET_CELL_REACH]; /* the offsets that are not NULL */
	unsigned marked_count;
};

/* One call of vet_store. */
struct vet {
	struct store_writer *writer;
	const struct store_view *view;
	struct store_claims *claims;
	uint64_t key[2];             /* random */
	unsigned threads;
	bool only_look;              /* there may be readers */
	struct vet_scratch *scratch; /* of the calling thread */
};

/* A version of a zone: what its parts have to know of it. */
struct vet_zone {
	const struct zone_entry *entry;
	const struct zone *zone;
	store_ref entry_ref;
	store_ref ref;
	struct share share;              /* hashes contents as updates do */
	const struct share_index *index; /* or NULL */
	struct vet_fault fault;          /* text NULL: none */
};

/* The zones that the table, or a part of it, leads to. */
struct vet_list {
	struct vet_zone *zones;
	size_t count, room;
	bool no_memory; /* some are not in the list */
};

/* Where two neighbours in a trie part: the offset in their keys, and the symbol
 * that each has there. */
struct vet_seam {
	uint16_t offset;
	uint8_t low, high;
};

/* A leaf waits in a queue until what it leads to has come from memory. */
#define VET_QUEUE 16u
struct vet_leaf {
	store_ref ref;
	struct vet_seam seam; /* between this leaf and the one before */
};

/* The last name seen at a depth. The names that follow lie below it. */
struct vet_above {
	const uint8_t *name;
	uint8_t len;
	bool known;      /* it is in this part, so its flags are known; else it
			  * is in an earlier part */
	uint16_t flags;
	/* What names below an unknown one need it to be. */
	bool used;       /* there are such names */
	bool covers;     /* it hides them; counts if used */
	bool wildcard;   /* it has a wildcard right below it */
};

struct vet_part {
	struct vet *vet;
	struct vet_zone *zone;
	struct vet_scratch *scratch;
	struct vet_fault fault; /* text NULL: none */
	/* Check of the counts of holders. Each object with a count has a
	 * random number: added for each reference to it, taken off as often as
	 * its count says. Comes to 0 over the parts of a sound zone. */
	uint64_t held;
	uint64_t nodes;
	uint64_t rrs;
	uint64_t wildcards;
	uint64_t wildcard_parents;
	uint64_t dnames;
	uint64_t records; /* of the chain */
	uint64_t pending; /* changes that no cell has led to yet */
	uint64_t indexed; /* objects that the index leads to */

	/* A part of a trie. */
	bool (*on_leaf)(struct vet_part *p, store_ref ref);
	/* Fetches from memory what an object leads to. The object has not been
	 * looked at. NULL: nothing is fetched. */
	void (*prefetch)(struct vet_part *p, store_ref ref);
	void *leaf_ctx;
	struct trie_entry entry;
	int above_offset;           /* of the branch above; -1: none */
	struct vet_seam seam;       /* before the next leaf */
	unsigned queue_first, queue_count;
	struct vet_seam seam_after; /* between this part and the next */
	const struct trie_leaf *first, *last; /* leaves */
	unsigned key_at;            /* index in keys of the last leaf's key */
	unsigned above_count;       /* depths that `above` has */
	/* A part of a chain. */
	store_ref page;
	unsigned height;
	const uint8_t *low;  /* the first hash, as the page above has it; NULL:
			      * no page above */
	const uint8_t *high; /* all hashes are less than this; NULL: the last
			      * part */

	/* vet_part_init leaves everything from here on as it is. */
	struct vet_leaf queue[VET_QUEUE];
	uint8_t keys[2][TRIE_KEY_ROOM];
	unsigned key_len[2];
	struct vet_above above[NAME_MAX_LABELS + 1];
};

/* ---- vet_part.c -------------------------------------------------------- */

/* Notes a fault, unless the part has one already. Returns false. */
bool vet_fail(struct vet_part *p, enum vet_kind kind, store_ref ref,
	const char *text);

/* What messages call an object of a kind. */
const char *vet_kind_text(enum vet_kind kind);

/* A part that has seen nothing yet. zone is NULL for parts of the table. */
void vet_part_init(struct vet_part *p, struct vet *vet, struct vet_zone *zone,
	struct vet_scratch *scratch);

/*
 * Cuts the first of parts into pieces until none can be cut further. expand
 * replaces the part at index `at` by the parts below it, moves those behind it
 * up, and returns how many more parts there are then. It returns 0 if nothing
 * is below the part, if there is no room for more, or if there is a fault,
 * which it notes in the part. Returns the number of parts.
 */
size_t vet_split(struct vet_part *parts, size_t max,
	size_t (*expand)(struct vet_part *parts, size_t count, size_t at,
		size_t max));

/* The object, if len octets of it lie in the store; else NULL and a fault. */
static inline const void *
vet_get(struct vet_part *p, enum vet_kind kind, store_ref ref, size_t len)
{
	if (store_claims_reach(p->vet->claims, ref, len))
		return store_get(p->vet->view, ref);
	vet_fail(p, kind, ref, "lies outside of the store");
	return NULL;
}

/* Claims an object that only one reference may lead to. */
static inline bool
vet_claim(struct vet_part *p, enum vet_kind kind, store_ref ref, size_t len)
{
	return store_claim(p->vet->claims, ref, len, (uint8_t)kind)
			== CLAIM_NEW
		|| vet_fail(p, kind, ref, "is not in use, or used twice");
}

/* The random number of an object. Nobody can guess it without the key. */
static inline uint64_t
vet_mix(const struct vet *v, store_ref ref)
{
	uint64_t x = (ref ^ v->key[0]) * (v->key[1] | 1);

	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	x ^= x >> 29;
	return x * 0x9e3779b97f4a7c15u;
}

/* Counts a reference to an object that counts its holders. */
static inline void
vet_hold(struct vet_part *p, store_ref ref)
{
	p->held += vet_mix(p->vet, ref);
}

/* Takes off the count that the object has. Once an object. */
static inline void
vet_held(struct vet_part *p, store_ref ref, uint32_t refs)
{
	p->held -= vet_mix(p->vet, ref) * refs;
}

/* ---- vet_threads.c ----------------------------------------------------- */

/* Returns NULL without memory. The caller releases it with
 * vet_scratch_destroy, which takes NULL too. */
struct vet_scratch *vet_scratch_create(void) MUST_USE;
void vet_scratch_destroy(struct vet_scratch *s);

/* Calls run(ctx, i, scratch of the thread) for i from 0 to count - 1, each
 * once, on vet->threads threads at most. Returns when all calls have
 * returned. */
void vet_run(struct vet *vet, size_t count,
	void (*run)(void *ctx, size_t i, struct vet_scratch *scratch),
	void *ctx);

/* ---- vet_trie.c: what begins with struct trie_leaf --------------------- */

/* Looks at all that the part's entry leads to. on_leaf claims the leaf; when it
 * returns true, the leaf's name is sound. */
bool vet_trie(struct vet_part *p);

/* Makes an initialised part one for the whole of a trie. */
void vet_trie_init(struct vet_part *p, const struct trie *trie,
	bool (*on_leaf)(struct vet_part *p, store_ref ref));

/* Cuts parts[0] at its branches into at most max parts, which are in canonical
 * order. Returns how many there are. A fault is noted in the part that has
 * it. */
size_t vet_trie_split(struct vet_part *parts, size_t max);

/* After all parts of a trie were looked at: do they fit together? The first
 * fault of any is noted in parts[0]. */
bool vet_trie_join(struct vet_part *parts, size_t count);

/* True if len octets are so many labels in lower case, without a root label. It
 * notes no fault. */
bool vet_name(const uint8_t *name, unsigned len, unsigned labels);

/* ---- vet_index.c: the index by which updates find equal contents ------- */

/* The index itself. If it is sound, the zone gets it. */
bool vet_index_head(struct vet_part *p);

/* Counts a sound object if the index leads to it. */
void vet_index_rrset(struct vet_part *p, store_ref ref);
void vet_index_template(struct vet_part *p, store_ref ref);

/* ---- vet_rrset.c ------------------------------------------------------- */

/* An RRset that should be of that type. node is its holder; NULL if that is the
 * NSEC3 chain. */
bool vet_rrset(struct vet_part *p, store_ref ref, uint16_t type,
	const struct node *node);

/* ---- vet_sigs.c -------------------------------------------------------- */

/* Finds where a list of signatures (struct rrset_sigs) ends that begins at an
 * offset of an object: *end, from the object's start. All of the list lies in
 * the store then. */
bool vet_sig_list(struct vet_part *p, enum vet_kind kind, store_ref ref,
	size_t offset, size_t *end);

/* The templates of signatures that cover a type, and what the signatures say.
 * The list lies in an object that was claimed. */
bool vet_templates(struct vet_part *p, const struct rrset_sigs *sigs,
	uint16_t covered);

/* The signatures of an RRset: an object of their own. */
bool vet_sigs(struct vet_part *p, store_ref ref, uint16_t covered);

/* ---- vet_node.c -------------------------------------------------------- */

/* As vet_part.prefetch. */
void vet_node_prefetch(struct vet_part *p, store_ref ref);

/* A name of the zone. */
bool vet_node(struct vet_part *p, store_ref ref);

/* An owner of NSEC3 records that are in no chain. */
bool vet_node_aside(struct vet_part *p, store_ref ref);

/* After all parts of the names were looked at: is each name above, if it lies
 * in an earlier part, what the names below need it to be? A fault is noted in
 * parts[0]. */
bool vet_node_join(struct vet_part *parts, size_t count);

/* ---- vet_chain.c ------------------------------------------------------- */

/* The chain's own object. */
bool vet_chain_head(struct vet_part *p);

/* All that the part's page leads to. */
bool vet_chain(struct vet_part *p);

/* As vet_trie_split, but parts has room for NSEC3_INNER_MAX more than max. */
size_t vet_chain_split(struct vet_part *parts, size_t max);

/* ---- vet_glue.c -------------------------------------------------------- */

bool vet_target(struct vet_part *p, store_ref ref);

/* The list of changes that have still to go into cells. */
bool vet_pending(struct vet_part *p);

/* What all cells of the zone hold. Only after its names and targets were found
 * sound. */
bool vet_cells(struct vet_part *p);

/* ---- vet_zone.c -------------------------------------------------------- */

#define VET_ZONE_PARTS 4u /* names, targets, other NSEC3 owners, chain */

/* A version of a zone, in the calling thread. A fault is noted in
 * zone->fault. */
void vet_zone(struct vet *vet, struct vet_zone *zone,
	struct vet_scratch *scratch);

/* The same, shared out to all threads. NSD_E_MEMORY: the zone was not looked
 * at. */
enum nsd_err vet_zone_large(struct vet *vet, struct vet_zone *zone) MUST_USE;

/* ---- vet_settings.c ---------------------------------------------------- */

/* The options of a zone or pattern. */
bool vet_options(struct vet_part *p, store_ref ref);

/* What the root of the settings leads to; none is sound. */
bool vet_settings(struct vet_part *p);

/* ---- vet_history.c ----------------------------------------------------- */

/* The newest step of an entry and all older ones; none is sound. */
bool vet_history(struct vet_part *p, store_ref ref);

/* ---- vet_table.c ------------------------------------------------------- */

/*
 * The table of zones, its entries, and the settings; unless all is only looked
 * at, there are no settings, and entries lose their options. Fills *zones,
 * which is empty before and which the caller frees in any case. An entry whose
 * options, sources or history are faulty is in the list with that fault.
 * NSD_E_BUG: the table itself is faulty, *fault says how. NSD_E_MEMORY.
 */
enum nsd_err vet_table(struct vet *vet, struct vet_list *zones,
	struct vet_fault *fault) MUST_USE;

#endif
