/*
 * writer.h - the functions that write the store: for the loader, tools and
 * tests. No code that runs in a worker includes this.
 *
 * Unless said otherwise, a function is for the thread that opened the writer.
 */
#ifndef STORE_WRITER_H
#define STORE_WRITER_H

#include "store/store.h"

#define STORE_OBJECT_MAX (256u << 20) /* octets in one object */

struct store_writer; /* the one writable mapping */
struct store_heap;   /* an allocator of one thread */

/* ---- opening and closing ------------------------------------------------ */

/*
 * Maps the store read-write. One writer at a time.
 * out: *writer, the caller's; close it with one of the functions below.
 * returns NSD_OK; NSD_E_DENIED if this process has closed the descriptors, or
 * has a writer open; NSD_E_MEMORY; NSD_E_SYSTEM (errno) if a mapping is refused
 * or, for a store in a file, if that cannot be marked unclean or has no room
 * for all its pages.
 */
enum nsd_err store_writer_open(struct store *store,
	struct store_writer **writer) MUST_USE;

/* Closes the writer; NULL is fine. Published objects stay for the readers and
 * for the next writer. A store in a file stays unclean. */
void store_writer_close(struct store_writer *writer);

/*
 * Closes the writer. A store in a file is left so that store_open_file attaches
 * to it: flushed, with its checksum, marked clean. All heaps made by
 * store_heap_create must be destroyed. There must be no reader
 * (store_count_readers): retired objects become free. A crash before the very
 * end leaves an unclean file.
 * returns NSD_OK; NSD_E_SYSTEM (errno: the file cannot be read, written or
 * flushed) or NSD_E_MEMORY, and then the file stays unclean. The writer is
 * closed in any case.
 * Blocks until all is on the disk.
 */
enum nsd_err store_writer_close_clean(struct store_writer *writer) MUST_USE;

/*
 * Closes the writer of a store in memory, and leaves its contents in a file (fd
 * of store_keep_file), in place of the old contents. contents as in store_file.
 * returns as store_writer_close_clean.
 */
enum nsd_err store_writer_close_into(struct store_writer *writer, int fd,
	uint64_t contents) MUST_USE;

/*
 * Has *heartbeat raised now and then while the store is worked on, by any
 * thread: when memory is taken and freed, and for objects that are marked. It
 * shows others that a long piece of work goes on. Keeps heartbeat until the
 * writer is closed. NULL: none.
 */
void store_writer_set_heartbeat(struct store_writer *writer,
	uint64_t *heartbeat);

/* The view is the writer's; it lasts until the writer is closed. Any thread. */
const struct store_view *store_writer_view(const struct store_writer *writer);

/* ---- objects ------------------------------------------------------------ */

/*
 * A heap gives memory to one thread at a time. The writer has one to begin
 * with; more are for building in parallel. Both of the writer's own heaps last
 * until the writer is closed.
 */
struct store_heap *store_writer_heap(struct store_writer *writer);

/* The writer's heap for objects that stay much longer than those allocated
 * around them. It has spans of its own, so that other spans can become free.
 * Slower. */
struct store_heap *store_writer_long_lived(struct store_writer *writer);

/*
 * Makes a further heap. Any thread.
 * out: *heap, the caller's; destroy it before the writer is closed.
 * returns NSD_OK, NSD_E_MEMORY.
 */
enum nsd_err store_heap_create(struct store_writer *writer,
	struct store_heap **heap) MUST_USE;

/* Gives unused memory of a heap back to the writer; the objects stay. NULL is
 * fine. Any thread. */
void store_heap_destroy(struct store_heap *heap);

/* The writer's view. Any thread. */
const struct store_view *store_heap_view(const struct store_heap *heap);

/*
 * Gives len octets (1..STORE_OBJECT_MAX), aligned to 8, with any contents. The
 * size is rounded up to a multiple of the granule. The heap's thread.
 * returns the writable address with *ref set, or NULL (*ref untouched) if len
 * is too large, or when memory, address space or the file system is full.
 */
void *store_alloc(struct store_heap *heap, size_t len, store_ref *ref) MUST_USE;

/* The count of calls of store_alloc that found no room since the writer was
 * opened. Any thread. */
uint32_t store_count_lacks(const struct store_writer *writer);

/* True if the last such call found the store itself full: an empty one would
 * have had room. Any thread. */
bool store_is_full(struct store_writer *writer);

#define STORE_LACK_TEXT_MAX 400

/*
 * Explains the last such call, for people: what is full, how large that is, and
 * what would help. One line, cut to `size` octets. Any thread.
 */
void store_explain_lack(struct store_writer *writer, char *text, size_t size);

/* The writable address of an object. Only for objects not yet published, or
 * for cells that readers load with store_load_ref. */
void *store_edit(struct store_heap *heap, store_ref ref);

/* Frees an object that no reader can have seen; STORE_NONE is fine. len as
 * allocated. The heap's thread; any heap will do. */
void store_free(struct store_heap *heap, store_ref ref, size_t len);

/* ---- publishing --------------------------------------------------------- */

/* Makes a new version visible: switches a root, or a cell inside an object. */
void store_publish(struct store_writer *writer, enum store_root root,
	store_ref ref);
void store_publish_ref(struct store_writer *writer, store_ref *cell,
	store_ref ref);

/* Frees an object that was published and cannot be reached any more, after a
 * grace period; STORE_NONE is fine. Call it after the publish that unlinked
 * the object. len as allocated. Any thread. */
void store_retire(struct store_writer *writer, store_ref ref, size_t len);

/* Ends an epoch: objects that were retired before can be freed once the readers
 * have moved on. Then frees the objects that can be freed now. Returns octets
 * still waiting. Cheap; call it after each publish and from a timer. */
size_t store_reclaim(struct store_writer *writer);

/* The current epoch, to be noted with an object that is changed in place. */
uint64_t store_epoch(const struct store_writer *writer);

/*
 * True if every online reader has come to the versions that were published in
 * an epoch. The epoch is ended if it still lasts. Pins do not count: objects
 * that a pinned version leads to must not be changed in place.
 */
bool store_epoch_passed(struct store_writer *writer, uint64_t epoch);

/* Ends the epoch. Call it before much is built: an epoch lasts as long as
 * nothing is retired, and objects in new spans of the epoch of a pin wait for
 * that pin as if they were part of its version. */
void store_end_epoch(struct store_writer *writer);

/* ---- memory ------------------------------------------------------------- */

/* Gives unused memory back to the kernel and asks for huge pages for the
 * rest. Slow (milliseconds a MiB at worst): for after a load. */
void store_trim(struct store_writer *writer);

/* Trims the next 2 MiB. *at moves on; it is 0 at first. False: all is done.
 * Between two steps the store may be changed. */
bool store_trim_step(struct store_writer *writer, uint32_t *at);

/*
 * Mark and sweep, for a writer that takes over from a dead one. Objects that
 * the dead one had allocated and not published, or retired and not freed, are
 * in use and cannot be reached. Begin; mark each object that can be reached
 * from the roots; end retires all others. Between begin and end nothing is
 * allocated, freed, retired or published, and there are no heaps but the
 * writer's.
 * Cost, until end: an octet of memory for each 64 of the store's.
 */
struct store_sweep;

/* Begins a sweep. out: *sweep, the caller's until store_sweep_end. returns
 * NSD_OK, NSD_E_MEMORY. */
enum nsd_err store_sweep_begin(struct store_writer *writer,
	struct store_sweep **sweep) MUST_USE;

/* Marks an object. False if it was marked before (its references are marked,
 * too). False also if it lies outside the store; then end fails. */
bool store_sweep_mark(struct store_sweep *sweep, store_ref ref, size_t len);

/* True if an object begins at ref, and len octets from there on lie in the
 * store and can be looked at. If not, end fails. */
bool store_sweep_check(struct store_sweep *sweep, store_ref ref, size_t len);

/*
 * Retires the objects that are not marked, and frees the sweep.
 * out: *octets retired, on success.
 * returns NSD_OK; NSD_E_BUG if an object was marked that is not allocated, or
 * overlaps another one, or lies outside: the store is damaged, and nothing is
 * retired.
 */
enum nsd_err store_sweep_end(struct store_sweep *sweep, uint64_t *octets)
	MUST_USE;

/* ---- the state of the store --------------------------------------------- */

/* A reader that keeps objects from being freed: stuck, or with a pin. */
struct store_holder {
	unsigned slot;
	int32_t pid;
	char name[16];
	uint64_t epoch;  /* the oldest epoch that it is in: objects retired
			  * since wait */
	bool pinned;     /* by a pin; false: the reader is not quiescent */
	uint64_t octets; /* octets that wait for it, perhaps for others */
	int64_t age_msec; /* since `epoch` ended, or a seventh less */
	uint64_t served; /* octets: the most that live objects had since `epoch`
			  * began, or a bit before */
};

/*
 * Describes what the reader in a slot (below store_get_reader_max) keeps from
 * being freed. Its age is measured by the writer's own epochs: nothing that the
 * reader writes makes it younger. So call this about once a second, for all
 * slots, while objects wait.
 * in: now_msec, of any clock that does not jump.
 * False: the reader keeps nothing, and *holder is untouched.
 * Cost: bounded; a look at each pin for each pin that objects wait for.
 */
bool store_get_holder(struct store_writer *writer, unsigned slot,
	int64_t now_msec, struct store_holder *holder);
unsigned store_get_reader_max(const struct store_writer *writer);

/* Finds the reader that has kept objects for longest, by store_get_holder.
 * False: no reader keeps any, and *holder is untouched. */
bool store_find_holder(struct store_writer *writer, int64_t now_msec,
	struct store_holder *holder);

/* Finds the newest epoch that ended at least age_msec ago, by the clock of
 * now_msec; 0: none is known. */
uint64_t store_find_epoch(const struct store_writer *writer, int64_t age_msec,
	int64_t now_msec);

/* The count of readers, by their slots. A dead reader counts until
 * store_reader_clear. */
unsigned store_count_readers(const struct store_writer *writer);

struct store_stats {
	uint64_t live;       /* octets in objects, rounding included */
	uint64_t free;       /* octets free in spans with pages: fragments, and
			      * pages kept for growth */
	uint64_t retired;    /* octets waiting for a grace period */
	uint64_t mapped;     /* octets of the file */
	uint64_t retired_total;   /* octets, since the writer was opened */
	uint64_t reclaimed_total; /* of retired_total */
	uint64_t given_back;      /* octets, to the kernel */
	uint64_t epoch;
	uint64_t oldest_reader_epoch; /* 0: no reader online, no pin */
	unsigned pins;       /* versions that are pinned */
};
void store_get_stats(const struct store_writer *writer,
	struct store_stats *stats);

#endif
