/* files.h - small files of tests: written, read and compared whole. */
#ifndef TESTS_LIB_FILES_H
#define TESTS_LIB_FILES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cmocka.h is before it. */

static inline void
files_write_octets(const char *path, const void *octets, size_t len)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(octets, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static inline void
files_write(const char *path, const char *text)
{
	files_write_octets(path, text, strlen(text));
}

/* The contents of a file, and a NUL; free(). */
static inline char *
files_read(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = NULL;
	size_t len = 0, got;

	assert_non_null(f);
	do {
		text = realloc(text, len + 65536 + 1);
		assert_non_null(text);
		got = fread(text + len, 1, 65536, f);
		len += got;
	} while (got > 0);
	assert_false(ferror(f));
	fclose(f);
	text[len] = '\0';
	return text;
}

static inline void
files_assert(const char *path, const char *text)
{
	char *got = files_read(path);

	assert_string_equal(got, text);
	free(got);
}

#endif
