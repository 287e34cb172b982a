/*
 * key_store.h - secrets that one process may change while others read them.
 *
 * The memory is shared. The maker maps it twice: to write, which no child
 * inherits, and to read, which children inherit and cannot make writable, if
 * the kernel can seal it (key_store_is_sealed). No core file has it. A secret
 * keeps its handle until it is removed; no two secrets ever have the same
 * handle. So a reference to a removed secret finds nothing, even if its slots
 * hold another secret by then.
 *
 *   slot: | id, 4 | length, 4 | octets, 120 |, and, if they are not enough, the
 *   slots behind it as a whole. A free slot has id 0.
 */
#ifndef BASE_KEY_STORE_H
#define BASE_KEY_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct key_store;

/* Where a secret is. id 0: nowhere. */
struct key_handle {
	uint32_t at;
	uint32_t id;
};

static inline bool
key_handle_is_same(struct key_handle a, struct key_handle b)
{
	return a.at == b.at && a.id == b.id;
}

/*
 * Makes room for count secrets of `octets` octets in all, four times over, or
 * for many thousands if that is more. Room that is not used takes no memory.
 * returns NSD_OK and gives *key_store (key_store_destroy); NSD_E_MEMORY: or no
 * address space. Only this process writes to it, no child that it forks later.
 */
enum nsd_err key_store_create(size_t count, size_t octets,
	struct key_store **key_store)
	MUST_USE;

/* False: the kernel has no such seal (before Linux 5.1), and a child that was
 * taken over may write to it. */
bool key_store_is_sealed(const struct key_store *key_store);

/* Adds a secret, which may be empty; borrows it. Of the maker.
 * returns NSD_OK and *handle; NSD_E_LIMIT: there is no room. */
enum nsd_err key_store_add(struct key_store *key_store, const uint8_t *secret,
	size_t len,
	struct key_handle *handle) MUST_USE;

/* Overwrites a secret. Of the maker. A secret that is gone already is no
 * matter. */
void key_store_remove(struct key_store *key_store, struct key_handle handle);

/* Marks a secret as in use; key_store_sweep overwrites the secrets that were
 * not marked since the last sweep. No process may still want one of those
 * (main/key_change.h waits for that, and a reconfig does at its end). Of the
 * maker. */
void key_store_mark(struct key_store *key_store, struct key_handle handle);
void key_store_sweep(struct key_store *key_store);

/*
 * Lends a secret; NULL: it has gone. Of any process. The maker may overwrite it
 * at any time: a process that has copied it asks again, and drops the copy if
 * the secret has gone meanwhile.
 */
const uint8_t *key_store_get(const struct key_store *key_store,
	struct key_handle handle, size_t *len);

/* Gives this process's mapping back: for a child that needs no secret. NULL is
 * fine. */
void key_store_leave(struct key_store *key_store);
/* Gives the maker's mappings back. NULL is fine. */
void key_store_destroy(struct key_store *key_store);

#endif
