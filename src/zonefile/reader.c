/*
 * reader.c - gathers the words of one record at a time and hands them on.
 */
#include "zonefile/reader.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/grow.h"
#include "zonefile/generate.h"
#include "zonefile/kernel.h"

/* Octets scanned at once: their words stay in the first-level cache. */
#define WINDOW 8192u

void
reader_init(struct reader *r)
{
	memset(r, 0, sizeof(*r));
	r->restart_left = READER_RESTART_MAX;
	r->kernel = kernel_best();
}

void
reader_fini(struct reader *r)
{
	free(r->scan.starts);
	free(r->tokens);
	free(r->include.path);
	r->scan.starts = NULL;
	r->tokens = NULL;
	r->include.path = NULL;
}

/* ---- words to tokens -------------------------------------------------- */

/* Makes room for the words of a window, for an open word before them, and for
 * what scan_write puts behind the last. */
static bool
make_index(struct reader *r, size_t len)
{
	size_t window = len < WINDOW ? len : WINDOW;
	size_t size = window + 2 + SCAN_PADDING;

	if (r->index_size < size) {
		free(r->scan.starts);
		r->scan.starts = malloc(2 * size * sizeof(uint32_t));
		if (r->scan.starts == NULL) {
			r->index_size = 0;
			return false;
		}
		r->index_size = size;
	}
	r->scan.ends = r->scan.starts + r->index_size;
	return true;
}

/* Scans the next window; false at the end of the text. */
static bool
scan_more(struct reader *r)
{
	struct scan *s = &r->scan;
	bool open = s->start_count > s->end_count;
	size_t until;

	if (s->at == s->len)
		return false;
	if (open)
		s->starts[0] = s->starts[s->end_count];
	else
		s->saw_escape = s->saw_nul = false;
	s->start_count = open;
	s->end_count = 0;
	r->word = 0;
	until = s->len - s->at > WINDOW ? s->at + WINDOW : s->len;
	r->kernel->scan_run(s, until);
	if (s->at == s->len)
		scan_finish(s);
	ASSERT_HOT(s->start_count <= r->index_size);
	ASSERT_HOT(s->end_count <= s->start_count);
	return true;
}

static bool
grow_tokens(struct reader *r)
{
	struct token *tokens = grow_array(r->tokens, r->token_count,
		&r->token_size, sizeof(*tokens));

	if (tokens == NULL)
		return false;
	r->tokens = tokens;
	return true;
}

enum gather { GATHER_RECORD, GATHER_SKIP, GATHER_NONE, GATHER_OPEN,
	GATHER_MEMORY };

static inline bool
is_punctuation(char c)
{
	return c == '\n' || c == '\r' || c == '(' || c == ')' || c == '"'
		|| c == 0;
}

static inline bool
add_token(struct reader *r, const char *text, size_t len, bool quoted)
{
	struct token *t;

	if (r->token_count == r->token_size && !grow_tokens(r))
		return false;
	ASSERT_HOT(r->token_count < r->token_size);
	t = &r->tokens[r->token_count++];
	t->text = text;
	t->len = (uint32_t)len;
	t->quoted = quoted;
	t->escaped = r->scan.saw_escape && memchr(text, '\\', len) != NULL;
	return true;
}

/* Notes the first fault that the words themselves have. It is told when the
 * record is known to be complete. */
static void
set_bad(struct reader *r, const char *at, const char *text)
{
	if (r->bad_at == NULL) {
		r->bad_at = at;
		r->bad_text = text;
	}
}

/* Takes parentheses, quoted strings and NUL octets. Returns false without
 * memory. */
static bool
gather_special(struct reader *r, const char *at, size_t len)
{
	switch (*at) {
	case '(':
		if (r->depth++ == 0)
			r->open_paren = at;
		return true;
	case ')':
		if (r->depth > 0)
			r->depth--;
		else
			set_bad(r, at, "closing parenthesis without an "
				"opening one");
		return true;
	case '"':
		/* A string cut by the end of the text has no closing quote,
		 * and is not used. */
		len = len >= 2 ? len - 2 : 0;
		if (r->scan.saw_nul && memchr(at + 1, 0, len) != NULL)
			set_bad(r, memchr(at + 1, 0, len),
				"NUL octet in zone file");
		return add_token(r, at + 1, len, true);
	default:
		set_bad(r, at, "NUL octet in zone file");
		return true;
	}
}

static inline enum gather
end_record(struct reader *r, const char *end)
{
	r->record_end = end;
	return r->bad_at != NULL ? GATHER_SKIP : GATHER_RECORD;
}

/* A carriage return without a newline ends the record. NSD 4.12 takes it
 * for a blank, so it is told if something may follow on the line
 * (doc/decisions/0133). */
static enum gather
end_at_return(struct reader *r, const char *at)
{
	if (at[1] != '\r')
		reader_diag(r, DIAG_WARNING, at, "carriage return without a "
			"newline, taken as the end of the line");
	return end_record(r, at + 1);
}

/* The text is at its end and no newline ended the record. */
static enum gather
gather_at_end(struct reader *r)
{
	const char *end = (const char *)r->scan.text + r->scan.len;

	r->record_end = end;
	if (r->record == end)
		return GATHER_NONE;
	if (!r->is_last || r->depth > 0 || r->scan.in_quote)
		return GATHER_OPEN;
	return end_record(r, end);
}

/*
 * Collects the words up to the end of the record's last line. GATHER_SKIP:
 * something is wrong with them. GATHER_OPEN: the text ends inside a record,
 * which open_record deals with.
 */
static enum gather
gather_record(struct reader *r)
{
	const char *text = (const char *)r->scan.text;

	r->token_count = 0;
	r->depth = 0;
	r->bad_at = NULL;
	r->record_lines = 0;
	for (;;) {
		const char *at;
		size_t len;

		if (r->word == r->scan.end_count) {
			if (scan_more(r))
				continue;
			return gather_at_end(r);
		}
		at = text + r->scan.starts[r->word];
		len = r->scan.ends[r->word] - r->scan.starts[r->word];
		r->word++;
		if (__builtin_expect(!is_punctuation(*at), 1)) {
			if (!add_token(r, at, len, false))
				return GATHER_MEMORY;
		} else if (*at == '\n') {
			r->record_lines++;
			if (r->depth == 0)
				return end_record(r, at + 1);
		} else if (*at == '\r') {
			if (r->depth == 0)
				return end_at_return(r, at);
		} else if (!gather_special(r, at, len)) {
			return GATHER_MEMORY;
		}
	}
}

/* ---- the loop over records -------------------------------------------- */

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* ---- behind a fault
 *
 * A quote or parenthesis that is not closed takes the lines behind it with it.
 * So that these are looked at too, the text is scanned anew from the next line
 * that looks like a record. That happens at most once for each error to tell,
 * and ends when restart_left octets were scanned twice.
 */

/* The next line behind a place that begins with an owner or a directive, or
 * end. */
static const char *
find_next_record(const char *at, const char *end)
{
	while ((at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
		at++;
		if (at == end || reader_begins_record(at))
			return at;
	}
	return end;
}

/* Goes on at a place inside a record. False: too much was scanned anew already,
 * and nothing is changed. */
static bool
restart_at(struct reader *r, const char *at)
{
	const char *end = (const char *)r->scan.text + r->scan.len;
	const char *scanned = (const char *)r->scan.text + r->scan.at;
	size_t again = scanned > at ? (size_t)(scanned - at) : 0;
	uint32_t *starts = r->scan.starts;

	if (again > r->restart_left)
		return false;
	r->restart_left -= again;
	/* Lines that repeat its owner may take a wrong one. */
	if (!is_blank(*r->record))
		record_set_bad_owner(r);
	r->line += r->kernel->count_newlines(r->record,
		(size_t)(at - r->record));
	r->record = at;
	scan_init(&r->scan, (const uint8_t *)at, (size_t)(end - at));
	r->scan.starts = starts;
	r->scan.ends = starts + r->index_size;
	r->word = 0;
	return true;
}

/* The first newline in quotes; NULL: there is none in the record. *quote: where
 * these quotes were opened. */
static const char *
find_quoted_newline(const struct reader *r, const char **quote)
{
	size_t i;

	for (i = 0; i < r->token_count; i++) {
		const struct token *t = &r->tokens[i];
		const char *newline = memchr(t->text, '\n', t->len);

		if (newline == NULL)
			continue;
		*quote = t->text - 1;
		return newline;
	}
	return NULL;
}

/* Goes on inside a record at fault that has a newline in quotes: most likely a
 * quote is missing there. False: goes on behind the record. */
static bool
restart_inside(struct reader *r)
{
	const char *quote, *at = find_quoted_newline(r, &quote);

	if (at == NULL || r->line_fixed != 0)
		return false;
	at = find_next_record(at, r->record_end);
	return at != r->record_end && restart_at(r, at);
}

/* Says what the record that the text ends in has not closed. Returns where that
 * was opened; NULL: nowhere. */
static const char *
tell_open(struct reader *r)
{
	const char *at = NULL;

	if (r->scan.in_quote) {
		const struct token *t = &r->tokens[r->token_count - 1];

		/* With a quote missing, those behind it are taken for their
		 * opposites. */
		if (find_quoted_newline(r, &at) == NULL)
			at = t->text - 1;
		reader_error(r, at, "quoted string is not closed");
	} else if (r->depth > 0) {
		at = r->open_paren;
		reader_error(r, at, "parenthesis is not closed");
	} else {
		reader_error(r, NULL, "record is too long");
	}
	return at;
}

/* The text ends inside a record. If the file ends here too, or the record has
 * become too long, goes on behind the line where a parenthesis or quote was
 * opened. READER_END: there may be more records. */
static enum reader_stop
open_record(struct reader *r)
{
	const char *end = (const char *)r->scan.text + r->scan.len;
	bool too_long = (size_t)(end - r->record) > READER_RECORD_MAX;
	const char *at;

	if (!r->is_last && !too_long) {
		r->rest = (size_t)(r->record - (const char *)r->scan.text);
		return READER_OPEN;
	}
	r->rest = r->scan.len;
	at = tell_open(r);
	/* A line that was made by $GENERATE has others like it behind. */
	if (at == NULL || r->line_fixed != 0)
		return READER_FATAL;
	if (r->errors_left == 0)
		return READER_ERRORS;
	return restart_at(r, find_next_record(at, end)) ? READER_END
		: READER_FATAL;
}

/* ---- records ----------------------------------------------------------- */

/* Parses text in place of the line being parsed. A line behind it that begins
 * with a blank has the owner from before it, as BIND has it. */
static enum reader_stop
run_nested(struct reader *r, const char *text, size_t len)
{
	struct reader outer = *r;
	enum reader_stop stop;

	r->line_fixed = r->line_fixed != 0 ? r->line_fixed : r->line;
	r->scan.starts = NULL;
	r->index_size = 0;
	r->tokens = NULL;
	r->token_size = 0;
	stop = reader_run(r, text, len, 1, true);
	assert(stop != READER_INCLUDE); /* no line made begins with a "$" */
	reader_fini(r);
	r->scan = outer.scan;
	r->index_size = outer.index_size;
	r->tokens = outer.tokens;
	r->token_count = outer.token_count;
	r->token_size = outer.token_size;
	r->word = outer.word;
	r->is_last = outer.is_last;
	r->record = outer.record;
	r->record_end = outer.record_end;
	r->record_lines = outer.record_lines;
	r->line = outer.line;
	r->line_fixed = outer.line_fixed;
	memcpy(r->state.owner, outer.state.owner, outer.state.owner_len);
	r->state.owner_len = outer.state.owner_len;
	r->state.owner_is_bad = outer.state.owner_is_bad;
	r->owner_text = NULL;
	r->owner_is_appended = false;
	return stop;
}

/* Parses the lines of a $GENERATE as if they stood in the file. */
static enum reader_stop
run_generate(struct reader *r)
{
	enum reader_stop stop = READER_END;
	struct generate g;
	enum nsd_err err;

	/* All $GENERATE of a zone share a limit, so they are taken in order: a
	 * piece that is parsed ahead ends here, as at an $INCLUDE, and is
	 * parsed again once the pieces before it are done. */
	if (r->hooks->is_assumed)
		return READER_INCLUDE;
	err = generate_begin(&g, r);
	while (err == NSD_OK && stop == READER_END && generate_has_more(&g)) {
		err = generate_next(&g, r);
		if (err == NSD_OK)
			stop = run_nested(r, g.out, g.out_len);
	}
	generate_end(&g);
	if (err == NSD_E_MEMORY) {
		r->err = err;
		return READER_FAILED;
	}
	/* A quote or parenthesis left open has been told of. The file can be
	 * read on behind the directive. */
	return stop == READER_FATAL ? READER_END : stop;
}

static enum reader_stop
run_directive(struct reader *r)
{
	return directive_is(r, "$GENERATE") ? run_generate(r)
		: directive_parse(r);
}

static enum reader_stop
one_record(struct reader *r, enum gather gathered)
{
	if ((size_t)(r->record_end - r->record) > READER_RECORD_MAX) {
		reader_error(r, NULL, "record is too long");
		if (!is_blank(*r->record))
			record_set_bad_owner(r);
		return READER_END;
	}
	if (gathered == GATHER_SKIP) {
		reader_error(r, r->bad_at, "%s", r->bad_text);
		/* Lines behind it would take a wrong owner. */
		if (!is_blank(*r->record))
			record_set_bad_owner(r);
		return READER_END;
	}
	if (r->token_count == 0)
		return READER_END;
	if (is_blank(*r->record))
		return record_parse(r, false);
	if (r->tokens[0].len > 0 && r->tokens[0].text[0] == '$'
			&& !r->tokens[0].quoted)
		return run_directive(r);
	return record_parse(r, true);
}

static void
next_record(struct reader *r)
{
	/* Newlines inside quotes are not among the words. */
	if (r->scan.saw_quoted_newline)
		r->record_lines = r->kernel->count_newlines(r->record,
			(size_t)(r->record_end - r->record));
	r->line += r->record_lines;
	r->record = r->record_end;
}

static enum reader_stop
run_records(struct reader *r)
{
	uint32_t errors_left = r->errors_left;
	enum reader_stop stop;

	for (;;) {
		enum gather gathered = gather_record(r);

		switch (gathered) {
		case GATHER_NONE:
			r->rest = r->scan.len;
			return READER_END;
		case GATHER_OPEN:
			stop = open_record(r);
			if (stop != READER_END)
				return stop;
			errors_left = r->errors_left;
			continue;
		case GATHER_MEMORY:
			r->err = NSD_E_MEMORY;
			return READER_FAILED;
		default:
			stop = one_record(r, gathered);
		}
		if (stop != READER_END)
			return stop;
		if (__builtin_expect(r->errors_left != errors_left, 0)) {
			errors_left = r->errors_left;
			if (errors_left == 0)
				return READER_ERRORS;
			if (gathered == GATHER_RECORD && restart_inside(r))
				continue;
		}
		next_record(r);
	}
}

enum reader_stop
reader_run(struct reader *r, const char *text, size_t len, uint32_t line,
	bool is_last)
{
	uint32_t *starts = r->scan.starts;

	assert(r->hooks != NULL);
	assert(len <= UINT32_MAX);
	scan_init(&r->scan, (const uint8_t *)text, len);
	r->scan.starts = starts;
	r->is_last = is_last;
	r->word = 0;
	r->rest = len;
	r->record = text;
	r->line = line;
	r->owner_text = NULL;
	r->owner_is_appended = false;
	if (!make_index(r, len)) {
		r->err = NSD_E_MEMORY;
		return READER_FAILED;
	}
	return run_records(r);
}

enum reader_stop
reader_resume(struct reader *r)
{
	if (r->errors_left == 0)
		return READER_ERRORS;
	next_record(r);
	return run_records(r);
}
