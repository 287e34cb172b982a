/*
 * fixture.h - parses text or a file and writes down all that came of it, a
 * line a record or finding, so that tests compare strings.
 */
#ifndef TESTS_UNIT_ZONEFILE_FIXTURE_H
#define TESTS_UNIT_ZONEFILE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dns/name.h"
#include "dns/rrtype.h"
#include "zonefile/parse.h"
#include "zonefile/zonefile.h"

struct outcome {
	char *text;        /* records, as "LINE OWNER TTL TYPE HEX\n" */
	size_t len, size;
	char *diags;       /* as "LINE:COLUMN TEXT\n" */
	size_t diags_len, diags_size;
	enum nsd_err err;
	size_t sources;
	uint64_t rr_count;
	uint32_t errors, warnings;
};

struct outcome_sink {
	struct diag_sink sink;
	struct outcome *outcome;
	const char *main_name; /* left out of findings; others are named */
};

static inline void
outcome_printf(char **text, size_t *len, size_t *size, const char *format, ...)
{
	va_list args;
	int n;

	for (;;) {
		va_start(args, format);
		n = vsnprintf(*text != NULL ? *text + *len : NULL,
			*size - *len, format, args);
		va_end(args);
		if ((size_t)n < *size - *len)
			break;
		*size = 2 * (*size + (size_t)n) + 64;
		*text = realloc(*text, *size);
		assert_non_null(*text);
	}
	*len += (size_t)n;
}

static inline void
outcome_on_diag(struct diag_sink *sink, const struct diag *d)
{
	struct outcome_sink *s = (struct outcome_sink *)sink;
	struct outcome *o = s->outcome;
	const char *slash = d->file != NULL ? strrchr(d->file, '/') : NULL;
	const char *file = slash != NULL ? slash + 1
		: d->file != NULL ? d->file : s->main_name;

	outcome_printf(&o->diags, &o->diags_len, &o->diags_size,
		"%s%s%s%u:%u %s\n",
		d->severity == DIAG_WARNING ? "warning " : "",
		strcmp(file, s->main_name) != 0 ? file : "",
		strcmp(file, s->main_name) != 0 ? ":" : "",
		d->line, d->column, d->text);
}

/* Owners that are left out in the batch are put in; rdata as hex. */
static inline void
outcome_take(struct outcome *o, const struct zonefile_result *result)
{
	const struct rrbatch *b;
	uint64_t count = 0;

	outcome_printf(&o->text, &o->len, &o->size, "%s", "");
	outcome_printf(&o->diags, &o->diags_len, &o->diags_size, "%s", "");
	for (b = result->batches; b != NULL; b = b->next) {
		const struct rrbatch_rr *rr = rrbatch_first(b);
		char owner[NAME_TEXT_MAX] = "", type[RRTYPE_TEXT_MAX];
		size_t i, k;

		if (b->count > 0)
			assert_true(rr->owner_len > 0);
		for (i = 0; i < b->count; i++, rr = rrbatch_next(rr)) {
			if (rr->owner_len > 0) {
				assert_int_equal(name_len(rr->data),
					rr->owner_len);
				name_print_text(rr->data, owner);
			}
			rrtype_print(rr->type, type);
			if (rr->file > 0)
				outcome_printf(&o->text, &o->len, &o->size,
					"file %u ", rr->file);
			outcome_printf(&o->text, &o->len, &o->size,
				"%u %s %u %s ", rr->line, owner, rr->ttl_sec,
				type);
			for (k = 0; k < rr->rdlen; k++)
				outcome_printf(&o->text, &o->len, &o->size,
					"%02x", rrbatch_rr_rdata(rr)[k]);
			outcome_printf(&o->text, &o->len, &o->size, "\n");
			count++;
		}
		assert_ptr_equal((const uint8_t *)rr, b->data + b->len);
	}
	assert_int_equal(count, result->rr_count);
	o->rr_count = count;
	o->sources = result->source_count;
}

static inline void
outcome_free(struct outcome *o)
{
	free(o->text);
	free(o->diags);
}

/* example.org. as the apex. */
static const uint8_t fixture_apex[] = "\7example\3org";

static inline struct outcome
outcome_of_text(const char *text, size_t len,
	const struct zonefile_options *options,
	const struct parse_tuning *tuning)
{
	struct outcome o = { 0 };
	struct outcome_sink sink = { { outcome_on_diag, 0, 0 }, &o, "test" };
	struct zonefile_result result;

	o.err = parse_text("test", text, len, options,
		tuning != NULL ? tuning : &parse_tuning_default, &sink.sink,
		&result);
	outcome_take(&o, &result);
	o.errors = sink.sink.errors;
	o.warnings = sink.sink.warnings;
	zonefile_result_fini(&result);
	return o;
}

static inline struct outcome
outcome_of_file(const char *path, const struct zonefile_options *options,
	const struct parse_tuning *tuning)
{
	struct outcome o = { 0 };
	const char *slash = strrchr(path, '/');
	struct outcome_sink sink = { { outcome_on_diag, 0, 0 }, &o,
		slash != NULL ? slash + 1 : path };
	struct zonefile_result result;

	o.err = parse_path(path, options,
		tuning != NULL ? tuning : &parse_tuning_default, &sink.sink,
		&result);
	outcome_take(&o, &result);
	o.errors = sink.sink.errors;
	o.warnings = sink.sink.warnings;
	zonefile_result_fini(&result);
	return o;
}

/* Parses text of len octets and compares records and findings. */
static inline void
expect_len(const char *text, size_t len, const char *records,
	const char *diags)
{
	struct zonefile_options options = { .apex = fixture_apex };
	struct outcome o = outcome_of_text(text, len, &options, NULL);

	assert_string_equal(o.diags, diags);
	assert_string_equal(o.text, records);
	assert_int_equal(o.err, o.errors > 0 ? NSD_E_SYNTAX : NSD_OK);
	outcome_free(&o);
}

static inline void
expect(const char *text, const char *records, const char *diags)
{
	expect_len(text, strlen(text), records, diags);
}

#endif
