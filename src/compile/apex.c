/* apex.c - looks at what stands at the apex of a zone. */
#include "compile/apex.h"

#include <string.h>

#include "compile/stream_pass.h"

struct apex_facts {
	bool soa;
	bool ns;
	unsigned params_count;
	const struct rrbatch_rr *params; /* the first NSEC3PARAM, or NULL */
};

static void
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

enum nsd_err
apex_use(struct build *b, struct rrbatch_rr **params)
{
	struct apex_facts facts;

	*params = NULL;
	apex_read_facts(b, &facts);
	if (!facts.soa || !facts.ns || facts.params_count > 1)
		return NSD_E_LIMIT;
	if (facts.params_count == 0)
		return NSD_OK;
	*params = stream_copy_record(facts.params);
	if (*params == NULL)
		return NSD_E_MEMORY;
	return chain_use_params(b, *params) ? NSD_OK : NSD_E_LIMIT;
}
