/* mutate_draft.c - finds and moves the parts of a message. */
#include "fuzz/mutate_draft.h"

#include <string.h>

#include "base/octets.h"

bool
draft_replace(struct draft *d, size_t at, size_t old_len, const uint8_t *octets,
	size_t len)
{
	if (at > d->len || old_len > d->len - at
		|| d->len - old_len + len > d->max)
		return false;
	memmove(d->octets + at + len, d->octets + at + old_len,
		d->len - at - old_len);
	if (len > 0)
		memcpy(d->octets + at, octets, len);
	d->len += len;
	d->len -= old_len;
	return true;
}

/* The octets of a name as it stands, 0: it does not end. */
static size_t
skip_name(const struct draft *d, size_t at)
{
	size_t begin = at;

	while (at < d->len) {
		uint8_t label = d->octets[at];

		if (label == 0)
			return at + 1 - begin;
		if (label >= 0xc0)
			return at + 2 <= d->len ? at + 2 - begin : 0;
		at += 1u + label;
	}
	return 0;
}

void
draft_read_parts(struct draft *d)
{
	size_t at = MESSAGE_HEADER_LEN;

	d->count = 0;
	if (d->len < MESSAGE_HEADER_LEN)
		return;
	for (unsigned s = 0; s < SECTIONS; s++) {
		unsigned count = octets_get_u16(d->octets
			+ MESSAGE_QDCOUNT + 2 * s);

		for (; count > 0 && d->count < PARTS_MAX; count--) {
			struct part *p = &d->parts[d->count];

			*p = (struct part){at, 0, skip_name(d, at), s};
			p->len = p->name_len + (s == 0 ? 4 : 10);
			if (p->name_len == 0 || p->len > d->len - at)
				return;
			if (s > 0)
				p->len += octets_get_u16(d->octets + at
					+ p->len - 2);
			if (p->len > d->len - at)
				return;
			at += p->len;
			d->count++;
		}
	}
}

void
draft_count(struct draft *d, unsigned section, int number)
{
	uint8_t *at = d->octets + MESSAGE_QDCOUNT + 2 * section;

	/* Seldom, the counts do not tell of a change. */
	if (below(d, 16) != 0)
		octets_put_u16(at, (uint16_t)(octets_get_u16(at) + number));
}

size_t
draft_section_end(const struct draft *d, unsigned section)
{
	size_t end = MESSAGE_HEADER_LEN;

	for (size_t i = 0; i < d->count; i++)
		if (d->parts[i].section <= section)
			end = d->parts[i].at + d->parts[i].len;
	return end;
}

struct part *
draft_pick_part(struct draft *d)
{
	return d->count == 0 ? NULL : &d->parts[below(d, (uint32_t)d->count)];
}

struct part *
draft_pick_record(struct draft *d, uint16_t type)
{
	struct part *found = NULL;
	uint32_t seen = 0;

	for (size_t i = 0; i < d->count; i++) {
		struct part *p = &d->parts[i];

		if (p->section > 0 && (type == 0 || octets_get_u16(d->octets
			+ p->at + p->name_len) == type)
			&& below(d, ++seen) == 0)
			found = p;
	}
	return found;
}
