/* parts_world.h - files of random zones, and what a build of all their records
 * says; for the tests of builds in parts. */
#ifndef TESTS_UNIT_BUILD_PARTS_WORLD_H
#define TESTS_UNIT_BUILD_PARTS_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "compile/build.h"
#include "lib/chance.h"
#include "lib/store_fixture.h"
#include "lib/update_model.h"

#define FINDINGS_MAX 200000u

static const uint8_t apex[NAME_MAX_LEN] = MODEL_APEX;
static const char *const files[] = {"z", "y"};

/* ---- findings ------------------------------------------------------------ */

struct report {
	struct diag_sink sink; /* first */
	size_t len;
	bool errors_alone;
	char text[FINDINGS_MAX];
};

static inline void
report_on_diag(struct diag_sink *sink, const struct diag *d)
{
	struct report *r = (struct report *)sink;

	assert_true(r->len < FINDINGS_MAX - 1000);
	if (r->errors_alone && d->severity != DIAG_ERROR)
		return;
	r->len += (size_t)snprintf(r->text + r->len, 1000, "%s:%u: %d %s\n",
		d->file != NULL ? d->file : "-", (unsigned)d->line,
		(int)d->severity, d->text);
}

static inline void
report_init(struct report *r, bool errors_alone)
{
	r->errors_alone = errors_alone;
	memset(&r->sink, 0, sizeof(r->sink));
	r->sink.on_diag = report_on_diag;
	r->len = 0;
	r->text[0] = '\0';
}

/* ---- a file -------------------------------------------------------------- */

struct world {
	struct model model;
	struct store_fixture s;
	uint64_t seed;
	uint64_t empty;
	unsigned order;          /* of files: 0 is any, 1 is canonical */
	struct rrbatch *batches; /* the file's */
	struct zone_build_input input;
	struct report report[2];
	bool many;               /* a stream that seems to have many records,
				  * which are worth threads */
	bool sorted;             /* records are in canonical order */
	bool outside;            /* some owners are to be outside of the zone */
	unsigned built, refused, odd, parts;
	unsigned streamed, sorts, streamed_chains;
};

static inline uint64_t
live(const struct world *w)
{
	return store_fixture_live(w->s.writer);
}

static inline void
check(const struct world *w, bool ok, const char *what)
{
	if (!ok)
		fail_msg("seed %llu: %s", (unsigned long long)w->seed, what);
}

/* Leaves the records as they are, or puts them out of order: then RRsets stand
 * in several places. */
static inline void
file_shuffle(struct model *m)
{
	for (size_t i = m->count; i > 1; i--) {
		size_t j = model_random(m, (uint32_t)i);
		struct model_rr swap = m->rrs[i - 1];

		m->rrs[i - 1] = m->rrs[j];
		m->rrs[j] = swap;
	}
}

static inline int
compare_rrs(const void *a, const void *b)
{
	return model_compare(&a, &b);
}

/* Cuts the records into batches anywhere. A record may have the owner of the
 * one before it. */
static inline struct rrbatch *
file_make(struct world *w)
{
	struct model *m = &w->model;
	struct rrbatch *first = NULL, **end = &first, *batch = NULL;
	unsigned order = w->order > 0 ? w->order - 1 : model_random(m, 3);
	const uint8_t *owner = NULL;

	w->sorted = order == 0;
	if (w->sorted)
		qsort(m->rrs, m->count, sizeof(m->rrs[0]), compare_rrs);
	else if (order == 1)
		file_shuffle(m);
	for (size_t i = 0; i < m->count; i++) {
		const struct model_rr *rr = &m->rrs[i];
		struct rrbatch_rr head = {
			.line = (uint32_t)i + 1,
			.file = (uint16_t)(i > m->count / 2),
			.ttl_sec = rr->ttl_sec,
			.type = rr->type,
			.rdlen = rr->rdlen,
		};
		const uint8_t *next;
		bool same;

		if (batch == NULL || model_random(m, 8) == 0) {
			batch = rrbatch_create(65536);
			assert_non_null(batch);
			*end = batch;
			end = &batch->next;
			owner = NULL;
		}
		next = w->outside && model_random(m, 16) == 0
			? (const uint8_t *)"\5other" : rr->owner;
		same = owner != NULL && name_equal(owner, next);
		owner = next;
		if (rrbatch_append(batch, &head, same ? NULL : owner,
			    rr->rdata) != NSD_OK) {
			batch = NULL;
			i--;
		}
	}
	return first;
}

static inline struct rrbatch *
copy_batch(const struct rrbatch *batch)
{
	struct rrbatch *copy = rrbatch_create(batch->len);

	if (copy != NULL) {
		memcpy(copy->data, batch->data, batch->len);
		copy->len = batch->len;
		copy->count = batch->count;
	}
	return copy;
}

static inline enum nsd_err
build_at_once(struct world *w, bool errors_alone, store_ref *zone)
{
	enum nsd_err err;

	report_init(&w->report[0], errors_alone);
	w->input.batches = w->batches;
	err = build_zone(&w->input, w->s.writer, w->s.heap, &w->report[0].sink,
		zone);
	w->input.batches = NULL;
	return err;
}

/* A build from a stream gave up, and must have reported nothing. built: the
 * result of the build of all records. Valid files in order must not be given
 * up, except some with DNSSEC. */
static inline void
check_given_up(const struct world *w, enum nsd_err built, bool in_order)
{
	check(w, w->report[1].len == 0, "told of what was given up");
	check(w, built != NSD_OK || !in_order || w->model.nsec3
			|| w->model.signatures
			|| strstr(w->report[0].text, "has no NS"),
		"given up without need");
}

static inline void
set_up_model(struct world *w, unsigned kind)
{
	struct model *m = &w->model;

	m->random = w->seed;
	m->labels = 3 + model_random(m, 9);
	m->depth = 1 + model_random(m, 3);
	m->valid = kind % 2 == 0;
	m->signatures = kind % 3 == 1;
	m->nsec3 = kind % 4 == 3;
	m->serial = 0;
	w->input.secondary = kind % 5 > 0;
	w->input.threads = 1 + model_random(m, 3);
}

/* Like most zones: one NSEC3PARAM that can be used, and NSEC3 records only at
 * hashes. */
static inline void
one_salt(struct model *m)
{
	bool found = false;
	size_t kept = 0;

	for (size_t i = 0; i < m->count; i++) {
		bool param = m->rrs[i].type == TYPE_NSEC3PARAM;
		bool hash = m->rrs[i].owner[0] == NSEC3_LABEL_LEN;

		if ((param && found) || (hash
				&& m->rrs[i].type != TYPE_NSEC3
				&& m->rrs[i].type != TYPE_RRSIG))
			continue;
		if (m->rrs[i].type == TYPE_RRSIG && (octets_get_u16(
				m->rrs[i].rdata) == TYPE_NSEC3) != hash)
			continue;
		found = found || param;
		m->rrs[kept++] = m->rrs[i];
	}
	m->count = kept;
}

static inline int
open_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	w->model.rrs = calloc(MODEL_MAX, sizeof(struct model_rr));
	w->input.apex = apex;
	w->input.files = files;
	w->input.file_count = 2;
	store_fixture_init(&w->s, 1);
	w->empty = live(w);
	*state = w;
	return 0;
}

static inline int
close_world(void **state)
{
	struct world *w = *state;

	store_fixture_fini(&w->s);
	free(w->model.rrs);
	free(w);
	return 0;
}

#endif
