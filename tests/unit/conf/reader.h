/* reader.h - reads configuration text and keeps what was said about it. */
#ifndef TESTS_CONF_READER_H
#define TESTS_CONF_READER_H

#include "conf/conf.h"

struct reader {
	struct diag_sink sink; /* first */
	char said[65536];      /* a line each, as people see them */
	size_t len;
};

/* Reads text; NULL if it was refused. r keeps the messages. */
struct conf *reader_load(struct reader *r, const char *text);
struct conf *reader_load_size(struct reader *r, const char *text, size_t len);
struct conf *reader_load_file(struct reader *r, const char *path,
	const char *chroot);

/* The text is accepted, without a word. */
struct conf *reader_accept(const char *text);
/* The text is refused with these lines and the last one. */
void reader_refuse(const char *text, const char *lines);

#endif
