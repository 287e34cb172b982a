/* edits.h - an xfrd that makes versions, with a journal on the disk, for
 * tests. */
#ifndef TESTS_UNIT_XFRD_EDITS_H
#define TESTS_UNIT_XFRD_EDITS_H

/* Begins it with a configuration: the text of nsd.conf. */
void edits_begin(void **state, const char *conf);
/* Ends it; no edit is under way. Returns as the teardown of a test. */
int edits_end(void **state);

#endif
