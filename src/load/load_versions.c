/* load_versions.c - applies the differences that a transfer has brought. */
#include "config.h"

#include "load/load_versions.h"
#include "store/writer.h"
#include "xfr/changes.h"
#include "zone/zone.h"

/* ---- where they are ------------------------------------------------------ */

/* What the octets say before anything is done. */
struct versions {
	uint64_t first; /* version that begins at the serial that is served,
			 * counted from 1; 0: none does */
	uint32_t to;    /* the last serial */
};

static enum nsd_err
versions_look(const uint8_t *octets, size_t len, uint32_t served,
	struct versions *v)
{
	struct changes changes;
	struct changes_rr rr;
	uint64_t count = 0;
	enum nsd_err err = changes_open(&changes, octets, len);

	v->first = 0;
	if (err != NSD_OK || changes.kind != XFR_DIFFS)
		return NSD_E_WIRE;
	while ((err = changes_read(&changes, &rr)) == NSD_OK) {
		if (rr.part != CHANGES_OLD_SOA)
			continue;
		count++;
		if (rr.serial == served && v->first == 0)
			v->first = count;
	}
	return err == NSD_E_AGAIN ? changes_close(&changes, &v->to) : err;
}

/* ---- one of them --------------------------------------------------------- */

static enum nsd_err
version_begin(const struct load_versions *v, struct zone_update **update)
{
	const struct zone_update_options options = {
		.threads = v->context->threads_max,
		.secondary = v->secondary,
		.nsec3_iterations_max = v->context->nsec3_iterations_max,
		.limits = v->context->limits,
		.exact = true,
	};

	return update_begin(v->context->writer, v->entry, &options, update);
}

static enum nsd_err
version_note(struct zone_update *update, const struct changes_rr *rr)
{
	const struct zone_rr record = {
		.owner = rr->owner,
		.ttl_sec = rr->ttl_sec,
		.type = rr->type,
		.rdlen = rr->rdlen,
		.rdata = rr->rdata,
	};

	return rr->action == XFR_ADD ? update_add(update, &record)
				     : update_remove(update, &record);
}

/* Ends a transaction, if there is one. */
static enum nsd_err
version_commit(struct load_versions *v, struct zone_update **update)
{
	struct zone_update_result done;
	struct zone_update *one = *update;
	enum nsd_err err;

	if (one == NULL)
		return NSD_OK;
	*update = NULL;
	err = update_commit(one, v->sink, &done);
	if (err == NSD_OK) {
		v->done.added += done.added;
		v->done.removed += done.removed;
		v->done.names += done.names;
	}
	return err;
}

/* ---- all of them --------------------------------------------------------- */

/* From version `first` on. The octets were read once and are whole. */
static enum nsd_err
versions_run(struct load_versions *v, const uint8_t *octets, size_t len,
	uint64_t first)
{
	struct zone_update *update = NULL;
	struct changes changes;
	struct changes_rr rr;
	uint64_t at = 0;
	enum nsd_err err = changes_open(&changes, octets, len);

	while (err == NSD_OK
		&& (err = changes_read(&changes, &rr)) == NSD_OK) {
		if (rr.part == CHANGES_OLD_SOA && ++at >= first) {
			err = version_commit(v, &update);
			if (err == NSD_OK)
				err = version_begin(v, &update);
		}
		if (err == NSD_OK && update != NULL)
			err = version_note(update, &rr);
	}
	if (err == NSD_E_AGAIN)
		return version_commit(v, &update);
	if (update != NULL)
		update_abort(update);
	return err;
}

enum nsd_err
load_versions_apply(struct load_versions *v, const uint8_t *octets,
	size_t len)
{
	const struct store_view *view = store_writer_view(v->context->writer);
	const struct zone_entry *entry = store_get(view, v->entry);
	const struct zone *served = entry->zone == STORE_NONE ? NULL
		: store_get(view, entry->zone);
	struct versions found;
	enum nsd_err err = versions_look(octets, len,
		served != NULL ? served->serial : 0, &found);

	if (err != NSD_OK)
		return err;
	if (served != NULL && served->serial == found.to)
		return NSD_OK;
	return served == NULL || found.first == 0
		? NSD_E_INEXACT
		: versions_run(v, octets, len, found.first);
}
