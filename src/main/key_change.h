/*
 * key_change.h - main's part when keys of TSIG come, go or change while the
 * server runs (update_tsig and its kin).
 *
 * Main puts the secret into the key store and changes its configuration, which
 * the next processes have; the loader does the same and publishes it: from then
 * on it counts for all who answer. Then xfrd says so to the operator. If the
 * loader dies, the next one publishes it at its start. What has to do with
 * zones - a key goes that none may use, or a zone gets one - the loader does
 * first, as main has no zones; if it dies, the next one is asked.
 *
 * The secret that was there before is overwritten when all workers and xfrd
 * have said that they have come past it, or have had ten seconds to
 * (barrier.h); by then, workers have dropped what they had made of it.
 */
#ifndef MAIN_KEY_CHANGE_H
#define MAIN_KEY_CHANGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "ipc/channel.h"
#include "main/asker.h"

struct child;
struct supervisor;

/* The change that is under way; zeroed: none. */
struct key_change {
	bool under_way;
	struct asker asker;
	pid_t loader;    /* loader that was told; 0: none was there */
	unsigned told;   /* loaders that were told of this one */
	uint64_t number; /* number of the last change, from 1 */
	uint64_t first;  /* the first one that a loader may say to be done: told
			  * with the same configuration, and not said before */
	uint64_t conf_number; /* conf_number of main, at the last change */
	size_t len;
	struct ipc_key answer; /* answer on success */
};

/* Prepares for changes. NSD_E_MEMORY. */
enum nsd_err key_change_init(struct supervisor *s) MUST_USE;

/* The message KEY. It is answered, unless that xfrd dies. One that is under way
 * is of a dead xfrd. */
void key_change_on_key(struct supervisor *s, struct child *xfrd,
	const struct ipc_message *m);
/* The message KEY_DONE. */
void key_change_on_done(struct supervisor *s, struct child *loader,
	const struct ipc_message *m);
/* A loader has published settings at its start. */
void key_change_on_listed(struct supervisor *s, struct child *loader);

/* Removes secrets that no configuration refers to, unless a process may still
 * read them. */
void key_change_sweep(struct supervisor *s);

#endif
