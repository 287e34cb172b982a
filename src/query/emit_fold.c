/* emit_fold.c - a table of the suffixes of names in a message. */
#include <string.h>

#include "dns/name.h"
#include "query/emit_fold.h"
#include "query/emit_name.h"

/* The most slots that are looked at for a label. Names can be chosen so that
 * all fall in one place; a label that is not found is written once more. */
#define PROBES 8u

void
emit_fold_init(struct emit_fold *fold, const uint8_t *out)
{
	fold->out = out;
	fold->last = fold->names[0];
	fold->before = fold->names[1];
	fold->count = 0;
	memset(fold->slots, 0, sizeof(fold->slots));
}

/* a: in lower case. */
static bool
labels_equal(const uint8_t *a, const uint8_t *b)
{
	if (a[0] != b[0])
		return false;
	for (unsigned i = 1; i <= a[0]; i++)
		if (a[i] != name_lower_octet(b[i]))
			return false;
	return true;
}

/* The slot of a label (in lower case) below `above`, or the first free one that
 * it may have. Returns the number of slots if there is none. */
static uint32_t
fold_find(const struct emit_fold *fold, const uint8_t *label, uint32_t above)
{
	const uint32_t count = 1u << EMIT_FOLD_BITS;
	uint32_t hash = above + 1;

	for (unsigned i = 0; i <= label[0]; i++)
		hash = (hash ^ label[i]) * 0x01000193u;
	hash = (hash * 0x9e3779b1u) >> (32 - EMIT_FOLD_BITS);
	for (unsigned i = 0; i < PROBES; i++) {
		uint32_t n = (hash + i) & (count - 1);

		if (fold->slots[n].at == 0 || (fold->slots[n].above == above
				&& labels_equal(label,
					fold->out + fold->slots[n].at)))
			return n;
	}
	return count;
}

/* Puts a name in lower case into fold->last. Returns its labels. */
static unsigned
fold_lower(struct emit_fold *fold, const uint8_t *name,
	uint8_t label_at[NAME_MAX_LABELS])
{
	uint8_t start[NAME_MAX_LABELS];
	unsigned count = 0, len = 0;

	for (; name[len] != 0; len += 1u + name[len])
		start[count++] = (uint8_t)len;
	for (unsigned i = 0; i < len; i++)
		fold->last[i] = name_lower_octet(name[i]);
	for (unsigned i = 0; i < count; i++)
		label_at[i] = start[count - 1 - i];
	return count;
}

uint32_t
emit_fold_write(struct emit_fold *fold, const uint8_t *name, uint8_t *to)
{
	uint8_t label_at[NAME_MAX_LABELS], *before = fold->last;
	unsigned count, known = 0, len;
	uint32_t above = 0;

	fold->last = fold->before;
	fold->before = before;
	count = fold_lower(fold, name, label_at);
	while (known < count && known < fold->count
		&& fold->places[known] != 0) {
		if (!labels_equal(fold->last + label_at[known],
			    before + fold->label_at[known]))
			break;
		above = fold->places[known++];
	}
	for (; known < count; known++) {
		uint32_t n = fold_find(fold, fold->last + label_at[known],
			above);

		if (n == 1u << EMIT_FOLD_BITS || fold->slots[n].at == 0)
			break;
		above = fold->places[known] = fold->slots[n].at;
	}
	for (unsigned i = known; i < count; i++)
		fold->places[i] = 0;
	memcpy(fold->label_at, label_at, count);
	fold->count = count;
	fold->known = known;
	len = known > 0 ? label_at[known - 1] : (unsigned)name_len(name) - 1;
	memcpy(to, name, len);
	if (above == 0) {
		to[len] = 0;
		return len + 1;
	}
	octets_put_u16(to + len, (uint16_t)(EMIT_POINTER | above));
	return len + 2;
}

void
emit_fold_place(struct emit_fold *fold, uint32_t at)
{
	uint32_t above = fold->known > 0 ? fold->places[fold->known - 1] : 0;

	for (unsigned i = fold->known; i < fold->count; i++) {
		uint32_t place = at + fold->label_at[i];
		uint32_t n = fold_find(fold, fold->last + fold->label_at[i],
			above);

		if (place > MESSAGE_POINTER_MAX || n == 1u << EMIT_FOLD_BITS)
			return;
		fold->slots[n].at = (uint16_t)place;
		fold->slots[n].above = (uint16_t)above;
		fold->places[i] = (uint16_t)place;
		above = place;
	}
}

void
emit_fold_add(struct emit_fold *fold, uint32_t at)
{
	uint8_t label[1 + LABEL_MAX_LEN];
	uint16_t label_at[NAME_MAX_LABELS];
	uint32_t above = 0;
	unsigned count = 0;

	/* The place of a label behind the reach of pointers matters not. */
	for (;;) {
		at = emit_name_at(fold->out, at);
		if (fold->out[at] == 0)
			break;
		label_at[count++] = (uint16_t)(at <= MESSAGE_POINTER_MAX
			? at : 0);
		at += 1u + fold->out[at];
	}
	while (count-- > 0 && label_at[count] != 0) {
		const uint8_t *from = fold->out + label_at[count];
		uint32_t n;

		for (unsigned i = 0; i <= from[0]; i++)
			label[i] = name_lower_octet(from[i]);
		n = fold_find(fold, label, above);
		if (n == 1u << EMIT_FOLD_BITS)
			return;
		if (fold->slots[n].at == 0) {
			fold->slots[n].at = label_at[count];
			fold->slots[n].above = (uint16_t)above;
		}
		above = fold->slots[n].at;
	}
}
