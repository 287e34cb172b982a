/* load_versions.c - applies the differences of transfers. */
#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "base/assert.h"
#include "dns/name.h"
#include "loader/load_candidate.h"
#include "loader/load_loop.h"
#include "loader/load_retire.h"
#include "loader/load_verify.h"
#include "loader/load_versions.h"
#include "store/writer.h"
#include "xfr/changes.h"
#include "zone/history.h"
#include "zone/zone.h"

/* ---- where they are ------------------------------------------------------ */

/* The versions in the octets, as counted before any is applied. */
struct versions {
	uint64_t first; /* version that begins at the serial that is served,
			 * counted from 1; 0: none does */
	uint64_t count;
	uint32_t to;    /* the last serial */
};

/* Counts the versions. NSD_E_WIRE: the octets are broken, or of another zone
 * than this one. */
static enum nsd_err
versions_look_at(const struct load_octets *part,
	const struct zone_entry *entry, uint32_t served, struct versions *found)
{
	struct changes changes;
	struct changes_rr rr;
	enum nsd_err err = changes_open(&changes, part->data, part->len);

	if (err != NSD_OK || changes.kind != XFR_DIFFS
		|| !name_equal(changes.apex, entry->name))
		return NSD_E_WIRE;
	while ((err = changes_read(&changes, &rr)) == NSD_OK) {
		if (rr.part != CHANGES_OLD_SOA)
			continue;
		found->count++;
		if (rr.serial == served && found->first == 0)
			found->first = found->count;
	}
	return err == NSD_E_AGAIN ? changes_close(&changes, &found->to) : err;
}

/* Counts the versions of all parts, as if they were one. */
static enum nsd_err
versions_look(const struct load_octets *parts, size_t count,
	const struct zone_entry *entry, uint32_t served, struct versions *found)
{
	enum nsd_err err = NSD_OK;

	*found = (struct versions){.first = 0};
	for (size_t i = 0; i < count && err == NSD_OK; i++)
		err = versions_look_at(&parts[i], entry, served, found);
	return err;
}

/* ---- changesets that are kept -------------------------------------------- */

/* The changesets that the last versions become for other secondaries. */
struct changesets {
	struct history_draft *drafts;
	size_t count;   /* 0: no changesets are kept, also for lack of memory */
	uint64_t first; /* the version of the first one */
};

static void
changesets_init(struct changesets *changesets, const struct load_versions *v,
	const struct zone_entry *entry, const struct versions *found)
{
	uint64_t count = found->count - found->first + 1;

	assert(found->first > 0 && found->first <= found->count);
	if (count > v->history.number)
		count = v->history.number;
	if (count > HISTORY_CHANGESETS_MAX)
		count = HISTORY_CHANGESETS_MAX;
	changesets->drafts = calloc((size_t)count, sizeof(*changesets->drafts));
	changesets->count = changesets->drafts != NULL ? (size_t)count : 0;
	changesets->first = found->count - changesets->count + 1;
	for (size_t i = 0; i < changesets->count; i++)
		history_draft_init(&changesets->drafts[i], entry->name,
			&v->history);
}

static void
changesets_fini(struct changesets *changesets)
{
	for (size_t i = 0; i < changesets->count; i++)
		history_draft_fini(&changesets->drafts[i]);
	free(changesets->drafts);
}

static void
changesets_push(const struct changesets *changesets,
	const struct load_versions *v)
{
	struct store_writer *writer = v->context->writer;
	uint64_t octets = 0;
	size_t at = changesets->count;

	/* Older ones would have no room. */
	while (at > 0 && (v->history.octets == 0 || octets
			+ changesets->drafts[at - 1].len <= v->history.octets))
		octets += changesets->drafts[--at].len;
	if (at == changesets->count)
		history_clear(writer, v->entry);
	for (; at < changesets->count; at++)
		history_push(writer, v->entry, &changesets->drafts[at]);
}

/* ---- one change ---------------------------------------------------------- */

/* The transaction, and the changesets that are kept of it. */
struct transaction {
	struct load_versions *v;
	struct zone_update *update;
	struct changesets changesets;
	uint64_t first; /* version that is applied; those before are left out */
	uint64_t at;    /* version that is being read */
};

static enum nsd_err
version_change_check(void *ctx, struct update_candidate *candidate)
{
	const struct load_versions *v = ctx;

	return v->verify == NULL ? NSD_OK : load_verify(v->context, v->verify,
		v->accepted, candidate, v->refusal);
}

static enum nsd_err
version_change_begin(struct transaction *c)
{
	struct load_versions *v = c->v;
	const struct zone_update_options options = {
		.threads = v->context->threads_max,
		.secondary = v->secondary,
		.nsec3_iterations_max = v->context->nsec3_iterations_max,
		.limits = v->context->limits,
		.exact = true,
		.names_max = v->names_max,
		.heap = v->heap,
		.check = version_change_check,
		.check_ctx = v,
	};

	return update_begin(v->context->writer, v->entry, &options,
		&c->update);
}

/* Notes a record in the transaction, and in the changeset of its version; a
 * record of a version that is left out is only passed. */
static enum nsd_err
change_note(struct transaction *c, const struct changes_rr *rr)
{
	const struct zone_rr record = {
		.owner = rr->owner,
		.ttl_sec = rr->ttl_sec,
		.type = rr->type,
		.rdlen = rr->rdlen,
		.rdata = rr->rdata,
	};

	if (rr->part == CHANGES_OLD_SOA && ++c->at > c->first)
		update_next_version(c->update);
	if (c->at < c->first)
		return NSD_OK;
	/* Versions were counted in the same octets. */
	ASSERT_HOT(c->at < c->changesets.first + c->changesets.count);
	if (c->at >= c->changesets.first)
		history_draft_add(&c->changesets.drafts[c->at
			- c->changesets.first], &record);
	return rr->action == XFR_ADD ? update_add(c->update, &record)
				     : update_remove(c->update, &record);
}

/* Notes all changes of octets that were read once and are whole. */
static enum nsd_err
change_note_all(struct transaction *c, const struct load_octets *part)
{
	struct changes changes;
	struct changes_rr rr;
	enum nsd_err err = changes_open(&changes, part->data, part->len);

	while (err == NSD_OK) {
		err = changes_read(&changes, &rr);
		if (err == NSD_OK)
			err = change_note(c, &rr);
	}
	return err == NSD_E_AGAIN ? NSD_OK : err;
}

/* Publishes the transaction; called by the loop. */
static void
change_publish(void *arg)
{
	const struct transaction *c = arg;
	const struct load_versions *v = c->v;
	struct store_writer *writer = v->context->writer;
	const struct zone_entry *entry = store_get(store_writer_view(writer),
		v->entry);
	store_ref old;

	assert(load_loop_is_own(v->context->loop));
	changesets_push(&c->changesets, v);
	old = update_publish(c->update);
	history_prune(writer, v->entry, &v->history);
	update_settle(writer, v->entry);
	load_retire_add(v->context->retire, writer, entry->name, old);
}

/* Has the new version judged by a program. */
static enum nsd_err
change_verify(struct transaction *c)
{
	const struct load_versions *v = c->v;
	struct load_candidate candidate = {
		.zone = v->verify,
		.update = c->update,
	};
	enum nsd_err err;

	if (v->verify == NULL || (v->accepted & IPC_CHECK_VERIFIER) != 0)
		return NSD_OK;
	err = load_candidate_check(v->context, &candidate);
	if (err == NSD_E_REFUSED)
		load_refusal_set(v->refusal, IPC_CHECK_VERIFIER,
			candidate.serial, "%s", candidate.why);
	return err;
}

/* Makes the new version, and has the loop publish it. */
static enum nsd_err
change_commit(struct transaction *c)
{
	struct load_versions *v = c->v;
	struct zone_update_result done;
	enum nsd_err err = update_make(c->update, v->sink);

	if (err == NSD_OK)
		err = change_verify(c);
	if (err == NSD_OK)
		load_loop_call(v->context->loop, change_publish, c);
	update_end(c->update, &done);
	if (err == NSD_OK) {
		v->done.added += done.added;
		v->done.removed += done.removed;
		v->done.names += done.names;
	}
	return err;
}

static bool
change_is_cancelled(const struct transaction *c)
{
	return c->v->cancelled != NULL
		&& __atomic_load_n(c->v->cancelled, __ATOMIC_RELAXED);
}

static enum nsd_err
change_run(struct transaction *c, const struct load_octets *parts, size_t count)
{
	enum nsd_err err = version_change_begin(c);

	if (err != NSD_OK)
		return err;
	for (size_t i = 0; i < count && err == NSD_OK; i++)
		err = change_note_all(c, &parts[i]);
	if (err == NSD_OK && change_is_cancelled(c))
		err = NSD_E_AGAIN;
	if (err == NSD_OK)
		return change_commit(c);
	update_abort(c->update);
	return err;
}

/* ---- several versions ---------------------------------------------------- */

/* True if the change is for a thread: the version before is still to be
 * retired, which the loop does not wait for; or too many records are to be
 * verified. */
static bool
versions_cost_too_much(const struct load_versions *v,
	const struct zone_entry *entry, const struct zone *served)
{
	if (v->heap == NULL && load_retire_has(v->context->retire,
			entry->name))
		return true;
	if (v->heap == NULL && v->verify != NULL
		&& (v->accepted & IPC_CHECK_VERIFIER) == 0
		&& load_candidate_is_wanted(v->context, v->verify))
		return true;
	return v->verify != NULL && v->verify_records_max != UINT64_MAX
		&& load_verify_takes_long(v->verify, served,
			v->verify_records_max);
}

enum nsd_err
load_versions_apply(struct load_versions *v, const struct load_octets *parts,
	size_t count)
{
	const struct store_view *view = store_writer_view(v->context->writer);
	const struct zone_entry *entry = store_get(view, v->entry);
	const struct zone *served = entry->zone == STORE_NONE ? NULL
		: store_get(view, entry->zone);
	struct transaction c = {.v = v};
	struct versions found;
	enum nsd_err err = versions_look(parts, count, entry,
		served != NULL ? served->serial : 0, &found);

	if (err != NSD_OK)
		return err;
	if (served != NULL && served->serial == found.to)
		return NSD_OK;
	if (served == NULL || found.first == 0)
		return NSD_E_INEXACT;
	if (versions_cost_too_much(v, entry, served))
		return NSD_E_LIMIT;
	c.first = found.first;
	changesets_init(&c.changesets, v, entry, &found);
	err = change_run(&c, parts, count);
	changesets_fini(&c.changesets);
	return err;
}
