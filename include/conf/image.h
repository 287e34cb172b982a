/*
 * image.h - a configuration as octets, for another process of this program.
 *
 * There are two images of one. That of its options holds all that struct conf
 * says but its zones; the secrets of keys and of cookies, which must have been
 * moved or wiped before (secret_keys.h); and where options of clauses that are
 * there once stand, which is for messages of whoever has read the text. That of
 * its zones holds those of nsd.conf, with the options that are theirs alone.
 * Zones that conf_add_zone has added are in neither. Writer and reader are one
 * program: layouts are those of its structs, numbers in the order of this
 * machine.
 */
#ifndef CONF_IMAGE_H
#define CONF_IMAGE_H

#include "conf/conf.h"

/*
 * Writes the image of options, or of zones, to a file in memory that nobody can
 * change any more.
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
 * The same for zones, which a configuration without any gets: one that has all
 * patterns that they refer to. Keys may have come and gone since: to elements
 * that name one which has gone it is as if it had never been there. After an
 * error some of them may be there: see conf_drop_zones.
 */
enum nsd_err conf_image_read_zones(int fd, struct conf *conf) MUST_USE;

#endif
