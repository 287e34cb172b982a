/*
 * dyn_signed.h - the check of a message for a signed zone: that the RRsets
 * which it touches are signed, and that NSEC or NSEC3 records fit. Signatures
 * are not verified: signing is a signer's work.
 */
#ifndef DYNUPDATE_DYN_SIGNED_H
#define DYNUPDATE_DYN_SIGNED_H

#include "dns/nsec3.h"
#include "dynupdate/dyn.h"

/* ---- dyn_chain.c --------------------------------------------------------- */

/* Owner and next owner: whole names, or hashes. */
struct dyn_edge {
	const uint8_t *owner;
	const uint8_t *next;
};

struct dyn_edges {
	struct dyn_edge *edges;
	size_t count, room;
};

struct dyn_chain {
	bool is_hashed;
	const uint8_t *base; /* where it begins: the apex, or its hash */
	struct dyn_edges gone, come;
};

/* Finds where the chain breaks; sorts the edges. NULL: it is whole. Cost: that
 * of sorting. */
const uint8_t *dyn_chain_find_break(struct dyn_chain *chain);

/* ---- the check ----------------------------------------------------------- */

/* A key of the zone, now or before the message in hand. */
struct dyn_key {
	uint16_t tag;
	uint8_t algorithm;
	bool may_sign;  /* records of a zone */
	bool is_sep;    /* the same, with the SEP flag, and not revoked */
	bool is_there, was_there;
};

struct dyn_check {
	struct dynupdate *d;
	struct dynupdate_result *result;
	/* Names that are looked at: touched, or below a cut that has come or
	 * gone. */
	struct dyn_name **names;
	size_t count, room;
	unsigned steps; /* to find those below cuts */
	struct dyn_key *keys; /* of dyn_sigs_read_keys */
	size_t key_count;
	struct dyn_chain chain;
	/* The chain of NSEC3 in use; NULL: none. */
	const struct nsec3_chain *hashed;
	unsigned hashes; /* names hashed */
	uint8_t apex_hash[NSEC3_HASH_LEN];
};

/* ---- dyn_sigs.c ---------------------------------------------------------- */

/* Refuses for an RRset. Returns NSD_OK, as a refusal is a result. */
enum nsd_err dyn_sigs_refuse(const struct dyn_check *c,
	const struct dyn_name *name, uint16_t type, const char *why);
/* Reads the keys of the zone; refuses if there are too many. NSD_E_MEMORY. */
enum nsd_err dyn_sigs_read_keys(struct dyn_check *c) MUST_USE;
/* Checks the signatures of an RRset that has some: one has all that RFC 4035
 * section 2.2 asks for; of records that are others now, all are new; a key with
 * the SEP flag goes on signing the DNSKEY RRset. NSD_E_MEMORY. */
enum nsd_err dyn_sigs_check(struct dyn_check *c, const struct dyn_set *set,
	struct dyn_set *sigs) MUST_USE;

/* ---- dyn_denial.c -------------------------------------------------------- */

/* True if the name is below a cut or DNAME. NSD_E_MEMORY. */
enum nsd_err dyn_denial_is_hidden(struct dynupdate *d,
	const struct dyn_name *name, bool *is_hidden) MUST_USE;

/* True if the name is a zone cut. */
bool dyn_denial_is_cut(const struct dynupdate *d, const struct dyn_name *name);

/* Says which chain the zone has. */
void dyn_denial_init(struct dyn_check *c);
/* Checks the NSEC or NSEC3 record of a name. NSD_E_MEMORY. */
enum nsd_err dyn_denial_check_name(struct dyn_check *c, struct dyn_name *name)
	MUST_USE;
/* Checks the chain. NSD_E_MEMORY. */
enum nsd_err dyn_denial_check_chain(struct dyn_check *c) MUST_USE;

#endif
