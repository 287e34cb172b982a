/* reload.h - zone files that have changed are read. */
#ifndef MAIN_RELOAD_H
#define MAIN_RELOAD_H

struct supervisor;

/* Has the loader read them. One reload runs at a time; requests meanwhile are
 * one more behind it. Without a loader, the next one is told once it is
 * ready. */
void reload_begin(struct supervisor *s);

#endif
