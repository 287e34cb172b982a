/* vet_history.c - what the last versions of a zone differ by. */
#include "vet/vet_part.h"
#include "zone/history.h"

/* Records to the end, the first of them the SOA of the old version; that of the
 * new one is there as well. No other octets of them matter to us. */
static bool
step_is_sound(const struct zone_step *step)
{
	struct history_rr rr;
	struct cursor c;
	unsigned soas = 0;
	uint32_t serial;

	cursor_init(&c, step->data, step->len);
	while (cursor_left(&c) > 0) {
		if (history_read(&c, &rr) != NSD_OK
			|| (soas == 0 && rr.type != TYPE_SOA))
			return false;
		if (rr.type != TYPE_SOA)
			continue;
		if (rr.labels_len != 0
			|| !history_read_serial(rr.rdata, rr.rdlen, &serial)
			|| serial != (soas == 0 ? step->from : step->to))
			return false;
		soas++;
	}
	return soas == 2;
}

bool
vet_history(struct vet_part *p, store_ref ref)
{
	const struct zone_step *newer = NULL;

	for (unsigned i = 0; ref != STORE_NONE; i++) {
		const struct zone_step *step = vet_get(p, VET_STEP, ref,
			sizeof(*step));

		if (step == NULL
			|| !vet_claim(p, VET_STEP, ref, zone_step_size(step)))
			return false;
		if (i == HISTORY_STEPS_MAX)
			return vet_fail(p, VET_STEP, ref, "is one too many");
		if (newer != NULL && newer->from != step->to)
			return vet_fail(p, VET_STEP, ref,
				"does not lead to the next one");
		if (!step_is_sound(step))
			return vet_fail(p, VET_STEP, ref,
				"is not made of records");
		newer = step;
		ref = step->older;
	}
	return true;
}
