/* apex.c - looks at what stands at the apex of a zone. */
#include "build/apex.h"

#include <string.h>

#include "build/build_pass.h"

void
apex_read_facts(const struct build *b, struct apex_facts *facts)
{
	memset(facts, 0, sizeof(*facts));
	for (size_t i = 0; i < b->name_count && b->names[i].labels == 0; i++) {
		const struct rrbatch_rr *rr = owner_get_rr(&b->names[i]);

		for (uint32_t n = 0; n < b->names[i].rr_count;
			n++, rr = rrbatch_next(rr)) {
			facts->soa |= rr->type == TYPE_SOA;
			facts->ns |= rr->type == TYPE_NS;
			if (rr->type != TYPE_NSEC3PARAM)
				continue;
			if (facts->params_count++ == 0)
				facts->params = rr;
		}
	}
}
