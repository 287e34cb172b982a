/* audit_log.c - the findings of an audit. The first ones of each kind are kept;
 * the others are counted. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit_part.h"

#define TEXT_MAX 1400u /* printed names, and what is said of them */

static const struct {
	bool breaks;
	const char *several;
} kinds[] = {
#define AUDIT_ROW(kind, breaks, text) [AUDIT_##kind] = {breaks, text},
	AUDIT_KINDS(AUDIT_ROW)
#undef AUDIT_ROW
};

enum nsd_err
audit_log_init(struct audit_log *log, unsigned shown_max)
{
	size_t size = shown_max * sizeof(struct audit_finding *);
	struct audit_finding **kept = calloc(AUDIT_KIND_COUNT, size);

	memset(log, 0, sizeof(*log));
	if (kept == NULL)
		return NSD_E_MEMORY;
	if (pthread_mutex_init(&log->lock, NULL) != 0) {
		free(kept);
		return NSD_E_MEMORY;
	}
	log->shown_max = shown_max;
	for (unsigned i = 0; i < AUDIT_KIND_COUNT; i++)
		log->kinds[i].kept = kept + i * shown_max;
	return NSD_OK;
}

void
audit_log_drop(struct audit_log *log, enum audit_kind kind)
{
	for (unsigned i = 0; i < log->kinds[kind].kept_count; i++)
		free(log->kinds[kind].kept[i]);
	log->kinds[kind].kept_count = 0;
	log->kinds[kind].kept_breaking = 0;
	log->kinds[kind].count = 0;
	log->kinds[kind].breaking = 0;
}

void
audit_log_fini(struct audit_log *log)
{
	for (unsigned i = 0; i < AUDIT_KIND_COUNT; i++)
		audit_log_drop(log, i);
	free(log->kinds[0].kept);
	pthread_mutex_destroy(&log->lock);
}

/* The place for a finding with that order among those kept. If there is no
 * room, the one with the greatest order makes way; NULL if that is the new
 * one. */
static struct audit_finding **
log_find_room(struct audit_log *log, enum audit_kind kind, uint64_t order)
{
	struct audit_finding **kept = log->kinds[kind].kept, **worst = NULL;
	unsigned n = log->kinds[kind].kept_count;

	if (n < log->shown_max) {
		log->kinds[kind].kept_count++;
		return &kept[n];
	}
	for (unsigned i = 0; i < n; i++)
		if (worst == NULL || kept[i]->order > (*worst)->order)
			worst = &kept[i];
	if (worst == NULL || (*worst)->order <= order)
		return NULL;
	if ((*worst)->breaking) {
		assert(log->kinds[kind].kept_breaking > 0);
		log->kinds[kind].kept_breaking--;
	}
	free(*worst);
	*worst = NULL;
	return worst;
}

bool
audit_skip(struct audit *audit, enum audit_kind kind, bool mild,
	uint64_t order)
{
	struct audit_log *log = &audit->log;
	bool skip;

	assert(kind < AUDIT_KIND_COUNT);
	pthread_mutex_lock(&log->lock);
	skip = log->kinds[kind].kept_count == log->shown_max;
	for (unsigned i = 0; i < log->kinds[kind].kept_count && skip; i++)
		skip = log->kinds[kind].kept[i]->order <= order;
	if (skip) {
		log->kinds[kind].count++;
		log->kinds[kind].breaking += kinds[kind].breaks && !mild;
	}
	pthread_mutex_unlock(&log->lock);
	return skip;
}

static struct audit_finding *
finding_create(enum audit_kind kind, bool breaking,
	const struct audit_place *place, const char *text)
{
	size_t len = strlen(text);
	struct audit_finding *f = malloc(sizeof(*f) + len + 1);

	if (f == NULL)
		return NULL;
	memset(f, 0, sizeof(*f));
	f->order = place->order;
	f->kind = kind;
	f->breaking = breaking;
	f->type = place->type;
	if (place->rrsig != NULL) {
		f->has_rrsig = true;
		memcpy(f->rrsig, place->rrsig, RRSIG_HEAD);
	}
	memcpy(f->owner, place->owner, name_len(place->owner));
	memcpy(f->text, text, len + 1);
	return f;
}

void
audit_add(struct audit *audit, enum audit_kind kind, bool mild,
	const struct audit_place *place, const char *format, ...)
{
	struct audit_log *log = &audit->log;
	bool breaking = kinds[kind].breaks && !mild;
	struct audit_finding *f, **room;
	char text[TEXT_MAX];
	va_list args;

	assert(kind < AUDIT_KIND_COUNT);
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	pthread_mutex_lock(&log->lock);
	log->kinds[kind].count++;
	log->kinds[kind].breaking += breaking;
	room = log_find_room(log, kind, place->order);
	if (room != NULL) {
		f = finding_create(kind, breaking, place, text);
		if (f != NULL) {
			*room = f;
			log->kinds[kind].kept_breaking += breaking;
		} else {
			/* Only counted. The last one fills the gap. */
			*room = log->kinds[kind].kept
				[--log->kinds[kind].kept_count];
		}
	}
	pthread_mutex_unlock(&log->lock);
}

static int
audit_finding_compare(const void *a, const void *b)
{
	const struct audit_finding *x = *(struct audit_finding *const *)a;
	const struct audit_finding *y = *(struct audit_finding *const *)b;

	/* Findings without a line are about the zone, and come first. */
	if (x->line != 0 && y->line != 0 && x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return (int)x->kind - (int)y->kind;
}

/* Says how many of each kind were counted and not kept. */
static void
log_emit_rest(const struct audit_log *log, const struct audit_options *options,
	struct diag_sink *sink)
{
	for (unsigned i = 0; i < AUDIT_KIND_COUNT; i++) {
		uint64_t rest = log->kinds[i].count
			- log->kinds[i].kept_count;
		bool breaking = log->kinds[i].breaking
			> log->kinds[i].kept_breaking;

		if (rest > 0)
			diag_emit(sink, options->strict && breaking
					? DIAG_ERROR : DIAG_WARNING,
				NULL, 0, 0, "%llu more %s are not shown",
				(unsigned long long)rest, kinds[i].several);
	}
}

void
audit_log_emit(struct audit_log *log, const struct audit_options *options,
	struct diag_sink *sink, struct audit_report *report)
{
	struct audit_finding **all;
	size_t count = 0, at = 0;

	for (unsigned i = 0; i < AUDIT_KIND_COUNT; i++) {
		report->count[i] = log->kinds[i].count;
		count += log->kinds[i].kept_count;
	}
	all = count > 0 ? malloc(count * sizeof(*all)) : NULL;
	if (all == NULL && count > 0)
		for (unsigned i = 0; i < AUDIT_KIND_COUNT; i++) {
			/* Without memory, all of them are the rest. */
			log->kinds[i].kept_breaking = 0;
			while (log->kinds[i].kept_count > 0)
				free(log->kinds[i].kept
					[--log->kinds[i].kept_count]);
		}
	for (unsigned i = 0; all != NULL && i < AUDIT_KIND_COUNT; i++)
		for (unsigned j = 0; j < log->kinds[i].kept_count; j++)
			all[at++] = log->kinds[i].kept[j];
	if (at > 0)
		qsort(all, at, sizeof(*all), audit_finding_compare);
	for (size_t i = 0; i < at; i++) {
		const struct audit_finding *f = all[i];

		diag_emit(sink, options->strict && f->breaking ? DIAG_ERROR
								: DIAG_WARNING,
			f->line != 0 && f->file < options->file_count
				? options->files[f->file] : NULL,
			f->line, 0, "%s", f->text);
	}
	free(all);
	log_emit_rest(log, options, sink);
}
