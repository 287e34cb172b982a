/*
 * xfrd_member_id.h - IDs of member zones, as their lines of the zone list have
 * them. From the ID it follows whose member a zone is.
 *
 *   LABEL.zones.CATALOG.   of a catalog that is consumed: the name of the
 *                          member node (RFC 9432 section 4.1), in lower case
 *   zone-directory.        of a folder
 *   LABEL                  of a catalog that is produced, which the pattern
 *                          of the zone names
 */
#ifndef XFRD_XFRD_MEMBER_ID_H
#define XFRD_XFRD_MEMBER_ID_H

#include <stdbool.h>
#include <stdint.h>

#include "dns/name.h"

struct xfrd;
struct xfrd_zone;

/* The ID of the members of folders. */
#define XFRD_MEMBER_OF_FOLDER "zone-directory."
/* Octets of an ID as text, with the NUL. */
#define XFRD_MEMBER_ID_MAX NAME_TEXT_MAX

/* Prints the ID of a member of a catalog. label: with the octet of its length.
 * Returns out, which is "" if the name would be too long. */
const char *xfrd_member_id_print(const uint8_t *label, const uint8_t *catalog,
	char out[XFRD_MEMBER_ID_MAX]);

/* Parses the ID of a member of a catalog into its label, with the octet of its
 * length, and the apex of the catalog, both in lower case. False: it is another
 * text. */
bool xfrd_member_id_parse(const char *id, uint8_t label[LABEL_MAX_LEN + 1],
	uint8_t catalog[NAME_MAX_LEN]) MUST_USE;

/* True if the ID of a zone is that of a member of the folder of its pattern, or
 * of a catalog that is configured, and consumed here: no operator may change
 * the zone, which may be NULL: it is not known here. */
bool xfrd_member_id_has_source(struct xfrd *xfrd,
	const struct xfrd_zone *zone, const char *id);

#endif
