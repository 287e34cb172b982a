/* stream_pass.h - what the files of a build from a stream share. */
#ifndef BUILD_STREAM_PASS_H
#define BUILD_STREAM_PASS_H

#include "build/cut.h"
#include "build/parts_pass.h"
#include "build/stream.h"

/* The nodes that one part of a stream has made, in canonical order. */
struct stream_nodes {
	size_t count;
	store_ref refs[];
};

struct zone_stream {
	struct zone_parts *parts;
	struct cut cut;
	bool begun;                 /* the part with the apex is packed */
	struct rrbatch_rr *params;  /* the NSEC3PARAM, or NULL */
	struct owner last_hash;     /* of the parts so far */
	uint8_t last_hash_name[NAME_MAX_LEN];
	bool has_last_hash;
	struct stream_nodes **nodes; /* of each part; if there are params */
	size_t nodes_count;
	size_t nodes_room;
};

/* Keeps the nodes of the part at hand until stream_hash_names. NSD_E_MEMORY. */
enum nsd_err stream_note_nodes(struct zone_stream *s, const store_ref *nodes,
	size_t count) MUST_USE;
void stream_free_nodes(struct zone_stream *s);

/* Fills in the hashes of all names when the chain is there. NSD_E_LIMIT: a hash
 * is not to be kept, as another one begins alike, or a name has NSEC3 records
 * as well; NSD_E_MEMORY. */
enum nsd_err stream_hash_names(struct zone_stream *s) MUST_USE;

#endif
