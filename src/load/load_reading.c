/* load_reading.c - one zone file, or what a transfer has brought, while it is
 * read. */
#include "config.h"

#include "base/octets.h"
#include "dns/rrtype.h"
#include "load/load_reading.h"

/* The SOA's RDATA ends in five numbers, of which the first is the serial. */
#define SOA_NUMBERS_LEN 20u

enum nsd_err
load_reading_parse(const struct load_reading *r,
	const struct zonefile_options *options, struct diag_sink *sink,
	struct zonefile_result *files)
{
	return r->text != NULL ? load_text_parse(r->text, options, files)
			       : zonefile_parse(r->path, options, sink, files);
}

enum nsd_err
load_reading_check_age(struct load_age *age, const struct rrbatch *batch)
{
	const struct rrbatch_rr *rr = rrbatch_first(batch);
	const uint8_t *owner = rr->data;
	uint32_t serial;

	for (size_t i = 0; age->wanted && i < batch->count; i++) {
		if (rr->owner_len > 0)
			owner = rr->data;
		if (rr->type == TYPE_SOA && rr->rdlen >= SOA_NUMBERS_LEN
			&& name_equal(owner, age->apex)) {
			serial = octets_get_u32(rrbatch_rr_rdata(rr)
				+ rr->rdlen - SOA_NUMBERS_LEN);
			age->wanted = false;
			if ((int32_t)(serial - age->served) < 0)
				return NSD_E_DENIED;
		}
		rr = rrbatch_next(rr);
	}
	return NSD_OK;
}
