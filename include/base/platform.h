/*
 * platform.h - differences between the C libraries of Linux. The code above
 * calls these functions and needs no #ifdef. glibc (2.31 or newer) and musl are
 * known to work. Calls of Linux itself, as signalfd, are the same with each
 * library and are made where they are needed: there is no other system to run
 * on.
 */
#ifndef BASE_PLATFORM_H
#define BASE_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>

/* Has the C library keep little of what threads have freed. To be called before
 * a second thread of the process has taken memory. With musl there is nothing
 * to do: it has one heap for all threads. */
void platform_heap_bound(void);

/* Gives freed memory back to the system. musl does so by itself. */
void platform_heap_trim(void);

/* How many octets of the heap are in use, and how many are freed and kept.
 * False: the C library does not tell (musl, glibc before 2.33). Takes no memory
 * and may be called in a signal handler of a process of one thread. */
bool platform_heap_measure(size_t *used, size_t *kept);

/* Closes the descriptors from first to last. False: the kernel cannot (before
 * Linux 5.9), and nothing is closed. */
bool platform_close_range(int first, int last);

/* Flags of glob(3) for "include:" in nsd.conf: a tilde, and braces where the C
 * library knows them (musl does not). */
int platform_glob_flags(void);

#endif
