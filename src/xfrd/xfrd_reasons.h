/*
 * xfrd_reasons.h - why questions to other servers have failed: texts, each kept
 * once and known by a number, so that a zone has room for its own.
 */
#ifndef XFRD_XFRD_REASONS_H
#define XFRD_XFRD_REASONS_H

#include <stdint.h>

/* The limit of texts: more than there are of the system's errors, of those of
 * TLS with all of its alerts, and of our own. */
#define XFRD_REASONS_MAX 1024u

/* Texts of failures. Zeroed: none. */
struct xfrd_reasons {
	char *texts[XFRD_REASONS_MAX];
	uint32_t count;
};

/* Returns the number of a text, which is copied if it is new. 0: the text is
 * NULL, or there is no room. Cost: the texts that there are. */
uint32_t xfrd_reasons_add(struct xfrd_reasons *reasons, const char *text);
/* Returns the text of a number, lent as long as the reasons are; NULL: of 0. */
const char *xfrd_reasons_get(const struct xfrd_reasons *reasons,
	uint32_t number);

#endif
