/* diff_history.c - the differences that a changed file makes, as a changeset
 * between two versions. */
#include "update/diff_history.h"

#include "dns/rrtype.h"
#include "dns/serial.h"

/* Adds the changes of a sort, the SOA first. */
static void
fill_with(struct history_draft *draft, const struct diff_change *changes,
	size_t count, bool add)
{
	for (unsigned soa = 2; soa-- > 0; )
		for (size_t i = 0; i < count; i++) {
			const struct diff_change *change = &changes[i];

			if (change->add == add
				&& (change->rr.type == TYPE_SOA) == (soa > 0))
				history_draft_add(draft, &change->rr);
		}
}

void
diff_history_fill(struct history_draft *draft,
	const struct diff_change *changes, size_t count)
{
	fill_with(draft, changes, count, false);
	fill_with(draft, changes, count, true);
	draft->lost |= !serial_is_newer(draft->to, draft->from);
}
