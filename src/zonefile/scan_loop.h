/*
 * scan_loop.h - the loop over blocks, compiled once for each instruction set.
 *
 * The file that includes this defines TARGET (the function attribute),
 * scan_classify (masks of a block) and scan_write (bits to offsets).
 */
#ifndef ZONEFILE_SCAN_LOOP_H
#define ZONEFILE_SCAN_LOOP_H

/* Makes blanks of what is behind the end of the text. */
TARGET static inline void
scan_cut_masks(struct scan_masks *m, size_t left)
{
	uint64_t valid = ~(~(uint64_t)0 << left);

	m->blank |= ~valid;
	m->newline &= valid;
	m->quote &= valid;
	m->semicolon &= valid;
	m->paren &= valid;
	m->carriage &= valid;
	m->backslash &= valid;
	m->nul &= valid;
	m->special &= valid;
}

TARGET static inline void
scan_block(struct scan *s, size_t at, size_t left)
{
	struct scan_masks m;
	struct scan_words w;
	uint64_t before, starts, ends;

	scan_classify(s->text + at, &m);
	if (left < SCAN_BLOCK)
		scan_cut_masks(&m, left);
	if (__builtin_expect((m.special | s->carry_escape) == 0
			&& !s->in_quote && !s->in_comment, 1)) {
		w.word = ~(m.blank | m.newline);
		w.single = m.newline;
		w.open = 0;
		w.close = 0;
	} else {
		scan_resolve(s, at, &m, &w);
		/* An open quote would take in what is behind the end. */
		if (left < SCAN_BLOCK)
			w.word &= ~(~(uint64_t)0 << left);
	}
	before = w.word << 1 | s->carry_word;
	starts = w.single | (w.word & ~before) | w.open;
	ends = ((w.single | w.close) << 1 | s->carry_end)
		| (~w.word & before);
	s->carry_word = w.word >> 63;
	s->carry_end = (w.single | w.close) >> 63;
	s->start_count += scan_write(s->starts + s->start_count,
		(uint32_t)at, starts);
	s->end_count += scan_write(s->ends + s->end_count, (uint32_t)at,
		ends);
}

TARGET static inline void
scan_loop(struct scan *s, size_t until)
{
	size_t at = s->at;

	for (; at + SCAN_BLOCK <= until; at += SCAN_BLOCK)
		scan_block(s, at, SCAN_BLOCK);
	if (at < until) {
		scan_block(s, at, until - at);
		at = until;
	}
	s->at = at;
}

#endif
