/* test_load_pool.c - threads that read zones, where memory for what comes of it
 * runs out. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "loader/load_pool.h"
#include "loader/load_read.h"
#include "store/writer.h"

#define ZONES 5u
/* Far longer than any of it takes. */
#define LIMIT_SEC 120u

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
enum nsd_err __wrap_store_heap_create(struct store_writer *writer,
	struct store_heap **heap);
void __wrap_store_heap_destroy(struct store_heap *heap);
void __wrap_store_end_epoch(struct store_writer *writer);
void __wrap_load_read_zone(const struct load_context *context,
	struct load_zone *zone, struct store_heap *heap, bool large,
	struct load_result *result);

static struct load_zone zones[ZONES];
static unsigned lacks; /* results that get no memory; atomic, */
static unsigned asked; /* attempts so far, and */
static unsigned read_so_far; /* zones */

void *
__wrap_malloc(size_t size)
{
	if (size != sizeof(struct load_result)
		|| __atomic_load_n(&lacks, __ATOMIC_RELAXED) == 0)
		return __real_malloc(size);
	__atomic_fetch_sub(&lacks, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&asked, 1, __ATOMIC_RELAXED);
	return NULL;
}

enum nsd_err
__wrap_store_heap_create(struct store_writer *writer, struct store_heap **heap)
{
	*heap = (struct store_heap *)zones;
	return NSD_OK;
}

void
__wrap_store_heap_destroy(struct store_heap *heap)
{
}

void
__wrap_store_end_epoch(struct store_writer *writer)
{
}

void
__wrap_load_read_zone(const struct load_context *context,
	struct load_zone *zone, struct store_heap *heap, bool large,
	struct load_result *result)
{
	*result = (struct load_result){.zone = zone, .outcome = LOAD_BUILT};
	__atomic_fetch_add(&read_so_far, 1, __ATOMIC_RELAXED);
}

static void
on_results(void *ctx)
{
}

/* Begins with a thread; so many results get no memory. */
static struct load_pool *
begin(struct event_base *base, unsigned lacking)
{
	static struct load_progress progress;
	static struct load_context context = {.which = LOAD_CHANGED,
		.threads_max = 1, .progress = &progress};
	static struct load_zone *list[ZONES];
	struct load_pool *pool;

	for (unsigned i = 0; i < ZONES; i++)
		list[i] = &zones[i];
	lacks = lacking;
	asked = read_so_far = 0;
	/* A hang ends the program. */
	alarm(LIMIT_SEC);
	assert_int_equal(load_pool_start(&context, list, ZONES, base,
				 on_results, NULL, &pool), NSD_OK);
	return pool;
}

/* Takes results until the pool is done. Returns how many. */
static unsigned
take_all(struct event_base *base, struct load_pool *pool)
{
	unsigned count = 0;

	while (!load_pool_is_done(pool)) {
		struct load_result *result = load_pool_take(pool);

		while (result != NULL) {
			struct load_result *next = result->next;

			count++;
			free(result);
			result = next;
		}
		assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
	}
	load_pool_finish(pool);
	alarm(0);
	return count;
}

static void
each_zone_has_a_result_once_there_is_memory(void **state)
{
	struct event_base *base = event_base_new();

	assert_int_equal(take_all(base, begin(base, 3)), ZONES);
	assert_int_equal(asked, 3);
	assert_int_equal(read_so_far, ZONES);
	event_base_free(base);
}

/* Zones whose result could not be reported are not read, and cancelling does
 * not wait. */
static void
a_pool_is_cancelled_without_memory(void **state)
{
	struct event_base *base = event_base_new();
	struct load_pool *pool = begin(base, UINT32_MAX);

	while (__atomic_load_n(&asked, __ATOMIC_RELAXED) == 0)
		usleep(1000);
	load_pool_cancel(pool);
	assert_int_equal(take_all(base, pool), 0);
	assert_int_equal(read_so_far, 0);
	event_base_free(base);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_zone_has_a_result_once_there_is_memory),
		cmocka_unit_test(a_pool_is_cancelled_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
