/*
 * parts.h - a zone built in parts, for a zone that is to take the place of one
 * that is served: beside both there is room for few of the records.
 *
 * The file is read several times. The first reading makes a plan: ranges of
 * names in canonical order, chosen from samples; each further one takes the
 * records of one range, which are packed and forgotten. The records of the
 * chain of NSEC3 come first, in ranges of their own. A range may be the larger
 * the less of the zone is there, so there are about ten readings whatever the
 * size of the zone. The result is the same as build_zone's.
 *
 *	parts_plan_create
 *	parts_plan_add           each batch of the file
 *	parts_begin
 *	while (parts_next)
 *		parts_take each batch of the file
 *		parts_pack
 *	parts_finish
 */
#ifndef BUILD_PARTS_H
#define BUILD_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/err.h"
#include "build/build.h"
#include "dns/rrbatch.h"
#include "store/store.h"

struct store_heap;
struct store_writer;
struct zone_plan;

/* Borrows apex. Less than 1 MiB, whatever is added. NSD_E_MEMORY. */
enum nsd_err parts_plan_create(const uint8_t *apex, struct zone_plan **plan)
	MUST_USE;
void parts_plan_destroy(struct zone_plan *plan);
/* Forgets all that was added. */
void parts_plan_reset(struct zone_plan *plan);
/* Takes a batch of the file, in file order. Cheap. */
void parts_plan_add(struct zone_plan *plan, const struct rrbatch *batch);

struct zone_parts;

/*
 * Begins a build. input: as for build_zone, without batches; it, the plan, of
 * all batches of the file, and heap are borrowed until the end. part_octets:
 * of records in one range; 0: what memory there is for, by the plan.
 * returns NSD_OK; NSD_E_LIMIT: not a zone to be built in parts (several sets of
 * NSEC3 parameters, or none for its records; NSEC3 records at other names than
 * hashes); NSD_E_MEMORY.
 */
enum nsd_err parts_begin(const struct zone_build_input *input,
	const struct zone_plan *plan, size_t part_octets,
	struct store_writer *writer, struct store_heap *heap,
	struct zone_parts **parts) MUST_USE;
/* Goes to the next range; false: there is none. */
bool parts_next(struct zone_parts *parts);
/* False: no record of this owner (a whole name in lower case) belongs to the
 * range. Any thread, while records are taken. */
bool parts_wants(const struct zone_parts *parts, const uint8_t *owner,
	size_t len);
/* Takes what belongs to the range of a batch, which is lent. NSD_E_MEMORY. */
enum nsd_err parts_take(struct zone_parts *parts,
	const struct rrbatch *batch) MUST_USE;
/*
 * Packs the range. returns NSD_OK, also if there are errors in the zone, to be
 * told at the end; NSD_E_LIMIT: not a zone to be built in parts, after all;
 * NSD_E_AGAIN: the file was another one than the plan's; NSD_E_MEMORY.
 */
enum nsd_err parts_pack(struct zone_parts *parts) MUST_USE;
/* As the end of build_zone; frees the parts, whatever it returns. */
enum nsd_err parts_finish(struct zone_parts *parts,
	struct diag_sink *sink, store_ref *zone) MUST_USE;
/* Frees all that was made. NULL: nothing. */
void parts_abandon(struct zone_parts *parts);

#endif
