/* items.c - sorts the records of one name and cuts them into RRsets. */
#include <string.h>

#include "base/grow.h"
#include "compile/pack_parts.h"
#include "dns/rdata.h"

#define INSERTION_MAX 16u

/* Compares RDATA that is one name. Its canonical form is its octets in lower
 * case: the length octets of labels are at most 63, so they are no letters. */
static int
names_compare(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len)
{
	size_t n = a_len < b_len ? a_len : b_len;

	for (size_t i = 0; i < n; i++) {
		uint8_t x = name_lower_octet(a[i]), y = name_lower_octet(b[i]);

		if (x != y)
			return (int)x - (int)y;
	}
	return (a_len > b_len) - (a_len < b_len);
}

int
items_compare_rr(uint16_t type, const struct rrbatch_rr *a,
	const struct rrbatch_rr *b)
{
	const uint8_t *x = rrbatch_rr_rdata(a), *y = rrbatch_rr_rdata(b);
	size_t n = a->rdlen < b->rdlen ? a->rdlen : b->rdlen;
	int c;

	if (type == TYPE_NS || type == TYPE_PTR || type == TYPE_CNAME)
		return names_compare(x, a->rdlen, y, b->rdlen);
	if ((rrtype_get(type)->flags & RR_CANON_LOWER) != 0)
		return rdata_compare(type, x, a->rdlen, y, b->rdlen);
	c = memcmp(x, y, n);
	return c != 0 ? c : (a->rdlen > b->rdlen) - (a->rdlen < b->rdlen);
}

static int
items_compare(const struct item *a, const struct item *b)
{
	int c;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	c = items_compare_rr(a->rr->type, a->rr, b->rr);
	if (c != 0)
		return c;
	return a->order < b->order ? -1 : a->order > b->order;
}

static void
items_insert(struct item *items, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct item moved = items[i];
		size_t at = i;

		while (at > 0 && items_compare(&items[at - 1], &moved) > 0) {
			items[at] = items[at - 1];
			at--;
		}
		items[at] = moved;
	}
}

static void
items_merge(const struct item *a, size_t a_count, const struct item *b,
	size_t b_count, struct item *out)
{
	size_t i = 0, j = 0;

	while (i < a_count && j < b_count)
		*out++ = items_compare(&a[i], &b[j]) <= 0 ? a[i++] : b[j++];
	memcpy(out, a + i, (a_count - i) * sizeof(*a));
	memcpy(out + (a_count - i), b + j, (b_count - j) * sizeof(*b));
}

void
items_sort(struct item *items, struct item *tmp, size_t count)
{
	struct item *from = items, *to = tmp;

	for (size_t i = 0; i < count; i += INSERTION_MAX)
		items_insert(items + i, count - i < INSERTION_MAX
				? count - i : INSERTION_MAX);
	for (size_t width = INSERTION_MAX; width < count; width *= 2) {
		struct item *swap = from;

		for (size_t i = 0; i < count; i += 2 * width) {
			size_t a = count - i < width ? count - i : width;
			size_t rest = count - i - a;
			size_t b = rest < width ? rest : width;

			items_merge(from + i, a, from + i + a, b, to + i);
		}
		from = to;
		to = swap;
	}
	if (from != items)
		memcpy(items, from, count * sizeof(*items));
}

/* ---- groups ------------------------------------------------------------ */

static const char *
owner_text(const struct packer *p, const struct owner *owner,
	char text[NAME_TEXT_MAX])
{
	return findings_name_text(owner->name, text);
}

static void
group_check_ttl(struct packer *p, const struct owner *owner,
	const struct item_group *g, const struct rrbatch_rr *first,
	const struct rrbatch_rr *rr)
{
	char name[NAME_TEXT_MAX], type[RRTYPE_TEXT_MAX];

	rrtype_print(g->type, type);
	findings_add(&p->findings, DIAG_WARNING, rr,
		"%s TTL %u does not match the TTL %u of the %s RRset",
		owner_text(p, owner, name), (unsigned)rr->ttl_sec,
		(unsigned)first->ttl_sec, type);
}

static void
group_note_duplicate(struct packer *p, const struct owner *owner,
	const struct item_group *g, const struct rrbatch_rr *rr)
{
	char name[NAME_TEXT_MAX], type[RRTYPE_TEXT_MAX];

	rrtype_print(rr->type, type);
	findings_add(&p->findings, DIAG_WARNING, rr,
		"%s duplicate %s record is left out",
		owner_text(p, owner, name), type);
}

/* An RRset gets the lowest TTL of its records. RFC 2181 section 5.2 wants them
 * equal. */
static void
group_finish(struct packer *p, const struct owner *owner, struct item_group *g,
	size_t count)
{
	const struct rrbatch_rr *first = g->items[0].rr;
	uint32_t first_order = g->items[0].order;
	size_t kept = 1;

	g->ttl_sec = first->ttl_sec;
	for (size_t i = 1; i < count; i++) {
		if (g->items[i].rr->ttl_sec < g->ttl_sec)
			g->ttl_sec = g->items[i].rr->ttl_sec;
		if (g->items[i].order < first_order) {
			first_order = g->items[i].order;
			first = g->items[i].rr;
		}
	}
	for (size_t i = 0; i < count; i++) {
		const struct rrbatch_rr *rr = g->items[i].rr;

		if (!g->sigs && rr->ttl_sec != first->ttl_sec)
			group_check_ttl(p, owner, g, first, rr);
		if (i == 0)
			continue;
		/* Duplicates of the SOA at the apex are judged later. */
		if ((rr->type == TYPE_SOA && owner->labels == 0)
			|| items_compare_rr(rr->type, g->items[kept - 1].rr,
				   rr) != 0)
			g->items[kept++] = g->items[i];
		else
			group_note_duplicate(p, owner, g, rr);
	}
	g->count = (uint32_t)kept;
}

enum nsd_err
items_group(struct packer *p, const struct owner *owner, struct item *items,
	size_t count, size_t *group_count)
{
	size_t n = 0, end;

	for (size_t i = 0; i < count; i = end) {
		struct item_group *g;

		end = i + 1;
		while (end < count && items[end].key == items[i].key)
			end++;
		g = grow_arena(&p->arena, p->groups, n, &p->groups_room,
			sizeof(*g));
		if (g == NULL)
			return NSD_E_MEMORY;
		p->groups = g;
		g += n++;
		g->type = (uint16_t)(items[i].key >> 1);
		g->sigs = (items[i].key & 1) != 0;
		g->items = items + i;
		g->count = 1;
		g->ttl_sec = items[i].rr->ttl_sec;
		if (end - i > 1)
			group_finish(p, owner, g, end - i);
	}
	*group_count = n;
	return NSD_OK;
}
