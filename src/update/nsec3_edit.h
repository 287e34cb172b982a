/*
 * nsec3_edit.h - changes an NSEC3 chain that is served: makes a new version
 * that shares with the old one what does not change.
 *
 * Changes are noted first, and then made all at once: each page on their paths
 * is copied once. The old chain stays as it is. A record keeps its next hash
 * itself only if the record that follows has another hash (NSEC3_OWN_NEXT).
 * This is corrected for the records put, and for the ones before each change.
 *
 *	nsec3_edit_begin
 *	nsec3_pack_items, nsec3_edit_put, nsec3_edit_remove ...
 *	nsec3_edit_end          the new chain
 *	(publish)
 *	nsec3_edit_release      what only the old one had
 *	or nsec3_edit_abandon   instead of publishing
 *
 * A zone is to be built anew instead if nsec3_change_needs_build says so, or
 * nsec3_edit_end: then names have other hashes, or none.
 */
#ifndef UPDATE_NSEC3_EDIT_H
#define UPDATE_NSEC3_EDIT_H

#include "base/arena.h"
#include "zone/nsec3_page.h"
#include "zonedb/release.h"

struct store_heap;

struct nsec3_refs {
	store_ref *items;
	size_t count;
	size_t room;
};

struct nsec3_change;

struct nsec3_edit {
	struct store_heap *heap;
	const struct store_view *view;
	struct arena *arena;  /* borrowed: lives as long as the edit */
	store_ref old;        /* struct nsec3_chain */
	store_ref made;       /* the new one, or none */
	struct nsec3_change *changes;
	size_t change_count;
	size_t change_room;
	struct nsec3_refs made_pages, made_records; /* of the new one alone */
	struct nsec3_refs old_pages, old_records;   /* of the old one alone */
};

/* chain: of the zone, not none. Keeps heap and arena until the end. Nothing is
 * allocated. */
void nsec3_edit_begin(struct nsec3_edit *edit, struct store_heap *heap,
	struct arena *arena, store_ref chain);

/*
 * Notes a record to be added, or to replace the one with its hash. Takes the
 * record, which knows its next hash itself (NSEC3_OWN_NEXT) or is an
 * NSEC3_RRSET, as nsec3_pack_items makes it. On failure (NSD_E_MEMORY) it
 * stays the caller's. Of several changes at one hash the last counts.
 */
enum nsd_err nsec3_edit_put(struct nsec3_edit *edit,
	const uint8_t hash[NSEC3_HASH_LEN], store_ref record) MUST_USE;
/* Notes a record to be removed; it is no error if there is none. NSD_E_MEMORY:
 * the arena is full. */
enum nsd_err nsec3_edit_remove(struct nsec3_edit *edit,
	const uint8_t hash[NSEC3_HASH_LEN]) MUST_USE;

/*
 * Makes the new chain; *chain is the old one if nothing changed. Its count is
 * kept, its iterations, salt and flags are those of the old one.
 * NSD_E_MEMORY: there is no memory, or the store is full. NSD_E_AGAIN: no
 * record would be left, so the zone has to be built anew. After a failure:
 * nsec3_edit_abandon.
 * Cost: a look-up and some KiB copied a change; less where they are close.
 */
enum nsd_err nsec3_edit_end(struct nsec3_edit *edit, store_ref *chain)
	MUST_USE;

/* After the publish: lets go of what the new chain does not have. */
void nsec3_edit_release(struct nsec3_edit *edit, struct releaser *releaser);
/* Lets go of what was made, and of the records put; their holders have to be
 * counted (pack_sigs_flush). */
void nsec3_edit_abandon(struct nsec3_edit *edit, struct releaser *releaser);

#endif
