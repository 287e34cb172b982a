/*
 * lifeline.h - lets a new server take over from workers whose main is dead.
 *
 * Workers go on answering when main is killed, and so hold the port. A server
 * has a listening UNIX socket in the abstract name space, which lives as long
 * as any of its processes. (Like a port, the name is per network name space and
 * needs no file.) Only workers without a main take connections there. A new
 * main connects until nobody answers any more. Each worker that takes a
 * connection from root or its own user ends. See
 * doc/decisions/0011-main-dies.md.
 */
#ifndef PROCESS_LIFELINE_H
#define PROCESS_LIFELINE_H

#include <stdbool.h>

/*
 * Ends the workers that an earlier main with the same key left behind, and
 * waits for that for at most 5 seconds. Does nothing to a server whose main
 * lives, or that another user has started. True if there were any, ended by now
 * or not. Their ports may be free only a moment later: the kernel closes what
 * an ending process has in any order.
 */
bool lifeline_take_over(const char *key);

/* Makes the lifeline of this server, in the process that stays main. Returns
 * its descriptor; or -1, with a warning in the log: then nobody takes over. */
int lifeline_open(const char *key);

/* In a worker without a main: takes a connection. True if root or its own user
 * has made it: the worker is to end, and the connection stays open until it
 * has. False: there is none, or another user's; that one is closed. */
bool lifeline_accept(int lifeline);

#endif
