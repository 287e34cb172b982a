/*
 * textlist.h - a list of texts in shared memory. One process appends to it;
 * others read it meanwhile and do not trust its contents. Texts are never moved
 * or removed.
 */
#ifndef BASE_TEXTLIST_H
#define BASE_TEXTLIST_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * Texts have numbers from 1 on. In memory, which is all zeros at first and
 * mostly never touched:
 *
 *   +0  count 4: texts that are there
 *   +4  ends: room of 4 octets: octets of texts up to the end of each
 *       texts: octets of 1 to 65535 each, without a NUL
 */
struct textlist {
	uint32_t *count;
	uint32_t *ends;
	char *texts;
	uint32_t room;   /* texts */
	uint32_t octets; /* of all texts, at most */
};

/* Octets of memory for a list with so much room. */
size_t textlist_size(uint32_t room, uint32_t octets);
/* Lays out that memory, which begins at a multiple of 4. */
void textlist_init(struct textlist *list, void *memory, uint32_t room,
	uint32_t octets);

/* Texts that are there: at most as many as there is room for. */
uint32_t textlist_count(const struct textlist *list);
/* Copies the text of a number, cut to size, and a NUL; size is not 0. Whatever
 * the memory holds, only octets of the list are read. Returns octets without
 * the NUL: 0 if there is no such text. */
size_t textlist_get(const struct textlist *list, uint32_t number, char *out,
	size_t size);

/* ---- for the one who appends -------------------------------------------- */

struct textlist_writer;

/* Gives *writer, which keeps what the list refers to; there is one at a time.
 * Texts of a writer before it are found. NSD_E_MEMORY. */
enum nsd_err textlist_writer_create(const struct textlist *list,
	struct textlist_writer **writer) MUST_USE;
void textlist_writer_destroy(struct textlist_writer *writer);

/* Finds a text, or appends it. Borrows len octets, at least one.
 * returns NSD_OK and *number; NSD_E_LIMIT: there is no room, or the text is too
 * long; NSD_E_MEMORY. Constant time. */
enum nsd_err textlist_add(struct textlist_writer *writer, const char *text,
	size_t len, uint32_t *number) MUST_USE;

#endif
