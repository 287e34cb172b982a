/*
 * store.h - the zone store: one large reservation of address space over a
 * memfd, written by one process (the loader), read by all others.
 *
 * Objects refer to each other by 32-bit references, counted in granules of 8
 * octets from the start of the store (32 GiB in all), never by pointers: each
 * process maps the store where it likes. Reference 0 is "none".
 *
 * Publishing is RCU across processes: the writer makes new objects, swings a
 * reference (store_publish), and retires what the old one led to; retired
 * objects are used again once every reader has been quiescent since. See
 * doc/store.md.
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
#define STORE_OBJECT_MAX (256u << 20) /* octets in one object */

/* The entry points of the store; each holds one reference. */
enum store_root {
	STORE_ROOT_ZONES,
	STORE_ROOT_COUNT = 16,
};

/* What a reader needs to follow references; pass by pointer, hot. */
struct store_view {
	const uint8_t *base;
};

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

/* ---- main ------------------------------------------------------------- */

struct store; /* the file descriptors and sizes, made before forking */

struct store_options {
	size_t reservation; /* octets; 0: 32 GiB, less where refused */
	unsigned reader_max; /* slots for readers */
	bool huge_pages;    /* ask for them, go on without */
	int self_fds;       /* /proc/self/fd, opened before there was a chroot
			     * without it; 0: by its name */
	bool poison;        /* overwrite freed memory, to find stale reads */
};

enum nsd_err store_create(const struct store_options *options,
	struct store **store) MUST_USE;
void store_destroy(struct store *store);

/*
 * A store that outlasts its processes (`database:`): the same layout in a named
 * file. Its pages are never huge ones.
 */
struct store_file {
	const char *path;
	uid_t owner;       /* whose it must be; a new one is made theirs */
	uint64_t contents; /* the caller's version of what it puts into it */
};

/* What was found at the path, and what follows from it. */
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
	/* Refused: it is left alone, and there is no store. */           \
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
 * Opens the store in a file. Only one that its owner alone may write, that was
 * closed clean, has the layout and contents of this program, and the checksum
 * it was closed with, is attached. Any other store is replaced by an empty one
 * (renamed over it, so that whoever still maps the old one keeps it); what is
 * no store, or not the owner's, is left alone. One process at a time: a lock
 * stays as long as any process has the store or a mapping of it.
 * in: options as for store_create; reservation counts for a new file only.
 * returns NSD_OK (report->state ATTACHED to READERS), NSD_E_DENIED (FOREIGN to
 * IN_USE), NSD_E_SYSTEM, NSD_E_MEMORY. The report is always set.
 * Blocks: reads all that is used in the file (0.2 s a GiB if it is cached).
 */
enum nsd_err store_open_file(const struct store_options *options,
	const struct store_file *file, struct store **store,
	struct store_file_report *report) MUST_USE;

/*
 * Gives up a store that lies in a file, when nobody uses it any more, but for
 * the file itself, which stays locked: for store_writer_close_into. Release with
 * store_destroy. returns its descriptor, lent until then.
 */
int store_keep_file(struct store *store);

/* Frees the slot of a reader that died, so that it holds nothing back. Any
 * role that keeps the store handle (main). */
void store_reader_clear(struct store *store, unsigned slot);

/* ---- readers ---------------------------------------------------------- */

struct store_reader;

/*
 * After the fork: maps the store read-only (it can never be mapped writable
 * again by this process: the descriptors are closed) and takes the slot.
 * name (up to 15 octets) is for people: "server 1". The reader starts offline.
 * In the process that made the store (tools, tests) the descriptors stay open;
 * beside an open writer the reader borrows its mapping: close the writer last.
 */
enum nsd_err store_reader_open(struct store *store, unsigned slot,
	const char *name, struct store_reader **reader) MUST_USE;
void store_reader_close(struct store_reader *reader);
const struct store_view *store_reader_view(const struct store_reader *reader);

/*
 * Between batches. online: from here on references may be followed.
 * quiescent: drops all references held and goes on with the newest version
 * (same as offline+online, cheaper). offline: before sleeping; holds nothing.
 * Cost: a cache line of its own and one barrier.
 */
void store_reader_online(struct store_reader *reader);
void store_reader_quiescent(struct store_reader *reader);
void store_reader_offline(struct store_reader *reader);

/*
 * Pins the version that is seen now, while online: what is reached from its
 * roots before the reader is next quiescent or offline, and what can be reached
 * from there later on without a root or a cell that store_publish_ref swings,
 * stays until unpin. For what lasts (AXFR out, write-back by a forked child).
 * It holds back what was there when it was taken, and what shares a span of
 * 64 KiB with that; not what comes and goes meanwhile.
 * returns NSD_OK, NSD_E_BUG if offline.
 */
struct store_pin {
	size_t index; /* private */
};
enum nsd_err store_reader_pin(struct store_reader *reader,
	struct store_pin *pin) MUST_USE;
void store_reader_unpin(struct store_reader *reader, struct store_pin *pin);

/* Reads a root with acquire order. */
store_ref store_root(const struct store_view *view, enum store_root root);

/* Reads a reference inside an object that store_publish_ref may swing. */
static inline store_ref
store_load_ref(const store_ref *cell)
{
	return __atomic_load_n(cell, __ATOMIC_ACQUIRE);
}

/* ---- writer ----------------------------------------------------------- */

struct store_writer; /* the one writable mapping */
struct store_heap;   /* an allocator of one thread */

enum nsd_err store_writer_open(struct store *store,
	struct store_writer **writer) MUST_USE;
void store_writer_close(struct store_writer *writer);
/*
 * As store_writer_close, and if the store is in a file, leaves that so that
 * store_open_file attaches to it: flushed, with its checksum, marked clean. All
 * other heaps must be destroyed. Readers may still be there; what is retired
 * counts as free in the file. Whatever happens before the very end leaves an
 * unclean file. NSD_E_SYSTEM (errno): it stays unclean; the writer is closed.
 * Blocks until all is on the disk.
 */
enum nsd_err store_writer_close_clean(struct store_writer *writer) MUST_USE;
/*
 * The same for a store in memory: leaves what it holds in a file (of
 * store_keep_file), in the place of what was there. contents as in store_file.
 */
enum nsd_err store_writer_close_into(struct store_writer *writer, int fd,
	uint64_t contents) MUST_USE;
/*
 * Closes the writer of a store whose contents are of no use, which nobody
 * reads, and opens one of the same store with nothing in it. On failure
 * *writer is NULL.
 */
enum nsd_err store_writer_empty(struct store_writer **writer) MUST_USE;
const struct store_view *store_writer_view(const struct store_writer *writer);

/*
 * A heap gives memory to one thread at a time; the writer has one to begin
 * with, more are for building in parallel. Destroying a heap gives its unused
 * memory back to the writer; the objects stay.
 */
struct store_heap *store_writer_heap(struct store_writer *writer);
/* The writer's other one, for what stays much longer than what is allocated
 * around it: it does not keep spans of others from becoming free. Slower. */
struct store_heap *store_writer_lasting(struct store_writer *writer);
enum nsd_err store_heap_create(struct store_writer *writer,
	struct store_heap **heap) MUST_USE;
void store_heap_destroy(struct store_heap *heap);
const struct store_view *store_heap_view(const struct store_heap *heap);

/*
 * Gives len octets (1..STORE_OBJECT_MAX), aligned to 8, zeroed only if fresh:
 * do not rely on it. Sizes are rounded up to a multiple of the granule or to a
 * size class near it.
 * returns the writable address with *ref set, or NULL when memory, address
 * space or the file system is full (*ref untouched).
 */
void *store_alloc(struct store_heap *heap, size_t len, store_ref *ref) MUST_USE;

/* The writable address of an object. Only for objects not yet published, or
 * for cells that readers load with store_load_ref. */
void *store_edit(struct store_heap *heap, store_ref ref);

/* Frees an object that no reader can have seen. len as allocated. */
void store_free(struct store_heap *heap, store_ref ref, size_t len);

/* Frees an object that was published and is not reachable any more, after a
 * grace period. Call after the publish that unlinked it, from the writer's
 * thread. */
void store_retire(struct store_writer *writer, store_ref ref, size_t len);

/* Makes a new version visible: swings a root, or a cell inside an object. */
void store_publish(struct store_writer *writer, enum store_root root,
	store_ref ref);
void store_publish_ref(struct store_writer *writer, store_ref *cell,
	store_ref ref);

/* Ends an epoch: what was retired before can be freed once the readers have
 * moved on. Then frees what can be freed now; returns octets still waiting.
 * Cheap; call after each publish and from a timer. */
size_t store_reclaim(struct store_writer *writer);

/*
 * For what is changed in place: the epoch of what is published now; and
 * whether every reader that is online has come to what was published in an
 * epoch or is offline. Pins do not count: what a pinned version leads to must
 * not be changed in place. The epoch is ended if it still lasts.
 */
uint64_t store_epoch(const struct store_writer *writer);
bool store_epoch_passed(struct store_writer *writer, uint64_t epoch);

/* Gives unused memory back to the kernel and asks for huge pages for the
 * rest. Slow (milliseconds a MiB at worst): after a load. */
void store_trim(struct store_writer *writer);

/* The same for the next 2 MiB: *at, 0 at first, moves on. False: all is done.
 * Between two steps anything may be done. */
bool store_trim_step(struct store_writer *writer, uint32_t *at);

/*
 * Mark and sweep, for a writer that takes over from one that died: what that
 * one had allocated and not published, or retired and not freed, is used and
 * cannot be reached. begin; mark each object that can be reached from the
 * roots; end retires all others. Between begin and end nothing is allocated,
 * freed, retired or published, and the writer's heap is the only one.
 * Cost: an octet of memory for each 64 of the store's, until end.
 */
struct store_sweep;
enum nsd_err store_sweep_begin(struct store_writer *writer,
	struct store_sweep **sweep) MUST_USE;
/* False if it was marked before (what it refers to is marked, too), or is no
 * object of the store: then end fails. */
bool store_sweep_mark(struct store_sweep *sweep, store_ref ref, size_t len);
/* True if so many octets from there on lie in the store, and can be looked at;
 * else end fails. */
bool store_sweep_check(struct store_sweep *sweep, store_ref ref, size_t len);
/*
 * Frees the sweep. returns NSD_OK with *octets retired; NSD_E_BUG if something
 * was marked that is not allocated, or overlaps: the store is damaged, and
 * nothing is retired.
 */
enum nsd_err store_sweep_end(struct store_sweep *sweep, uint64_t *octets)
	MUST_USE;

/*
 * The reader that has held something back for longest: stuck, or with a pin.
 * The age counts from the first call, with the reader's epoch as it is now,
 * that found it to; so call it about once a second, and log what is too old.
 * now_msec: of any clock that does not jump. False: nothing is held back.
 */
struct store_holder {
	unsigned slot;
	int32_t pid;
	char name[16];
	uint64_t epoch;  /* what was retired since waits */
	bool pinned;     /* by a pin; else it is not quiescent */
	uint64_t octets; /* that wait for it, if for others, too */
	int64_t age_msec;
};
bool store_find_holder(struct store_writer *writer, int64_t now_msec,
	struct store_holder *holder);

struct store_stats {
	uint64_t live;       /* octets in objects, rounding included */
	uint64_t free;       /* octets free in spans with pages: fragments,
			      * and what is kept for growth */
	uint64_t retired;    /* octets waiting for a grace period */
	uint64_t mapped;     /* octets of the file */
	uint64_t retired_total;   /* octets, since the writer was opened */
	uint64_t reclaimed_total; /* of these */
	uint64_t given_back;      /* octets, to the kernel */
	uint64_t epoch;
	uint64_t oldest_reader_epoch; /* 0: nobody online, nothing pinned */
	unsigned pins;       /* versions that are pinned */
};
void store_get_stats(const struct store_writer *writer,
	struct store_stats *stats);

#endif
