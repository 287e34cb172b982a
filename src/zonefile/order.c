/* order.c - guesses whether the names in a zone file are in canonical order,
 * from a few of them. */
#include "config.h"

#include "zonefile/order.h"

#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "dns/name.h"
#include "dns/nsec3.h"
#include "zonefile/order_compare.h"
#include "zonefile/reader.h"

#define SAMPLES 50u
#define SAMPLE_OCTETS 4096u

/* ---- names --------------------------------------------------------------- */

static int
label_compare(const char *a, size_t a_len, const char *b, size_t b_len)
{
	for (size_t i = 0; i < a_len && i < b_len; i++) {
		int x = name_lower_octet((uint8_t)a[i]);
		int y = name_lower_octet((uint8_t)b[i]);

		if (x != y)
			return x - y;
	}
	return (a_len > b_len) - (a_len < b_len);
}

/* Finds the begin of the last label of a name. */
static size_t
last_label(const char *name, size_t len)
{
	const char *dot = memrchr(name, '.', len);

	return dot == NULL ? 0 : (size_t)(dot - name) + 1;
}

int
order_compare(const char *a, size_t a_len, const char *b, size_t b_len)
{
	for (;;) {
		size_t x = last_label(a, a_len), y = last_label(b, b_len);
		int order = label_compare(a + x, a_len - x, b + y, b_len - y);

		if (order != 0)
			return order;
		if (x == 0 || y == 0)
			return (x > 0) - (y > 0);
		a_len = x - 1;
		b_len = y - 1;
	}
}

/* ---- samples ------------------------------------------------------------- */

struct sample {
	char text[SAMPLE_OCTETS];
	const char *name; /* in text */
	size_t len;
	bool whole;       /* absolute: the dot at its end is not counted */
};

static bool
name_is_hash(const char *name, size_t len)
{
	uint8_t hash[NSEC3_HASH_LEN], label[NSEC3_LABEL_LEN + 1];
	const char *dot = memchr(name, '.', len);

	if ((dot == NULL ? len : (size_t)(dot - name)) != NSEC3_LABEL_LEN)
		return false;
	label[0] = NSEC3_LABEL_LEN;
	for (unsigned i = 0; i < NSEC3_LABEL_LEN; i++)
		label[i + 1] = name_lower_octet((uint8_t)name[i]);
	return nsec3_parse_label(label, hash);
}

/* Takes the word at the start of a line, if it can be compared. */
static bool
sample_take_word(struct sample *s, const char *line, const char *end)
{
	size_t len = 0;

	while (line + len < end && reader_begins_record(line + len))
		len++;
	if (len == 0 || line + len == end || line[0] == '$' || line[0] == '@'
		|| memchr(line, '\\', len) != NULL)
		return false;
	s->whole = line[len - 1] == '.';
	s->name = line;
	s->len = len - s->whole;
	return s->len > 0 && !name_is_hash(line, s->len);
}

/* Finds the first owner behind a line end. */
static bool
sample_find(struct sample *s, size_t len)
{
	const char *end = s->text + len;
	const char *line = memchr(s->text, '\n', len);

	for (; line != NULL; line = memchr(line, '\n', (size_t)(end - line))) {
		line++;
		if (sample_take_word(s, line, end))
			return true;
	}
	return false;
}

/* Reads a sample at an offset; false: there is no name in it. */
static bool
sample_read(struct sample *s, int fd, off_t at)
{
	ssize_t len = pread(fd, s->text, sizeof(s->text), at);

	return len > 0 && sample_find(s, (size_t)len);
}

/* ---- the guess ----------------------------------------------------------- */

static bool
file_is_in_order(int fd, off_t size)
{
	struct sample samples[2];
	struct sample *last = &samples[0], *s = &samples[1];

	last->name = NULL;
	for (unsigned i = 0; i < SAMPLES; i++) {
		struct sample *swap = last;

		if (!sample_read(s, fd, size / SAMPLES * i)
			|| (last->name != NULL && last->whole && !s->whole))
			continue;
		/* A relative name before may have had any origin: compare names
		 * of one kind only. */
		if (last->name != NULL && last->whole == s->whole
			&& order_compare(last->name, last->len, s->name,
				   s->len) > 0)
			return false;
		last = s;
		s = swap;
	}
	return last->name != NULL;
}

bool
order_is_likely(const char *path)
{
	struct stat st;
	bool likely;
	int fd;

	if (fs_open_to_read(path, false, &fd, &st) != NSD_OK)
		return false;
	likely = file_is_in_order(fd, st.st_size);
	close(fd);
	return likely;
}
