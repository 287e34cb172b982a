/* rdata_rows.c - the rows of data/rrtypes.txt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/files.h"
#include "lib/rdata_rows.h"
#include "lib/words.h"

#define ROWS_MAX 1000
#define WORDS_MAX 40000

char rows_printed[ROWS_TEXT_MAX];

static struct rdata_row rows[ROWS_MAX];
static size_t row_count;
static char *file_text;
static struct token words[WORDS_MAX];

static const uint8_t origin[] = "\7example\3com";

static void
read_row(char *line, unsigned number)
{
	struct rdata_row *row = &rows[row_count++];
	char *columns[4] = { line, NULL, NULL, NULL }, *type;
	int i;

	assert_true(row_count < ROWS_MAX);
	for (i = 1; i < 4; i++) {
		columns[i] = strchr(columns[i - 1], '\t');
		if (columns[i] == NULL)
			fail_msg("line %u has too few columns", number);
		*columns[i]++ = '\0';
	}
	type = columns[0];
	row->line = number;
	row->kind = strchr("!?~", *type) != NULL ? *type++ : 'k';
	row->text = columns[1];
	row->third = columns[2];
	row->fourth = columns[3];
	assert_int_equal(rrtype_parse(type, strlen(type), &row->type),
		NSD_OK);
}

size_t
rows_open(const struct rdata_row **first)
{
	char *at;
	unsigned line = 1;

	row_count = 0;
	file_text = files_read(TESTS_DIR "/data/rrtypes.txt");
	for (at = file_text; *at != '\0'; line++) {
		char *end = strchr(at, '\n');

		assert_non_null(end);
		*end = '\0';
		if (*at != '#')
			read_row(at, line);
		at = end + 1;
	}
	*first = rows;
	return row_count;
}

void
rows_close(void)
{
	free(file_text);
	file_text = NULL;
}

enum nsd_err
rows_parse(uint16_t type, const char *text, uint8_t *rdata,
	size_t *len, struct rdata_error *error)
{
	size_t count = words_split(text, strlen(text), words, WORDS_MAX), i;
	enum nsd_err err;

	assert_true(count <= WORDS_MAX);
	for (i = 0; i < count; i++) {
		char *copy = malloc(words[i].len + (words[i].len == 0));

		memcpy(copy, words[i].text, words[i].len);
		words[i].text = copy;
	}
	err = rdata_parse(type, words, count, origin, rdata, len, error);
	for (i = 0; i < count; i++)
		free((char *)(uintptr_t)words[i].text);
	return err;
}

size_t
rows_hex(const char *hex, uint8_t *octets)
{
	size_t len = 0;
	unsigned value;

	if (strcmp(hex, "-") == 0 || *hex == '\0')
		return 0;
	for (; sscanf(hex, "%2x", &value) == 1; hex += 2)
		octets[len++] = (uint8_t)value;
	assert_int_equal(*hex, '\0');
	return len;
}

enum nsd_err
rows_check(uint16_t type, const uint8_t *wire, size_t len)
{
	uint8_t *copy = malloc(len + (len == 0));
	const char *why = NULL;
	enum nsd_err err;
	size_t need;

	memcpy(copy, wire, len);
	err = rdata_check(type, copy, len, &why);
	assert_true((err == NSD_OK) == (why == NULL)
		|| (err == NSD_OK && why != NULL));
	need = rdata_print(type, copy, len, rows_printed,
		sizeof(rows_printed));
	assert_int_equal(need, strlen(rows_printed));
	free(copy);
	return err;
}
