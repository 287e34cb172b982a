/*
 * list.h - doubly linked lists: those of liburcu (cds_list_head and its
 * functions). musl has no <sys/queue.h>.
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <urcu/list.h>

/* The first entry, which is in the list; NULL if the list is empty. */
#define list_first_or_null(head, type, member) \
	(cds_list_empty(head) ? NULL \
			      : cds_list_first_entry((head), type, member))

#endif
