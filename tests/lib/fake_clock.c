/* fake_clock.c - time that a test lets pass. What is defined here comes before
 * the functions of libc, for shared libraries, too. */
#include "config.h"

#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "lib/fake_clock.h"

#define BEGAN_SEC 1800000000

int64_t fake_clock_msec;

int
clock_gettime(clockid_t clock, struct timespec *now)
{
	if (clock == CLOCK_PROCESS_CPUTIME_ID
		|| clock == CLOCK_THREAD_CPUTIME_ID)
		return (int)syscall(SYS_clock_gettime, clock, now);
	now->tv_sec = (time_t)(fake_clock_msec / 1000);
	now->tv_nsec = (long)(fake_clock_msec % 1000 * 1000000);
	if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
		now->tv_sec += BEGAN_SEC;
	return 0;
}

int
gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	(void)zone;
	now->tv_sec = BEGAN_SEC + (time_t)(fake_clock_msec / 1000);
	now->tv_usec = (suseconds_t)(fake_clock_msec % 1000 * 1000);
	return 0;
}

time_t
time(time_t *out)
{
	time_t now = BEGAN_SEC + (time_t)(fake_clock_msec / 1000);

	if (out != NULL)
		*out = now;
	return now;
}
