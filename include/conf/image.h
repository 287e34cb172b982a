/*
 * image.h - a configuration as octets, for another process of this program.
 *
 * An image holds all that struct conf says but for the secrets of keys and of
 * cookies, which must have been moved or wiped before (secret_keys.h); zones
 * that conf_add_zone has added, as the reader has its own; and where options of
 * clauses that are there once stand, which is for messages of whoever has read
 * the text. Writer and reader are one program: layouts are those of its
 * structs, numbers in the order of this machine.
 */
#ifndef CONF_IMAGE_H
#define CONF_IMAGE_H

#include "conf/conf.h"

/* What of it. */
enum conf_image_part {
	CONF_IMAGE_ALL,
	CONF_IMAGE_OPTIONS, /* without zones */
};

/*
 * Writes the image to a file in memory that nobody can change any more.
 * out: *fd, to be closed by the caller.
 * returns NSD_OK; NSD_E_MEMORY; NSD_E_SYSTEM with errno.
 * cost: linear in clauses and elements; lists that patterns share are written
 *     once.
 */
enum nsd_err conf_image_write(const struct conf *conf,
	enum conf_image_part part, int *fd) MUST_USE;

/*
 * Reads one, from its beginning. Borrows fd. The writer is trusted; lengths are
 * checked even so.
 * out: *conf, to be given to conf_destroy.
 * returns NSD_OK; NSD_E_MEMORY; NSD_E_SYSTEM with errno: the file cannot be
 *     read; NSD_E_WIRE: it is no whole image.
 */
enum nsd_err conf_image_read(int fd, struct conf **conf) MUST_USE;

#endif
