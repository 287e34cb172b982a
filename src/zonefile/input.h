/*
 * input.h - where the octets come from: a file that may change while it is
 * read, or text in memory. Private to the layer.
 */
#ifndef ZONEFILE_INPUT_H
#define ZONEFILE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"

struct input {
	const char *path;  /* borrowed; NULL: text */
	int fd;            /* -1: text */
	const char *text;
	char *slurped;     /* octets of a pipe, owned */
	uint64_t size;
	uint64_t at;       /* octets handed out */
	struct stat before;
};

/*
 * Opens a file as fs_open_to_read does. A file that is no regular one is read
 * to its end at once; with only_files it is refused. Close it with input_close,
 * also after an error. Borrows path until then. NSD_E_SYSTEM: it cannot be
 * opened or read, errno says why (see fs_open_error_text); NSD_E_MEMORY.
 */
enum nsd_err input_open(struct input *in, const char *path, bool only_files)
	MUST_USE;
/* The same with only_files, as fs_open_seen does. */
enum nsd_err input_open_seen(struct input *in, const char *path) MUST_USE;
/* Text in memory, borrowed until input_close. */
void input_open_text(struct input *in, const char *text, size_t len);
void input_close(struct input *in);

/*
 * Reads exactly len octets, at most size - at. NSD_E_AGAIN: the file has become
 * shorter since it was opened. NSD_E_SYSTEM: it cannot be read, errno says why.
 */
enum nsd_err input_read(struct input *in, char *out, size_t len) MUST_USE;

/*
 * NSD_E_AGAIN: the path leads to another file than the one that was opened, or
 * that file was changed since. Always NSD_OK for text and pipes.
 */
enum nsd_err input_check_unchanged(const struct input *in) MUST_USE;

#endif
