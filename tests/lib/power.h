/*
 * power.h - a disk that loses power: for programs that are linked with power.c
 * and $(WRAP_POWER). What is done to the files of one folder is done, and
 * written down; later the folder is made anew as it might be if the power had
 * failed after so many operations. Files are not flushed for real.
 *
 * What was not flushed may be there or not: any of the writes to a file since
 * its last fsync, each in part; any of the removals; the other changes of names
 * since the folder's last fsync, up to some point.
 */
#ifndef TESTS_LIB_POWER_H
#define TESTS_LIB_POWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Begins to write down what is done in a folder, which is empty. */
void power_begin(const char *folder);
/* Forgets it all. */
void power_end(void);

/* How many operations there were. */
size_t power_count(void);

/* Makes count operations fail, beginning with the at-th from now (0: the next).
 * A short write writes half; operations other than writes succeed under
 * POWER_SHORT. */
enum power_fault { POWER_NO_SPACE, POWER_IO_ERROR, POWER_SHORT };
void power_fail(enum power_fault fault, size_t at, size_t count);
/* True if one has failed since. */
bool power_has_failed(void);

/* The survival of unflushed writes: none, all, or a seed's choice. */
#define POWER_NOTHING UINT64_C(0)
#define POWER_ALL UINT64_C(1)

/* From now on a sector has what was written to it up to some moment, as that of
 * a disk has it; else any of these writes may be lost. For files whose owner
 * relies on it. */
void power_in_order(bool wanted);

/* Fills an empty folder as after a power cut. */
void power_restore(size_t operations, uint64_t left, const char *folder);

#endif
