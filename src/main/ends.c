/* ends.c - deaths of processes in the log. */
#include "config.h"

#include "base/log.h"
#include "main/ends.h"

#define ENDS_LINES 20
#define ENDS_SEC 10

void
ends_tell(struct ends *ends, int64_t now_msec)
{
	if (ends->since_msec == 0
		|| now_msec - ends->since_msec < ENDS_SEC * 1000)
		return;
	if (ends->untold > 0)
		log_error("%u more processes have died in %d seconds, and were"
			  " replaced",
			ends->untold, ENDS_SEC);
	*ends = (struct ends){.since_msec = 0};
}

bool
ends_may_log(struct ends *ends, int64_t now_msec)
{
	ends_tell(ends, now_msec);
	if (ends->since_msec == 0)
		ends->since_msec = now_msec;
	if (ends->lines < ENDS_LINES) {
		ends->lines++;
		return true;
	}
	ends->untold++;
	return false;
}
