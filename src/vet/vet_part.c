/* vet_part.c - parts of the work: their faults, and cutting one into pieces. */
#include <assert.h>

#include "vet/vet_part.h"

const char *
vet_kind_text(enum vet_kind kind)
{
#define TEXT(kind, text) [kind] = text,
	static const char *const texts[] = { VET_KIND_LIST(TEXT) };
#undef TEXT

	assert((size_t)kind < sizeof(texts) / sizeof(texts[0]));
	return texts[kind];
}

bool
vet_fail(struct vet_part *p, enum vet_kind kind, store_ref ref,
	const char *text)
{
	if (p->fault.text == NULL)
		p->fault = (struct vet_fault){.kind = vet_kind_text(kind),
			.text = text, .ref = ref};
	return false;
}

void
vet_part_init(struct vet_part *p, struct vet *vet, struct vet_zone *zone,
	struct vet_scratch *scratch)
{
	memset(p, 0, offsetof(struct vet_part, queue));
	p->vet = vet;
	p->zone = zone;
	p->scratch = scratch;
	p->above_offset = -1;
}

size_t
vet_split(struct vet_part *parts, size_t max,
	size_t (*expand)(struct vet_part *parts, size_t count, size_t at,
		size_t max))
{
	size_t count = 1, before;

	do {
		before = count;
		for (size_t i = 0; i < count; i++) {
			size_t more = parts[i].fault.text != NULL ? 0
				: expand(parts, count, i, max);

			count += more;
			i += more;
		}
	} while (count > before);
	return count;
}
