/* latency.h - how long answers took: percentiles, and their course. */
#ifndef BENCH_LATENCY_H
#define BENCH_LATENCY_H

#include <stdint.h>
#include <sys/socket.h>

/* Before any other; a part of the course is bucket_ns long. */
void latency_init(uint64_t bucket_ns);

/* The clock of the two that follow. */
uint64_t latency_now_ns(void);

/* Lets the kernel say when a datagram came, so that a client that waits for
 * its core does not count as a slow server. */
void latency_enable(int fd);

/* The time when a message arrived, or now if the kernel did not say. */
uint64_t latency_heard_ns(struct msghdr *msg);
void latency_note(uint64_t sent_ns, uint64_t heard_ns);

/* Once a turn of the client, with any clock: how long it did not come to its
 * turn at most. What it sends after that comes in a burst. */
void latency_turn(uint64_t now_ns);

/* Writes how long each answer took to a file: 32-bit numbers of nanoseconds,
 * in the order of this machine's octets. */
void latency_save(const char *path);

/* Members of JSON, with a comma before them; microseconds. own_*: the same
 * without the time for which an echo beside stood still. After latency_save. */
void latency_print(void);

#endif
