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

/* Copies words that touch, such as key="value", so that a read past them is
 * found. Returns how many; *copy is to be freed. */
static size_t
copy_words(struct token *t, size_t count, char **copy)
{
	const char *from = t->text, *end = from + t->len;
	size_t n = 1, i;

	while (n < count && t[n].quoted
		&& t[n].text == end + 1 + t[n - 1].quoted) {
		end = t[n].text + t[n].len;
		n++;
	}
	*copy = malloc((size_t)(end - from) + (end == from));
	assert_non_null(*copy);
	memcpy(*copy, from, (size_t)(end - from));
	for (i = 0; i < n; i++)
		t[i].text = *copy + (t[i].text - from);
	return n;
}

enum nsd_err
rows_parse(uint16_t type, const char *text, uint8_t *rdata,
	size_t *len, struct rdata_error *error)
{
	size_t count = words_split(text, strlen(text), words, WORDS_MAX);
	static char *copies[WORDS_MAX];
	size_t copy_count = 0, i = 0;
	enum nsd_err err;

	assert_true(count <= WORDS_MAX);
	while (i < count)
		i += copy_words(words + i, count - i, &copies[copy_count++]);
	err = rdata_parse(type, words, count, origin, rdata, len, error);
	while (copy_count > 0)
		free(copies[--copy_count]);
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
