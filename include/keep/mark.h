/*
 * mark.h - finds all that the table of zones leads to. The loader's.
 */
#ifndef KEEP_MARK_H
#define KEEP_MARK_H

struct store_sweep;
struct store_writer;

/*
 * Marks the table and all that it leads to, between store_sweep_begin and
 * store_sweep_end, and counts holders anew: a loader that takes over from one
 * that died goes on with the published versions. Cost: a walk of all zones.
 */
void mark_table(struct store_writer *writer, struct store_sweep *sweep);

#endif
