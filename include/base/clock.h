/*
 * clock.h - time that only goes forward (CLOCK_MONOTONIC), for limits and
 * delays, and the processor time of a thread. It does not tell the date.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t
clock_now_usec(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static inline int64_t
clock_now_msec(void)
{
	return clock_now_usec() / 1000;
}

/* The monotonic clock in milliseconds, late by a tick of the kernel (some ms),
 * at a lower cost than clock_now_msec. For work of each batch of queries. */
static inline uint64_t
clock_coarse_msec(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* The coarse clock in whole seconds. */
static inline uint32_t
clock_coarse_sec(void)
{
	return (uint32_t)(clock_coarse_msec() / 1000);
}

/* The processor time of this thread. A system call, unlike the other clocks. */
static inline int64_t
clock_thread_nsec(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

#endif
