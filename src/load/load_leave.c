/* load_leave.c - retires versions of zones that are no longer served. */
#include "config.h"

#include <stdlib.h>

#include "base/grow.h"
#include "keep/retire.h"
#include "load/load_leave.h"
#include "load/load_turn.h"
#include "store/writer.h"
#include "zone/zone.h"

/* A version with fewer records is retired at once. */
#define RECORDS_MIN 500u
/* Objects that are retired between two looks at the clock. */
#define STEP_OBJECTS 200u

static bool
leave_reserve(struct load_leave *leave)
{
	struct retiring **zones = grow_array(leave->zones, leave->count,
		&leave->room, sizeof(*zones));

	if (zones == NULL)
		return false;
	leave->zones = zones;
	return true;
}

void
load_leave_add(struct load_leave *leave, struct store_writer *writer,
	store_ref ref)
{
	struct retiring *retiring = NULL;
	const struct zone *zone;

	if (ref == STORE_NONE)
		return;
	zone = store_get(store_writer_view(writer), ref);
	if (zone->rr_count >= RECORDS_MIN && leave_reserve(leave))
		retiring = retire_begin(ref);
	if (retiring != NULL)
		leave->zones[leave->count++] = retiring;
	else
		retire_zone(writer, ref);
}

bool
load_leave_step(struct load_leave *leave, struct store_writer *writer)
{
	struct load_turn turn = load_turn_begin();

	if (leave->count == 0)
		return false;
	/* First, so that the turn is equally long whatever there is to free. */
	(void)store_reclaim(writer);
	do {
		if (!retire_step(writer, leave->zones[leave->count - 1],
			    STEP_OBJECTS))
			leave->count--;
	} while (leave->count > 0 && !load_turn_is_over(&turn));
	if (leave->count > 0)
		return true;
	free(leave->zones);
	*leave = (struct load_leave){.zones = NULL};
	return false;
}
