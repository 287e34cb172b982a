/* reader.c - reads configuration text and keeps what was said about it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "reader.h"

static void
on_diag(struct diag_sink *sink, const struct diag *d)
{
	struct reader *r = (struct reader *)sink;

	r->len += conf_print_diag(d, r->said + r->len,
		sizeof(r->said) - r->len - 1);
	if (r->len < sizeof(r->said) - 1)
		r->said[r->len++] = '\n';
	r->said[r->len] = '\0';
}

static void
reader_init(struct reader *r)
{
	r->sink = (struct diag_sink){ .on_diag = on_diag };
	r->len = 0;
	r->said[0] = '\0';
}

struct conf *
reader_load_size(struct reader *r, const char *text, size_t len)
{
	struct conf *conf = NULL;
	enum nsd_err err;

	reader_init(r);
	err = conf_load_text("t", text, len, true, &r->sink, &conf);
	if (err != NSD_OK) {
		assert_null(conf);
		assert_true(r->sink.errors > 0);
	}
	return conf;
}

struct conf *
reader_load(struct reader *r, const char *text)
{
	return reader_load_size(r, text, strlen(text));
}

struct conf *
reader_load_file(struct reader *r, const char *path, const char *chroot)
{
	const struct conf_origin origin = { chroot, NULL };
	struct conf *conf = NULL;

	reader_init(r);
	if (conf_load(path, &origin, &r->sink, &conf) != NSD_OK)
		assert_null(conf);
	return conf;
}

struct conf *
reader_accept(const char *text)
{
	static struct reader r;
	struct conf *conf = reader_load(&r, text);

	assert_string_equal(r.said, "");
	assert_non_null(conf);
	return conf;
}

void
reader_refuse(const char *text, const char *lines)
{
	static struct reader r;
	struct conf *conf = reader_load(&r, text);
	char wanted[4096];

	assert_null(conf);
	assert_true(r.sink.errors > 1);
	snprintf(wanted, sizeof(wanted), "%sread t failed: %u errors in "
		"configuration file\n", lines, r.sink.errors - 1);
	assert_string_equal(r.said, wanted);
}
