/* pack_parts.h - functions that the files which pack a name have of each
 * other. */
#ifndef COMPILE_PACK_PARTS_H
#define COMPILE_PACK_PARTS_H

#include "compile/packer.h"

struct nsec3_chain;
struct rrset_sigs;

/* ---- check.c */

/* Checks the records of one name. Takes out those that a secondary cannot
 * serve. */
void check_node(struct packer *p, const struct owner *owner,
	struct item_group *groups, size_t count);

/* Checks the limits of a name's records, of all its groups or some. False: a
 * limit is exceeded, which is reported. */
bool check_limits(struct packer *p, const struct owner *owner,
	const struct item_group *groups, size_t count);

/* ---- pack_rrset.c */

/*
 * Packs an RRset or finds an equal one; *ref has one holder more. *ref is none
 * if the RRset is too large; that is told. NSD_E_MEMORY: *ref means nothing.
 */
enum nsd_err pack_rrset(struct packer *p, const struct owner *owner,
	const struct item_group *group, store_ref *ref) MUST_USE;

/* ---- pack_sigs.c */

/* Packs RRSIGs of one covered type. *ref is none if they are too many; that is
 * told. NSD_E_MEMORY: no holder is counted. */
enum nsd_err pack_sigs(struct packer *p, const struct item_group *group,
	store_ref *ref) MUST_USE;
/* Pack RRSIGs in two steps. pack_sigs_measure returns the octets that they
 * take; 0: too many, told. */
size_t pack_sigs_measure(struct packer *p, const struct item_group *group);
/* Writes RRSIGs into as many octets as pack_sigs_measure has returned.
 * NSD_E_MEMORY: no holder is counted. */
enum nsd_err pack_sigs_write(struct packer *p, const struct item_group *group,
	struct rrset_sigs *sigs) MUST_USE;
/* Takes back the holders of signatures that will not be kept. */
void pack_sigs_uncount(struct packer *p, const struct rrset_sigs *sigs);

/* ---- nsec3_params.c */

/* Reads the parameters of an NSEC3 or NSEC3PARAM record; false if it is too
 * short. The salt is lent by the record. */
bool nsec3_params_read(const struct rrbatch_rr *rr,
	struct nsec3_params *params);
/* Compares parameters, in a fixed order: fewer iterations come first. */
int nsec3_params_compare(const struct nsec3_params *a,
	const struct nsec3_params *b);
/* The most iterations that names are hashed with, of what is configured (0: the
 * default). */
uint32_t nsec3_params_limit(uint32_t iterations_max);
/* True if an NSEC3 record has the parameters. */
bool nsec3_has_params(const struct rrbatch_rr *rr,
	const struct nsec3_params *params);

/* ---- nsec3_record.c */

/* True if the next hash of an NSEC3 record that nsec3_has_params has 20 octets;
 * and where it is. */
bool nsec3_has_next(const struct rrbatch_rr *rr);
const uint8_t *nsec3_get_next(const struct rrbatch_rr *rr);

/*
 * Packs NSEC3 records, and the RRSIGs that cover them (NULL: none). near: in an
 * update the chain where the record is to go; a record alone then keeps its
 * next hash itself. Without near, none does.
 * NSD_E_ZONE: there is an error, told; NSD_E_MEMORY. *ref is then none, or as
 * it was.
 */
enum nsd_err nsec3_record_pack(struct packer *p, const struct owner *owner,
	const struct item_group *nsec3, const struct item_group *sigs,
	const struct nsec3_chain *near, store_ref *ref) MUST_USE;

/* Adds the holders counted by a packer to its templates. */
void nsec3_templates_flush(struct packer *p);

#endif
