/*
 * cookie_keeper.h - main's part in cookies: finds their secrets, and gives them
 * to workers.
 *
 * The secrets themselves lie in the memory that workers read
 * (process/counts.h), and nowhere else for long.
 */
#ifndef MAIN_COOKIE_KEEPER_H
#define MAIN_COOKIE_KEEPER_H

#include <stdbool.h>

#include "base/err.h"
#include "guard/cookie.h"
#include "ipc/message.h"

struct child;
struct conf;
struct ipc_message;
struct server;
struct supervisor;

/* Zeroed: no secrets are there yet. */
struct cookie_keeper {
	enum ipc_cookie_source source;
};

/* Secrets, and where they are from. */
struct cookie_choice {
	enum ipc_cookie_source source;
	struct cookie_secrets secrets; /* none: to be made at random */
};

/*
 * Finds the secrets that a configuration wants: its own, else those of its
 * file, else none. Faults of the file are logged, if cookies are answered; a
 * faulty file counts as none. Wipe the choice (cookie_keeper_wipe).
 */
void cookie_keeper_choose(const struct server *server,
	const struct conf *conf, struct cookie_choice *choice);
void cookie_keeper_wipe(struct cookie_choice *choice);

/* Of a configuration that is read anew, and names the same file, which lies
 * outside of the chroot: the choice, which found none, gets the secrets that
 * workers have. */
void cookie_keeper_keep(const struct cookie_keeper *keeper,
	const struct server *server, const struct conf *conf,
	struct cookie_choice *choice);

/* True if the choice has other secrets than workers have. */
bool cookie_keeper_differs(const struct cookie_keeper *keeper,
	const struct server *server, const struct cookie_choice *choice);

/* Gives the secrets to workers. Makes a random one if the choice has none,
 * unless one was made before. NSD_E_SYSTEM: there are no random numbers; that
 * is logged. */
enum nsd_err cookie_keeper_use(struct cookie_keeper *keeper,
	const struct server *server, const struct cookie_choice *choice)
	MUST_USE;

/* The message COOKIES of xfrd. */
void cookie_keeper_on_cookies(struct supervisor *s, struct child *xfrd,
	const struct ipc_message *m);

#endif
