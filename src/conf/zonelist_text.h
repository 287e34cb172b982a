/* zonelist_text.h - the words of a zone list, and reading its file: what the
 * reader and the writer share. */
#ifndef SRC_CONF_ZONELIST_TEXT_H
#define SRC_CONF_ZONELIST_TEXT_H

#include "conf/zonelist.h"

#define ZONELIST_FIRST "# NSD zone list\n"
#define ZONELIST_HEAD ZONELIST_FIRST "# name pattern\n"
/* The first words of lines; all have the same length. */
#define ZONELIST_ADD "add "
#define ZONELIST_CAT "cat "
#define ZONELIST_MEM "mem "
#define ZONELIST_DEL "del "
#define ZONELIST_WORD 4u
/* Octets of a file. */
#define ZONELIST_SIZE_MAX ((size_t)1 << 30)

/* Reads all of a file. Gives *text (free), with a NUL behind it. NSD_E_SYSTEM
 * with errno, NSD_E_MEMORY. */
enum nsd_err zonelist_read_fd(int fd, char **text, size_t *len) MUST_USE;
/* Says that the file cannot be opened; errno says why. */
void zonelist_say_closed(struct diag_sink *sink, const char *path);

#endif
