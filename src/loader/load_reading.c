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

/* ---- zones that take updates --------------------------------------------- */

/* Refuses the file of a zone that takes updates, and says all that is to be
 * done about it. why: the fault, if that is of the file alone. Returns
 * NSD_E_DENIED. */
static enum nsd_err
age_refuse_file(struct load_age *age, uint32_t serial, const char *why)
{
	if (age->is_updated)
		why = "and was changed by hand, and is not read, as it lacks"
		      " updates: first nsd-control freeze, then change the file"
		      " that this has written, with a newer serial, then"
		      " nsd-control thaw";
	age->is_refused = true;
	diag_emit(age->sink, DIAG_ERROR, NULL, 0, 0,
		"zone %s takes updates, and is at serial %u: its file %s has"
		" serial %u %s",
		age->name, (unsigned)age->served, age->path, (unsigned)serial,
		why);
	return NSD_E_DENIED;
}

enum nsd_err
load_reading_refuse_same(struct load_age *age)
{
	return age_refuse_file(age, age->served,
		"and other records: give it a newer serial");
}

static enum nsd_err
reading_guard(struct load_age *age, uint32_t serial)
{
	age->is_same = serial == age->served && !age->is_behind;
	if (age->is_same)
		return NSD_OK;
	if (!serial_is_newer(serial, age->served))
		return age_refuse_file(age, serial,
			"and is not read: give it a newer one");
	return age->is_updated ? age_refuse_file(age, serial, NULL) : NSD_OK;
}

enum nsd_err
load_reading_check_age(struct load_age *age, const struct rrbatch *batch)
{
	uint32_t serial;

	if (!age->wanted
		|| !load_reading_find_serial(batch, age->apex, &serial))
		return NSD_OK;
	age->wanted = false;
	if (age->guards)
		return reading_guard(age, serial);
	return serial_is_newer(age->served, serial) ? NSD_E_DENIED : NSD_OK;
}
