/* claim.c - says which object has which octets of a store whose contents are
 * not trusted. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "store/claim.h"
#include "store/heap.h"
#include "store/sweep.h"

struct store_claims {
	struct store_writer *writer;
	uint32_t first; /* granule of span 0 */
	uint32_t count; /* granules */
	const uint64_t *used; /* the bitmaps of the spans */
	uint64_t *marks;      /* bits, as those: claimed */
	uint8_t *kinds; /* an octet a granule: its kind if one begins there */
};

enum nsd_err
store_claims_begin(struct store_writer *writer, struct store_claims **claims)
{
	uint32_t spans = writer->header->span_count;
	struct store_claims *c = calloc(1, sizeof(*c));

	assert(heap_is_alone(writer));
	if (c == NULL)
		return NSD_E_MEMORY;
	/* The rest of a heap's hole counts as used; give it back. */
	heap_flush(&writer->heap);
	c->writer = writer;
	c->first = span_first_granule(writer, 0);
	c->count = spans * SPAN_GRANULES;
	c->used = span_bitmap(writer, 0);
	c->marks = calloc(spans + 1u, SPAN_BITMAP);
	c->kinds = calloc(spans + 1u, SPAN_GRANULES);
	if (c->marks == NULL || c->kinds == NULL) {
		store_claims_end(c);
		return NSD_E_MEMORY;
	}
	*claims = c;
	return NSD_OK;
}

void
store_claims_end(struct store_claims *claims)
{
	free(claims->marks);
	free(claims->kinds);
	free(claims);
}

enum nsd_err
store_claims_sweep(struct store_claims *claims, uint64_t *octets)
{
	struct store_sweep *sweep;
	enum nsd_err err = store_sweep_begin(claims->writer, &sweep);

	if (err == NSD_OK) {
		memcpy(sweep->marks, claims->marks,
			claims->count / SPAN_GRANULES * (size_t)SPAN_BITMAP);
		err = store_sweep_end(sweep, octets);
	}
	store_claims_end(claims);
	return err;
}

bool
store_claims_reach(const struct store_claims *claims, store_ref ref,
	size_t len)
{
	size_t room = (size_t)claims->count * STORE_GRANULE;
	size_t at = (size_t)(ref - claims->first) * STORE_GRANULE;

	return ref >= claims->first && at < room && len <= room - at;
}

/* The bits of granules from `at` to before `end`, in the word of `at` only. */
static uint64_t
word_mask(uint32_t at, uint32_t end)
{
	uint64_t mask = UINT64_MAX << (at % 64);

	if (end / 64 == at / 64)
		mask &= ~(UINT64_MAX << (end % 64));
	return mask;
}

enum store_claim
store_claim(struct store_claims *claims, store_ref ref, size_t len,
	uint8_t kind)
{
	uint32_t at = ref - claims->first, end;
	uint8_t before = 0;
	uint64_t mask;

	ASSERT_HOT(kind != 0);
	if (len == 0 || !store_claims_reach(claims, ref, len))
		return CLAIM_WRONG;
	if (!__atomic_compare_exchange_n(&claims->kinds[at], &before, kind,
		    false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return before == kind ? CLAIM_SAME : CLAIM_WRONG;
	end = at + store_granules(len);
	for (; at < end; at = (at / 64 + 1) * 64) {
		mask = word_mask(at, end);
		if ((claims->used[at / 64] & mask) != mask
			|| (__atomic_fetch_or(&claims->marks[at / 64], mask,
				    __ATOMIC_RELAXED)
				   & mask)
				!= 0)
			return CLAIM_WRONG;
	}
	return CLAIM_NEW;
}

bool
store_claim_is(const struct store_claims *claims, store_ref ref, uint8_t kind)
{
	return store_claims_reach(claims, ref, 1)
		&& __atomic_load_n(&claims->kinds[ref - claims->first],
			   __ATOMIC_RELAXED)
			== kind;
}

void
store_claim_prefetch(const struct store_claims *claims, store_ref ref)
{
	if (!store_claims_reach(claims, ref, 1))
		return;
	store_prefetch(&claims->writer->view, ref);
	__builtin_prefetch(&claims->kinds[ref - claims->first]);
}

bool
store_claim_alter(struct store_claims *claims, store_ref ref, uint8_t from,
	uint8_t to)
{
	return store_claims_reach(claims, ref, 1)
		&& __atomic_compare_exchange_n(
			&claims->kinds[ref - claims->first], &from, to, false,
			__ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

uint64_t
store_claims_epoch(const struct store_claims *claims)
{
	return claims->writer->header->epoch;
}
