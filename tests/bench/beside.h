/* beside.h - an echo that is asked beside a server, by the same client and by
 * the same way. While it does not answer, the machine stands still or the way
 * does. What an answer of the server took besides is the server's own. */
#ifndef BENCH_BESIDE_H
#define BENCH_BESIDE_H

#include <stdbool.h>
#include <stdint.h>

/* The echo's port on loopback. Times are those of latency_now_ns. */
void beside_open(uint16_t port);

/* Called once a turn of the client, before it asks the server: asks the echo if
 * that is due, and takes its answers. */
void beside_turn(void);

/* Ends asking, and lets beside_stood_ns look. */
void beside_close(void);

bool beside_is_asked(void);

/* For how much of a time the echo had not answered for long. */
uint64_t beside_stood_ns(uint64_t from_ns, uint64_t to_ns);

/* Members of JSON, with a comma before them; microseconds. */
void beside_print(void);

#endif
