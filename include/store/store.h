/*
 * store.h - the zone store: one large file in memory, written by one process
 * (the loader) and read by all others. This header is for main and the readers;
 * the writer's functions are in store/writer.h.
 *
 * Objects refer to each other by 32-bit references, counted in granules of 8
 * octets from the start of the store (32 GiB in all), never by pointers: each
 * process maps the store where it likes. Reference 0 is "none".
 *
 * Publishing is RCU across processes. The writer makes new objects, switches a
 * reference to them, and retires the objects that the old reference led to.
 * Memory of retired objects is used again once every reader has been quiescent
 * since. See doc/store.md.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

typedef uint32_t store_ref;

#define STORE_GRANULE 8u
#define STORE_NONE 0u

/* The entry points of the store; each holds one reference. */
enum store_root {
	STORE_ROOT_ZONES,    /* zone/table.h */
	STORE_ROOT_SETTINGS, /* settings/settings.h */
	STORE_ROOT_COUNT = 16,
};

/* The mapping that references are relative to. Hot: pass it by pointer. */
struct store_view {
	const uint8_t *base;
};

/* The object that ref leads to. STORE_NONE leads to no object: look first. */
static inline const void *
store_get(const struct store_view *view, store_ref ref)
{
	return view->base + (size_t)ref * STORE_GRANULE;
}

static inline void
store_prefetch(const struct store_view *view, store_ref ref)
{
	__builtin_prefetch(view->base + (size_t)ref * STORE_GRANULE);
}

/* ---- main ---------------------------------------------------------------- */

struct store; /* the file descriptors and sizes, made before forking */
#define STORE_DESCRIPTORS 3u /* of a store */

struct store_options {
	size_t reservation; /* octets; 0: 32 GiB, less where refused */
	unsigned reader_max; /* slots for readers */
	bool huge_pages;    /* ask for them, go on without */
	int self_fds;       /* /proc/self/fd, opened before a chroot that has
			     * none; 0: open it by its name */
	bool poison;        /* overwrite freed memory, to find stale reads */
};

/*
 * Makes an empty store in memory.
 * out: *store, the caller's; destroy it with store_destroy.
 * returns NSD_OK; NSD_E_MEMORY if there is no memory, or less than 64 MiB of
 * address space; NSD_E_SYSTEM (errno) if the files cannot be made or opened.
 */
enum nsd_err store_create(const struct store_options *options,
	struct store **store) MUST_USE;

/* Closes the files and frees the store; NULL is fine. Mappings stay. */
void store_destroy(struct store *store);

/*
 * A store that outlasts its processes (`database:`): the same layout in a named
 * file. Its pages are never huge ones.
 */
struct store_file {
	const char *path;
	uid_t owner;       /* must own the file; becomes the owner of a new
			    * one */
	uint64_t contents; /* version of the contents' layout, by the caller */
};

/* The state of the file at the path, which decides whether it is served from,
 * replaced or refused. */
#define STORE_FILE_LIST(X)                                                \
	/* Served from as it is. */                                       \
	X(STORE_FILE_ATTACHED, "as it was left by a clean stop")          \
	/* A new, empty one stands there now. */                          \
	X(STORE_FILE_CREATED, "there was none")                           \
	X(STORE_FILE_UNCLEAN, "it was not closed by a clean stop")        \
	X(STORE_FILE_LAYOUT, "it is of another version")                  \
	X(STORE_FILE_MACHINE, "it is of another kind of machine")         \
	X(STORE_FILE_LENGTH, "its length is not that of its contents")    \
	X(STORE_FILE_ALTERED, "its checksum is wrong")                    \
	X(STORE_FILE_SPACE, "there is too little address space for it")   \
	X(STORE_FILE_READERS, "processes of a former server still read it") \
	/* Refused: the file is left alone, and there is no store. */     \
	X(STORE_FILE_FOREIGN, "it is no zone store")                      \
	X(STORE_FILE_KIND, "it is not a regular file")                    \
	X(STORE_FILE_OWNER, "it belongs to another user")                 \
	X(STORE_FILE_MODE, "others than its owner may write to it")       \
	X(STORE_FILE_IN_USE, "another server uses it")                    \
	X(STORE_FILE_SYSTEM, "system call failed") /* error says why */

#define STORE_FILE_ENUM(code, text) code,
enum store_file_state { STORE_FILE_LIST(STORE_FILE_ENUM) };
#undef STORE_FILE_ENUM

struct store_file_report {
	enum store_file_state state;
	int error;       /* errno if a system call failed, else 0 */
	uint64_t octets; /* of the file that were read to check it */
};

/* The fixed English text of a state; never NULL. */
const char *store_file_state_text(enum store_file_state state);

/*
 * Opens the store in a file.
 *
 * A store is attached to only if its owner alone may write to it, it was closed
 * by a clean stop, it has the layout and contents of this program, and its
 * checksum is right. Any other store is replaced by an empty one, renamed over
 * it, so whoever still maps the old one keeps it. A file that is no store, or
 * not the owner's, is left alone. One server at a time: a lock lasts as long as
 * any process has the store or a mapping of it.
 *
 * in: options as for store_create; reservation counts for a new file only.
 * out: *store, the caller's; destroy it with store_destroy. *report, always.
 * returns by report->state:
 *   ATTACHED to READERS: NSD_OK;
 *   FOREIGN to IN_USE: NSD_E_DENIED;
 *   SYSTEM: NSD_E_SYSTEM (errno, as in report->error) if the file cannot be
 *   opened, read, written or replaced; NSD_E_MEMORY if there is no memory, or
 *   less than 64 MiB of address space.
 * Blocks: reads all that is used in the file (0.2 s a GiB if it is cached).
 */
enum nsd_err store_open_file(const struct store_options *options,
	const struct store_file *file, struct store **store,
	struct store_file_report *report) MUST_USE;

/*
 * Closes all of a store in a named file but the file itself, which stays
 * locked: store_writer_close_into can write to it later. Nobody may use the
 * store any more. Returns the file's descriptor, which stays the store's until
 * store_destroy.
 */
int store_keep_file(struct store *store);

/* Clears the slot of a reader that died, so that it holds nothing back. Any
 * process that has the descriptors of the store (main). */
void store_reader_clear(struct store *store, unsigned slot);

/* ---- readers ------------------------------------------------------------- */

struct store_reader;

/*
 * Maps the store read-only and takes a slot. Call it after the fork: the
 * descriptors are closed then, so this process can never map the store
 * writable. The reader starts offline.
 *
 * In the process that made the store (tools, tests) the descriptors stay open.
 * Beside an open writer the reader borrows the writer's mapping: close the
 * writer last.
 *
 * in: name, for people ("server 1"); its first 15 octets count.
 * out: *reader, the caller's; close it with store_reader_close.
 * returns NSD_OK; NSD_E_LIMIT if there is no such slot; NSD_E_MEMORY;
 * NSD_E_DENIED if this process has closed the descriptors before; NSD_E_SYSTEM
 * (errno) if a mapping is refused.
 */
enum nsd_err store_reader_open(struct store *store, unsigned slot,
	const char *name, struct store_reader **reader) MUST_USE;

/* Releases all pins, the slot and the mapping; NULL is fine. */
void store_reader_close(struct store_reader *reader);

/* The view is the reader's; it lasts until the reader is closed. */
const struct store_view *store_reader_view(const struct store_reader *reader);

/*
 * Between batches:
 * online: from here on references may be followed;
 * quiescent: drops all references held and goes on with the newest version, as
 * offline and online would, but cheaper;
 * offline: holds nothing. For before sleeping: workers rest behind each batch.
 * Cost: a cache line that no other process writes to, and one barrier at most.
 */
void store_reader_online(struct store_reader *reader);
void store_reader_quiescent(struct store_reader *reader);
void store_reader_offline(struct store_reader *reader);

struct store_pin {
	size_t index; /* private */
};

/*
 * Pins the version that is seen now. Two things stay until unpin: what the
 * reader reaches from the roots before it is next quiescent or offline, and
 * what can be reached from there later on without loading a root, or a cell
 * that store_publish_ref switches. For what lasts: AXFR out, write-back,
 * a catalog that is compared.
 *
 * A pin holds back what was there when it was taken, and what shares a span of
 * 64 KiB with that. It does not hold back what comes and goes meanwhile.
 * returns NSD_OK; NSD_E_BUG if the reader is offline.
 */
enum nsd_err store_reader_pin(struct store_reader *reader,
	struct store_pin *pin) MUST_USE;

/* True if the pin was taken in an epoch, or before; or if the reader has so
 * many that this one shares its place with one that was. */
bool store_reader_has_pinned(const struct store_reader *reader,
	const struct store_pin *pin, uint64_t epoch);

/* Once for each pin; online or offline. */
void store_reader_unpin(struct store_reader *reader, struct store_pin *pin);

/* Reads a root with acquire order. */
store_ref store_root(const struct store_view *view, enum store_root root);

/* Reads a reference inside an object that store_publish_ref may switch. */
static inline store_ref
store_load_ref(const store_ref *cell)
{
	return __atomic_load_n(cell, __ATOMIC_ACQUIRE);
}

#endif
