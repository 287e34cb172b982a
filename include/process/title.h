/* title.h - sets the names of processes in ps and top. */
#ifndef PROCESS_TITLE_H
#define PROCESS_TITLE_H

/* Remembers the memory of the arguments, which title_set overwrites. Returns a
 * copy to use instead, which is kept for good; NULL: no memory. */
char **title_init(int argc, char **argv);
/* Sets the title, such as "nsd: main"; ps shows the whole text, top its first
 * 15 octets. */
void title_set(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
