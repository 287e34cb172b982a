/* inspect_pass.h - common parts of the files of an inspection. */
#ifndef COMPILE_INSPECT_PASS_H
#define COMPILE_INSPECT_PASS_H

#include "compile/build_pass.h"
#include "compile/carry.h"
#include "compile/cut.h"
#include "compile/inspect.h"

/* ---- addresses of name servers (inspect_glue.c) -------------------------- */

/* A name server whose addresses are not in the part of its NS record. */
struct inspect_use {
	struct inspect_use *next;
	uint32_t line;         /* of the NS record */
	uint16_t file;
	bool in_domain;        /* as in struct glue_lack */
	uint8_t target_len;    /* octets below the apex, no root label */
	uint8_t target_labels;
	const uint8_t *owner;  /* whole names */
	const uint8_t *target;
};

/* The names and RRsets that addresses are looked for in. Names are known by 59
 * bits of a hash: any two of a million have the same with a chance of 2^-20. */
struct inspect_glue {
	uint64_t seed;
	uint64_t *names;      /* of each name so far: hash, and in the lowest
			       * bits enum name_facts */
	size_t name_count;
	size_t name_room;
	uint64_t *rrsets;     /* table of the hashes of RRsets that had uses; 0:
			       * free */
	size_t rrset_count;
	size_t rrset_room;    /* a power of two, or 0 */
	struct inspect_use *uses; /* newest first */
	struct arena arena;   /* of the uses */
};

struct zone_inspect {
	struct zone_inspect_input input;
	struct zone_build_input build_input;
	struct build build;
	struct part_carry carry;
	struct cut cut;
	bool begun;                /* there was a part, with the apex */
	struct rrbatch_rr *params; /* the NSEC3PARAM, or NULL */
	/* the chain of NSEC3 records so far */
	bool has_hash;
	uint8_t first_hash[NSEC3_HASH_LEN];
	uint8_t next_hash[NSEC3_HASH_LEN]; /* of the last one */
	/* the last owner of all, and its name */
	struct owner last;
	uint8_t last_name[NAME_MAX_LEN];
	struct inspect_glue glue;
};

/* Notes a name for others to find. NSD_E_MEMORY. */
enum nsd_err inspect_note_name(struct zone_inspect *s,
	const struct owner *owner) MUST_USE;
/* Looks for the addresses of an NS RRset in the part at hand, and notes where
 * there are none. NSD_E_LIMIT: the RRset is too large; NSD_E_MEMORY. */
enum nsd_err inspect_note_servers(struct zone_inspect *s,
	const struct owner *owner, const struct item_group *ns) MUST_USE;
/* Tells of name servers without addresses, when all names are noted.
 * NSD_E_MEMORY. */
enum nsd_err inspect_resolve(struct zone_inspect *s) MUST_USE;
void inspect_glue_fini(struct inspect_glue *glue);

#endif
