/* audit_place.c - finds the lines of the zone file that findings are about. The
 * findings are few and the records many, so the findings go into a table. */
#include <string.h>

#include "audit/audit_part.h"

#define SLOTS 1024u /* a power of two */

static uint32_t
owner_hash(const uint8_t *owner, size_t len)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ owner[i]) * 16777619u;
	return (hash ^ hash >> 15) & (SLOTS - 1);
}

/* True if the finding is about that record of its owner. A finding about the
 * name as a whole is about any record, so the first one counts. */
static bool
finding_is_about(const struct audit_finding *f, const struct rrbatch_rr *rr)
{
	if (f->has_rrsig)
		return rr->type == TYPE_RRSIG && rr->rdlen >= RRSIG_HEAD
			&& memcmp(rrbatch_rr_rdata(rr), f->rrsig, RRSIG_HEAD)
			== 0;
	return f->type == 0 || rr->type == f->type;
}

/* Gives the findings of a slot that are about the record its line. */
static void
slot_look(struct audit_finding *f, const uint8_t *owner, size_t owner_len,
	const struct rrbatch_rr *rr)
{
	for (; f != NULL; f = f->next)
		if (f->line == 0 && name_len(f->owner) == owner_len
			&& memcmp(f->owner, owner, owner_len) == 0
			&& finding_is_about(f, rr)) {
			f->line = rr->line;
			f->file = rr->file;
		}
}

void
audit_place_find(struct audit_log *log, const struct rrbatch *batches)
{
	struct audit_finding *slots[SLOTS] = {NULL};
	const uint8_t *owner = NULL;
	size_t owner_len = 0;
	uint32_t slot = 0;
	bool any = false;

	for (unsigned i = 0; i < AUDIT_KIND_COUNT; i++)
		for (unsigned j = 0; j < log->kinds[i].kept_count; j++) {
			struct audit_finding *f = log->kinds[i].kept[j];

			if (f->line != 0)
				continue;
			any = true;
			slot = owner_hash(f->owner, name_len(f->owner));
			f->next = slots[slot];
			slots[slot] = f;
		}
	for (const struct rrbatch *b = batches; any && b != NULL;
		b = b->next) {
		const struct rrbatch_rr *rr = rrbatch_first(b);

		for (size_t i = 0; i < b->count; i++) {
			if (rr->owner_len != 0) {
				owner = rr->data;
				owner_len = rr->owner_len;
				slot = owner_hash(owner, owner_len);
			}
			if (slots[slot] != NULL && owner != NULL)
				slot_look(slots[slot], owner, owner_len, rr);
			rr = rrbatch_next(rr);
		}
	}
}
