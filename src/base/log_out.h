/* log_out.h - writing to one place of the log, which may have no room. Private
 * to base. Threads may call these at once. */
#ifndef BASE_LOG_OUT_H
#define BASE_LOG_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed: no line is lost. */
struct log_out {
	uint64_t lost; /* lines that were lost and not reported yet */
	int error;     /* of the last of them */
	bool is_full;  /* the last wait for room was in vain */
	bool is_cut;   /* there is a part of a line without its end */
};

/* How long all lines of this process together may wait at most for room, in
 * milliseconds; an eighth of the time is given back. -1, as it begins: each as
 * long as it takes. */
void log_out_set_patience(int patience_msec);

/* Has the standard error output, if a pipe or a terminal, be a description
 * of our own that does not block: whoever shares that from before does not
 * notice. Leaves it as it is if the kernel does not allow that. */
void log_out_own_stderr(void);

/* Waits until a descriptor has room for a line, within that patience. False: it
 * has none. */
bool log_out_wait(struct log_out *out, int fd);

/* Writes a line, which ends in '\n', with one call, so that lines of several
 * processes do not mix. A pipe promises that for PIPE_BUF octets: the line is
 * cut there. False with errno: it is not there as a whole. */
bool log_out_write(struct log_out *out, int fd, char *line, size_t len);

/* Counts a line that is not there, with its errno. */
void log_out_count(struct log_out *out, int error);

/* Why the last of them is not there; lent until the next call. */
const char *log_out_reason(const struct log_out *out);

/* Takes what has been counted; 0: nothing. log_out_return puts it back. */
uint64_t log_out_take(struct log_out *out);
void log_out_return(struct log_out *out, uint64_t lost);

#endif
