/* patience.c - how long a transfer is waited for. */
#include "xfr/patience.h"

uint32_t
xfr_patience_begin(struct xfr_patience *patience, int64_t now,
	uint32_t first_msec)
{
	if (first_msec == 0)
		first_msec = XFR_SLOW_MSEC;
	*patience = (struct xfr_patience){
		.begun = now,
		.first_msec = first_msec,
	};
	return first_msec;
}

/* A transfer without its first message has first_msec from its turn on. *msec:
 * the next look. False: the transfer is judged as any other. */
static bool
patience_look_for_first(struct xfr_patience *patience, int64_t now,
	const struct xfr_patience_look *look, uint32_t *msec)
{
	int64_t left = look->turn_at + patience->first_msec - now;
	bool is_short = patience->first_msec < XFR_SLOW_MSEC;

	*msec = left > 0 ? (uint32_t)left : 0;
	if (look->received == 0) {
		if (look->is_held)
			*msec = patience->first_msec;
		return true;
	}
	patience->first_msec = 0;
	if (is_short) {
		patience->received = look->received;
		*msec = XFR_SLOW_MSEC;
	}
	return is_short || left > 0;
}

uint32_t
xfr_patience_look(struct xfr_patience *patience, int64_t now,
	const struct xfr_patience_look *look)
{
	uint64_t more = look->received - patience->received;
	uint32_t msec;

	if (now - patience->begun >= XFR_TRANSFER_MSEC)
		return 0;
	if (patience->first_msec > 0
		&& patience_look_for_first(patience, now, look, &msec))
		return msec;
	patience->received = look->received;
	return more >= (look->is_free ? XFR_STEADY_OCTETS : XFR_SLOW_OCTETS)
			|| look->is_held
		? XFR_SLOW_MSEC : 0;
}
