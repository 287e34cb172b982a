/* key_store.c - shared memory with secrets, in slots. */
#include "config.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/key_store.h"

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

struct key_store_slot {
	uint32_t id;
	uint32_t len;
	uint8_t octets[SLOT_SIZE - 8];
};
_Static_assert(sizeof(struct key_store_slot) == SLOT_SIZE,
	"slots are not packed");

struct key_store {
	const struct key_store_slot *to_read;
	struct key_store_slot *to_write; /* of the maker */
	size_t size;                 /* octets */
	uint32_t slots;
	/* The maker alone has these. */
	bool sealed;
	uint32_t *runs;  /* slots of the secret that begins here; 0: none */
	uint8_t *marks;
	uint32_t full;   /* there is no free slot before this one */
	uint32_t last_id;
};

/* ---- making -------------------------------------------------------------- */

static bool
key_store_map(struct key_store *v, int fd)
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
key_store_run(size_t len)
{
	const size_t head = offsetof(struct key_store_slot, octets);

	if (len > (size_t)SLOTS_MAX * SLOT_SIZE)
		return UINT32_MAX;
	return (uint32_t)((head + len + SLOT_SIZE - 1) / SLOT_SIZE);
}

enum nsd_err
key_store_create(size_t count, size_t octets, struct key_store **key_store)
{
	struct key_store *v = calloc(1, sizeof(*v));
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
	mapped = fd != -1 && key_store_map(v, fd);
	if (fd != -1)
		close(fd);
out:
	if (!mapped) {
		key_store_destroy(v);
		return NSD_E_MEMORY;
	}
	*key_store = v;
	return NSD_OK;
}

bool
key_store_is_sealed(const struct key_store *key_store)
{
	return key_store->sealed;
}

void
key_store_leave(struct key_store *key_store)
{
	if (key_store == NULL || key_store->to_read == NULL)
		return;
	(void)munmap((void *)(uintptr_t)key_store->to_read, key_store->size);
	key_store->to_read = NULL;
}

void
key_store_destroy(struct key_store *key_store)
{
	if (key_store == NULL)
		return;
	key_store_leave(key_store);
	if (key_store->to_write != NULL)
		(void)munmap(key_store->to_write, key_store->size);
	free(key_store->runs);
	free(key_store->marks);
	free(key_store);
}

/* ---- changing ------------------------------------------------------------ */

/* Finds `run` free slots in a row. UINT32_MAX: there are none. */
static uint32_t
key_store_find_room(struct key_store *v, uint32_t run)
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
key_store_add(struct key_store *key_store, const uint8_t *secret, size_t len,
	struct key_handle *handle)
{
	uint32_t run = key_store_run(len);
	uint32_t at = key_store_find_room(key_store, run);
	struct key_store_slot *slot;

	if (at == UINT32_MAX)
		return NSD_E_LIMIT;
	if (++key_store->last_id == 0)
		key_store->last_id = 1;
	slot = &key_store->to_write[at];
	slot->len = (uint32_t)len;
	if (len > 0)
		memcpy(slot->octets, secret, len);
	key_store->runs[at] = run;
	key_store->marks[at] = 0;
	*handle = (struct key_handle){at, key_store->last_id};
	__atomic_store_n(&slot->id, handle->id, __ATOMIC_RELEASE);
	return NSD_OK;
}

static void
key_store_wipe(struct key_store *key_store, uint32_t at)
{
	struct key_store_slot *slot = &key_store->to_write[at];

	__atomic_store_n(&slot->id, 0, __ATOMIC_RELAXED);
	/* Release: a reader that sees other octets sees the id gone. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	explicit_bzero(slot, (size_t)key_store->runs[at] * SLOT_SIZE);
	key_store->runs[at] = 0;
	if (key_store->full > at)
		key_store->full = at;
}

void
key_store_remove(struct key_store *key_store, struct key_handle handle)
{
	if (handle.id != 0 && handle.at < key_store->slots
		&& key_store->runs[handle.at] > 0
		&& key_store->to_write[handle.at].id == handle.id)
		key_store_wipe(key_store, handle.at);
}

void
key_store_mark(struct key_store *key_store, struct key_handle handle)
{
	if (handle.id != 0 && handle.at < key_store->slots
		&& key_store->to_write[handle.at].id == handle.id)
		key_store->marks[handle.at] = 1;
}

void
key_store_sweep(struct key_store *key_store)
{
	uint32_t at = 0;

	while (at < key_store->slots) {
		uint32_t run = key_store->runs[at];

		if (run > 0 && key_store->marks[at] == 0)
			key_store_wipe(key_store, at);
		key_store->marks[at] = 0;
		at += run > 0 ? run : 1;
	}
}

/* ---- reading ------------------------------------------------------------- */

const uint8_t *
key_store_get(const struct key_store *key_store, struct key_handle handle,
	size_t *len)
{
	const struct key_store_slot *slot;
	uint32_t octets;

	if (key_store == NULL || key_store->to_read == NULL || handle.id == 0
		|| handle.at >= key_store->slots)
		return NULL;
	slot = &key_store->to_read[handle.at];
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (__atomic_load_n(&slot->id, __ATOMIC_ACQUIRE) != handle.id)
		return NULL;
	octets = __atomic_load_n(&slot->len, __ATOMIC_RELAXED);
	/* The length may be overwritten right now. */
	if (key_store_run(octets) > key_store->slots - handle.at)
		return NULL;
	*len = octets;
	return slot->octets;
}
