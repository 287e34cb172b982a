/* test_watch.c - the evidence that a silent process hangs. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "main/watch.h"

static const struct watch_limits limits = {1000, 2000, 3000};

/* Looks until the verdict is another than WATCH_WAITS, each time with so much
 * more processor time; how long that took, at most MOST. */
#define MOST 100000

static int64_t
look_on(struct watch *w, struct watch_sight *sight, int64_t cpu_step_msec,
	enum watch_verdict *verdict)
{
	int64_t msec = 0;

	do {
		sight->cpu_msec += cpu_step_msec;
		msec += ROLE_HEARTBEAT_MSEC;
		*verdict = watch_check(w, &limits, sight, ROLE_HEARTBEAT_MSEC);
	} while (*verdict == WATCH_WAITS && msec < MOST);
	return msec;
}

static void
stopped_process_hangs_after_its_time(void **state)
{
	struct watch w = {.heartbeat = 1};
	struct watch_sight sight = {.state = 'T'};
	enum watch_verdict verdict;
	int64_t msec = look_on(&w, &sight, 0, &verdict);

	assert_int_equal(verdict, WATCH_STOPPED);
	assert_true(msec >= limits.stopped_msec
		&& msec <= limits.stopped_msec + 2 * ROLE_HEARTBEAT_MSEC);
}

static void
process_that_sleeps_on_hangs_after_its_time(void **state)
{
	struct watch w = {.heartbeat = 1};
	struct watch_sight sight = {.state = 'S', .cpu_msec = 77};
	enum watch_verdict verdict;
	int64_t msec = look_on(&w, &sight, 0, &verdict);

	assert_int_equal(verdict, WATCH_ASLEEP);
	assert_true(msec >= limits.asleep_msec
		&& msec <= limits.asleep_msec + 2 * ROLE_HEARTBEAT_MSEC);
}

/* The first thread waits for others. Only their endless work is proof. */
static void
process_whose_threads_work_does_not_sleep(void **state)
{
	struct watch w = {.heartbeat = 1};
	struct watch_sight sight = {.state = 'S', .cpu_msec = 77};
	enum watch_verdict verdict;
	int64_t msec = look_on(&w, &sight, 10, &verdict);

	assert_int_equal(verdict, WATCH_BUSY);
	assert_true(msec >= limits.busy_msec * ROLE_HEARTBEAT_MSEC / 10);
}

static void
work_without_an_end_hangs_by_its_processor_time(void **state)
{
	struct watch w = {.heartbeat = 1};
	struct watch_sight sight = {.state = 'R', .cpu_msec = 5000};
	enum watch_verdict verdict;
	int64_t msec = look_on(&w, &sight, ROLE_HEARTBEAT_MSEC, &verdict);

	assert_int_equal(verdict, WATCH_BUSY);
	assert_true(msec >= limits.busy_msec
		&& msec <= limits.busy_msec + 2 * ROLE_HEARTBEAT_MSEC);
}

/* A process that waits does not hang, however long: for a processor or a disk,
 * dying, or with a /proc that cannot be read. */
static void
process_that_waits_does_not_hang(void **state)
{
	static const char states[] = "RDZ?";

	for (const char *c = states; *c != '\0'; c++) {
		struct watch w = {.heartbeat = 1};
		struct watch_sight sight = {.state = *c, .cpu_msec = 3};
		enum watch_verdict verdict;

		assert_int_equal(look_on(&w, &sight, 0, &verdict), MOST);
		assert_int_equal(verdict, WATCH_WAITS);
		assert_int_equal(w.silent_msec, MOST);
	}
}

static void
traced_process_never_hangs(void **state)
{
	static const char states[] = "tTSR";

	for (const char *c = states; *c != '\0'; c++) {
		struct watch w = {.heartbeat = 1};
		struct watch_sight sight = {.state = *c, .traced = true};

		for (int64_t msec = 0; msec < MOST;
			msec += ROLE_HEARTBEAT_MSEC) {
			sight.cpu_msec += ROLE_HEARTBEAT_MSEC;
			assert_int_equal(watch_check(&w, &limits, &sight,
						 ROLE_HEARTBEAT_MSEC),
				WATCH_TRACED);
		}
	}
}

/* Evidence of another kind of silence does not count. */
static void
evidence_begins_anew_with_each_kind(void **state)
{
	struct watch w = {.heartbeat = 1};
	struct watch_sight asleep = {.state = 'S'}, stopped = {.state = 'T'};
	enum watch_verdict verdict;

	for (int64_t msec = 0; msec < MOST; msec += 2 * ROLE_HEARTBEAT_MSEC) {
		assert_int_equal(watch_check(&w, &limits, &asleep,
					 ROLE_HEARTBEAT_MSEC),
			WATCH_WAITS);
		assert_int_equal(watch_check(&w, &limits, &stopped,
					 ROLE_HEARTBEAT_MSEC),
			WATCH_WAITS);
	}
	assert_true(look_on(&w, &stopped, 0, &verdict)
		>= limits.stopped_msec - ROLE_HEARTBEAT_MSEC);
	assert_int_equal(verdict, WATCH_STOPPED);
}

/* After a step of any length there are more looks. */
static void
single_look_proves_nothing(void **state)
{
	static const char states[] = "TSR";

	for (const char *c = states; *c != '\0'; c++) {
		struct watch w = {.heartbeat = 1};
		struct watch_sight sight = {.state = *c,
			.cpu_msec = 10 * limits.busy_msec};

		assert_int_equal(watch_check(&w, &limits, &sight, MOST),
			WATCH_WAITS);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stopped_process_hangs_after_its_time),
		cmocka_unit_test(process_that_sleeps_on_hangs_after_its_time),
		cmocka_unit_test(process_whose_threads_work_does_not_sleep),
		cmocka_unit_test(
			work_without_an_end_hangs_by_its_processor_time),
		cmocka_unit_test(process_that_waits_does_not_hang),
		cmocka_unit_test(traced_process_never_hangs),
		cmocka_unit_test(evidence_begins_anew_with_each_kind),
		cmocka_unit_test(single_look_proves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
