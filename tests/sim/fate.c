/* fate.c - a run of a simulation: its seed, chance, and messages. */
#include "config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "lib/chance.h"
#include "sim/fate.h"

#define SEEDS 20u

/* The linker puts it in front of the real one (--wrap). */
void __wrap_log_write(enum log_level level, const char *format, ...);

/* Functions of the leak sanitizer, if there is one. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

struct fate fate;
static bool leaks;

void
fail(const char *format, ...)
{
	va_list args;

	printf("%s: seed %" PRIu64 ", step %u: ", fate.name, fate.seed,
		fate.step);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	abort();
}

static void
fate_print(const char *format, va_list args)
{
	if (!fate.tells)
		return;
	printf("%u: ", fate.step);
	vprintf(format, args);
	printf("\n");
}

void
note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fate_print(format, args);
	va_end(args);
}

void
__wrap_log_write(enum log_level level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fate_print(format, args);
	va_end(args);
}

void
fate_allow_leaks(bool allowed)
{
	if (leaks == allowed || __lsan_disable == NULL)
		return;
	leaks = allowed;
	if (allowed)
		__lsan_disable();
	else
		__lsan_enable();
}

bool
one_in(uint32_t times)
{
	return chance_below(&fate.rng, times) == 0;
}

uint32_t
below(uint32_t limit)
{
	return chance_below(&fate.rng, limit);
}

static void
fate_run(uint64_t seed, unsigned steps, void (*run)(unsigned steps))
{
	fate.seed = fate.rng = seed;
	fate.step = 0;
	printf("%s: seed %" PRIu64 ": ", fate.name, seed);
	if (fate.tells)
		printf("\n");
	run(steps);
}

int
fate_main(int argc, char **argv, const char *name, unsigned steps,
	void (*run)(unsigned steps))
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 0;

	fate.name = name;
	fate.tells = argc > 3;
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	if (argc > 2)
		steps = (unsigned)atoi(argv[2]);
	if (argc > 1 && strcmp(argv[1], "-") == 0)
		seed = (uint64_t)getpid();
	if (argc > 1)
		fate_run(seed, steps, run);
	for (; argc <= 1 && seed < SEEDS; seed++)
		fate_run(seed, steps, run);
	return 0;
}
