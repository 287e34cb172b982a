/* counts.c - shared memory where the roles count. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "ipc/channel.h"
#include "process/counts.h"
#include "process/counts_part.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010 /* Linux 5.1 */
#endif

/* Octets of names of groups: enough for names of usual zones. */
#define NAME_OCTETS 64u
/* Buckets that the table of limits may grow to, unless more are there from the
 * start: of addresses, 128 MiB. */
#define LIMITS_ROOM (UINT32_C(1) << 24)

/* Items of one size, each of whole pages. */
struct counts_area {
	size_t at;   /* in the memory */
	size_t size; /* of an item */
	unsigned count;
};

struct counts {
	uint8_t *to_write;
	uint8_t *to_read; /* the same memory */
	size_t size;
	unsigned workers;
	unsigned hidden; /* workers behind those, which statistics leave out */
	uint32_t room; /* groups */
	uint32_t limits; /* the most buckets */
	uint8_t limits_key[RRL_KEY_LEN];
	bool only_reads[PART_COUNT];
	bool reads_store; /* and so knows how many groups there is room for */
	/* The files of the blocks and of the table of limits, which lie where
	 * these parts do. They end behind the configured size: a process that
	 * writes beyond that dies. Only main and the loader have them. */
	int *fds;
	struct counts_area parts[PART_COUNT];
};

/* ---- making -------------------------------------------------------------- */

static size_t
round_to_page(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (size + page - 1) / page * page;
}

/* Lays out the parts, for a number of groups. False: there is no address space
 * for that. */
static bool
counts_lay_out(struct counts *c, uint32_t room)
{
	unsigned all = c->workers + c->hidden;
	const struct {
		size_t size;
		unsigned count;
	} parts[PART_COUNT] = {
		[PART_BLOCKS] = {counters_block_size(room), all},
		[PART_RSSAC] = {sizeof(struct rssac), all},
		[PART_LATENCY] = {sizeof(struct latency_block), all},
		[PART_BASE] = {counters_block_size(room), 2},
		[PART_RESET] = {sizeof(struct counts_reset)
				+ c->workers * sizeof(uint64_t), 1},
		[PART_STORE] = {sizeof(struct counts_store), 1},
		[PART_PROCESSES] = {(all + COUNTS_OTHERS)
				* sizeof(struct counts_process), 1},
		/* Behind the names is an octet for each group: it is empty. */
		[PART_NAMES] = {textlist_size(room, room * NAME_OCTETS) + room,
				1},
		[PART_LIMITS] = {rrl_octets(c->limits), 1},
		[PART_COOKIES] = {sizeof(struct cookie_share), 1},
		[PART_SWITCH] = {sizeof(struct tap_switch), 1},
		[PART_RINGS] = {sizeof(struct tap_ring), all},
		[PART_CURSORS] = {sizeof(struct tap_cursor), all},
		[PART_TAP] = {sizeof(struct tap_counts), 1},
	};
	size_t octets;

	c->room = room;
	c->size = 0;
	for (unsigned i = 0; i < PART_COUNT; i++) {
		c->parts[i].at = c->size;
		c->parts[i].size = round_to_page(parts[i].size);
		c->parts[i].count = parts[i].count;
		if (__builtin_mul_overflow(c->parts[i].size,
			    (size_t)parts[i].count, &octets)
			|| __builtin_add_overflow(c->size, octets, &c->size))
			return false;
	}
	return c->size <= PTRDIFF_MAX;
}

/* Maps a file twice: to write, and by a descriptor that cannot, to read.
 * Without /proc there is no such descriptor. *to_write, *to_read: where that is
 * to be; NULL: anywhere, which they tell then. */
static bool
map_twice(int fd, size_t size, uint8_t **to_write, uint8_t **to_read)
{
	int flags = MAP_SHARED | MAP_NORESERVE
		| (*to_write != NULL ? MAP_FIXED : 0);
	void *w, *r = MAP_FAILED;
	char path[40];
	int read_fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	read_fd = open(path, O_RDONLY | O_CLOEXEC);
	w = mmap(*to_write, size, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (w != MAP_FAILED)
		r = mmap(*to_read, size, PROT_READ, flags,
			read_fd != -1 ? read_fd : fd, 0);
	if (read_fd != -1)
		close(read_fd);
	if (w != MAP_FAILED && r == MAP_FAILED && *to_write == NULL)
		munmap(w, size);
	if (w == MAP_FAILED || r == MAP_FAILED)
		return false;
	*to_write = w;
	*to_read = r;
	return true;
}

/* ---- parts that grow ----------------------------------------------------- */

static unsigned
grown_count(const struct counts *c)
{
	return c->parts[PART_BLOCKS].count + c->parts[PART_BASE].count + 1;
}

/* The number of the file of limits, the last: main alone has it grow. */
static unsigned
grown_limits(const struct counts *c)
{
	return grown_count(c) - 1;
}

/* The part of a file, and which item of it. */
static const struct counts_area *
grown_find(const struct counts *c, unsigned file, unsigned *item)
{
	const unsigned blocks = c->parts[PART_BLOCKS].count;

	if (file == grown_limits(c)) {
		*item = 0;
		return &c->parts[PART_LIMITS];
	}
	*item = file < blocks ? file : file - blocks;
	return &c->parts[file < blocks ? PART_BLOCKS : PART_BASE];
}

/* Maps the file in the place of the memory. From then on it cannot be made
 * shorter, nor written to but where it is mapped: a process with the descriptor
 * can have it grow, and no more (since Linux 5.1). */
static bool
grown_map(struct counts *c, unsigned file)
{
	unsigned item;
	const struct counts_area *part = grown_find(c, file, &item);
	uint8_t *to_write = c->to_write + part->at + part->size * item;
	uint8_t *to_read = c->to_read + part->at + part->size * item;
	int fd = memfd_create("nsd-counts", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	c->fds[file] = fd;
	if (fd == -1 || !map_twice(fd, part->size, &to_write, &to_read))
		return false;
	(void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK);
	(void)fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE);
	return true;
}

static bool
grown_reaches(int fd, size_t size)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (uint64_t)st.st_size >= size;
}

static bool
grown_extend(const struct counts *c, unsigned file, size_t size)
{
	int fd = c->fds[file];

	size = round_to_page(size);
	/* Another loader may do the same, and be faster. */
	return grown_reaches(fd, size) || ftruncate(fd, (off_t)size) == 0
		|| grown_reaches(fd, size);
}

static bool
blocks_grow(const struct counts *c, uint32_t groups)
{
	for (unsigned i = 0; i < grown_limits(c); i++)
		if (!grown_extend(c, i, counters_block_reach(c->room, groups)))
			return false;
	return true;
}

bool
counts_grow(const struct counts *c, uint32_t groups)
{
	uint64_t *room = &counts_get_store(c)->groups;
	uint64_t wanted = groups + groups / 4 + UINT64_C(16);

	if (wanted > c->room)
		wanted = c->room;
	if ((groups < wanted ? groups : wanted)
		<= __atomic_load_n(room, __ATOMIC_RELAXED))
		return true;
	if (!blocks_grow(c, (uint32_t)wanted))
		return false;
	__atomic_store_n(room, wanted, __ATOMIC_RELEASE);
	return true;
}

bool
counts_grow_limits(const struct counts *c, uint32_t buckets)
{
	return buckets <= c->limits
		&& grown_extend(c, grown_limits(c), rrl_octets(buckets));
}

static void
grown_close(struct counts *c, bool but_blocks)
{
	unsigned first = but_blocks ? grown_limits(c) : 0;

	for (unsigned i = first; c->fds != NULL && i < grown_count(c); i++) {
		if (c->fds[i] != -1)
			close(c->fds[i]);
		c->fds[i] = -1;
	}
}

static bool
grown_open_all(struct counts *c, const struct counts_options *options)
{
	bool done = true;

	c->fds = malloc(grown_count(c) * sizeof(*c->fds));
	if (c->fds == NULL)
		return false;
	memset(c->fds, -1, grown_count(c) * sizeof(*c->fds));
	for (unsigned i = 0; done && i < grown_count(c); i++)
		done = grown_map(c, i);
	return done && blocks_grow(c, 0)
		&& counts_grow_limits(c, options->limits);
}

/* ---- the whole ----------------------------------------------------------- */

static bool
counts_map(struct counts *c, int fd)
{
	return ftruncate(fd, (off_t)c->parts[PART_RINGS].at) == 0
		&& map_twice(fd, c->size, &c->to_write, &c->to_read);
}

/* Maps a file in the place of each ring: the size of one file may be
 * limited. */
static bool
counts_map_rings(struct counts *c)
{
	const struct counts_area *part = &c->parts[PART_RINGS];
	bool done = true;

	for (unsigned i = 0; done && i < part->count; i++) {
		size_t at = part->at + part->size * i;
		uint8_t *to_write = c->to_write + at;
		uint8_t *to_read = c->to_read + at;
		int fd = memfd_create("nsd-ring", MFD_CLOEXEC);

		done = fd != -1 && ftruncate(fd, (off_t)part->size) == 0
			&& map_twice(fd, part->size, &to_write, &to_read);
		if (fd != -1)
			close(fd);
	}
	return done;
}

/* The rings have one size, however many groups there are. */
static size_t
rings_size(const struct counts *c)
{
	return c->parts[PART_RINGS].size * c->parts[PART_RINGS].count;
}

/* The octets that both mappings may take: where address space is limited, zones
 * need it more. */
static size_t
counts_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_AS, &limit) == -1
		|| limit.rlim_cur == RLIM_INFINITY)
		return SIZE_MAX;
	return (size_t)limit.rlim_cur / 64;
}

static enum nsd_err
counts_open(struct counts *c, const struct counts_options *options)
{
	int fd = memfd_create("nsd-counts", MFD_CLOEXEC);
	uint32_t room = options->groups_max;
	size_t limit = counts_limit();
	bool mapped = false;

	/* Pages that are not used take no memory. */
	c->limits = options->limits < LIMITS_ROOM ? LIMITS_ROOM
		: options->limits;
	if (fd != -1 && limit == SIZE_MAX && counts_lay_out(c, room)
		&& counts_map(c, fd)) {
		close(fd);
		return NSD_OK;
	}
	/* Where address space, or the size of files, is limited, the server has
	 * fewer groups. */
	c->limits = options->limits;
	for (; fd != -1 && !mapped; room /= 2) {
		mapped = counts_lay_out(c, room)
			&& (c->size - rings_size(c) <= limit / 2 || room == 0)
			&& counts_map(c, fd);
		if (room == 0)
			break;
	}
	if (!mapped)
		log_error("no memory for statistics: %s", strerror(errno));
	if (fd != -1)
		close(fd);
	return mapped ? NSD_OK : NSD_E_SYSTEM;
}

/* The keys of limits, and of all figures of RSSAC002. */
static enum nsd_err
counts_make_keys(struct counts *c)
{
	uint64_t key[2];

	if (getrandom(key, sizeof(key), 0) != sizeof(key)
		|| getrandom(c->limits_key, sizeof(c->limits_key), 0)
			!= sizeof(c->limits_key)) {
		log_error("getrandom: %s", strerror(errno));
		return NSD_E_SYSTEM;
	}
	for (unsigned i = 0; i < c->parts[PART_RSSAC].count; i++)
		memcpy(counts_get_rssac(c, i)->key, key, sizeof(key));
	return NSD_OK;
}

/* Both mappings of a part stay out of core files. */
static void
part_hide(const struct counts *c, const struct counts_area *part)
{
	size_t size = part->size * part->count;

	(void)madvise(c->to_write + part->at, size, MADV_DONTDUMP);
	(void)madvise(c->to_read + part->at, size, MADV_DONTDUMP);
}

enum nsd_err
counts_create(const struct counts_options *options, struct counts **out)
{
	struct counts *c = calloc(1, sizeof(*c));
	enum nsd_err err;

	if (c == NULL)
		return NSD_E_MEMORY;
	c->workers = options->workers;
	c->hidden = options->hidden;
	c->reads_store = true;
	err = counts_open(c, options);
	if (err == NSD_OK
		&& (!grown_open_all(c, options) || !counts_map_rings(c))) {
		log_error("no memory for statistics: %s", strerror(errno));
		err = NSD_E_SYSTEM;
	}
	if (err == NSD_OK)
		err = counts_make_keys(c);
	if (err == NSD_OK) {
		part_hide(c, &c->parts[PART_COOKIES]);
		part_hide(c, &c->parts[PART_RINGS]);
	}
	if (err != NSD_OK) {
		counts_destroy(c);
		return err;
	}
	*out = c;
	return NSD_OK;
}

void
counts_destroy(struct counts *c)
{
	if (c == NULL)
		return;
	if (c->to_write != NULL) {
		grown_close(c, false);
		munmap(c->to_write, c->size);
		munmap(c->to_read, c->size);
	}
	free(c->fds);
	free(c);
}

/* ---- parts by role ------------------------------------------------------- */

/* The roles that write a part, and that read it. Main keeps all parts. */
static const struct {
	unsigned writers, readers; /* sets of enum ipc_role */
} counts_rights[PART_COUNT] = {
	[PART_BLOCKS] = {ROLE_WORKER, ROLE_XFRD},
	[PART_RSSAC] = {ROLE_WORKER, 0},
	[PART_LATENCY] = {ROLE_WORKER, ROLE_XFRD},
	[PART_BASE] = {ROLE_XFRD, 0},
	[PART_RESET] = {ROLE_XFRD, 0},
	[PART_STORE] = {ROLE_LOADER, ROLE_XFRD},
	[PART_PROCESSES] = {0, ROLE_XFRD},
	[PART_NAMES] = {ROLE_LOADER, ROLE_XFRD},
	[PART_LIMITS] = {ROLE_WORKER, 0},
	[PART_COOKIES] = {0, ROLE_WORKER},
	[PART_SWITCH] = {0, ROLE_WORKER | ROLE_COLLECTOR | ROLE_XFRD},
	[PART_RINGS] = {ROLE_WORKER, ROLE_COLLECTOR},
	[PART_CURSORS] = {ROLE_COLLECTOR, ROLE_WORKER},
	[PART_TAP] = {ROLE_COLLECTOR, ROLE_XFRD},
};

static void
unmap_pages(uint8_t *at, size_t size)
{
	if (size > 0 && munmap(at, size) == -1)
		abort();
}

/* Unmaps the items of a part but that of a worker. A single item is shared by
 * all workers. */
static void
part_leave(const struct counts *c, const struct counts_area *part,
	unsigned index)
{
	uint8_t *at = c->to_write + part->at;
	size_t before = part->size * index;

	if (part->count <= 1)
		return;
	unmap_pages(at, before);
	unmap_pages(at + before + part->size,
		part->size * part->count - before - part->size);
}

void
counts_leave(struct counts *c, enum ipc_role role, unsigned index)
{
	for (unsigned i = 0; i < PART_COUNT; i++) {
		const struct counts_area *part = &c->parts[i];
		size_t size = part->size * part->count;
		bool writes = (counts_rights[i].writers & role) != 0;
		bool reads = (counts_rights[i].readers & role) != 0;

		if (!writes)
			unmap_pages(c->to_write + part->at, size);
		else if (role == ROLE_WORKER)
			part_leave(c, part, index);
		if (!reads)
			unmap_pages(c->to_read + part->at, size);
		c->only_reads[i] = !writes;
	}
	c->reads_store = role == ROLE_XFRD;
	grown_close(c, role == ROLE_LOADER);
}

/* ---- access -------------------------------------------------------------- */

void *
counts_part_get(const struct counts *c, enum counts_part which, unsigned index)
{
	const struct counts_area *part = &c->parts[which];

	assert(index < part->count);
	return (c->only_reads[which] ? c->to_read : c->to_write) + part->at
		+ part->size * index;
}

unsigned
counts_workers(const struct counts *c)
{
	return c->workers;
}

/* Rows of groups that the loader has made no room for are not there, whatever
 * the block says. It hands out no such group to a worker. */
static void
block_init(const struct counts *c, struct counters_block *block, void *memory)
{
	counters_block_init(block, memory, c->room);
	if (c->reads_store) {
		uint64_t groups = __atomic_load_n(
			&counts_get_store(c)->groups, __ATOMIC_ACQUIRE);

		if (groups < block->room)
			block->room = (uint32_t)groups;
	}
}

void
counts_get_block(const struct counts *c, unsigned worker,
	struct counters_block *block)
{
	block_init(c, block, counts_part_get(c, PART_BLOCKS, worker));
}

struct rssac *
counts_get_rssac(const struct counts *c, unsigned worker)
{
	return counts_part_get(c, PART_RSSAC, worker);
}

struct latency_block *
counts_get_latency(const struct counts *c, unsigned worker)
{
	return counts_part_get(c, PART_LATENCY, worker);
}

void
counts_get_base(const struct counts *c, struct counters_block *block)
{
	block_init(c, block,
		counts_part_get(c, PART_BASE, counts_get_reset(c)->which & 1));
}

void
counts_get_next_base(const struct counts *c, struct counters_block *block)
{
	block_init(c, block,
		counts_part_get(c, PART_BASE, ~counts_get_reset(c)->which & 1));
}

void
counts_take_next_base(const struct counts *c)
{
	counts_get_reset(c)->which ^= 1;
}

struct counts_reset *
counts_get_reset(const struct counts *c)
{
	return counts_part_get(c, PART_RESET, 0);
}

struct counts_store *
counts_get_store(const struct counts *c)
{
	return counts_part_get(c, PART_STORE, 0);
}

void
counts_get_names(const struct counts *c, struct textlist *names)
{
	textlist_init(names, counts_part_get(c, PART_NAMES, 0), c->room,
		c->room * NAME_OCTETS);
}

/* NULL: there is no such group. */
static uint8_t *
counts_find_empty(const struct counts *c, uint32_t group)
{
	uint8_t *names = counts_part_get(c, PART_NAMES, 0);

	return group >= 1 && group <= c->room
		? names + textlist_size(c->room, c->room * NAME_OCTETS) + group
			- 1
		: NULL;
}

void
counts_set_empty(const struct counts *c, uint32_t group, bool empty)
{
	uint8_t *at = counts_find_empty(c, group);

	/* A write of the same value would make a page that is absent. */
	if (at != NULL && *at != empty)
		__atomic_store_n(at, empty, __ATOMIC_RELAXED);
}

bool
counts_is_empty(const struct counts *c, uint32_t group)
{
	const uint8_t *at = counts_find_empty(c, group);

	return at != NULL && __atomic_load_n(at, __ATOMIC_RELAXED) != 0;
}

/* The number may come from a process that was taken over. */
void
counts_get_limits(const struct counts *c, uint32_t buckets,
	struct rrl *limits)
{
	buckets = buckets < 1 ? 1 : buckets > c->limits ? c->limits : buckets;
	rrl_init(limits, counts_part_get(c, PART_LIMITS, 0), buckets,
		c->limits_key);
}

struct cookie_share *
counts_get_cookies(const struct counts *c)
{
	return counts_part_get(c, PART_COOKIES, 0);
}
