/* load_reading.c - a zone file, or the text of a transfer, while it is read. */
#include "config.h"

#include "base/octets.h"
#include "dns/rrtype.h"
#include "dns/serial.h"
#include "loader/load_findings.h"
#include "loader/load_reading.h"

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
load_reading_parse_anew(const struct load_reading *r,
	const struct zonefile_options *options)
{
	struct zonefile_result *files = &r->result->files;
	struct diag_sink *sink = files->source_count > 0 ? NULL : r->sink;

	zonefile_result_fini(files);
	if (sink != NULL)
		load_findings_restart(sink);
	return load_reading_parse(r, options, sink, files);
}

bool
load_reading_find_serial(const struct rrbatch *batch, const uint8_t *apex,
	uint32_t *serial)
{
	const struct rrbatch_rr *rr = rrbatch_first(batch);
	const uint8_t *owner = rr->data;

	for (size_t i = 0; i < batch->count; i++, rr = rrbatch_next(rr)) {
		if (rr->owner_len > 0)
			owner = rr->data;
		if (rr->type != TYPE_SOA || rr->rdlen < SOA_NUMBERS_LEN
			|| !name_equal(owner, apex))
			continue;
		*serial = octets_get_u32(rrbatch_rr_rdata(rr) + rr->rdlen
			- SOA_NUMBERS_LEN);
		return true;
	}
	return false;
}

enum nsd_err
load_reading_check_age(struct load_age *age, const struct rrbatch *batch)
{
	uint32_t serial;

	if (!age->wanted
		|| !load_reading_find_serial(batch, age->apex, &serial))
		return NSD_OK;
	age->wanted = false;
	return serial_is_newer(age->served, serial) ? NSD_E_DENIED : NSD_OK;
}
