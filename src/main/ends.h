/* ends.h - deaths of processes in the log: all, while there are few. */
#ifndef MAIN_ENDS_H
#define MAIN_ENDS_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed at first. Times are of clock.h. */
struct ends {
	int64_t since_msec; /* 0: no period has begun */
	unsigned lines;     /* since then */
	unsigned untold;    /* deaths without a line */
};

/* Counts a death. True: it gets a line of its own in the log. Messages can kill
 * workers, so at most twenty deaths in ten seconds get one; one line tells the
 * number of the others. */
bool ends_may_log(struct ends *ends, int64_t now_msec);

/* Logs the number of deaths without a line, once it is time. Call it
 * periodically. */
void ends_tell(struct ends *ends, int64_t now_msec);

#endif
