/* load_versions.c - applies the differences that a transfer has brought. */
#include "config.h"

#include "dns/name.h"
#include "keep/retire.h"
#include "load/load_loop.h"
#include "load/load_retire.h"
#include "load/load_verify.h"
#include "load/load_versions.h"
#include "store/writer.h"
#include "xfr/changes.h"
#include "zone/zone.h"

/* ---- where they are ------------------------------------------------------ */

/* What the octets say before anything is done. */
struct versions {
	uint64_t first; /* version that begins at the serial that is served,
			 * counted from 1; 0: none does */
	uint64_t count;
	uint32_t to;    /* the last serial */
};

/* NSD_E_WIRE: they are broken, or of another zone than this one. */
static enum nsd_err
versions_look(const uint8_t *octets, size_t len,
	const struct zone_entry *entry, uint32_t served, struct versions *v)
{
	struct changes changes;
	struct changes_rr rr;
	enum nsd_err err = changes_open(&changes, octets, len);

	v->first = 0;
	v->count = 0;
	if (err != NSD_OK || changes.kind != XFR_DIFFS
		|| !name_equal(changes.apex, entry->name))
		return NSD_E_WIRE;
	while ((err = changes_read(&changes, &rr)) == NSD_OK) {
		if (rr.part != CHANGES_OLD_SOA)
			continue;
		v->count++;
		if (rr.serial == served && v->first == 0)
			v->first = v->count;
	}
	return err == NSD_E_AGAIN ? changes_close(&changes, &v->to) : err;
}

/* ---- one of them --------------------------------------------------------- */

/* A transaction, and the step that it becomes for other secondaries. */
struct version {
	struct zone_update *update; /* NULL: none */
	struct history_draft draft;
};

static enum nsd_err
version_check(void *ctx, const struct zone *zone)
{
	const struct load_versions *v = ctx;

	return v->verify == NULL ? NSD_OK
		: load_verify_zone(v->context, v->verify, zone);
}

static enum nsd_err
version_begin(struct load_versions *v, struct version *version)
{
	const struct zone_update_options options = {
		.threads = v->context->threads_max,
		.secondary = v->secondary,
		.nsec3_iterations_max = v->context->nsec3_iterations_max,
		.limits = v->context->limits,
		.exact = true,
		.names_max = v->names_max,
		.heap = v->heap,
		.check = version_check,
		.check_ctx = v,
	};
	const struct zone_entry *entry = store_get(
		store_writer_view(v->context->writer), v->entry);
	enum nsd_err err = update_begin(v->context->writer, v->entry,
		&options, &version->update);

	if (err == NSD_OK)
		history_draft_init(&version->draft, entry->name, &v->history);
	return err;
}

static enum nsd_err
version_note(struct version *version, const struct changes_rr *rr)
{
	const struct zone_rr record = {
		.owner = rr->owner,
		.ttl_sec = rr->ttl_sec,
		.type = rr->type,
		.rdlen = rr->rdlen,
		.rdata = rr->rdata,
	};

	history_draft_add(&version->draft, &record);
	return rr->action == XFR_ADD ? update_add(version->update, &record)
				     : update_remove(version->update, &record);
}

static void
version_abort(struct version *version)
{
	if (version->update == NULL)
		return;
	update_abort(version->update);
	history_draft_fini(&version->draft);
	version->update = NULL;
}

/* A version that is to be published by the loop. */
struct version_publish {
	const struct load_versions *v;
	const struct version *version;
};

static void
version_publish(void *arg)
{
	const struct version_publish *p = arg;
	const struct load_versions *v = p->v;
	struct store_writer *writer = v->context->writer;
	store_ref old;

	history_push(writer, v->entry, &p->version->draft);
	old = update_publish(p->version->update);
	history_settle(writer, v->entry, &v->history);
	update_settle(writer, v->entry);
	load_retire_add(v->context->retire, writer, old);
}

/* Ends a transaction, if there is one. */
static enum nsd_err
version_commit(struct load_versions *v, struct version *version)
{
	struct version_publish publish = {v, version};
	struct zone_update_result done;
	enum nsd_err err;

	if (version->update == NULL)
		return NSD_OK;
	err = update_make(version->update, v->sink);
	if (err == NSD_OK)
		load_loop_call(v->context->loop, version_publish, &publish);
	update_end(version->update, &done);
	version->update = NULL;
	history_draft_fini(&version->draft);
	if (err == NSD_OK) {
		v->done.added += done.added;
		v->done.removed += done.removed;
		v->done.names += done.names;
	}
	return err;
}

/* ---- all of them --------------------------------------------------------- */

static bool
versions_are_cancelled(const struct load_versions *v)
{
	return v->cancelled != NULL
		&& __atomic_load_n(v->cancelled, __ATOMIC_RELAXED);
}

/* From version `first` on. The octets were read once and are whole.
 * NSD_E_AGAIN: cancelled. */
static enum nsd_err
versions_run(struct load_versions *v, const uint8_t *octets, size_t len,
	uint64_t first)
{
	struct version version = {.update = NULL};
	struct changes changes;
	struct changes_rr rr;
	uint64_t at = 0;
	enum nsd_err err = changes_open(&changes, octets, len);

	while (err == NSD_OK) {
		err = changes_read(&changes, &rr);
		if (err == NSD_E_AGAIN) /* that was the last record */
			return version_commit(v, &version);
		if (err != NSD_OK)
			break;
		if (rr.part == CHANGES_OLD_SOA && ++at >= first) {
			err = version_commit(v, &version);
			if (err == NSD_OK && versions_are_cancelled(v))
				return NSD_E_AGAIN;
			if (err == NSD_OK)
				err = version_begin(v, &version);
		}
		if (err == NSD_OK && version.update != NULL)
			err = version_note(&version, &rr);
	}
	version_abort(&version);
	return err;
}

/* The primary decides how many versions there are: each is looked at whole. */
static bool
versions_cost_too_much(const struct load_versions *v,
	const struct versions *found, const struct zone *served)
{
	return v->verify != NULL && load_verify_is_wanted(v->verify)
		&& (found->count - found->first + 1) * served->rr_count
			> v->verify_records_max;
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
	enum nsd_err err = versions_look(octets, len, entry,
		served != NULL ? served->serial : 0, &found);

	if (err != NSD_OK)
		return err;
	if (served != NULL && served->serial == found.to)
		return NSD_OK;
	if (served == NULL || found.first == 0)
		return NSD_E_INEXACT;
	return versions_cost_too_much(v, &found, served)
		? NSD_E_LIMIT
		: versions_run(v, octets, len, found.first);
}
