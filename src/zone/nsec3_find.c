/* nsec3_find.c - finds the record of a chain that matches or covers a hash,
 * for many hashes at a time. */
#include <endian.h>

#include "base/octets.h"
#include "zone/nsec3_page.h"

#define LANES 32u  /* look-ups that run interleaved */
#define LINE 64u

/* A hash as numbers. */
struct key {
	uint64_t high;
	uint64_t middle;
	uint32_t low;
};

struct lane {
	struct nsec3_find *find;
	struct key key;
	const struct nsec3_page *page;
	const struct nsec3_page *root;
	const uint8_t *next;  /* the hash that follows the page's; or NULL */
	store_ref before;     /* a page whose last record, perhaps some levels
			       * below, is the one before this page; or none */
	bool wrapped;         /* the key is before all hashes of the chain */
	bool is_odd;          /* the record has flags */
};

static inline struct key
key_read(const uint8_t *hash)
{
	struct key key;

	memcpy(&key.high, hash, 8);
	key.high = be64toh(key.high);
	memcpy(&key.middle, hash + 8, 8);
	key.middle = be64toh(key.middle);
	key.low = octets_get_u32(hash + 16);
	return key;
}

static inline uint64_t
high_read(const uint8_t *hash)
{
	uint64_t high;

	memcpy(&high, hash, 8);
	return be64toh(high);
}

/* True if a stored hash is greater than the key. */
static inline bool
is_behind(const uint8_t *hash, const struct key *key)
{
	uint64_t high = high_read(hash);
	struct key whole;

	if (high != key->high)
		return high > key->high;
	whole = key_read(hash);
	if (whole.middle != key->middle)
		return whole.middle > key->middle;
	return whole.low > key->low;
}

/* Guesses the place of the key among count hashes that are spread evenly. */
static inline unsigned
guess_place(const struct lane *lane, const uint8_t *first, unsigned count)
{
	uint64_t low = high_read(first);
	uint64_t high = lane->next == NULL ? UINT64_MAX
					   : high_read(lane->next);
	double at;

	if (lane->key.high <= low || high <= low)
		return 0;
	at = (double)(lane->key.high - low) / (double)(high - low);
	at *= count;
	return at >= count ? count - 1 : (unsigned)at;
}

/* Index of the last entry that is not greater than the key, or -1. */
static int
page_find(const struct lane *lane)
{
	const struct nsec3_page *page = lane->page;
	int count = page->count;
	int at = (int)guess_place(lane, page->hashes, page->count);

	if (is_behind(nsec3_page_hash(page, (unsigned)at), &lane->key)) {
		do
			at--;
		while (at >= 0 && is_behind(nsec3_page_hash(page,
				(unsigned)at), &lane->key));
		return at;
	}
	while (at + 1 < count && !is_behind(nsec3_page_hash(page,
			(unsigned)at + 1), &lane->key))
		at++;
	return at;
}

static void
lane_start(struct lane *lane, struct nsec3_find *find,
	const struct store_view *view)
{
	lane->find = find;
	lane->key = key_read(find->hash);
	if (find->is_prefix) {
		/* Look for the last record that begins with the prefix. */
		lane->key.middle = UINT64_MAX;
		lane->key.low = UINT32_MAX;
	}
	lane->page = lane->root = store_get(view, find->chain->index);
	lane->next = NULL;
	lane->before = STORE_NONE;
	lane->wrapped = false;
	__builtin_prefetch(lane->page);
}

/* Goes to the page below, and fetches the lines of it that will be read. */
static void
lane_descend(struct lane *lane, const struct store_view *view)
{
	const struct nsec3_page *page = lane->page;
	const store_ref *refs = nsec3_page_refs(page);
	int at = lane->wrapped ? -1 : page_find(lane);
	const uint8_t *below;
	unsigned guess;

	if (at < 0) {
		/* Only in the root can all entries be greater than the key. */
		lane->wrapped = true;
		at = page->count - 1;
	} else {
		if (at + 1 < page->count)
			lane->next = nsec3_page_hash(page, (unsigned)at + 1);
		if (at > 0)
			lane->before = refs[at - 1];
	}
	lane->page = store_get(view, refs[at]);
	below = lane->page->hashes;
	guess = guess_place(lane, nsec3_page_hash(page, (unsigned)at),
		page->height == 1 ? NSEC3_LEAF_FILL : NSEC3_INNER_FILL);
	__builtin_prefetch(lane->page);
	__builtin_prefetch(below + guess * NSEC3_HASH_LEN);
	__builtin_prefetch(below + guess * NSEC3_HASH_LEN + LINE);
	__builtin_prefetch(below + NSEC3_LEAF_FILL * NSEC3_HASH_LEN
		+ guess * sizeof(store_ref));
}

/* True if the record before the leaf's first one begins with the prefix, too.
 */
static bool
lane_meets_before(const struct lane *lane, const struct store_view *view)
{
	const struct nsec3_page *page;

	if (lane->before == STORE_NONE)
		return false;
	page = store_get(view, lane->before);
	while (page->height > 0)
		page = store_get(view, nsec3_page_refs(page)[page->count - 1]);
	return high_read(nsec3_page_hash(page, page->count - 1u))
		== lane->key.high;
}

/* Fills the result from the leaf. */
static void
lane_finish(struct lane *lane, const struct store_view *view)
{
	const struct nsec3_page *page = lane->page;
	struct nsec3_find *find = lane->find;
	int at = lane->wrapped ? -1 : page_find(lane);
	unsigned i = at < 0 ? page->count - 1u : (unsigned)at;
	size_t len = find->is_prefix ? NSEC3_PREFIX_LEN : NSEC3_HASH_LEN;

	find->owner_hash = nsec3_page_hash(page, i);
	find->record = store_get(view, nsec3_page_refs(page)[i]);
	__builtin_prefetch(find->record);
	__builtin_prefetch((const uint8_t *)find->record + LINE);
	find->matches = at >= 0
		&& memcmp(find->owner_hash, find->hash, len) == 0;
	find->ambiguous = false;
	if (find->matches && find->is_prefix)
		find->ambiguous = i > 0
			? high_read(nsec3_page_hash(page, i - 1))
				== lane->key.high
			: lane_meets_before(lane, view);
	if (at >= 0 && i + 1 < page->count)
		lane->next = nsec3_page_hash(page, i + 1);
	/* The last record leads to the first. */
	find->next_hash = lane->next != NULL ? lane->next
					     : lane->root->hashes;
	lane->is_odd = (page->odd >> i & 1) != 0;
}

static void
lane_take_own_next(struct lane *lane)
{
	struct nsec3_find *find = lane->find;

	find->next_hash = (find->record->flags & NSEC3_RRSET) != 0 ? NULL
		: nsec3_record_own_next(find->record);
}

static void
lanes_run(const struct store_view *view, struct lane *lanes, size_t count)
{
	struct lane *open[LANES];
	size_t left = count, kept;

	for (size_t i = 0; i < count; i++)
		open[i] = &lanes[i];
	while (left > 0) {
		kept = 0;
		for (size_t i = 0; i < left; i++) {
			struct lane *lane = open[i];

			if (lane->page->height == 0) {
				lane_finish(lane, view);
				continue;
			}
			lane_descend(lane, view);
			open[kept++] = lane;
		}
		left = kept;
	}
	for (size_t i = 0; i < count; i++)
		if (lanes[i].is_odd)
			lane_take_own_next(&lanes[i]);
}

void
nsec3_find_batch(const struct store_view *view,
	struct nsec3_find *const *finds, size_t count)
{
	struct lane lanes[LANES];

	for (size_t at = 0; at < count; at += LANES) {
		size_t n = count - at < LANES ? count - at : LANES;

		for (size_t i = 0; i < n; i++)
			__builtin_prefetch(finds[at + i]->chain);
		for (size_t i = 0; i < n; i++)
			lane_start(&lanes[i], finds[at + i], view);
		lanes_run(view, lanes, n);
	}
}

/* ---- hashes in nodes --------------------------------------------------- */

const uint8_t *
nsec3_node_hash(const struct node *node)
{
	if ((node->flags & NODE_HASHED) == 0)
		return NULL;
	return (const uint8_t *)(node_entries(node) + node->entry_count);
}

const uint8_t *
nsec3_node_wildcard_hash(const struct node *node)
{
	if ((node->flags & NODE_WILDCARD_HASHED) == 0)
		return NULL;
	return (const uint8_t *)(node_entries(node) + node->entry_count)
		+ ((node->flags & NODE_HASHED) != 0 ? NSEC3_PREFIX_LEN : 0);
}
