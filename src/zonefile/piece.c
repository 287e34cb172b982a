/*
 * piece.c - cuts a file into pieces that are likely to begin with a record,
 * and joins what they give in order.
 *
 * Where to cut is only a guess. A piece is taken as it was parsed if the piece
 * before it ended exactly at the cut and left the state that was assumed.
 * Otherwise it is parsed again, behind what was left unfinished.
 */
#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "zonefile/kernel.h"
#include "zonefile/parse.h"

/* Octets before a cut in which an $ORIGIN line is looked for. */
#define CUT_REACH 32768u

/* ---- cutting ---------------------------------------------------------- */

/*
 * Finds where to cut. The best place is before an $ORIGIN line: no origin need
 * be assumed then. The next best are before a line with an owner, before any
 * line, and at the end.
 */
static size_t
find_cut(const char *text, size_t len)
{
	size_t at = len, with_owner = 0, any = 0;

	while (at > 1) {
		const char *newline = memrchr(text, '\n', at - 1);
		size_t start;

		if (newline == NULL)
			break;
		start = (size_t)(newline - text) + 1;
		if (len - start > CUT_REACH && with_owner != 0)
			break;
		if (any == 0)
			any = start;
		if (with_owner == 0 && reader_begins_record(text + start))
			with_owner = start;
		if (len - start > 7
				&& memcmp(text + start, "$ORIGIN", 7) == 0)
			return start;
		at = start;
	}
	if (with_owner != 0)
		return with_owner;
	return any != 0 ? any : len;
}

static bool
grow_text(struct piece *pc, size_t size)
{
	char *text = grow_octets(pc->text, size, &pc->size);

	if (text == NULL)
		return false;
	pc->text = text;
	return true;
}

static bool
keep_carry(struct parse_file *f, const char *from, size_t len)
{
	char *carry = grow_octets(f->carry, len, &f->carry_size);

	if (carry == NULL && len > 0)
		return false;
	f->carry = carry;
	if (len > 0)
		memcpy(f->carry, from, len);
	f->carry_len = len;
	return true;
}

static void
skip_byte_order_mark(struct parse_file *f, struct piece *pc)
{
	if (f->next_line != 1 || pc->len < 3
			|| memcmp(pc->text, "\xef\xbb\xbf", 3) != 0)
		return;
	pc->len -= 3;
	memmove(pc->text, pc->text + 3, pc->len);
}

enum nsd_err
piece_read(struct parse_file *f, struct piece *pc, size_t chunk)
{
	uint64_t left = f->in.size - f->in.at;
	bool is_first = f->in.at == 0;
	size_t want, cut;
	enum nsd_err err;

	/* The byte order mark at the front must not be cut in two. */
	if (is_first && chunk < 3)
		chunk = 3;
	want = f->carry_len < chunk ? chunk - f->carry_len : 1;
	if (want > left)
		want = (size_t)left;
	pc->len = f->carry_len + want;
	if (!grow_text(pc, pc->len + SCAN_PADDING))
		return NSD_E_MEMORY;
	if (f->carry_len > 0)
		memcpy(pc->text, f->carry, f->carry_len);
	err = input_read(&f->in, pc->text + f->carry_len, want);
	if (err != NSD_OK)
		return err;
	f->carry_len = 0;
	if (is_first)
		skip_byte_order_mark(f, pc);
	pc->is_last = f->in.at == f->in.size;
	if (!pc->is_last) {
		cut = find_cut(pc->text, pc->len);
		if (!keep_carry(f, pc->text + cut, pc->len - cut))
			return NSD_E_MEMORY;
		pc->len = cut;
	}
	memset(pc->text + pc->len, 0, SCAN_PADDING);
	pc->end = f->in.at - f->carry_len;
	pc->line = f->next_line;
	if (!pc->is_last)
		f->next_line += f->reader.kernel->count_newlines(
			pc->text, pc->len);
	return NSD_OK;
}

/* ---- parsing with an assumed state ------------------------------------ */

static void
collect_diag(void *ctx, const struct diag *d)
{
	struct piece *pc = ctx;
	size_t len = strlen(d->text) + 1;
	struct piece_diag *pd;

	if (d->severity == DIAG_WARNING
			&& pc->warnings++ >= PARSE_WARNINGS_MAX)
		return;
	pd = malloc(sizeof(*pd) + len);
	if (pd == NULL) {
		pc->err = NSD_E_MEMORY;
		return;
	}
	pd->next = NULL;
	pd->severity = d->severity;
	pd->line = d->line;
	pd->column = d->column;
	memcpy(pd->text, d->text, len);
	*pc->diag_end = pd;
	pc->diag_end = &pd->next;
	pc->errors += d->severity == DIAG_ERROR;
}

static void
reset_results(struct reader *r)
{
	r->first = NULL;
	r->last = NULL;
	r->rr_count = 0;
	r->used = 0;
	r->set = 0;
	r->err = NSD_OK;
}

/* Batches hold about as much as the text. The memory of a large one that is
 * not used is never touched. */
static size_t
batch_size_for(size_t len)
{
	return len + len / 2 + 512;
}

void
piece_parse_assumed(struct parse_file *f, struct reader *r, struct piece *pc)
{
	struct reader_hooks hooks = { pc, collect_diag, true };

	reset_results(r);
	pc->diags = NULL;
	pc->diag_end = &pc->diags;
	pc->errors = 0;
	pc->warnings = 0;
	pc->err = NSD_OK;
	r->hooks = &hooks;
	r->state = pc->assumed;
	r->errors_left = f->parse->errors_max;
	r->restart_left = READER_RESTART_MAX;
	r->capacity_hint = batch_size_for(pc->len);
	pc->stop = reader_run(r, pc->text, pc->len, pc->line, pc->is_last);
	pc->state = r->state;
	pc->first = r->first;
	pc->rr_count = r->rr_count;
	pc->used = r->used;
	pc->set = r->set;
	pc->rest = (size_t)((const char *)r->scan.text + r->rest - pc->text);
	pc->rest_line = r->line;
	if (pc->stop == READER_FAILED)
		pc->err = r->err;
	r->hooks = NULL;
}

/* Frees all that the piece holds except its text. */
static void
piece_drop_results(struct piece *pc)
{
	struct piece_diag *d;

	rrbatch_destroy_all(pc->first);
	pc->first = NULL;
	while ((d = pc->diags) != NULL) {
		pc->diags = d->next;
		free(d);
	}
}

void
piece_fini(struct piece *pc)
{
	piece_drop_results(pc);
	free(pc->text);
	pc->text = NULL;
}

/* ---- joining ---------------------------------------------------------- */

/* Lends batches to on_batch, one by one, and destroys them; or gives them to
 * take_batch. */
static enum nsd_err
pass_batches(struct parse *p, struct rrbatch *first)
{
	const struct zonefile_options *o = p->options;
	enum nsd_err err = NSD_OK;

	for (; first != NULL && err == NSD_OK; ) {
		struct rrbatch *next = first->next;

		first->next = NULL;
		if (o->take_batch != NULL) {
			err = o->take_batch(o->batch_ctx, first);
		} else {
			err = o->on_batch(o->batch_ctx, first);
			rrbatch_destroy(first);
		}
		first = next;
	}
	rrbatch_destroy_all(first);
	return err;
}

/* Takes the batches into the parse. */
static enum nsd_err
take_batches(struct parse *p, struct rrbatch *first, uint64_t rr_count)
{
	p->result->rr_count += rr_count;
	if (p->options->on_batch != NULL || p->options->take_batch != NULL)
		return pass_batches(p, first);
	*p->batch_end = first;
	while (*p->batch_end != NULL)
		p->batch_end = &(*p->batch_end)->next;
	return NSD_OK;
}

/* Keeps the unfinished record at the end of a piece. */
static bool
keep_tail(struct parse_file *f, const char *from, size_t len, uint32_t line)
{
	char *tail = malloc(len + 1);

	if (tail == NULL)
		return false;
	memcpy(tail, from, len);
	free(f->tail);
	f->tail = tail;
	f->tail_len = len;
	f->tail_line = line;
	return true;
}

/* ---- the true state ---------------------------------------------------- */

/* Takes what the file's reader gave into the parse. */
static enum reader_stop
end_run(struct parse_file *f, enum reader_stop stop)
{
	struct reader *r = &f->reader;
	struct parse *p = f->parse;
	enum nsd_err err;

	/* Records before an $INCLUDE come before those of the file. */
	err = take_batches(p, r->first, r->rr_count);
	r->first = r->last = NULL;
	r->rr_count = 0;
	p->errors_left = r->errors_left;
	f->state = r->state;
	if (stop == READER_FAILED)
		return parse_fail(p, r->err);
	if (err != NSD_OK)
		return parse_fail(p, err);
	if (stop == READER_OPEN) {
		if (!keep_tail(f, (const char *)r->scan.text + r->rest,
				r->scan.len - r->rest, r->line))
			return parse_fail(p, NSD_E_MEMORY);
		stop = READER_END;
	}
	if (stop != READER_INCLUDE) {
		free(f->joined);
		f->joined = NULL;
	}
	return stop;
}

static enum reader_stop
run_text(struct parse_file *f, const char *text, size_t len, uint32_t line,
	bool is_last)
{
	struct reader *r = &f->reader;

	reset_results(r);
	r->state = f->state;
	r->errors_left = f->parse->errors_left;
	r->capacity_hint = batch_size_for(len);
	return end_run(f, reader_run(r, text, len, line, is_last));
}

/* Parses a piece behind the unfinished record before it. */
static enum reader_stop
run_behind_tail(struct parse_file *f, const struct piece *pc)
{
	size_t len = f->tail_len + pc->len;
	char *text = realloc(f->tail, len + SCAN_PADDING);

	assert(f->joined == NULL);
	if (text == NULL)
		return parse_fail(f->parse, NSD_E_MEMORY);
	memcpy(text + f->tail_len, pc->text, pc->len);
	memset(text + len, 0, SCAN_PADDING);
	f->joined = text;
	f->tail = NULL;
	f->tail_len = 0;
	return run_text(f, text, len, f->tail_line, pc->is_last);
}

enum reader_stop
piece_parse(struct parse_file *f, struct piece *pc)
{
	if (f->tail_len > 0)
		return run_behind_tail(f, pc);
	return run_text(f, pc->text, pc->len, pc->line, pc->is_last);
}

enum reader_stop
piece_resume(struct parse_file *f)
{
	return end_run(f, reader_resume(&f->reader));
}

/* ---- the assumed state ------------------------------------------------- */

/* True if all that mattered of the assumed state is as assumed. */
static bool
assumed_right(const struct parse_file *f, const struct piece *pc)
{
	const struct reader_state *a = &pc->assumed, *b = &f->state;
	unsigned used = pc->used;

	if ((used & PART_ORIGIN) != 0 && (a->origin_len != b->origin_len
			|| memcmp(a->origin, b->origin, a->origin_len) != 0))
		return false;
	if ((used & PART_OWNER) != 0 && (a->owner_is_bad != b->owner_is_bad
			|| a->owner_len != b->owner_len
			|| memcmp(a->owner, b->owner, a->owner_len) != 0))
		return false;
	if ((used & PART_TTL_DEFAULT) != 0
			&& (a->has_ttl_default != b->has_ttl_default
			|| a->ttl_default != b->ttl_default))
		return false;
	return (used & PART_TTL_LAST) == 0
		|| (a->has_ttl_last == b->has_ttl_last
		&& a->ttl_last == b->ttl_last);
}

static void
take_state(struct reader_state *to, const struct reader_state *from,
	unsigned set)
{
	if ((set & PART_ORIGIN) != 0) {
		to->origin_len = from->origin_len;
		memcpy(to->origin, from->origin, from->origin_len);
	}
	if ((set & PART_OWNER) != 0) {
		to->owner_is_bad = from->owner_is_bad;
		to->owner_len = from->owner_len;
		memcpy(to->owner, from->owner, from->owner_len);
	}
	if ((set & PART_TTL_DEFAULT) != 0) {
		to->has_ttl_default = from->has_ttl_default;
		to->ttl_default = from->ttl_default;
	}
	if ((set & PART_TTL_LAST) != 0) {
		to->has_ttl_last = from->has_ttl_last;
		to->ttl_last = from->ttl_last;
	}
}

/* Takes a piece into the parse as it was parsed with the assumed state. */
static enum reader_stop
take_piece(struct parse_file *f, struct piece *pc)
{
	struct parse *p = f->parse;
	const struct piece_diag *pd;
	enum nsd_err err;

	assert(pc->errors <= p->errors_left);
	for (pd = pc->diags; pd != NULL; pd = pd->next) {
		struct diag d = { pd->severity, f->name, pd->line, pd->column,
			pd->text };

		parse_tell(p, &d);
	}
	if (pc->warnings > PARSE_WARNINGS_MAX)
		p->warnings_more += pc->warnings - PARSE_WARNINGS_MAX;
	p->errors_left -= pc->errors;
	err = take_batches(p, pc->first, pc->rr_count);
	pc->first = NULL;
	if (err != NSD_OK)
		return parse_fail(p, err);
	take_state(&f->state, &pc->state, pc->set);
	if (pc->stop != READER_OPEN)
		return pc->stop;
	if (!keep_tail(f, pc->text + pc->rest, pc->len - pc->rest,
			pc->rest_line))
		return parse_fail(p, NSD_E_MEMORY);
	return READER_END;
}

enum reader_stop
piece_commit(struct parse_file *f, struct piece *pc)
{
	enum reader_stop stop;

	if (pc->err == NSD_OK && f->tail_len == 0 && pc->stop != READER_INCLUDE
			&& pc->errors < f->parse->errors_left
			&& assumed_right(f, pc)) {
		stop = take_piece(f, pc);
		piece_drop_results(pc);
	} else {
		piece_drop_results(pc);
		stop = piece_parse(f, pc);
	}
	return stop;
}
