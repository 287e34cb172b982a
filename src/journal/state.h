/*
 * state.h - the state of a journal, of its writer's own thread.
 */
#ifndef SRC_JOURNAL_STATE_H
#define SRC_JOURNAL_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "journal/commit.h"
#include "journal/fetch.h"
#include "journal/journal.h"
#include "journal/live.h"

struct journal {
	int dirfd;
	int lock_fd;
	uint64_t segment_size;
	struct live live;
	struct commit commit;
	uint64_t id_next;
	uint64_t spool_next;            /* number of a text in progress */
	struct cds_list_head transfers; /* begun */
	struct cds_list_head pending;   /* jobs: ended, not durable */
	struct cds_list_head ready;     /* jobs: for journal_next */
	unsigned copies;                /* under way */
	struct fetch_segment near;      /* of the text that was opened last */
	bool removing;                  /* a segment is about to go */
	bool paused;                    /* a copy found no room */
	struct journal_job *spare;      /* a job for a death when there is no
					 * memory: without it the entry would be
					 * live again */
};

struct journal_transfer {
	struct cds_list_head node;
	struct journal *journal;
	struct journal_job *job;       /* job of the entry, once the transfer
					* ends */
	struct journal_text *text; /* NULL: the whole text is in data */
	uint8_t *data;         /* at most a block */
	size_t used;
	size_t room;
	uint64_t text_len;
};

#endif
