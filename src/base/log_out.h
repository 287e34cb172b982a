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
	int error;     /* errno of the last lost line */
	bool is_full;  /* the last wait for room was in vain */
	bool is_cut;   /* there is a part of a line without its end */
};

/* Sets the patience: the time in milliseconds that all lines of this process
 * together wait for room at most; an eighth of passed time is added to it. -1,
 * the default: each line waits as long as it takes. */
void log_out_set_patience(int patience_msec);

/* Opens the standard error output anew, if it is a pipe or a terminal, so that
 * it does not block, without an effect on other processes that share it. Leaves
 * it as it is if the kernel does not allow that. */
void log_out_own_stderr(void);

/* Waits until a descriptor has room for a line, within the patience. False: it
 * has none. */
bool log_out_wait(struct log_out *out, int fd);

/* Writes a line, which ends in '\n', with one call, so that lines of several
 * processes do not mix. A pipe promises that for PIPE_BUF octets: the line is
 * cut there. False with errno: it is not there as a whole. */
bool log_out_write(struct log_out *out, int fd, char *line, size_t len);

/* Counts a line that is not there, with its errno. */
void log_out_count(struct log_out *out, int error);

/* The reason why the last lost line could not be written; lent until the next
 * call. */
const char *log_out_reason(const struct log_out *out);

/* Takes the count of lost lines; 0: none. log_out_return puts it back. */
uint64_t log_out_take(struct log_out *out);
void log_out_return(struct log_out *out, uint64_t lost);

#endif
