/* ends.h - deaths of processes in the log: all, while there are few. */
#ifndef MAIN_ENDS_H
#define MAIN_ENDS_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed at first. Times are of clock.h. */
struct ends {
	int64_t since_msec; /* 0: nothing is counted */
	unsigned lines;     /* since then */
	unsigned untold;    /* deaths without a line */
};

/* A process has died. True: that is to have a line of its own. Messages can
 * have workers die, so only twenty have one in ten seconds; of all others it is
 * said how many they were. */
bool ends_may_log(struct ends *ends, int64_t now_msec);

/* Says so, once it is time. To be called now and then. */
void ends_tell(struct ends *ends, int64_t now_msec);

#endif
