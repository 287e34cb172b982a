/* vet_chain.c - the NSEC3 chain of a zone: its pages and their order, its
 * records. */
#include <assert.h>

#include "dns/rdata.h"
#include "vet/vet_part.h"
#include "zone/nsec3_page.h"

#define FORM_FIXED 6u /* octets of a head without the salt, RFC 5155 3.2 */

static const struct nsec3_chain *
chain_of(const struct vet_part *p)
{
	return store_get(p->vet->view, p->zone->zone->chain);
}

/* ---- records ----------------------------------------------------------- */

/* True if the form has the parameters of the chain, and makes well-formed RDATA
 * with a next hash. */
static bool
form_is_sound(const struct vet_part *p, const struct nsec3_form *form)
{
	const struct nsec3_chain *chain = chain_of(p);
	uint8_t *rdata = p->scratch->rdata;
	const uint8_t *head = form->data;
	size_t len = form->head_len;
	const char *why;

	if (len != FORM_FIXED + chain->salt_len
		|| len + NSEC3_HASH_LEN + form->bitmap_len > RDATA_MAX_LEN
		|| head[0] != NSEC3_ALGORITHM_SHA1
		|| octets_get_u16(head + 2) != chain->iterations
		|| head[4] != chain->salt_len
		|| memcmp(head + 5, chain->salt, chain->salt_len) != 0
		|| head[len - 1] != NSEC3_HASH_LEN)
		return false;
	memcpy(rdata, head, len);
	memset(rdata + len, 0, NSEC3_HASH_LEN);
	len += NSEC3_HASH_LEN;
	memcpy(rdata + len, head + form->head_len, form->bitmap_len);
	len += form->bitmap_len;
	return rdata_check(TYPE_NSEC3, rdata, len, &why) != NSD_E_WIRE;
}

static bool
vet_form(struct vet_part *p, store_ref ref)
{
	const struct nsec3_form *form = vet_get(p, VET_FORM, ref,
		sizeof(*form));
	enum store_claim claim;

	if (form == NULL)
		return false;
	claim = store_claim(p->vet->claims, ref, nsec3_form_size(form),
		VET_FORM);
	if (claim == CLAIM_WRONG)
		return vet_fail(p, VET_FORM, ref,
			"is not in use, or used twice");
	vet_hold(p, ref);
	if (claim == CLAIM_SAME)
		return true;
	vet_held(p, ref, form->refs);
	return form_is_sound(p, form)
		|| vet_fail(p, VET_FORM, ref, "is not one of the chain");
}

/* A record. odd: its page says that it has flags. */
static bool
vet_record(struct vet_part *p, store_ref ref, bool odd)
{
	const struct nsec3_record *record;
	size_t end;

	if (!vet_sig_list(p, VET_RECORD, ref,
		    offsetof(struct nsec3_record, sigs), &end))
		return false;
	record = store_get(p->vet->view, ref);
	end += (record->flags & NSEC3_OWN_NEXT) != 0 ? NSEC3_HASH_LEN : 0;
	if (vet_get(p, VET_RECORD, ref, end) == NULL
		|| !vet_claim(p, VET_RECORD, ref, end))
		return false;
	if ((record->flags & ~(NSEC3_OWN_NEXT | NSEC3_RRSET)) != 0
		|| odd != (record->flags != 0))
		return vet_fail(p, VET_RECORD, ref,
			"has not the flags that its page says");
	p->records++;
	p->rrs += record->sigs.count;
	if (!vet_templates(p, &record->sigs, TYPE_NSEC3))
		return false;
	if ((record->flags & NSEC3_RRSET) != 0)
		return vet_rrset(p, record->form, TYPE_NSEC3, NULL);
	p->rrs++;
	return vet_form(p, record->form);
}

/* ---- pages ------------------------------------------------------------- */

/* True if hashes ascend from low (any, if NULL) and stay below high (unless
 * NULL). */
static bool
hashes_ascend(const struct nsec3_page *page, const uint8_t *low,
	const uint8_t *high)
{
	unsigned count = page->count;

	for (unsigned i = 1; i < count; i++)
		if (memcmp(nsec3_page_hash(page, i - 1),
			    nsec3_page_hash(page, i), NSEC3_HASH_LEN)
			>= 0)
			return false;
	if (low != NULL && memcmp(low, page->hashes, NSEC3_HASH_LEN) != 0)
		return false;
	return high == NULL
		|| memcmp(nsec3_page_hash(page, count - 1), high,
			   NSEC3_HASH_LEN)
			< 0;
}

/* Claims a page of that height, whose hashes are in order; else NULL and a
 * fault. */
static const struct nsec3_page *
page_claim(struct vet_part *p, store_ref ref, unsigned height,
	const uint8_t *low, const uint8_t *high)
{
	const struct nsec3_page *page = vet_get(p, VET_PAGE, ref,
		sizeof(*page));
	unsigned most = height > 0 ? NSEC3_INNER_MAX : NSEC3_LEAF_MAX;

	if (page == NULL)
		return NULL;
	if (page->count == 0 || page->count > most || page->height != height
		|| (height > 0 ? page->odd
			       : (uint64_t)page->odd >> page->count) != 0) {
		vet_fail(p, VET_PAGE, ref, "has no place in the tree");
		return NULL;
	}
	if (!vet_claim(p, VET_PAGE, ref, nsec3_page_size(page->count)))
		return NULL;
	if (hashes_ascend(page, low, high))
		return page;
	vet_fail(p, VET_PAGE, ref, "has hashes that are out of order");
	return NULL;
}

/* The hash that all below entry i of a page are less than. */
static const uint8_t *
hash_behind(const struct nsec3_page *page, unsigned i, const uint8_t *high)
{
	return i + 1 < page->count ? nsec3_page_hash(page, i + 1) : high;
}

/* Goes down from a page. Its depth is limited: heights go down by one. */
static bool
vet_page(struct vet_part *p, store_ref ref, unsigned height,
	const uint8_t *low, const uint8_t *high)
{
	const struct nsec3_page *page = page_claim(p, ref, height, low, high);
	const store_ref *refs;

	if (page == NULL)
		return false;
	refs = nsec3_page_refs(page);
	for (unsigned i = 0; i < page->count; i++)
		store_prefetch(p->vet->view, refs[i]);
	for (unsigned i = 0; i < page->count; i++) {
		if (!(height > 0 ? vet_page(p, refs[i], height - 1,
				    nsec3_page_hash(page, i),
				    hash_behind(page, i, high))
				 : vet_record(p, refs[i],
					 (page->odd >> i & 1) != 0)))
			return false;
	}
	return true;
}

bool
vet_chain(struct vet_part *p)
{
	return vet_page(p, p->page, p->height, p->low, p->high);
}

bool
vet_chain_head(struct vet_part *p)
{
	store_ref ref = p->zone->zone->chain;
	const struct nsec3_chain *chain = vet_get(p, VET_CHAIN, ref,
		sizeof(*chain));
	const struct nsec3_page *page;

	if (chain == NULL
		|| !vet_claim(p, VET_CHAIN, ref, nsec3_chain_size(chain)))
		return false;
	page = vet_get(p, VET_PAGE, chain->index, sizeof(*page));
	if (page == NULL)
		return false;
	return (page->height < NSEC3_HEIGHT_MAX
		       && (chain->flags & ~NSEC3_CHAIN_COSTLY) == 0)
		|| vet_fail(p, VET_CHAIN, ref, "cannot be so high");
}

/* Replaces a part by one part for each page below its page. See vet_split. */
static size_t
expand_page(struct vet_part *parts, size_t count, size_t at, size_t max)
{
	struct vet_part from = parts[at];
	const struct nsec3_page *page;
	unsigned n;

	if (from.height == 0 || count >= max)
		return 0;
	page = page_claim(&from, from.page, from.height, from.low, from.high);
	if (page == NULL) {
		parts[at].fault = from.fault;
		return 0;
	}
	n = page->count;
	assert(n > 0 && n <= NSEC3_INNER_MAX);
	memmove(&parts[at + n], &parts[at + 1],
		(count - at - 1) * sizeof(*parts));
	for (unsigned i = 0; i < n; i++) {
		parts[at + i] = from;
		parts[at + i].page = nsec3_page_refs(page)[i];
		parts[at + i].height = from.height - 1;
		parts[at + i].low = nsec3_page_hash(page, i);
		parts[at + i].high = hash_behind(page, i, from.high);
	}
	return n - 1;
}

size_t
vet_chain_split(struct vet_part *parts, size_t max)
{
	return vet_split(parts, max, expand_page);
}
