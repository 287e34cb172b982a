/* textlist.c - a list of texts in shared memory. */
#include "base/textlist.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define TEXT_MAX 65535u
#define SLOTS_FIRST 64u

struct textlist_writer {
	struct textlist list;
	uint32_t *slots;     /* numbers by hash; 0: free */
	uint32_t slot_count; /* a power of 2, more than half of them free */
	uint64_t seed;
};

size_t
textlist_size(uint32_t room, uint32_t octets)
{
	return ((size_t)room + 1) * sizeof(uint32_t) + octets;
}

void
textlist_init(struct textlist *list, void *memory, uint32_t room,
	uint32_t octets)
{
	list->count = memory;
	list->ends = list->count + 1;
	list->texts = (char *)(list->ends + room);
	list->room = room;
	list->octets = octets;
}

uint32_t
textlist_count(const struct textlist *list)
{
	uint32_t count = __atomic_load_n(list->count, __ATOMIC_ACQUIRE);

	return count < list->room ? count : list->room;
}

static uint32_t
list_get_end(const struct textlist *list, uint32_t number)
{
	uint32_t end = number > 0
		? __atomic_load_n(&list->ends[number - 1], __ATOMIC_RELAXED)
		: 0;

	return end < list->octets ? end : list->octets;
}

/* Lends the text of a number that is there. */
static const char *
list_find(const struct textlist *list, uint32_t number, size_t *len)
{
	uint32_t start = list_get_end(list, number - 1);
	uint32_t end = list_get_end(list, number);

	*len = end > start ? end - start : 0;
	return list->texts + start;
}

size_t
textlist_get(const struct textlist *list, uint32_t number, char *out,
	size_t size)
{
	const char *text;
	size_t len = 0;

	if (number >= 1 && number <= textlist_count(list)) {
		text = list_find(list, number, &len);
		if (len > size - 1)
			len = size - 1;
		memcpy(out, text, len);
	}
	out[len] = '\0';
	return len;
}

/* ---- appending ----------------------------------------------------------- */

static uint32_t
writer_hash(const struct textlist_writer *w, const char *text, size_t len)
{
	uint64_t h = w->seed;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)text[i]) * UINT64_C(0x100000001b3);
	h ^= h >> 32;
	h *= UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(h >> 32);
}

/* The slot of a text, or the free one where it would be. */
static uint32_t *
writer_find_slot(const struct textlist_writer *w, const char *text, size_t len)
{
	uint32_t mask = w->slot_count - 1;
	uint32_t at = writer_hash(w, text, len) & mask;

	for (; w->slots[at] != 0; at = (at + 1) & mask) {
		size_t other_len;
		const char *other = list_find(&w->list, w->slots[at],
			&other_len);

		if (other_len == len && memcmp(other, text, len) == 0)
			break;
	}
	return &w->slots[at];
}

/* Makes slots anew, with room for one text more than there are. */
static enum nsd_err
writer_index(struct textlist_writer *w)
{
	uint32_t count = textlist_count(&w->list);
	uint32_t slot_count = SLOTS_FIRST;
	uint32_t *slots;

	while (slot_count / 4 <= count)
		slot_count *= 2;
	slots = calloc(slot_count, sizeof(*slots));
	if (slots == NULL)
		return NSD_E_MEMORY;
	free(w->slots);
	w->slots = slots;
	w->slot_count = slot_count;
	for (uint32_t i = 1; i <= count; i++) {
		size_t len;
		const char *text = list_find(&w->list, i, &len);
		uint32_t *slot = writer_find_slot(w, text, len);

		if (*slot == 0)
			*slot = i;
	}
	return NSD_OK;
}

enum nsd_err
textlist_writer_create(const struct textlist *list,
	struct textlist_writer **writer)
{
	struct textlist_writer *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return NSD_E_MEMORY;
	w->list = *list;
	if (getrandom(&w->seed, sizeof(w->seed), 0) != sizeof(w->seed))
		w->seed = (uint64_t)(uintptr_t)w;
	if (writer_index(w) != NSD_OK) {
		free(w);
		return NSD_E_MEMORY;
	}
	*writer = w;
	return NSD_OK;
}

void
textlist_writer_destroy(struct textlist_writer *writer)
{
	if (writer == NULL)
		return;
	free(writer->slots);
	free(writer);
}

enum nsd_err
textlist_add(struct textlist_writer *w, const char *text, size_t len,
	uint32_t *number)
{
	const struct textlist *list = &w->list;
	uint32_t count = textlist_count(list);
	uint32_t start = list_get_end(list, count);
	uint32_t *slot = writer_find_slot(w, text, len);

	if (*slot != 0) {
		*number = *slot;
		return NSD_OK;
	}
	if (len == 0 || len > TEXT_MAX || count >= list->room
		|| len > list->octets - start)
		return NSD_E_LIMIT;
	if (count + 1 >= w->slot_count / 2) {
		enum nsd_err err = writer_index(w);

		if (err != NSD_OK)
			return err;
		slot = writer_find_slot(w, text, len);
	}
	memcpy(list->texts + start, text, len);
	__atomic_store_n(&list->ends[count], start + (uint32_t)len,
		__ATOMIC_RELAXED);
	/* Release: a reader that sees the count sees the text. */
	__atomic_store_n(list->count, count + 1, __ATOMIC_RELEASE);
	*slot = *number = count + 1;
	return NSD_OK;
}
