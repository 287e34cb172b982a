/*
 * update_changes.h - the changes of one name, by what they do to its records.
 */
#ifndef UPDATE_UPDATE_CHANGES_H
#define UPDATE_UPDATE_CHANGES_H

#include "update/update_pass.h"

#define UPDATE_ORDER_NEW 0x80000000u /* from here on: records to be added */

/* RRsets of a type that are to be removed. */
struct removed_set {
	uint16_t type;
	bool found;
	uint32_t times; /* requests to remove it */
};

/* A name's changes, sorted as items are. */
struct name_changes {
	struct item *adds;
	size_t add_count;
	struct item *removes;
	size_t remove_count;
	struct item *absents; /* must not be there */
	size_t absent_count;
	struct removed_set *sets; /* ascending by type */
	size_t set_count;
};

/* The records to add to an entry, and to remove from it. */
struct update_part {
	const struct item *adds;
	size_t add_count;
	const struct item *removes;
	size_t remove_count;
	const struct item *absents;
	size_t absent_count;
	bool remove_all;
	bool changed;
};

/* Sorts the changes of a name (a run of sorted owners), in scratch, which the
 * caller rewinds. */
enum nsd_err update_changes_make(struct zone_update *u,
	struct name_changes *changes, const struct owner *run, size_t count)
	MUST_USE;

/* Finds the changes for a key. there: the name has records of the key. False:
 * there are no changes. */
bool update_changes_get_part(struct name_changes *changes, uint32_t key,
	bool there, struct update_part *p);

/* The items of a key: the first that is not less, and how many. */
size_t update_find_key(const struct item *items, size_t count, uint32_t key,
	size_t *found);

#endif
