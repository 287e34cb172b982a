/* version.h - the version of this program and how it was built. */
#ifndef MAIN_VERSION_H
#define MAIN_VERSION_H

#include <stdio.h>

/* The text of nsd -v. */
void version_print(FILE *out);

#endif
