/* findings.c - collects findings and emits them in file order. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/findings.h"

void
findings_add(struct findings *findings, enum diag_severity severity,
	const struct rrbatch_rr *rr, const char *format, ...)
{
	char text[FINDING_TEXT_MAX];
	struct finding *f;
	va_list args;
	size_t len;

	assert(severity <= DIAG_ERROR);
	findings->count[severity]++;
	if (findings->kept[severity] >= FINDINGS_KEPT_MAX)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	len = strlen(text);
	f = arena_alloc(findings->arena, sizeof(*f) + len + 1);
	if (f == NULL)
		return;
	f->severity = severity;
	f->line = rr != NULL ? rr->line : 0;
	f->file = rr != NULL ? rr->file : 0;
	f->order = findings->count[severity];
	memcpy(f->text, text, len + 1);
	f->next = findings->list;
	findings->list = f;
	findings->kept[severity]++;
}

const char *
findings_name_text(const uint8_t *name, char text[NAME_TEXT_MAX])
{
	name_print_text(name, text);
	return text;
}

static int
finding_compare(const void *a, const void *b)
{
	const struct finding *x = *(const struct finding *const *)a;
	const struct finding *y = *(const struct finding *const *)b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	if (x->severity != y->severity)
		return x->severity > y->severity ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void
findings_emit_rest(enum diag_severity severity, uint64_t missing,
	struct diag_sink *sink)
{
	uint32_t *count;

	if (missing == 0 || sink == NULL)
		return;
	diag_emit(sink, severity, NULL, 0, 0, "%llu more %s not shown",
		(unsigned long long)missing,
		severity == DIAG_ERROR ? "errors are" : "warnings are");
	/* The findings that are not shown count, too. */
	count = severity == DIAG_ERROR ? &sink->errors : &sink->warnings;
	*count = missing - 1 < UINT32_MAX - *count
		? *count + (uint32_t)(missing - 1) : UINT32_MAX;
}

void
findings_emit(struct findings *const *lists, size_t count,
	const char *const *files, size_t file_count, struct diag_sink *sink)
{
	uint64_t total[DIAG_ERROR + 1] = {0};
	uint32_t told[DIAG_ERROR + 1] = {0};
	struct finding **all;
	size_t n = 0, at = 0;

	for (size_t i = 0; i < count; i++)
		for (int s = 0; s <= DIAG_ERROR; s++) {
			n += lists[i]->kept[s];
			total[s] += lists[i]->count[s];
		}
	all = n == 0 ? NULL : arena_alloc(lists[0]->arena, n * sizeof(*all));
	if (all != NULL) {
		for (size_t i = 0; i < count; i++)
			for (struct finding *f = lists[i]->list; f != NULL;
				f = f->next)
				all[at++] = f;
		qsort(all, at, sizeof(*all), finding_compare);
	}
	for (size_t i = 0; i < at; i++) {
		const struct finding *f = all[i];

		if (told[f->severity] == FINDINGS_KEPT_MAX)
			continue;
		told[f->severity]++;
		total[f->severity]--;
		diag_emit(sink, f->severity,
			f->file < file_count ? files[f->file] : NULL, f->line,
			0, "%s", f->text);
	}
	findings_emit_rest(DIAG_ERROR, total[DIAG_ERROR], sink);
	findings_emit_rest(DIAG_WARNING, total[DIAG_WARNING], sink);
}
