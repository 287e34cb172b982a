/*
 * input.h - where the octets come from: a file that may change while it is
 * read, or text in memory.
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
	char *slurped;     /* what came from a pipe: owned */
	uint64_t size;
	uint64_t at;       /* octets handed out */
	struct stat before;
};

/*
 * Opens a file as fs_open_to_read does; what is no regular file is read to its
 * end at once, or with only_files refused. NSD_E_SYSTEM with errno (see
 * fs_open_error_text), or NSD_E_MEMORY.
 */
enum nsd_err input_open(struct input *in, const char *path, bool only_files)
	MUST_USE;
void input_open_text(struct input *in, const char *text, size_t len);
void input_close(struct input *in);

/*
 * Reads exactly len octets (no more than size - at). NSD_E_AGAIN: the file has
 * become shorter. NSD_E_SYSTEM with errno.
 */
enum nsd_err input_read(struct input *in, char *out, size_t len) MUST_USE;

/*
 * NSD_E_AGAIN if the path does not lead to the file that was opened, as it
 * was then; otherwise NSD_OK.
 */
enum nsd_err input_check_unchanged(const struct input *in) MUST_USE;

#endif
