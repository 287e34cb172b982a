/* fate.h - a run of a simulation: its seed, chance, and messages. */
#ifndef TESTS_SIM_FATE_H
#define TESTS_SIM_FATE_H

#include <stdbool.h>
#include <stdint.h>

struct fate {
	const char *name; /* of the program */
	uint64_t seed;
	uint64_t rng;
	unsigned step;
	bool tells;       /* events are printed, and the log */
};
extern struct fate fate;

/* Runs a simulation with the seed of the command line, or with those from 0 to
 * 19; arguments: SEED (-: by chance), steps, and a third one to be told of
 * events. Returns the exit status. */
int fate_main(int argc, char **argv, const char *name, unsigned steps,
	void (*run)(unsigned steps));

/* Ends the program with the seed and a text. */
void fail(const char *format, ...)
	__attribute__((format(printf, 1, 2), noreturn));
/* Prints an event, if events are told. */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Begins, or ends, a time in which memory may be lost: a process that dies in
 * the midst of a function frees nothing. */
void fate_allow_leaks(bool allowed);
/* True once in so many times. */
bool one_in(uint32_t times);
uint32_t below(uint32_t limit);

#endif
