/* test_holder_check.c - readers that keep too much of old versions, or for too
 * long, are told to let go, and replaced if they do not. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "main/holder.h"

/* Versions that are much younger stay if the oldest is all that is too much. */
static void
oldest_epoch_goes_first(void **state)
{
	struct holder_told told = {.epoch = 0};
	struct ipc_holder holder = {.oldest = 100, .ended = 999, .look = 7};

	assert_int_equal(holder_check(&told, &holder), HOLDER_TELL);
	assert_int_equal(told.epoch, 100);
	/* With another version kept, one epoch more has to go. */
	holder.look++;
	holder.oldest = 300;
	assert_int_equal(holder_check(&told, &holder), HOLDER_TELL);
	assert_int_equal(told.epoch, 301);
	/* An epoch that has not ended stays. */
	holder.look++;
	holder.oldest = 998;
	assert_int_equal(holder_check(&told, &holder), HOLDER_TELL);
	assert_int_equal(told.epoch, 999);
}

/* A reader that always keeps the next epoch and those after it, while as many
 * epochs begin as the loader ends in a second. */
static void
reader_that_moves_on_by_epochs_soon_has_none_left(void **state)
{
	struct holder_told told = {.epoch = 0};
	struct ipc_holder holder = {.oldest = 1, .ended = 1000000};
	unsigned rounds = 0;

	while (told.epoch < holder.ended) {
		holder.look++;
		holder.ended += 1000;
		assert_int_equal(holder_check(&told, &holder), HOLDER_TELL);
		assert_true(told.epoch >= holder.oldest);
		assert_true(told.epoch <= holder.ended);
		holder.oldest = told.epoch + 1;
		assert_true(++rounds < 25);
	}
	/* The reader has no version left from then on. */
	for (unsigned i = 0; i < 200; i++) {
		holder.look++;
		holder.ended += 1000;
		assert_int_equal(holder_check(&told, &holder), HOLDER_TELL);
		assert_true(told.epoch <= holder.ended);
		holder.oldest = told.epoch + 1;
	}
	assert_int_equal(told.epoch, holder.ended);
}

/* However many become too old, one after the other, no younger ones go. */
static void
what_is_too_old_goes_alone(void **state)
{
	struct holder_told told = {.epoch = 0};
	struct ipc_holder holder = {.oldest = 1, .too_old = 1};

	for (unsigned i = 0; i < 100; i++) {
		holder.look++;
		assert_int_equal(holder_check(&told, &holder), HOLDER_TELL);
		assert_int_equal(told.epoch, holder.too_old);
		holder.oldest += 10;
		holder.too_old += 10;
	}
}

static void
reader_that_keeps_what_it_was_told_is_replaced(void **state)
{
	struct holder_told told = {.epoch = 0};
	struct ipc_holder holder = {.oldest = 5, .ended = 9, .look = 1};

	assert_int_equal(holder_check(&told, &holder), HOLDER_TELL);
	holder.look++;
	told.looks = HOLDER_LOOKS - 1;
	assert_int_equal(holder_check(&told, &holder), HOLDER_WAITS);
	/* A look may have missed the reader. */
	holder.look += 2;
	told.looks = HOLDER_LOOKS;
	assert_int_equal(holder_check(&told, &holder), HOLDER_REPLACE);
}

/* A reader that had let go of everything gets its full time again. */
static void
what_was_told_before_a_quiet_time_is_forgotten(void **state)
{
	struct holder_told told = {.epoch = 0};
	struct ipc_holder holder = {.oldest = 5, .ended = 99, .look = 1};

	assert_int_equal(holder_check(&told, &holder), HOLDER_TELL);
	told.looks = 1000;
	holder.look += 3;
	assert_int_equal(holder_check(&told, &holder), HOLDER_TELL);
	assert_int_equal(told.epoch, 5);
	assert_int_equal(told.looks, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(oldest_epoch_goes_first),
		cmocka_unit_test(
			reader_that_moves_on_by_epochs_soon_has_none_left),
		cmocka_unit_test(what_is_too_old_goes_alone),
		cmocka_unit_test(
			reader_that_keeps_what_it_was_told_is_replaced),
		cmocka_unit_test(
			what_was_told_before_a_quiet_time_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
