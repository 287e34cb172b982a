/* checkzone_digest.c - reports on a zone's ZONEMD records. */
#include "config.h"

#include "checkzone.h"

void
checkzone_tell_digest(struct check *c, enum zonemd_verdict verdict)
{
	if (zonemd_is_bad(verdict))
		diag_emit(&c->sink, c->dnssec ? DIAG_ERROR : DIAG_WARNING,
			c->file, 0, 0, "zone %s: %s", c->name,
			zonemd_text(verdict));
}
