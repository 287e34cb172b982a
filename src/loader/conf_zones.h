/*
 * conf_zones.h - main keeps no zones. Those of nsd.conf lie in an image
 * (conf/image.h) from when it was read; those of the zone list in that, or in
 * the store that is served. Processes that need them add them to their own
 * configuration: each loader at its start, and main while it compares one
 * nsd.conf with another.
 */
#ifndef LOADER_CONF_ZONES_H
#define LOADER_CONF_ZONES_H

#include "base/err.h"
#include "conf/conf.h"
#include "conf/key_edit.h"
#include "process/server.h"
#include "store/store.h"

/* True if zones of this configuration, which has them, or such as can be added
 * to it, may have to be written before the server ends. */
bool conf_zones_may_write(const struct conf *conf);

/* In main: takes the image of the nsd.conf that is in effect from now on. Keys
 * that zones were given at run time are forgotten. */
void conf_zones_take(struct server *server, int image);

/*
 * Adds all zones to server->conf, which has none. view: of the store that a
 * loader takes over, whose zones of the zone list are those that have been
 * added; NULL: the list itself says so.
 * returns NSD_OK; NSD_E_MEMORY; NSD_E_SYSTEM or NSD_E_WIRE: the image cannot be
 *     read; NSD_E_SYSTEM or NSD_E_SYNTAX: the list. Without NSD_OK some zones
 *     may have been added: see conf_drop_zones.
 */
enum nsd_err conf_zones_add(const struct server *server,
	const struct store_view *view) MUST_USE;

/* Notes the key that a zone has been given, in place of an earlier one.
 * NSD_E_MEMORY; NSD_E_SYNTAX: that is no name. Linear in such zones. */
enum nsd_err conf_zones_keep_assoc(struct server *server,
	const struct key_edit *edit) MUST_USE;
/* Forgets a key that no zone has any more. */
void conf_zones_forget_key(struct server *server, const char *key);

/* Forgets the key of a zone that has got other options, or has gone. */
void conf_zones_lose_key(struct server *server, const char *zone);

#endif
