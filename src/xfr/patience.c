/* patience.c - how long a transfer is waited for. */
#include "xfr/patience.h"

uint32_t
xfr_patience_begin(struct xfr_patience *patience, int64_t now,
	uint32_t first_msec)
{
	*patience = (struct xfr_patience){
		.begun = now,
		.first_msec = first_msec,
	};
	return first_msec > 0 ? first_msec : XFR_SLOW_MSEC;
}

/* The first message is due. A primary that sends others to us is not silent. */
static uint32_t
patience_look_for_first(struct xfr_patience *patience,
	const struct xfr_patience_look *look)
{
	if (look->received > 0) {
		patience->first_msec = 0;
		patience->received = look->received;
		return XFR_SLOW_MSEC;
	}
	return look->is_heard || look->is_held ? patience->first_msec : 0;
}

uint32_t
xfr_patience_look(struct xfr_patience *patience, int64_t now,
	const struct xfr_patience_look *look)
{
	uint64_t more = look->received - patience->received;

	if (now - patience->begun >= XFR_TRANSFER_MSEC)
		return 0;
	if (patience->first_msec > 0)
		return patience_look_for_first(patience, look);
	patience->received = look->received;
	return more >= (look->is_free ? XFR_STEADY_OCTETS : XFR_SLOW_OCTETS)
			|| look->is_held
		? XFR_SLOW_MSEC : 0;
}
