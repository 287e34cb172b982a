/* test_epoch_model.c - all interleavings of one reader and the writer, on a
 * machine whose stores wait in buffers: nothing is freed that the reader may
 * look at, and without any one of the rules it is.
 *
 * The steps are those of src/store/reader.c and writer.c. A store goes to its
 * process's buffer and from there to memory at any later time; a later one may
 * overtake it, unless that has release order or is to the same place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <stdbool.h>

enum place { EPOCH, ROOT, SEEN, LOW, HIGH, PLACES };
enum who { READER, WRITER, BOTH };

/* Rules that can be left out. */
enum rule {
	RULE_NONE,
	RULE_READER_BARRIER,
	RULE_WRITER_BARRIER,
	RULE_TAG_LESS_THAN_SEEN,
	RULE_UNLINK_BEFORE_EPOCH,
	RULE_EPOCH_IS_RELEASE,
	RULE_SEEN_BEFORE_PINNED,
	RULE_PIN_COUNTS,
	RULE_HIGH_WHEN_QUIESCENT,
	RULE_BORN_AT_HIGH_COUNTS,
	RULE_COUNT
};

#define BUFFER 6
#define UNKNOWN UINT8_MAX
#define VERSIONS 4
#define SPELLS 2
#define BATCHES 3

struct buffer {
	uint8_t count;
	struct {
		uint8_t place, value, release;
	} stores[BUFFER];
};

/* Every octet is part of the state: there must be no padding. */
struct state {
	uint8_t memory[PLACES];
	struct buffer buffers[BOTH];
	uint8_t freed; /* a bit a version */
	/* reader */
	uint8_t reader_at, spell, batch, epoch, seen, held, pinned_held;
	uint8_t pin_open, pinned_later;
	/* writer */
	uint8_t writer_at, version, writer_epoch;
	uint8_t writer_seen, writer_low, writer_high;
	uint8_t tags[VERSIONS + 1]; /* of retired versions; 0: not retired */
	uint8_t born[VERSIONS + 1];
};

struct model {
	enum rule without;
	struct state *states; /* seen so far: an open hash table */
	bool *used;
	size_t size, count;
	struct state *stack;
	size_t depth, depth_max;
	bool violated;
};

static uint8_t
model_load(const struct state *s, enum who who, enum place place)
{
	const struct buffer *b = &s->buffers[who];

	for (unsigned i = b->count; i-- > 0;)
		if (b->stores[i].place == place)
			return b->stores[i].value;
	return s->memory[place];
}

static void
model_store(struct state *s, enum who who, enum place place, uint8_t value,
	bool release)
{
	struct buffer *b = &s->buffers[who];

	assert_true(b->count < BUFFER);
	b->stores[b->count].place = (uint8_t)place;
	b->stores[b->count].value = value;
	b->stores[b->count].release = release;
	b->count++;
}

/* True if the i-th store of a buffer may reach memory now. */
static bool
may_drain(const struct buffer *b, unsigned i)
{
	if (i > 0 && b->stores[i].release)
		return false;
	for (unsigned j = 0; j < i; j++)
		if (b->stores[j].place == b->stores[i].place)
			return false;
	return true;
}

static void
drain(struct state *s, enum who who, unsigned i)
{
	struct buffer *b = &s->buffers[who];

	s->memory[b->stores[i].place] = b->stores[i].value;
	b->count--;
	memmove(&b->stores[i], &b->stores[i + 1],
		(b->count - i) * sizeof(b->stores[0]));
	memset(&b->stores[b->count], 0, sizeof(b->stores[0]));
}

static void
use(struct model *m, const struct state *s, uint8_t version)
{
	if ((s->freed >> version & 1) != 0)
		m->violated = true;
}

enum reader_step { R_LOAD_EPOCH, R_STORE_SEEN, R_BARRIER, R_LOAD_ROOT, R_USE,
	R_PIN, R_LOAD_PINNED, R_USE_AGAIN, R_QUIESCENT, R_STORE_QUIESCENT,
	R_UNPIN, R_OFFLINE, R_END };

/* The version of a spell's first batch is pinned, and so is the one that its
 * root leads to then; both are looked at in each batch. */
static void
reader_use_all(struct model *m, const struct state *s)
{
	use(m, s, s->held);
	if (s->pinned_held != 0)
		use(m, s, s->pinned_held - 1u);
	if (s->pinned_later != 0)
		use(m, s, s->pinned_later - 1u);
}

static void
reader_pin(const struct model *m, struct state *s)
{
	/* Too early: the root may still lead to something newer. */
	bool early = m->without == RULE_HIGH_WHEN_QUIESCENT;

	if (s->batch != 0)
		return;
	model_store(s, READER, HIGH, early ? s->seen : UNKNOWN, false);
	model_store(s, READER, LOW, s->seen, true);
	s->pinned_held = s->held + 1;
	s->pin_open = !early;
}

static void
reader_close_pin(struct state *s)
{
	if (s->pin_open)
		model_store(s, READER, HIGH, s->epoch, false);
	s->pin_open = 0;
}

/* Between batches; the epoch was loaded in a step of its own. */
static void
reader_quiescent(struct state *s)
{
	reader_close_pin(s);
	if (s->epoch == s->seen)
		return;
	s->seen = s->epoch;
	model_store(s, READER, SEEN, s->seen, true);
}

/* Makes a step; false if the reader cannot go on now. */
static bool
reader_step(struct model *m, struct state *s)
{
	if (s->buffers[READER].count + 2 > BUFFER)
		return false;
	switch ((enum reader_step)s->reader_at) {
	case R_LOAD_EPOCH:
		s->epoch = model_load(s, READER, EPOCH);
		break;
	case R_STORE_SEEN:
		s->seen = s->epoch;
		model_store(s, READER, SEEN, s->seen, false);
		break;
	case R_BARRIER:
		if (m->without != RULE_READER_BARRIER
			&& s->buffers[READER].count > 0)
			return false;
		break;
	case R_LOAD_ROOT:
		s->held = model_load(s, READER, ROOT);
		break;
	case R_USE:
	case R_USE_AGAIN:
		reader_use_all(m, s);
		break;
	case R_PIN:
		reader_pin(m, s);
		break;
	case R_LOAD_PINNED:
		if (s->batch == 0)
			s->pinned_later = model_load(s, READER, ROOT) + 1u;
		break;
	case R_QUIESCENT:
		s->held = 0;
		s->epoch = model_load(s, READER, EPOCH);
		break;
	case R_STORE_QUIESCENT:
		reader_quiescent(s);
		if (++s->batch < BATCHES) {
			s->reader_at = R_LOAD_ROOT;
			return true;
		}
		s->batch = 0;
		break;
	case R_UNPIN:
		if (s->pinned_held != 0)
			model_store(s, READER, LOW, 0, true);
		s->pinned_held = s->pinned_later = 0;
		break;
	case R_OFFLINE:
		s->seen = 0;
		model_store(s, READER, SEEN, 0, true);
		if (++s->spell < SPELLS) {
			s->reader_at = R_LOAD_EPOCH;
			return true;
		}
		break;
	case R_END:
		return false;
	}
	s->reader_at++;
	return true;
}

enum writer_step { W_PUBLISH, W_RETIRE, W_EPOCH, W_BARRIER, W_LOAD_FIRST,
	W_LOAD_SECOND, W_LOAD_THIRD, W_LOAD_FOURTH, W_FREE, W_END };

/* Seen, then the ends of the pin. */
static void
writer_load(const struct model *m, struct state *s)
{
	bool late = m->without == RULE_SEEN_BEFORE_PINNED;

	switch ((enum writer_step)s->writer_at) {
	case W_LOAD_FIRST:
		if (!late)
			s->writer_seen = model_load(s, WRITER, SEEN);
		break;
	case W_LOAD_SECOND:
		s->writer_low = model_load(s, WRITER, LOW);
		break;
	case W_LOAD_THIRD:
		s->writer_high = model_load(s, WRITER, HIGH);
		break;
	default:
		if (late)
			s->writer_seen = model_load(s, WRITER, SEEN);
		break;
	}
}

static bool
pin_holds(const struct model *m, const struct state *s, unsigned version)
{
	uint8_t high = s->writer_high;

	if (m->without == RULE_BORN_AT_HIGH_COUNTS)
		high--;
	return m->without != RULE_PIN_COUNTS && s->writer_low != 0
		&& s->writer_low <= s->tags[version]
		&& s->born[version] <= high;
}

static void
writer_free(const struct model *m, struct state *s)
{
	for (unsigned i = 0; i < VERSIONS; i++) {
		uint8_t tag = s->tags[i];

		if (m->without == RULE_TAG_LESS_THAN_SEEN && tag != 0)
			tag--;
		if (s->tags[i] == 0
			|| (s->writer_seen != 0 && tag >= s->writer_seen)
			|| pin_holds(m, s, i))
			continue;
		s->freed |= (uint8_t)(1u << i);
		s->tags[i] = 0;
	}
	s->writer_seen = s->writer_low = s->writer_high = 0;
}

static void
writer_publish(struct state *s)
{
	s->born[s->version + 1] = s->writer_epoch;
	model_store(s, WRITER, ROOT, s->version + 1, true);
}

static bool
writer_step(struct model *m, struct state *s)
{
	bool early = m->without == RULE_UNLINK_BEFORE_EPOCH;

	if (s->buffers[WRITER].count + 2 > BUFFER)
		return false;
	switch ((enum writer_step)s->writer_at) {
	case W_PUBLISH:
		if (!early)
			writer_publish(s);
		break;
	case W_RETIRE:
		s->tags[s->version] = s->writer_epoch;
		break;
	case W_EPOCH:
		s->writer_epoch++;
		model_store(s, WRITER, EPOCH, s->writer_epoch,
			m->without != RULE_EPOCH_IS_RELEASE);
		if (early)
			writer_publish(s);
		break;
	case W_BARRIER:
		if (m->without != RULE_WRITER_BARRIER
			&& s->buffers[WRITER].count > 0)
			return false;
		break;
	case W_LOAD_FIRST:
	case W_LOAD_SECOND:
	case W_LOAD_THIRD:
	case W_LOAD_FOURTH:
		writer_load(m, s);
		break;
	case W_FREE:
		writer_free(m, s);
		if (++s->version + 1 < VERSIONS) {
			s->writer_at = W_PUBLISH;
			return true;
		}
		break;
	case W_END:
		return false;
	}
	s->writer_at++;
	return true;
}

/* ---- exploring */

static uint64_t
state_hash(const struct state *s)
{
	const uint8_t *p = (const uint8_t *)s;
	uint64_t h = 14695981039346656037u;

	for (size_t i = 0; i < sizeof(*s); i++)
		h = (h ^ p[i]) * 1099511628211u;
	return h ^ h >> 29;
}

static void
model_add(struct model *m, const struct state *s)
{
	size_t i = state_hash(s) & (m->size - 1);

	while (m->used[i]) {
		if (memcmp(&m->states[i], s, sizeof(*s)) == 0)
			return;
		i = (i + 1) & (m->size - 1);
	}
	assert_true(++m->count < m->size - m->size / 8);
	m->used[i] = true;
	m->states[i] = *s;
	assert_true(m->depth < m->depth_max);
	m->stack[m->depth++] = *s;
}

static void
model_expand(struct model *m, const struct state *s)
{
	struct state next = *s;

	if (reader_step(m, &next))
		model_add(m, &next);
	next = *s;
	if (writer_step(m, &next))
		model_add(m, &next);
	for (unsigned who = 0; who < BOTH; who++)
		for (unsigned i = 0; i < s->buffers[who].count; i++)
			if (may_drain(&s->buffers[who], i)) {
				next = *s;
				drain(&next, (enum who)who, i);
				model_add(m, &next);
			}
}

/* Returns whether anything was used after it was freed. */
static bool
model_run(enum rule without)
{
	struct model m = { .without = without, .size = 1u << 20,
		.depth_max = 1u << 18 };
	struct state s = { .memory = { [EPOCH] = 1 }, .writer_epoch = 1 };

	m.states = malloc(m.size * sizeof(*m.states));
	m.used = calloc(m.size, sizeof(*m.used));
	m.stack = malloc(m.depth_max * sizeof(*m.stack));
	assert_non_null(m.states);
	assert_non_null(m.used);
	assert_non_null(m.stack);
	model_add(&m, &s);
	while (m.depth > 0 && !m.violated) {
		s = m.stack[--m.depth];
		model_expand(&m, &s);
	}
	print_message("without rule %d: %zu states, %s\n", (int)without,
		m.count, m.violated ? "used after it was freed" : "safe");
	free(m.states);
	free(m.used);
	free(m.stack);
	return m.violated;
}

static void
epoch_frees_nothing_that_is_used(void **state)
{
	assert_false(model_run(RULE_NONE));
}

static void
epoch_needs_each_rule(void **state)
{
	for (int rule = RULE_NONE + 1; rule < RULE_COUNT; rule++)
		assert_true(model_run((enum rule)rule));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(epoch_frees_nothing_that_is_used),
		cmocka_unit_test(epoch_needs_each_rule),
	};

	_Static_assert(sizeof(struct state)
			== PLACES + BOTH * (1 + 3 * BUFFER) + 1 + 9 + 6
				+ 2 * (VERSIONS + 1),
		"no padding");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
