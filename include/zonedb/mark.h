/*
 * mark.h - marks all objects that the roots lead to: zones and settings. The
 * loader's.
 */
#ifndef ZONEDB_MARK_H
#define ZONEDB_MARK_H

struct store_sweep;
struct store_writer;

/*
 * Marks the table of zones, the settings and all objects that these lead to,
 * and counts all holders anew. So a loader that takes over from a dead one goes
 * on with the published versions. Call it between store_sweep_begin and
 * store_sweep_end. References that lead out of the store are not followed; the
 * sweep fails then.
 * Cost: a walk of all zones.
 */
void mark_roots(struct store_writer *writer, struct store_sweep *sweep);

#endif
