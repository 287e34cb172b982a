/* start.h - the program nsd, from its arguments to its exit code. */
#ifndef MAIN_START_H
#define MAIN_START_H

#include "process/hooks.h"

/* Runs the program; to be called once. Returns its exit code: 0, or 1 if it
 * could not start. hooks: those of a test program; NULL: none. */
int start_server(int argc, char **argv, const struct role_hooks *hooks);

#endif
