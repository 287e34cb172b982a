/* test_textlist.c - a list of texts in shared memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/textlist.h"

#define ROOM 300u
#define OCTETS 2000u

struct fixture {
	struct textlist list;
	struct textlist_writer *writer;
	void *memory;
};

static void
fixture_make(struct fixture *f)
{
	f->memory = calloc(1, textlist_size(ROOM, OCTETS));
	assert_non_null(f->memory);
	textlist_init(&f->list, f->memory, ROOM, OCTETS);
	assert_int_equal(textlist_writer_create(&f->list, &f->writer), NSD_OK);
}

static void
fixture_free(struct fixture *f)
{
	textlist_writer_destroy(f->writer);
	free(f->memory);
}

static uint32_t
add(struct fixture *f, const char *text)
{
	uint32_t number = UINT32_MAX;

	assert_int_equal(textlist_add(f->writer, text, strlen(text), &number),
		NSD_OK);
	return number;
}

static void
texts_keep_their_numbers(void **state)
{
	struct fixture f;
	char text[8];

	fixture_make(&f);
	assert_int_equal(textlist_count(&f.list), 0);
	assert_int_equal(textlist_get(&f.list, 1, text, sizeof(text)), 0);
	assert_int_equal(add(&f, "one"), 1);
	assert_int_equal(add(&f, "two"), 2);
	assert_int_equal(add(&f, "one"), 1);
	assert_int_equal(textlist_count(&f.list), 2);
	assert_int_equal(textlist_get(&f.list, 2, text, sizeof(text)), 3);
	assert_string_equal(text, "two");
	assert_int_equal(textlist_get(&f.list, 0, text, sizeof(text)), 0);
	assert_int_equal(textlist_get(&f.list, 3, text, sizeof(text)), 0);
	assert_int_equal(textlist_get(&f.list, 2, text, 3), 2);
	assert_string_equal(text, "tw");
	fixture_free(&f);
}

static void
another_writer_finds_them(void **state)
{
	struct fixture f;

	fixture_make(&f);
	add(&f, "one");
	add(&f, "two");
	textlist_writer_destroy(f.writer);
	assert_int_equal(textlist_writer_create(&f.list, &f.writer), NSD_OK);
	assert_int_equal(add(&f, "two"), 2);
	assert_int_equal(add(&f, "three"), 3);
	fixture_free(&f);
}

static void
many_texts_are_found(void **state)
{
	struct fixture f;
	char text[16];

	fixture_make(&f);
	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < ROOM; i++) {
			snprintf(text, sizeof(text), "t%u", i);
			assert_int_equal(add(&f, text), i + 1);
		}
	fixture_free(&f);
}

static void
without_room_nothing_is_appended(void **state)
{
	struct fixture f;
	char text[OCTETS + 1];
	uint32_t number;

	fixture_make(&f);
	memset(text, 'x', sizeof(text));
	assert_int_equal(textlist_add(f.writer, text, OCTETS + 1, &number),
		NSD_E_LIMIT);
	assert_int_equal(textlist_add(f.writer, text, 0, &number),
		NSD_E_LIMIT);
	assert_int_equal(textlist_add(f.writer, text, OCTETS - 1, &number),
		NSD_OK);
	assert_int_equal(textlist_add(f.writer, "yy", 2, &number),
		NSD_E_LIMIT);
	assert_int_equal(textlist_add(f.writer, "y", 1, &number), NSD_OK);
	assert_int_equal(textlist_count(&f.list), 2);
	fixture_free(&f);
	fixture_make(&f);
	for (unsigned i = 0; i < ROOM; i++) {
		snprintf(text, sizeof(text), "t%u", i);
		add(&f, text);
	}
	assert_int_equal(textlist_add(f.writer, "y", 1, &number), NSD_E_LIMIT);
	assert_int_equal(textlist_add(f.writer, "t7", 2, &number), NSD_OK);
	assert_int_equal(number, 8);
	fixture_free(&f);
}

/* The process that appends may have been taken over. Sanitizers check the
 * reads. */
static void
whatever_stands_there_only_the_list_is_read(void **state)
{
	static const uint32_t bad[] = {0, 1, OCTETS - 1, OCTETS, OCTETS + 1,
		UINT32_MAX};
	struct fixture f;
	char text[OCTETS + 1];

	fixture_make(&f);
	for (size_t i = 0; i < 6; i++)
		for (size_t j = 0; j < 6; j++)
			for (size_t k = 0; k < 6; k++) {
				*f.list.count = bad[k];
				f.list.ends[0] = bad[i];
				f.list.ends[1] = bad[j];
				assert_in_range(textlist_count(&f.list), 0,
					ROOM);
				for (uint32_t n = 0; n <= ROOM + 1; n++)
					assert_in_range(textlist_get(&f.list,
						n, text, sizeof(text)),
						0, OCTETS);
			}
	fixture_free(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_keep_their_numbers),
		cmocka_unit_test(another_writer_finds_them),
		cmocka_unit_test(many_texts_are_found),
		cmocka_unit_test(without_room_nothing_is_appended),
		cmocka_unit_test(whatever_stands_there_only_the_list_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
