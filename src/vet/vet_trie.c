/* vet_trie.c - tries: they are finite and ordered, and each branch is where the
 * names below it part. */
#include "base/assert.h"
#include "vet/vet_part.h"

bool
vet_name(const uint8_t *name, unsigned len, unsigned labels)
{
	unsigned at = 0, count = 0;

	while (at < len) {
		unsigned end = at + 1 + name[at];

		if (name[at] == 0 || name[at] > LABEL_MAX_LEN || end > len)
			return false;
		while (++at < end)
			if (name_lower_octet(name[at]) != name[at])
				return false;
		count++;
	}
	return count == labels;
}

static unsigned
symbol_at(const uint8_t *key, unsigned at)
{
	return key[at] & TRIE_KEY_SYMBOL;
}

/* True if two keys part where a seam says. */
static bool
seam_fits(const struct vet_seam *seam, const uint8_t *low, unsigned low_len,
	const uint8_t *high, unsigned high_len)
{
	unsigned diff = trie_key_diff(low, low_len, high, high_len);

	return diff == seam->offset && diff < low_len && diff < high_len
		&& symbol_at(low, seam->offset) == seam->low
		&& symbol_at(high, seam->offset) == seam->high;
}

/* The place of a leaf, whose name is sound, behind the one before. */
static bool
vet_key(struct vet_part *p, store_ref ref, const struct vet_seam *seam)
{
	const struct trie_leaf *leaf = store_get(p->vet->view, ref);
	unsigned old = p->key_at, now = old ^ 1u;

	p->key_len[now] = trie_key_of_leaf(leaf, p->keys[now]);
	p->key_at = now;
	p->last = leaf;
	if (p->first == NULL) {
		p->first = leaf;
		return true;
	}
	return seam_fits(seam, p->keys[old], p->key_len[old],
		       p->keys[now], p->key_len[now])
		|| vet_fail(p, VET_BRANCH, ref,
			"leads to a name that is not in its place");
}

/* Looks at the first leaf in the queue. */
static bool
queue_take(struct vet_part *p)
{
	const struct vet_leaf *leaf = &p->queue[p->queue_first];

	ASSERT_HOT(p->queue_count > 0);
	p->queue_first = (p->queue_first + 1) % VET_QUEUE;
	p->queue_count--;
	return p->on_leaf(p, leaf->ref)
		&& vet_key(p, leaf->ref, &leaf->seam);
}

/* Queues a leaf, which was fetched before. Halfway through the queue, what it
 * leads to is fetched. */
static bool
queue_put(struct vet_part *p, store_ref ref)
{
	struct vet_leaf *leaf;

	if (p->queue_count == VET_QUEUE && !queue_take(p))
		return false;
	leaf = &p->queue[(p->queue_first + p->queue_count) % VET_QUEUE];
	leaf->ref = ref;
	leaf->seam = p->seam;
	p->queue_count++;
	if (p->queue_count > VET_QUEUE / 2 && p->prefetch != NULL)
		p->prefetch(p, p->queue[(p->queue_first + p->queue_count
			- VET_QUEUE / 2) % VET_QUEUE].ref);
	return true;
}

static unsigned
symbol_of(uint64_t bit)
{
	return (unsigned)__builtin_ctzll(bit) - TRIE_BITMAP_SHIFT;
}

/* Claims the children of a branch; NULL and a fault. above: the offset of the
 * branch above. */
static const struct trie_entry *
vet_branch(struct vet_part *p, const struct trie_entry *entry, int above)
{
	uint64_t word = entry_word(entry);
	unsigned count = word_count(word);
	store_ref ref = entry->word[2];

	if (count < 2 || (int)word_offset(word) <= above
		|| word_offset(word) >= TRIE_KEY_MAX) {
		vet_fail(p, VET_BRANCH, ref, "does not part names");
		return NULL;
	}
	if (!vet_claim(p, VET_BRANCH, ref, count * sizeof(*entry)))
		return NULL;
	return store_get(p->vet->view, ref);
}

/* Goes down from an entry. Its depth is limited: each branch has a greater
 * offset than the one above it. */
static bool
vet_below(struct vet_part *p, const struct trie_entry *entry, int above)
{
	uint64_t word = entry_word(entry), left;
	const struct trie_entry *children;
	unsigned count = word_count(word), low = 0;

	if (!word_is_branch(word))
		return queue_put(p, entry->word[2]);
	children = vet_branch(p, entry, above);
	if (children == NULL)
		return false;
	for (unsigned i = 0; i < count; i++)
		store_claim_prefetch(p->vet->claims, children[i].word[2]);
	left = word & TRIE_BITMAP;
	for (unsigned i = 0; i < count; i++, left &= left - 1) {
		unsigned high = symbol_of(left);

		if (i > 0)
			p->seam = (struct vet_seam){
				(uint16_t)word_offset(word), (uint8_t)low,
				(uint8_t)high};
		if (!vet_below(p, &children[i], (int)word_offset(word)))
			return false;
		low = high;
	}
	return true;
}

bool
vet_trie(struct vet_part *p)
{
	if (!vet_below(p, &p->entry, p->above_offset))
		return false;
	while (p->queue_count > 0)
		if (!queue_take(p))
			return false;
	return true;
}

void
vet_trie_init(struct vet_part *p, const struct trie *trie,
	bool (*on_leaf)(struct vet_part *p, store_ref ref))
{
	p->entry = trie->root;
	p->above_offset = -1;
	p->on_leaf = on_leaf;
}

/* Replaces a part by one part for each child of its branch. See vet_split. */
static size_t
expand_branch(struct vet_part *parts, size_t count, size_t at, size_t max)
{
	struct vet_part from = parts[at];
	uint64_t word = entry_word(&from.entry);
	uint64_t left = word & TRIE_BITMAP;
	unsigned n = word_count(word);
	const struct trie_entry *children;

	if (!word_is_branch(word) || count + n > max)
		return 0;
	children = vet_branch(&from, &from.entry, from.above_offset);
	if (children == NULL) {
		parts[at].fault = from.fault;
		return 0;
	}
	memmove(&parts[at + n], &parts[at + 1],
		(count - at - 1) * sizeof(*parts));
	for (unsigned i = 0; i < n; i++, left &= left - 1) {
		struct vet_part *p = &parts[at + i];
		uint64_t rest = left & (left - 1);

		*p = from;
		p->entry = children[i];
		p->above_offset = (int)word_offset(word);
		if (rest != 0)
			p->seam_after = (struct vet_seam){
				(uint16_t)word_offset(word),
				(uint8_t)symbol_of(left),
				(uint8_t)symbol_of(rest)};
	}
	return n - 1;
}

size_t
vet_trie_split(struct vet_part *parts, size_t max)
{
	return vet_split(parts, max, expand_branch);
}

bool
vet_trie_join(struct vet_part *parts, size_t count)
{
	uint8_t low[TRIE_KEY_ROOM], high[TRIE_KEY_ROOM];

	for (size_t i = 0; i < count; i++)
		if (parts[i].fault.text != NULL) {
			parts[0].fault = parts[i].fault;
			return false;
		}
	for (size_t i = 1; i < count; i++) {
		unsigned low_len = trie_key_of_leaf(parts[i - 1].last, low);
		unsigned high_len = trie_key_of_leaf(parts[i].first, high);

		if (!seam_fits(&parts[i - 1].seam_after, low, low_len, high,
			    high_len))
			return vet_fail(&parts[0], VET_BRANCH,
				parts[i].entry.word[2],
				"leads to a name that is not in its place");
	}
	return true;
}
