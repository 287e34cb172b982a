/*
 * parts.h - builds a zone in parts. This is for a zone that will replace one
 * that is served: beside both there is memory for few of the records.
 *
 * The file is read several times. The first reading makes a plan: ranges of
 * names in canonical order, chosen from samples. Each further reading takes the
 * records of one range; they are packed and forgotten. NSEC3 records of the
 * chain come first, in ranges of their own. The less of the zone is built, the
 * larger a range may be. So there are about ten readings whatever the size of
 * the zone. The result is the same as that of build_zone.
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

/*
 * Gives an empty plan; parts_plan_destroy releases it. Keeps apex until then.
 * Takes less than 1 MiB, whatever is added. NSD_E_MEMORY: there is no memory
 * for it.
 */
enum nsd_err parts_plan_create(const uint8_t *apex, struct zone_plan **plan)
	MUST_USE;
void parts_plan_destroy(struct zone_plan *plan);
/* Forgets all that was added. */
void parts_plan_reset(struct zone_plan *plan);
/* Adds a batch of the file, in file order. Borrows the batch. Cheap. If it has
 * no memory, parts_begin says so. */
void parts_plan_add(struct zone_plan *plan, const struct rrbatch *batch);

struct zone_parts;

/*
 * Begins a build, which parts_finish or parts_abandon ends. input is as for
 * build_zone, without batches. The plan has all batches of the file. Keeps
 * what input refers to, the plan and the heap until the end. part_octets:
 * octets of records in a range; 0: the plan chooses what there is memory for.
 *
 * NSD_E_LIMIT: the zone cannot be built in parts. It has several sets of NSEC3
 * parameters, or none for its NSEC3 records, or NSEC3 records at names that are
 * no hashes, or no other records at all.
 * NSD_E_MEMORY: there is no memory, or there was none while the plan was made.
 */
enum nsd_err parts_begin(const struct zone_build_input *input,
	const struct zone_plan *plan, size_t part_octets,
	struct store_writer *writer, struct store_heap *heap,
	struct zone_parts **parts) MUST_USE;
/* Goes to the next range. False: there is none. */
bool parts_next(struct zone_parts *parts);
/* False: no record of this owner (a whole name in lower case) belongs to the
 * range. Any thread may ask between parts_next and parts_pack. */
bool parts_wants(const struct zone_parts *parts, const uint8_t *owner,
	size_t len);
/* Copies the records of a batch that belong to the range. Borrows the batch.
 * Between parts_next and parts_pack. NSD_E_MEMORY: there is no memory for them;
 * then parts_abandon. */
enum nsd_err parts_take(struct zone_parts *parts,
	const struct rrbatch *batch) MUST_USE;
/*
 * Packs the records of the range and forgets them. On each failure:
 * parts_abandon.
 *
 * NSD_OK: also if there are errors in the zone; parts_finish tells them.
 * NSD_E_LIMIT: the zone cannot be built in parts after all: a name has NSEC3
 * records of the chain and other data.
 * NSD_E_AGAIN: the file has other records than the plan.
 * NSD_E_MEMORY: there is no memory, or the store is full.
 */
enum nsd_err parts_pack(struct zone_parts *parts) MUST_USE;
/* Ends the build as build_zone does, with the same results. Frees the parts,
 * whatever it returns. */
enum nsd_err parts_finish(struct zone_parts *parts,
	struct diag_sink *sink, store_ref *zone) MUST_USE;
/* Frees the parts and all that was made. NULL: does nothing. */
void parts_abandon(struct zone_parts *parts);

#endif
