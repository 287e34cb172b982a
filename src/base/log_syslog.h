/* log_syslog.h - lines to a syslog daemon, by a descriptor that can be handed
 * to a process that may make none (syslog(3) hides its own). Private to base.
 */
#ifndef BASE_LOG_SYSLOG_H
#define BASE_LOG_SYSLOG_H

#include <stdbool.h>
#include <stddef.h>

/* Connects to the socket with that path; NULL: /dev/log. Returns a descriptor
 * that does not block, or -1 with errno. */
int log_syslog_connect(const char *path, bool *is_stream);

/* Writes the head of a line (RFC 3164 section 4.1): the priority, the time now,
 * the program and its pid. Returns its length, below size. */
size_t log_syslog_print_head(char *out, size_t size, int priority,
	const char *program);

/* Sends a line, which has a NUL at its end. False with errno: the daemon has
 * not taken it (EAGAIN: it has no room). */
bool log_syslog_send(int fd, bool is_stream, const char *line, size_t len);

#endif
