/* denial_note.c - notes which denials a reply has, so that none comes twice. */
#include <assert.h>

#include "query/denial_kind.h"

bool
denial_note(struct query *q, const void *record)
{
	for (unsigned i = 0; i < q->denial_count; i++)
		if (q->denials[i] == record)
			return false;
	assert(q->denial_count < DENIALS_MAX);
	q->denials[q->denial_count++] = record;
	return true;
}
