/*
 * update_pass.h - common parts of the steps of an update.
 *
 * merge    versions -> one (update_merge.c)
 * plan     changes -> dirty names with their ancestors; which of them will
 *          exist, zone cuts, what those hide (update_plan.c)
 * records  of a dirty name: those of the old node, changed (update_items.c)
 * chain    NSEC3 records (update_chain.c)
 * pack     nodes for the names that are not as they were (update_pack.c)
 * cells    targets and the addresses of them (update_cells.c)
 * apply    tries, what nobody holds any more, publish (update_apply.c)
 *
 * update_unpack.c unpacks the records of a zone. update_index.c makes the index
 * by which equal contents are found. update_find.c and update_refs.c are tools.
 * update_rebuild.c builds the zone anew if that takes less time.
 *
 * Until the publish, nothing changes that readers or the old version see. Only
 * holders are counted, and update_undo takes these back.
 */
#ifndef UPDATE_UPDATE_PASS_H
#define UPDATE_UPDATE_PASS_H

#include "compile/packer.h"
#include "compile/shape.h"
#include "names/trie_edit.h"
#include "update/nsec3_edit.h"
#include "update/update.h"
#include "zonedb/garbage.h"
#include "zonedb/share.h"

struct store_heap;
struct store_writer;

enum change_kind {
	CHANGE_ADD,
	CHANGE_REMOVE,
	CHANGE_REMOVE_SET,
	CHANGE_ABSENT, /* nothing, but the record must not be there */
};

/* A change, as it was asked for. */
struct update_change {
	enum change_kind kind;
	uint32_t version; /* the version of the change, counted from 0 */
	const struct rrbatch_rr *rr; /* CHANGE_REMOVE_SET: only the type
				      * counts */
};

/* A name that an update looks at: one with changes, an ancestor of one, or
 * one that such a change hides or shows. */
struct dirty_name {
	struct owner owner;  /* as it will be; name stands in an rrbatch_rr */
	store_ref old;       /* struct node in names, or none */
	store_ref old_hash;  /* struct node in nsec3, or none */
	uint32_t parent;     /* index; of the apex: its own */
	uint16_t records;    /* enum owner_flags that its records will make */
	bool changed;        /* the records are not as they were */
	bool has_child;      /* some name below it will be there */
	bool exists;         /* the name will be in names */
	bool replaced;       /* made: stands in place of old, unless gone */
	/* changed: all its records, sorted, one of each entry that is kept */
	struct item *items;
	size_t item_count;
	struct node_rrset *kept; /* ascending */
	size_t kept_count;
	/* NSEC3 records and their RRSIGs, if they go into the chain, or came
	 * from it */
	bool chain_changed;
	bool was_chained;
	uint8_t hash[NSEC3_HASH_LEN];
	struct item *chain_items; /* as they will be in the chain, sorted */
	size_t chain_item_count;
	store_ref made;      /* struct node in names, or none */
	store_ref made_hash; /* struct node in nsec3, or none */
};

/* A list that grows in an arena. */
struct ref_list {
	store_ref *items;
	size_t count;
	size_t room;
};

/* A change of a cell, to be published with the zone. */
struct cell_change {
	store_ref cell;   /* struct glue_cell whose link is set */
	store_ref change; /* struct glue_change that it leads to */
};

struct zone_update {
	struct store_writer *writer;
	struct store_heap *heap;
	const struct store_view *view;
	store_ref entry;
	struct zone_update_options options;
	struct packer_zone zone; /* with the apex */
	struct arena arena;   /* until the end; never rewound */
	struct arena scratch; /* of one step, or one name: it is rewound. The
			       * first list of dirty names lies in it, too */
	struct zone_update_result result;

	/* the changes as they were asked for: the index of an owner is that of
	 * its change */
	struct owner *owners;
	struct update_change *changes;
	size_t change_count;
	size_t change_room;
	uint32_t version; /* of the next change */

	/* commit */
	struct zone *old; /* the version that is served */
	store_ref old_ref;
	store_ref made;   /* the new version; none: nothing changes */
	bool anew;        /* built anew: shares no object with the old
			   * version */
	bool was_shown; /* as a candidate: readers may have seen it */
	bool published;
	struct packer packer;
	struct dirty_name *dirty; /* in canonical order */
	size_t dirty_count;
	bool effective; /* a record is not as it was */
	uint64_t misfits; /* changes that an exact update must not have */
	int64_t rr_delta;
	int64_t node_delta;
	int64_t wildcard_delta;
	int64_t dname_delta;

	store_ref chain;    /* of the new version, or none */
	struct nsec3_edit chain_edit;
	bool chain_begun;
	struct trie names;
	struct trie nsec3;
	struct trie targets;
	struct trie_owned owned;
	struct garbage garbage;
	struct ref_list made_targets;
	struct cell_change *cell_changes;
	size_t cell_change_count;
	size_t cell_change_room;

	/* The objects of the old nodes: all, and those without holders now. */
	struct ref_list rrsets;
	struct ref_list sigs;      /* to be freed */
	struct ref_list templates;
	struct ref_list dead_rrsets;
	struct ref_list dead_templates;
	struct ref_list dead_targets;
	bool released; /* holders in rrsets and templates are taken off */
};

/* The steps; NSD_E_ZONE if there are errors among the findings. */
/* NSD_E_INEXACT: a version does not fit the one before it. */
enum nsd_err update_merge(struct zone_update *u) MUST_USE;
enum nsd_err update_plan(struct zone_update *u) MUST_USE;
enum nsd_err update_chain(struct zone_update *u) MUST_USE; /* NSD_E_AGAIN:
	* as nsec3_edit_end */
enum nsd_err update_pack(struct zone_update *u) MUST_USE;
enum nsd_err update_cells(struct zone_update *u) MUST_USE;
enum nsd_err update_apply(struct zone_update *u) MUST_USE;
/* After the publish. */
void update_retire(struct zone_update *u);
void update_undo(struct zone_update *u);

/* Records of one entry of a node, or of the chain, in scratch. */
struct entry_items {
	const struct node_rrset *entry; /* NULL: of the chain */
	uint32_t key;                   /* of struct item */
	struct item *items;             /* in canonical order */
	size_t count;
	size_t room;
};

static inline uint32_t
nsec3_key(bool sigs)
{
	return (uint32_t)TYPE_NSEC3 << 1 | sigs;
}

/* Unpacks the first records of an entry, at most `most`. */
enum nsd_err update_unpack_entry(struct zone_update *u,
	const struct node_rrset *entry, size_t most, struct entry_items *e)
	MUST_USE;
/* NSEC3 records of a name that the chain has, and their RRSIGs; of stays as it
 * is if there are none. t->hash and t->was_chained are set. */
enum nsd_err update_unpack_chain(struct zone_update *u, struct dirty_name *t,
	struct entry_items of[2]) MUST_USE;

/* Lists the records of a name after its changes (a run of sorted owners), and
 * leaves scratch as it was. */
enum nsd_err update_list_items(struct zone_update *u, struct dirty_name *t,
	const struct owner *run, size_t count) MUST_USE;

/* Merges changes into the sorted records of a name, all of which are given. The
 * list of them is in scratch, which the caller rewinds. */
enum nsd_err update_merge_items(struct zone_update *u,
	const struct owner *run, size_t count, struct item *items,
	size_t item_count, struct item **merged, size_t *merged_count)
	MUST_USE;

/* True if looking at all records of the zone takes too long. */
static inline bool
update_is_too_long(const struct zone_update *u)
{
	return u->options.names_max != 0
		&& u->old->rr_count > u->options.names_max * UINT64_C(16);
}

/* Asks options.check, if there is one. anew: the dirty names do not say what
 * has changed. */
enum nsd_err update_check(struct zone_update *u, struct zone *zone, bool anew)
	MUST_USE;

/* True if the zone is to be built anew, as the changes touch nearly all names
 * or the choice of the NSEC3 chain. */
bool update_needs_rebuild(const struct zone_update *u);
enum nsd_err update_rebuild(struct zone_update *u, bool always,
	struct diag_sink *sink) MUST_USE;

/* Counts the sorted owners that have the name of the first. */
size_t update_run_len(const struct owner *run, size_t count);
/* The object with the owner's name in a trie, or none. */
store_ref update_find_ref(const struct zone_update *u, const struct trie *trie,
	const struct owner *owner);
/* The dirty name of the owner, or NULL. */
struct dirty_name *update_find_dirty(const struct zone_update *u,
	const struct owner *owner);

/* Appends a reference; NSD_E_MEMORY. */
enum nsd_err update_refs_add(struct zone_update *u, struct ref_list *list,
	store_ref ref) MUST_USE;

/* The context of changes to the tries of the new version. */
static inline struct trie_edit
update_edit(struct zone_update *u)
{
	return (struct trie_edit){u->heap, garbage_add, &u->garbage,
		&u->owned};
}

/* Puts changes that every reader has come to into the cells' own words. */
void update_cells_settle(struct store_writer *writer, struct zone *zone);
/* Takes the pending changes of a cell off it: it is to go. */
void update_forget_cell(struct zone_update *u, store_ref cell);
/* Publishes the changes of cells, for the version of the new zone. */
void update_publish_cells(struct zone_update *u, struct zone *zone);
/* Takes them off their cells again: that version will not be published. */
void update_withdraw_cells(struct zone_update *u);

/* Opens the zone's index of contents; makes it if there is none. */
enum nsd_err update_open_share(struct store_heap *heap, struct zone *zone,
	const uint8_t *apex, struct share *share) MUST_USE;

#endif
