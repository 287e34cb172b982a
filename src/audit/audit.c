/* audit.c - walks a signed zone an owner at a time, and hands what is there to
 * the checks of signatures and of the chains. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit_part.h"
#include "zone/walk.h"

/* Octets of RRsets in a batch. When signatures are verified, even a small batch
 * is worth a thread. */
#define BATCH_ROOM ((size_t)1 << 18)
#define BATCH_ROOM_VERIFY ((size_t)1 << 14)

/* ---- kinds of owners --------------------------------------------------- */

static bool
type_is_data(uint16_t type)
{
	return type != TYPE_NSEC && type != TYPE_NSEC3;
}

bool
audit_owner_classify(struct audit *audit, struct audit_owner *o, bool occluded)
{
	bool ns = false, dname = false;

	o->order = ++audit->order;
	o->occluded = occluded;
	o->apex = o->name_len == audit->apex_len;
	o->exists = false;
	o->has_ds = false;
	for (size_t i = 0; i < o->group_count; i++) {
		const struct audit_group *g = &o->groups[i];

		if (g->sigs)
			continue;
		ns |= g->type == TYPE_NS;
		dname |= g->type == TYPE_DNAME;
		o->has_ds |= g->type == TYPE_DS;
		o->exists |= type_is_data(g->type);
	}
	o->cut = ns && !o->apex && !o->occluded;
	return !o->occluded && (o->cut || dname);
}

/* Names come in canonical order, so hidden ones follow right behind the name
 * that hides them. */
static void
owner_classify_next(struct audit *audit, struct audit_owner *o)
{
	if (audit->has_hidden && !name_is_within(o->name, audit->hidden))
		audit->has_hidden = false;
	if (!audit_owner_classify(audit, o, audit->has_hidden))
		return;
	memcpy(audit->hidden, o->name, o->name_len);
	audit->has_hidden = true;
}

/* True if the zone signs an RRset of that type at the owner (RFC 4035 section
 * 2.2). It signs NSEC3 at any owner. */
static bool
owner_signs(const struct audit_owner *o, uint16_t type)
{
	if (type == TYPE_NSEC3)
		return true;
	if (o->occluded)
		return false;
	return !o->cut || type == TYPE_DS || type == TYPE_NSEC;
}

/* ---- checks of an owner ------------------------------------------------ */

/* Room for one more RRset in the batch that is being filled; a full batch is
 * submitted. NULL without memory. */
static struct audit_rrset *
batch_get_room(struct audit *audit, size_t size)
{
	size_t room = audit->options->verify ? BATCH_ROOM_VERIFY : BATCH_ROOM;
	struct audit_batch *b = audit->rrsets;

	if (b != NULL && b->room - b->len < size) {
		audit->rrsets = NULL;
		audit_pool_submit(audit, b, audit_sigs_check);
		b = NULL;
	}
	if (b == NULL) {
		b = audit_batch_create(size > room ? size : room, false);
		if (b == NULL)
			return NULL;
		audit->rrsets = b;
	}
	b->len += size;
	return (void *)(b->data + b->len - size);
}

/* Copies an RRset and its signatures into a batch. sigs may be NULL.
 * NSD_E_LIMIT: it is larger than 4 GiB. */
static enum nsd_err
rrset_hand_on(struct audit *audit, const struct audit_owner *o,
	const struct audit_group *g, const struct audit_group *sigs)
{
	size_t sigs_len = sigs != NULL ? sigs->len : 0;
	/* The RRs are looked at only to verify signatures. */
	size_t rrs_len = audit->options->verify ? g->len : 0;
	size_t size = sizeof(struct audit_rrset) + o->name_len + rrs_len
		+ sigs_len;
	struct audit_rrset *r;
	uint8_t *at;

	size = (size + 7) & ~(size_t)7;
	if (size > UINT32_MAX)
		return NSD_E_LIMIT;
	r = batch_get_room(audit, size);
	if (r == NULL)
		return NSD_E_MEMORY;
	r->order = o->order;
	r->size = (uint32_t)size;
	r->ttl_sec = g->ttl_sec;
	r->rrs_len = (uint32_t)rrs_len;
	r->sigs_len = (uint32_t)sigs_len;
	r->type = g->type;
	r->owner_len = o->name_len;
	/* RFC 4034 section 3.1.3: neither root nor asterisk is counted */
	r->labels = (uint8_t)(name_count_labels(o->name)
		- name_is_wildcard(o->name));
	at = r->data;
	memcpy(at, o->name, o->name_len);
	at += o->name_len;
	if (rrs_len > 0)
		memcpy(at, o->data + g->at, rrs_len);
	if (sigs_len > 0)
		memcpy(at + rrs_len, o->data + sigs->at, sigs_len);
	return NSD_OK;
}

/* RRSIGs that should not be there. covers: the RRset is there, but the zone
 * should not sign it; else there is no such RRset. */
static void
sigs_tell_stray(struct audit *audit, const struct audit_owner *o,
	const struct audit_group *sigs, bool covers)
{
	const struct audit_place place = {o->name, sigs->type,
		o->data + sigs->at + 6, o->order};
	char name[NAME_TEXT_MAX], type[RRTYPE_TEXT_MAX];

	/* audit_nsec_name has told that the NSEC itself is there. */
	if (o->occluded && sigs->type == TYPE_NSEC)
		return;
	name_print_text(o->name, name);
	rrtype_print(sigs->type, type);
	if (covers)
		audit_add(audit, AUDIT_RRSIG_PLACE, false, &place,
			"%s %s has an RRSIG but is not the zone's to sign",
			name, type);
	else
		audit_add(audit, AUDIT_RRSIG_STRAY, false, &place,
			"%s has an RRSIG over %s, which is not there", name,
			type);
}

enum nsd_err
audit_owner_check_rrsets(struct audit *audit, const struct audit_owner *o)
{
	for (size_t i = 0; i < o->group_count; i++) {
		const struct audit_group *g = &o->groups[i];
		const struct audit_group *sigs = i + 1 < o->group_count
			&& g[1].sigs && g[1].type == g->type ? g + 1 : NULL;
		enum nsd_err err = NSD_OK;

		if (g->sigs) {
			sigs_tell_stray(audit, o, g, false);
			continue;
		}
		if (g->type == TYPE_NSEC3)
			err = audit_nsec3_records(audit, o, g);
		if (err == NSD_OK && owner_signs(o, g->type))
			err = rrset_hand_on(audit, o, g, sigs);
		else if (sigs != NULL)
			sigs_tell_stray(audit, o, sigs, true);
		if (err != NSD_OK)
			return err;
		i += sigs != NULL;
	}
	return NSD_OK;
}

void
audit_owner_check_types(struct audit *audit, const struct audit_owner *o)
{
	struct audit_place place = {o->name, TYPE_DS, NULL, o->order};
	char name[NAME_TEXT_MAX];

	if (o->occluded)
		return;
	/* Unless findings are errors: the build has warned of DS without NS. */
	if (o->has_ds && !o->cut && (o->apex || audit->options->strict)) {
		name_print_text(o->name, name);
		audit_add(audit, o->apex ? AUDIT_DS_APEX : AUDIT_DS_NO_NS,
			false, &place, o->apex
				? "%s has DS but is the apex of the zone"
				: "%s has DS but no NS", name);
	}
	if (!o->apex && audit_owner_find(o, TYPE_DNSKEY) != NULL) {
		name_print_text(o->name, name);
		place.type = TYPE_DNSKEY;
		audit_add(audit, AUDIT_KEY_PLACE, false, &place,
			"%s has DNSKEY but is not the apex of the zone", name);
	}
}

enum nsd_err
audit_apex_read(struct audit *audit, const struct audit_owner *o)
{
	const struct audit_group *g = audit_owner_find(o, TYPE_DNSKEY);
	uint8_t sigs[32];
	struct audit_rrs rrs;
	enum nsd_err err;

	if (!o->apex || g == NULL) {
		audit->is_unsigned = true;
		return NSD_E_NOT_FOUND;
	}
	audit->has_keys = true;
	rrs = (struct audit_rrs){o->data + g->at, g->len};
	audit_owner_find_algorithms(o, TYPE_DNSKEY, sigs);
	err = audit_keys_read(audit, &rrs, sigs);
	g = audit_owner_find(o, TYPE_NSEC3PARAM);
	if (err == NSD_OK && g != NULL) {
		rrs = (struct audit_rrs){o->data + g->at, g->len};
		audit_nsec3_params(audit, &rrs);
	}
	audit->nsec.wanted = audit->nsec3.param_count == 0
		|| audit_owner_find(o, TYPE_NSEC) != NULL;
	return err;
}

/* All records of the owner at hand are there: checks it. */
static enum nsd_err
owner_end(struct audit *audit)
{
	struct audit_owner *o = &audit->owner;
	enum nsd_err err = NSD_OK;

	if (audit->is_unsigned)
		return NSD_E_NOT_FOUND;
	if (o->name_len == 0)
		return NSD_OK;
	owner_classify_next(audit, o);
	if (!audit->has_keys)
		err = audit_apex_read(audit, o);
	if (err != NSD_OK)
		return err;
	audit_owner_check_types(audit, o);
	audit_nsec_name(audit, o);
	err = audit_names_add(audit, o);
	return err == NSD_OK ? audit_owner_check_rrsets(audit, o) : err;
}

/* ---- the audit --------------------------------------------------------- */

enum nsd_err
audit_next(struct audit *audit, const uint8_t *owner, size_t len)
{
	enum nsd_err err = owner_end(audit);

	if (err == NSD_OK)
		audit_owner_begin(&audit->owner, owner, len);
	return err;
}

enum nsd_err
audit_take(struct audit *audit, const struct zone_rr *rr)
{
	return audit_owner_add(&audit->owner, rr);
}

enum nsd_err
audit_settle(struct audit *audit)
{
	struct audit_batch *last;
	enum nsd_err err = owner_end(audit);

	audit->owner.name_len = 0;
	if (err != NSD_OK)
		return err;
	last = audit->rrsets;
	audit->rrsets = NULL;
	if (last != NULL)
		audit_pool_submit(audit, last, audit_sigs_check);
	return audit_pool_drain(audit);
}

/* Checks that take all records together. */
static enum nsd_err
audit_check_whole(struct audit *audit)
{
	enum nsd_err err;

	audit_keys_finish(audit);
	err = audit_names_finish(audit);
	if (err == NSD_OK)
		err = audit_nsec3_finish(audit);
	audit_nsec_finish(audit);
	return err;
}

enum nsd_err
audit_finish(struct audit *audit)
{
	const struct audit_place place = {audit->options->apex, 0, NULL, 0};
	enum nsd_err err = audit_settle(audit);

	if (!audit->is_unsigned)
		return err == NSD_OK ? audit_check_whole(audit) : err;
	if (audit->options->strict)
		audit_add(audit, AUDIT_UNSIGNED, false, &place,
			"the zone is not signed: no DNSKEY at its apex");
	return NSD_OK;
}

static enum nsd_err
audit_init(struct audit *audit, const struct audit_options *options)
{
	enum nsd_err err;

	audit->options = options;
	audit->apex_len = name_len(options->apex);
	audit->apex_labels = name_count_labels(options->apex);
	err = audit_log_init(&audit->log, options->shown_max > 0
		? options->shown_max : AUDIT_SHOWN);
	if (err != NSD_OK)
		return err;
	err = audit_pool_init(audit, options->threads);
	if (err != NSD_OK)
		audit_log_fini(&audit->log);
	arena_init(&audit->nsec3.arena, NULL, 0);
	return err;
}

enum nsd_err
audit_create(const struct audit_options *options, struct audit **out)
{
	struct audit *audit = calloc(1, sizeof(*audit));
	enum nsd_err err = NSD_E_MEMORY;

	assert(options->apex != NULL);
	if (audit != NULL)
		err = audit_init(audit, options);
	if (err != NSD_OK)
		free(audit);
	else
		*out = audit;
	return err;
}

void
audit_destroy(struct audit *audit)
{
	if (audit == NULL)
		return;
	audit_pool_fini(audit);
	for (unsigned i = 0; i < AUDIT_THREADS_MAX; i++)
		audit_sigs_fini(&audit->pool.workers[i]);
	audit_nsec3_fini(&audit->nsec3);
	audit_names_fini(&audit->names);
	audit_keys_fini(&audit->keys);
	audit_log_fini(&audit->log);
	free(audit->rrsets);
	audit_owner_fini(&audit->owner);
	free(audit);
}

void
audit_find_lines(struct audit *audit, const struct rrbatch *batches)
{
	audit_place_find(&audit->log, batches);
}

bool
audit_lacks_line(const struct audit *audit)
{
	for (unsigned i = 0; i < AUDIT_KIND_COUNT; i++)
		for (unsigned j = 0; j < audit->log.kinds[i].kept_count; j++)
			if (audit->log.kinds[i].kept[j]->line == 0)
				return true;
	return false;
}

void
audit_tell(struct audit *audit, struct diag_sink *sink,
	struct audit_report *report)
{
	memset(report, 0, sizeof(*report));
	for (unsigned i = 0; i < AUDIT_THREADS_MAX; i++)
		report->verified += audit->pool.workers[i].verified;
	audit_log_emit(&audit->log, audit->options, sink, report);
}

/* ---- of a zone in the store -------------------------------------------- */

static enum nsd_err
audit_on_rr(void *ctx, const struct zone_rr *rr)
{
	struct audit *audit = ctx;
	const struct audit_owner *o = &audit->owner;
	size_t len = name_len(rr->owner);
	enum nsd_err err = NSD_OK;

	if (len != o->name_len || memcmp(o->name, rr->owner, len) != 0)
		err = audit_next(audit, rr->owner, len);
	return err == NSD_OK ? audit_take(audit, rr) : err;
}

enum nsd_err
audit_zone(const struct store_view *view, const struct zone *zone,
	const struct audit_options *options, struct diag_sink *sink,
	struct audit_report *report)
{
	struct audit *audit;
	enum nsd_err err;

	memset(report, 0, sizeof(*report));
	err = audit_create(options, &audit);
	if (err != NSD_OK)
		return err;
	err = zone_walk(view, zone, options->apex, audit_on_rr, audit);
	if (err == NSD_OK || err == NSD_E_NOT_FOUND)
		err = audit_finish(audit);
	if (err == NSD_OK) {
		audit_find_lines(audit, options->batches);
		audit_tell(audit, sink, report);
	}
	audit_destroy(audit);
	return err;
}
