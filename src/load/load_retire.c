/* load_retire.c - retires versions of zones that are no longer served. */
#include "config.h"

#include <stdlib.h>

#include "base/grow.h"
#include "keep/retire.h"
#include "load/load_retire.h"
#include "load/load_turn.h"
#include "store/writer.h"
#include "zone/zone.h"

/* A version with fewer records is retired at once. */
#define RECORDS_MIN 500u
/* Objects that are retired between two looks at the clock. */
#define STEP_OBJECTS 200u

static bool
load_retire_reserve(struct load_retire *retire)
{
	struct retiring **zones = grow_array(retire->zones, retire->count,
		&retire->room, sizeof(*zones));

	if (zones == NULL)
		return false;
	retire->zones = zones;
	return true;
}

void
load_retire_add(struct load_retire *retire, struct store_writer *writer,
	store_ref ref)
{
	struct retiring *retiring = NULL;
	const struct zone *zone;

	if (ref == STORE_NONE)
		return;
	zone = store_get(store_writer_view(writer), ref);
	if (zone->rr_count >= RECORDS_MIN && load_retire_reserve(retire))
		retiring = retire_begin(ref);
	if (retiring != NULL)
		retire->zones[retire->count++] = retiring;
	else
		retire_zone(writer, ref);
}

bool
load_retire_step(struct load_retire *retire, struct store_writer *writer)
{
	struct load_turn turn = load_turn_begin();

	if (retire->count == 0)
		return false;
	/* First, so that the turn is equally long whatever there is to free. */
	(void)store_reclaim(writer);
	do {
		if (!retire_step(writer, retire->zones[retire->count - 1],
			    STEP_OBJECTS))
			retire->count--;
	} while (retire->count > 0 && !load_turn_is_over(&turn));
	if (retire->count > 0)
		return true;
	free(retire->zones);
	*retire = (struct load_retire){.zones = NULL};
	return false;
}
