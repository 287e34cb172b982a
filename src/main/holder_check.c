/* holder_check.c - decides what to do about a reader that keeps old
 * versions. */
#include "config.h"

#include "main/holder.h"

enum holder_verdict
holder_check(struct holder_told *told, const struct ipc_holder *holder)
{
	uint64_t epoch = holder->too_old, more = told->more;

	if (holder->look - told->look > HOLDER_QUIET_LOOKS) {
		*told = (struct holder_told){.epoch = 0};
		more = 0;
	}
	told->look = holder->look;
	/* A child that has let go of all that it was told keeps newer ones
	 * only. */
	if (told->epoch >= holder->oldest)
		return told->looks >= HOLDER_LOOKS ? HOLDER_REPLACE
						   : HOLDER_WAITS;
	/* The oldest pin alone may hold all that is kept: then the others stay.
	 * If not, twice as many epochs go each time: soon all, however the
	 * child changes its pins. */
	if (holder->ended != 0) {
		if (more > holder->ended - holder->oldest)
			more = holder->ended - holder->oldest;
		if (epoch < holder->oldest + more)
			epoch = holder->oldest + more;
		told->more = 2 * more + 1;
	}
	told->epoch = epoch;
	told->looks = 0;
	told->given_up = false;
	return HOLDER_TELL;
}
