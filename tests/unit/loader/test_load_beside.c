/*
 * test_load_beside.c - large differences are applied by a thread, while small
 * ones of another zone are applied in the loop and readers look at both. It is
 * made for the thread sanitizer; what is served is right in any case.
 */
#include "config.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <event2/event.h>

#include "dns/rrtype.h"
#include "lib/one_fixture.h"
#include "lib/zone_check.h"
#include "loader/load_loop.h"
#include "loader/load_retire.h"
#include "loader/load_versions.h"
#include "store/writer.h"
#include "xfr/changes.h"
#include "zonedb/release.h"

#define READERS 2u
#define LARGE 400u /* names that a large difference changes */
#define SMALL 5u
#define ROUNDS 8u  /* transfers */
#define VERSIONS 3u /* of each; only the last one is made */
#define BESIDE 100u /* small ones, at least, while a large one is made */
#define TEXT_MAX 65536u
#define OCTETS_MAX ((size_t)2 * 4 * LARGE * 64)

/* A zone of which every second name is there in every second version, and the
 * others have other addresses. */
struct served {
	const char *text; /* of the apex */
	uint8_t apex[NAME_MAX_LEN];
	unsigned names;
	store_ref entry;
	uint32_t serial;
};

static struct served large = {"large.", "\5large", LARGE, STORE_NONE, 1};
static struct served small = {"small.", "\5small", SMALL, STORE_NONE, 1};
static struct load_retire retire;
static struct load_context context = {.threads_max = 2, .retire = &retire};
static struct event_base *base;
static unsigned beside; /* atomic: small ones while a large one was made */
static bool over;       /* atomic */

/* ---- zones and differences ----------------------------------------------- */

static bool
is_there(unsigned name, uint32_t serial)
{
	return name % 2 == 0 || serial % 2 == 0;
}

static void
write_text(const struct served *zone, char *text)
{
	size_t len = (size_t)snprintf(text, TEXT_MAX,
		"$TTL 60\n@ SOA n0 x %u 2 3 4 5\n@ NS n0\n@ NS n2\n",
		zone->serial);

	for (unsigned i = 0; i < zone->names; i++)
		if (is_there(i, zone->serial))
			len += (size_t)snprintf(text + len, TEXT_MAX - len,
				"n%u A 10.%u.%u.%u\n", i, zone->serial % 200,
				i / 256, i % 256);
	assert_true(len < TEXT_MAX);
}

static size_t
write_soa(const struct served *zone, uint8_t *out, enum changes_action action,
	uint32_t serial)
{
	uint8_t rdata[2 * NAME_MAX_LEN + 20];
	size_t apex_len = name_len(zone->apex), len;
	static const uint8_t tail[] = {0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0,
		0, 0, 5};

	memcpy(rdata, "\2n0", 3);
	memcpy(rdata + 3, zone->apex, apex_len);
	len = 3 + apex_len;
	memcpy(rdata + len, "\1x", 2);
	memcpy(rdata + len + 2, zone->apex, apex_len);
	len += 2 + apex_len;
	octets_put_u32(rdata + len, serial);
	memcpy(rdata + len + 4, tail, sizeof(tail));
	return changes_write(out, &(struct changes_rr){
		.action = action, .type = TYPE_SOA, .ttl_sec = 60,
		.owner = zone->apex, .owner_len = (uint8_t)apex_len,
		.rdata = rdata,
		.rdlen = (uint16_t)(len + 4 + sizeof(tail))});
}

static size_t
write_addresses(const struct served *zone, uint8_t *out,
	enum changes_action action, uint32_t serial)
{
	uint8_t owner[NAME_MAX_LEN];
	size_t len = 0;

	for (unsigned i = 0; i < zone->names; i++) {
		const uint8_t rdata[] = {10, (uint8_t)(serial % 200),
			(uint8_t)(i / 256), (uint8_t)(i % 256)};

		if (!is_there(i, serial))
			continue;
		owner[0] = (uint8_t)snprintf((char *)owner + 1, 16, "n%u", i);
		memcpy(owner + 1 + owner[0], zone->apex, name_len(zone->apex));
		len += changes_write(out + len, &(struct changes_rr){
			.action = action, .type = TYPE_A, .ttl_sec = 60,
			.owner = owner, .owner_len = (uint8_t)name_len(owner),
			.rdata = rdata, .rdlen = 4});
	}
	return len;
}

/* Writes so many versions of a zone. Returns their octets. */
static size_t
write_versions(struct served *zone, uint32_t versions, uint8_t *octets)
{
	size_t len = changes_write_head(octets, XFR_DIFFS, zone->apex,
		name_len(zone->apex));

	for (; versions > 0; versions--, zone->serial++) {
		uint32_t from = zone->serial, to = from + 1;

		len += write_soa(zone, octets + len, XFR_REMOVE, from);
		len += write_addresses(zone, octets + len, XFR_REMOVE, from);
		len += write_soa(zone, octets + len, XFR_ADD, to);
		len += write_addresses(zone, octets + len, XFR_ADD, to);
	}
	return len;
}

/* Applies octets to a zone. heap: of a thread; NULL: in the loop. */
static enum nsd_err
apply_octets(const struct served *zone, const uint8_t *octets, size_t len,
	struct store_heap *heap)
{
	struct diag_sink sink = {.on_diag = NULL};
	struct load_versions v = {.context = &context, .entry = zone->entry,
		.secondary = true, .heap = heap,
		.history = {.number = 3, .octets = 1 << 20}, .sink = &sink};

	return load_versions_apply(&v, &(struct load_octets){octets, len}, 1);
}

/* Applies so many versions of a zone. */
static enum nsd_err
apply(struct served *zone, uint32_t versions, uint8_t *octets,
	struct store_heap *heap)
{
	size_t len = write_versions(zone, versions, octets);

	return apply_octets(zone, octets, len, heap);
}

/* ---- the thread, the loop, the readers ----------------------------------- */

static void
on_end(void *arg)
{
	event_base_loopbreak(base);
}

/* Applies differences as the loader's thread does with a transfer
 * (src/loader/load_transfer.c). */
static void *
apply_large(void *arg)
{
	uint8_t *octets = malloc(OCTETS_MAX);
	struct store_heap *heap;

	if (octets == NULL
		|| store_heap_create(f.writer, &heap) != NSD_OK)
		abort();
	for (unsigned i = 0; i < ROUNDS
		|| __atomic_load_n(&beside, __ATOMIC_RELAXED) < BESIDE; i++) {
		load_loop_begin_edit(context.loop);
		if (apply(&large, VERSIONS, octets, heap) != NSD_OK)
			abort();
		load_loop_end_edit(context.loop);
	}
	store_heap_destroy(heap);
	free(octets);
	load_loop_call(context.loop, on_end, NULL);
	return NULL;
}

static void
apply_small(evutil_socket_t fd, short what, void *arg)
{
	static uint8_t octets[OCTETS_MAX];

	assert_int_equal(apply(&small, 1, octets, NULL), NSD_OK);
	while (load_retire_step(&retire, f.writer))
		;
	store_reclaim(f.writer);
	if (load_loop_is_edited(context.loop))
		__atomic_fetch_add(&beside, 1, __ATOMIC_RELAXED);
}

static uint32_t
look_at(const struct store_view *view, store_ref ref)
{
	const struct zone_entry *entry = store_get(view, ref);
	const struct zone *zone = store_get(view,
		store_load_ref(&entry->zone));
	struct trie_iter iter;
	uint32_t names = 0;

	trie_iter_init(&iter, view, &zone->names.root);
	while (trie_iter_next(&iter) != STORE_NONE)
		names++;
	return names;
}

static void *
read_both(void *arg)
{
	struct store_reader *reader = arg;
	const struct store_view *view = store_reader_view(reader);

	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		uint32_t names;

		store_reader_online(reader);
		names = look_at(view, large.entry);
		/* With the apex: all of one version or all of the next. */
		if (names != 1 + LARGE && names != 1 + LARGE / 2)
			abort();
		(void)look_at(view, small.entry);
		store_reader_offline(reader);
	}
	return NULL;
}

/* ---- the test ------------------------------------------------------------ */

static void
load(struct served *zone)
{
	static char text[TEXT_MAX];

	write_text(zone, text);
	assert_int_equal(zone_fixture_load(&f, zone->text, text,
		&zone->entry), NSD_OK);
}

static void
check(const struct served *zone)
{
	const struct zone_entry *entry = store_get(f.view, zone->entry);
	static char text[TEXT_MAX];
	const char *wrong;
	store_ref fresh;

	write_text(zone, text);
	assert_int_equal(zone_fixture_build(&f, zone->text, text, &fresh),
		NSD_OK);
	wrong = zone_check_equal(f.view, entry->zone, fresh);
	if (wrong != NULL)
		fail_msg("%s: %s", zone->text, wrong);
	release_zone(store_writer_heap(f.writer), fresh);
}

static void
differences_are_applied_beside_each_other(void **state)
{
	const struct timeval often = {.tv_usec = 100};
	pthread_t thread, reading[READERS];
	struct store_reader *readers[READERS];
	struct event *timer;

	base = event_base_new();
	assert_non_null(base);
	assert_int_equal(load_loop_create(base, &context.loop), NSD_OK);
	context.writer = f.writer;
	load(&large);
	load(&small);
	for (unsigned i = 0; i < READERS; i++) {
		assert_int_equal(store_reader_open(f.store, i, "reader",
			&readers[i]), NSD_OK);
		assert_int_equal(pthread_create(&reading[i], NULL, read_both,
			readers[i]), 0);
	}
	timer = event_new(base, -1, EV_PERSIST, apply_small, NULL);
	assert_int_equal(event_add(timer, &often), 0);
	assert_int_equal(pthread_create(&thread, NULL, apply_large, NULL), 0);
	event_base_dispatch(base);
	pthread_join(thread, NULL);
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < READERS; i++) {
		pthread_join(reading[i], NULL);
		store_reader_close(readers[i]);
	}
	event_free(timer);
	assert_true(large.serial >= 1 + VERSIONS * ROUNDS);
	assert_true(small.serial > BESIDE);
	check(&large);
	check(&small);
	assert_int_equal(store_reclaim(f.writer), 0);
	load_loop_destroy(context.loop);
	context.loop = NULL;
	event_base_free(base);
}

/* The octets may name another zone, as in a journal entry's head, and the names
 * of one zone are not those of the other. */
static void
differences_of_another_zone_are_refused(void **state)
{
	static const uint8_t *const apexes[] = {
		(const uint8_t *)"", (const uint8_t *)"\5other",
		(const uint8_t *)"\3sub\5small",
	};
	static uint8_t octets[OCTETS_MAX];
	struct served other = {.names = SMALL};
	size_t len;

	for (size_t i = 0; i < sizeof(apexes) / sizeof(*apexes); i++) {
		memcpy(other.apex, apexes[i], name_len(apexes[i]));
		other.serial = small.serial;
		len = write_versions(&other, 1, octets);
		assert_int_equal(apply_octets(&small, octets, len, NULL),
			NSD_E_WIRE);
	}
	assert_int_equal(apply(&small, 1, octets, NULL), NSD_OK);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(differences_are_applied_beside_each_other),
		cmocka_unit_test(differences_of_another_zone_are_refused),
	};

	return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
