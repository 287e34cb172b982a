/*
 * secrets.h - shared secrets, in memory of their own that no core file has.
 *
 * The process that has the secrets fills it, and seals it: main from files,
 * before it forks or when they change; a worker from messages of main. Children
 * inherit main's; those that need no secret drop it.
 */
#ifndef BASE_SECRETS_H
#define BASE_SECRETS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct secrets;

/*
 * Makes room for count secrets, of so many octets in all.
 * returns NSD_OK and gives *secrets (secrets_drop); NSD_E_MEMORY.
 */
enum nsd_err secrets_create(size_t count, size_t octets,
	struct secrets **secrets) MUST_USE;

/* A secret. */
struct secrets_octets {
	const uint8_t *at;
	size_t len;
};

/* Adds a copy of the next secret, the first with index 0. There is room. */
void secrets_add(struct secrets *secrets, struct secrets_octets secret);

/* Makes the memory read-only for good, for this process and all others. */
void secrets_seal(struct secrets *secrets);

/* The count of secrets; NULL has none. */
size_t secrets_count(const struct secrets *secrets);

/* Lends a secret, until secrets_drop. index is below the count. */
const uint8_t *secrets_get(const struct secrets *secrets, size_t index,
	size_t *len);

/* Gives this process's part of the memory back; NULL is fine. */
void secrets_drop(struct secrets *secrets);

#endif
