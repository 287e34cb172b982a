/* stream_pass.h - common parts of the files of a build from a stream. */
#ifndef COMPILE_STREAM_PASS_H
#define COMPILE_STREAM_PASS_H

#include "compile/build_pass.h"
#include "compile/carry.h"
#include "compile/cut.h"
#include "compile/stream.h"

/* A name that an RRset in the store has as a target. */
struct stream_use {
	store_ref rrset;
	store_ref node; /* the owner of the RRset */
	uint32_t line;
	uint16_t file;
	uint16_t index; /* into the targets of the RRset */
};

#define STREAM_USES 1000u

struct stream_uses {
	struct stream_uses *next;
	size_t count;
	struct stream_use items[STREAM_USES];
};

/* The nodes that one part of a stream has made, in canonical order. */
struct stream_nodes {
	size_t count;
	store_ref refs[];
};

struct zone_stream {
	struct build build;
	struct zone_build_input input;
	struct cut cut;
	struct part_carry carry;
	bool begun;                 /* the part with the apex is packed */
	struct rrbatch_rr *params;  /* the NSEC3PARAM, or NULL */
	struct owner last_hash;     /* of the parts so far */
	uint8_t last_hash_name[NAME_MAX_LEN];
	bool has_last_hash;

	/* results of the parts so far */
	struct trie names;
	struct trie nsec3;
	struct trie targets;
	store_ref apex;
	struct stream_uses *uses;
	size_t use_count;
	size_t range_uses;           /* to be resolved at a time; 0: by how
				      * many they are */
	struct nsec3_entry *entries; /* of the chain, ascending */
	size_t entry_count;
	size_t entry_room;
	struct rrbatch_rr *held_rr;  /* of the last one: its next hash is to be
				      * looked at; NULL: it is not */
	struct stream_nodes **nodes; /* of each part; if there are params */
	size_t nodes_count;
	size_t nodes_room;
};

/* ---- tries (stream_trie.c) */

/* A trie of objects in order, joined to those before. The objects are the
 * trie's from then on; on failure they stay the caller's. */
enum nsd_err stream_add_trie(struct zone_stream *s, struct trie *trie,
	const store_ref *objects, size_t count) MUST_USE;

/* ---- the chain of NSEC3 records (stream_chain.c) */

/* A copy of a record without its owner, to be freed; NULL without memory. */
struct rrbatch_rr *stream_copy_record(const struct rrbatch_rr *rr);
/* Takes the records of the chain that build.chain_items has. */
enum nsd_err stream_take_chain(struct zone_stream *s) MUST_USE;
/* Makes the chain of all records that were taken. */
enum nsd_err stream_end_chain(struct zone_stream *s) MUST_USE;
/* Releases the records that were taken and are in no chain. */
void stream_undo_chain(struct zone_stream *s);

/* ---- hashes of names (stream_hash.c) */

/* Keeps the nodes of the part at hand until stream_hash_names. NSD_E_MEMORY. */
enum nsd_err stream_note_nodes(struct zone_stream *s, const store_ref *nodes,
	size_t count) MUST_USE;
void stream_free_nodes(struct zone_stream *s);
/* Fills in the hashes of all names when the chain is there. NSD_E_LIMIT: a hash
 * is not to be kept, as another one begins alike, or a name has NSEC3 records
 * as well; NSD_E_MEMORY. */
enum nsd_err stream_hash_names(struct zone_stream *s) MUST_USE;

/* ---- targets (stream_glue.c) */

/* Notes the uses of the part at hand in short form. */
enum nsd_err stream_note_uses(struct zone_stream *s) MUST_USE;
/* Resolves all noted uses, when all names are there. */
enum nsd_err stream_resolve_uses(struct zone_stream *s) MUST_USE;

#endif
