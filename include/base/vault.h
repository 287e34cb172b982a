/*
 * vault.h - secrets that one process may change while others read them.
 *
 * The memory is shared. The maker maps it twice: to write, which no child
 * inherits, and to read, which children inherit and cannot make writable, if
 * the kernel can seal it (vault_is_sealed). No core file has it. A secret keeps
 * its place until it is removed; no two secrets ever have the same place and
 * id. So a reference to a removed secret finds nothing, even if its slots hold
 * another secret by then.
 *
 *   slot: | id, 4 | length, 4 | octets, 120 |, and, if they are not enough, the
 *   slots behind it as a whole. A free slot has id 0.
 */
#ifndef BASE_VAULT_H
#define BASE_VAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct vault;

/* Where a secret is. id 0: nowhere. */
struct vault_place {
	uint32_t at;
	uint32_t id;
};

static inline bool
vault_place_is_same(struct vault_place a, struct vault_place b)
{
	return a.at == b.at && a.id == b.id;
}

/*
 * Makes room for count secrets of `octets` octets in all, four times over, or
 * for many thousands if that is more. Room that is not used takes no memory.
 * returns NSD_OK and gives *vault (vault_destroy); NSD_E_MEMORY: or no address
 * space. Only this process writes to it, no child that it forks later.
 */
enum nsd_err vault_create(size_t count, size_t octets, struct vault **vault)
	MUST_USE;

/* False: the kernel has no such seal (before Linux 5.1), and a child that was
 * taken over may write to it. */
bool vault_is_sealed(const struct vault *vault);

/* Adds a secret, which may be empty; borrows it. Of the maker.
 * returns NSD_OK and *place; NSD_E_LIMIT: there is no room. */
enum nsd_err vault_add(struct vault *vault, const uint8_t *secret, size_t len,
	struct vault_place *place) MUST_USE;

/* Overwrites a secret. Of the maker. A secret that is gone already is no
 * matter. */
void vault_remove(struct vault *vault, struct vault_place place);

/* Marks a secret as in use; vault_sweep overwrites the secrets that were not
 * marked since the last sweep. No process may still want one of those
 * (main/key_change.h waits for that, and a reconfig does at its end). Of the
 * maker. */
void vault_mark(struct vault *vault, struct vault_place place);
void vault_sweep(struct vault *vault);

/*
 * Lends a secret; NULL: it has gone. Of any process. The maker may overwrite it
 * at any time: a process that has copied it asks again, and drops the copy if
 * the secret has gone meanwhile.
 */
const uint8_t *vault_get(const struct vault *vault, struct vault_place place,
	size_t *len);

/* Gives this process's mapping back: for a child that needs no secret. NULL is
 * fine. */
void vault_leave(struct vault *vault);
/* Gives the maker's mappings back. NULL is fine. */
void vault_destroy(struct vault *vault);

#endif
