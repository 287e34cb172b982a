/* title.h - the names under which people find the processes in ps and top. */
#ifndef PROCESS_TITLE_H
#define PROCESS_TITLE_H

/* Remembers where the arguments stand: title_set overwrites them. Returns a
 * copy to use instead, which is kept for good; NULL: no memory. */
char **title_init(int argc, char **argv);
/* "nsd: main"; in ps the whole text, in top its first 15 octets. */
void title_set(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
