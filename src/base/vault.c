/* vault.c - shared memory with secrets, in slots. */
#include "config.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/vault.h"

/* gcc says that ThreadSanitizer knows nothing of fences. */
#ifdef __SANITIZE_THREAD__
#pragma GCC diagnostic ignored "-Wtsan"
#endif

#define SLOT_SIZE 128u
#define SLOTS_MIN 32768u
#define SLOTS_MAX (UINT32_MAX / 2)

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010 /* Linux 5.1 */
#endif

struct vault_slot {
	uint32_t id;
	uint32_t len;
	uint8_t octets[SLOT_SIZE - 8];
};
_Static_assert(sizeof(struct vault_slot) == SLOT_SIZE, "slots are not packed");

struct vault {
	const struct vault_slot *to_read;
	struct vault_slot *to_write; /* of the maker */
	size_t size;                 /* octets */
	uint32_t slots;
	/* The maker's: */
	bool sealed;
	uint32_t *runs;  /* slots of the secret that begins here; 0: none */
	uint8_t *marks;
	uint32_t full;   /* there is no free slot before this one */
	uint32_t last_id;
};

/* ---- making -------------------------------------------------------------- */

static bool
vault_map(struct vault *v, int fd)
{
	void *p;

	if (ftruncate(fd, (off_t)v->size) == -1)
		return false;
	p = mmap(NULL, v->size, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (p == MAP_FAILED)
		return false;
	v->to_write = p;
	if (madvise(p, v->size, MADV_DONTFORK) == -1)
		return false;
	(void)madvise(p, v->size, MADV_DONTDUMP);
	/* F_SEAL_FUTURE_WRITE: mappings from now on can never be made
	 * writable. */
	v->sealed = fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != -1
		&& fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) != -1;
	p = mmap(NULL, v->size, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (p == MAP_FAILED)
		return false;
	v->to_read = p;
	(void)madvise(p, v->size, MADV_DONTDUMP);
	return true;
}

/* Slots that a secret takes. */
static uint32_t
vault_run(size_t len)
{
	const size_t head = offsetof(struct vault_slot, octets);

	if (len > (size_t)SLOTS_MAX * SLOT_SIZE)
		return UINT32_MAX;
	return (uint32_t)((head + len + SLOT_SIZE - 1) / SLOT_SIZE);
}

enum nsd_err
vault_create(size_t count, size_t octets, struct vault **vault)
{
	struct vault *v = calloc(1, sizeof(*v));
	/* Slots: a secret is rounded up, and so is its head. */
	size_t slots = octets / SLOT_SIZE;
	bool mapped = false;
	int fd = -1;

	if (v == NULL)
		return NSD_E_MEMORY;
	if (__builtin_add_overflow(slots, count, &slots)
		|| __builtin_add_overflow(slots, count, &slots)
		|| __builtin_mul_overflow(slots, 4u, &slots)
		|| slots > SLOTS_MAX)
		goto out;
	v->slots = slots > SLOTS_MIN ? (uint32_t)slots : SLOTS_MIN;
	v->size = (size_t)v->slots * SLOT_SIZE;
	v->runs = calloc(v->slots, sizeof(*v->runs));
	v->marks = calloc(v->slots, sizeof(*v->marks));
	if (v->runs == NULL || v->marks == NULL)
		goto out;
	fd = memfd_create("nsd-secrets", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	mapped = fd != -1 && vault_map(v, fd);
	if (fd != -1)
		close(fd);
out:
	if (!mapped) {
		vault_destroy(v);
		return NSD_E_MEMORY;
	}
	*vault = v;
	return NSD_OK;
}

bool
vault_is_sealed(const struct vault *vault)
{
	return vault->sealed;
}

void
vault_leave(struct vault *vault)
{
	if (vault == NULL || vault->to_read == NULL)
		return;
	(void)munmap((void *)(uintptr_t)vault->to_read, vault->size);
	vault->to_read = NULL;
}

void
vault_destroy(struct vault *vault)
{
	if (vault == NULL)
		return;
	vault_leave(vault);
	if (vault->to_write != NULL)
		(void)munmap(vault->to_write, vault->size);
	free(vault->runs);
	free(vault->marks);
	free(vault);
}

/* ---- changing ------------------------------------------------------------ */

/* Finds `run` free slots in a row. UINT32_MAX: there are none. */
static uint32_t
vault_find_room(struct vault *v, uint32_t run)
{
	uint32_t at = v->full, first_free = UINT32_MAX, found = 0;

	while (at < v->slots && found < run) {
		if (v->runs[at] > 0) {
			at += v->runs[at];
			found = 0;
			continue;
		}
		if (first_free == UINT32_MAX)
			first_free = at;
		found++;
		at++;
	}
	v->full = first_free != UINT32_MAX ? first_free : v->slots;
	return found == run ? at - run : UINT32_MAX;
}

enum nsd_err
vault_add(struct vault *vault, const uint8_t *secret, size_t len,
	struct vault_place *place)
{
	uint32_t run = vault_run(len);
	uint32_t at = vault_find_room(vault, run);
	struct vault_slot *slot;

	if (at == UINT32_MAX)
		return NSD_E_LIMIT;
	if (++vault->last_id == 0)
		vault->last_id = 1;
	slot = &vault->to_write[at];
	slot->len = (uint32_t)len;
	if (len > 0)
		memcpy(slot->octets, secret, len);
	vault->runs[at] = run;
	vault->marks[at] = 0;
	*place = (struct vault_place){at, vault->last_id};
	__atomic_store_n(&slot->id, place->id, __ATOMIC_RELEASE);
	return NSD_OK;
}

static void
vault_wipe(struct vault *vault, uint32_t at)
{
	struct vault_slot *slot = &vault->to_write[at];

	__atomic_store_n(&slot->id, 0, __ATOMIC_RELAXED);
	/* Release: a reader that sees other octets sees the id gone. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	explicit_bzero(slot, (size_t)vault->runs[at] * SLOT_SIZE);
	vault->runs[at] = 0;
	if (vault->full > at)
		vault->full = at;
}

void
vault_remove(struct vault *vault, struct vault_place place)
{
	if (place.id != 0 && place.at < vault->slots
		&& vault->runs[place.at] > 0
		&& vault->to_write[place.at].id == place.id)
		vault_wipe(vault, place.at);
}

void
vault_mark(struct vault *vault, struct vault_place place)
{
	if (place.id != 0 && place.at < vault->slots
		&& vault->to_write[place.at].id == place.id)
		vault->marks[place.at] = 1;
}

void
vault_sweep(struct vault *vault)
{
	uint32_t at = 0;

	while (at < vault->slots) {
		uint32_t run = vault->runs[at];

		if (run > 0 && vault->marks[at] == 0)
			vault_wipe(vault, at);
		vault->marks[at] = 0;
		at += run > 0 ? run : 1;
	}
}

/* ---- reading ------------------------------------------------------------- */

const uint8_t *
vault_get(const struct vault *vault, struct vault_place place, size_t *len)
{
	const struct vault_slot *slot;
	uint32_t octets;

	if (vault == NULL || vault->to_read == NULL || place.id == 0
		|| place.at >= vault->slots)
		return NULL;
	slot = &vault->to_read[place.at];
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (__atomic_load_n(&slot->id, __ATOMIC_ACQUIRE) != place.id)
		return NULL;
	octets = __atomic_load_n(&slot->len, __ATOMIC_RELAXED);
	/* The length may be overwritten right now. */
	if (vault_run(octets) > vault->slots - place.at)
		return NULL;
	*len = octets;
	return slot->octets;
}
