/*
 * test_settings_kill.c - a writer is killed at random points while it publishes
 * settings: a reader finds one whole version or another, and the successor
 * finds sound settings and no octets lost.
 * NSD_SETTINGS_KILLS=N and NSD_SETTINGS_SEED=S make it longer.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/chance.h"
#include "lib/store_check.h"
#include "store/writer.h"
#include "zone/measure.h"
#include "zone/table.h"
#include "zonedb/mark.h"
#include "zonedb/settings_edit.h"
#include "zonedb/table_edit.h"

#define KILLS 100u
#define LIVES_USEC 3000u /* at most */
#define ZONES 6u
#define PATTERNS 5u

static struct store *store;
static store_ref entries[ZONES];
static uint64_t seed;

/* ---- the writer that is killed ----------------------------------------- */

/* Options of up to three elements: few kinds, so that they are often shared. */
static enum nsd_err
make_options(struct settings_edit *edit, const store_ref *keys, store_ref *ref)
{
	struct acl_element acl[3];
	struct settings_lists lists = {.lists = {acl, acl, acl}};

	memset(acl, 0, sizeof(acl));
	for (unsigned i = 0; i < 3; i++) {
		acl[i].family = 4;
		acl[i].port = (uint16_t)chance_below(&seed, 2);
		acl[i].needs_key = chance_below(&seed, 2) == 0;
		if (acl[i].needs_key)
			acl[i].key = keys[chance_below(&seed, 2)];
	}
	lists.counts[chance_below(&seed, 3)] = chance_below(&seed, 4);
	return settings_edit_options(edit, &lists, ref);
}

/* A pattern of few kinds, too. */
static enum nsd_err
make_pattern(struct settings_edit *edit, store_ref options, store_ref *ref)
{
	static const char *const names[] = {NULL, "p", "a longer one"};
	const struct settings_texts texts[] = {{"::1", NULL, "t"}};
	const struct settings_pattern_setup setup = {
		.name = names[chance_below(&seed, 3)],
		.file = names[chance_below(&seed, 3)],
		.options = options,
		.texts = texts,
		.counts = {(uint32_t)chance_below(&seed, 2)},
	};

	return settings_edit_pattern(edit, &setup, ref);
}

static enum nsd_err
write_once(struct store_writer *writer)
{
	static const char *const names[] = {NULL, "", "a", "a longer one"};
	struct settings_setup setup = {
		.identity = names[chance_below(&seed, 4)],
		.key_count = 2, .pattern_count = PATTERNS};
	store_ref keys[2], options[PATTERNS], patterns[PATTERNS];
	struct settings_edit *edit;
	enum nsd_err err = settings_edit_begin(writer, &edit);

	for (unsigned i = 0; i < 2 && err == NSD_OK; i++)
		err = settings_edit_key(edit, (const uint8_t *)(i == 0
				? "\1k" : "\1l"),
			(enum mac_kind)chance_below(&seed, 2), &keys[i]);
	for (unsigned i = 0; i < PATTERNS && err == NSD_OK; i++)
		err = make_options(edit, keys, &options[i]);
	for (unsigned i = 0; i < PATTERNS && err == NSD_OK; i++)
		err = make_pattern(edit, options[i], &patterns[i]);
	setup.keys = keys;
	setup.patterns = patterns;
	if (err == NSD_OK && chance_below(&seed, 4) > 0)
		err = settings_edit_publish(edit, &setup);
	for (unsigned i = 0; i < ZONES && err == NSD_OK; i++) {
		table_set_options(writer, entries[i],
			options[chance_below(&seed, PATTERNS)]);
		table_set_pattern(writer, entries[i],
			patterns[chance_below(&seed, PATTERNS)]);
	}
	settings_edit_end(edit);
	store_reclaim(writer);
	return err;
}

static void
live_and_die(void)
{
	struct timespec life = {0, 1000 * (long)chance_below(&seed,
		LIVES_USEC)};
	struct store_writer *writer;
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (store_writer_open(store, &writer) != NSD_OK)
			_exit(2);
		while (write_once(writer) == NSD_OK)
			;
		_exit(3);
	}
	assert_true(pid > 0);
	nanosleep(&life, NULL);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	(void)chance_next(&seed); /* the next one writes something else */
}

/* ---- the successor ----------------------------------------------------- */

static bool
is_one_of(const store_ref *refs, size_t count, store_ref ref)
{
	for (size_t i = 0; i < count; i++)
		if (refs[i] == ref)
			return true;
	return false;
}

/* Octets of keys that only options of zones hold: those of settings that have
 * been replaced. */
static uint64_t
measure_old_keys(const struct store_view *view)
{
	const struct settings *settings = settings_get(view);
	store_ref keys[2 * 3 * ZONES];
	size_t count = 0;
	uint64_t sum = 0;

	for (unsigned i = 0; i < 2 * ZONES; i++) {
		const struct zone_entry *e = store_get(view, entries[i / 2]);
		const struct settings_pattern *p = store_get(view, e->pattern);
		store_ref of = i % 2 == 0 ? e->options
			: e->pattern != STORE_NONE ? p->options : STORE_NONE;
		const struct settings_options *o = store_get(view, of);
		uint32_t end = of == STORE_NONE ? 0
			: o->ends[SETTINGS_LIST_COUNT - 1];

		for (uint32_t k = 0; k < end; k++) {
			store_ref ref = o->acl[k].key;

			if (ref == STORE_NONE || is_one_of(keys, count, ref)
				|| is_one_of(settings_keys(settings),
					settings->key_count, ref))
				continue;
			keys[count++] = ref;
			sum += (settings_key_size(store_get(view, ref)) + 7)
				& ~UINT64_C(7);
		}
	}
	return sum;
}

/* Octets of all that the roots lead to. */
static uint64_t
measure(const struct store_view *view)
{
	uint64_t sum = measure_old_keys(view);
	struct zone_measure measure;

	zone_measure(view, &measure);
	for (unsigned i = 0; i < ZONE_KIND_COUNT; i++)
		sum += measure.octets[i];
	return sum;
}

/* True if all of the settings is of one version, and that is whole. */
static bool
is_whole(const struct store_view *view)
{
	const struct settings *s = settings_get(view);
	const struct settings_text *text = &s->identity;

	if (store_root(view, STORE_ROOT_SETTINGS) == STORE_NONE)
		return true; /* not published yet */
	if (s->key_count != 2 || s->pattern_count != PATTERNS)
		return false;
	for (unsigned i = 0; i < 2; i++) {
		const struct settings_key *key = store_get(view,
			settings_keys(s)[i]);

		if (key->name_len != 3 || key->refs == 0
			|| memcmp(key->name, i == 0 ? "\1k" : "\1l", 3) != 0)
			return false;
	}
	for (unsigned i = 0; i < PATTERNS; i++) {
		const struct settings_pattern *p = store_get(view,
			settings_patterns(s)[i]);
		const struct settings_options *o = store_get(view,
			p->options);

		if (p->refs == 0 || (p->options != STORE_NONE && (o->refs == 0
				|| o->ends[SETTINGS_LIST_COUNT - 1] > 3)))
			return false;
	}
	return text->at == 0 || text->len == 0
		|| *settings_read_text(s, text) == 'a';
}

static void
take_over(unsigned number)
{
	struct store_writer *writer;
	struct store_stats stats;
	const char *wrong;
	uint64_t sum;

	assert_int_equal(store_writer_open(store, &writer), NSD_OK);
	wrong = store_check_take_over(writer, mark_roots);
	while (store_reclaim(writer) > 0)
		;
	/* With the counts of all holders. */
	if (wrong == NULL)
		wrong = store_check(writer, mark_roots);
	if (wrong == NULL && !is_whole(store_writer_view(writer)))
		wrong = "settings are not whole";
	if (wrong != NULL)
		fail_msg("kill %u: %s", number, wrong);
	store_get_stats(writer, &stats);
	sum = measure(store_writer_view(writer));
	/* Parts of shared objects are rounded down. */
	if (stats.live < sum || stats.live > sum + ZONE_KIND_COUNT + 8)
		fail_msg("kill %u: %" PRIu64 " octets in use, %" PRIu64
			 " reached", number, stats.live, sum);
	store_writer_close(writer);
}

static void
successor_finds_sound_settings_and_nothing_lost(void **state)
{
	struct store_options options = {.reservation = 64u << 20,
		.reader_max = 1, .poison = true};
	struct zone_setup setups[ZONES] = {{0}};
	uint8_t names[ZONES][3];
	struct store_writer *writer;
	uint64_t kills = chance_setting("NSD_SETTINGS_KILLS", KILLS);

	seed = chance_setting("NSD_SETTINGS_SEED", (uint64_t)time(NULL));
	print_message("seed %" PRIu64 "\n", seed);
	assert_int_equal(store_create(&options, &store), NSD_OK);
	assert_int_equal(store_writer_open(store, &writer), NSD_OK);
	for (unsigned i = 0; i < ZONES; i++) {
		memcpy(names[i], "\1a", 3);
		names[i][1] = (uint8_t)(names[i][1] + i);
		setups[i].apex = names[i];
		setups[i].id = i;
	}
	assert_int_equal(table_add(writer, setups, ZONES, entries), NSD_OK);
	store_writer_close(writer);
	for (unsigned i = 0; i < kills; i++) {
		live_and_die();
		take_over(i);
	}
	store_destroy(store);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			successor_finds_sound_settings_and_nothing_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
