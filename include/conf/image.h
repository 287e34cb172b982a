/*
 * image.h - a configuration as octets, for another process of this program.
 *
 * There are two images of a configuration. That of options holds all of struct
 * conf but the zones; the secrets of keys and of cookies are not in it, and
 * must have been moved or wiped before (secret_keys.h); it also has the places
 * of options in clauses that are there once, for messages. That of zones holds
 * the zones of nsd.conf, with the options that are theirs alone. Zones of
 * conf_add_zone are in neither. Writer and reader are one
 * program: layouts are those of its structs, numbers in the order of this
 * machine.
 */
#ifndef CONF_IMAGE_H
#define CONF_IMAGE_H

#include "conf/conf.h"

/*
 * Writes the image of options, or of zones, to a sealed file in memory.
 * out: *fd, to be closed by the caller.
 * returns NSD_OK; NSD_E_MEMORY; NSD_E_SYSTEM with errno.
 * cost: linear in clauses and elements; lists that are shared are written once.
 */
enum nsd_err conf_image_write(const struct conf *conf, int *fd) MUST_USE;
enum nsd_err conf_image_write_zones(const struct conf *conf, int *fd) MUST_USE;

/*
 * Reads the image of options, from its beginning. Borrows fd. The writer is
 * trusted; lengths are checked even so.
 * out: *conf, without zones, to be given to conf_destroy.
 * returns NSD_OK; NSD_E_MEMORY; NSD_E_SYSTEM with errno: the file cannot be
 *     read; NSD_E_WIRE: it is no whole image.
 */
enum nsd_err conf_image_read(int fd, struct conf **conf) MUST_USE;

/*
 * Reads the image of zones, from its beginning, into a configuration without
 * zones that has all patterns which they refer to. Keys may have been added and
 * removed since: an element that names a removed key is as if the key had never
 * been there. Returns as conf_image_read. After an error some of the zones may
 * be there: see conf_drop_zones.
 */
enum nsd_err conf_image_read_zones(int fd, struct conf *conf) MUST_USE;

#endif
