/*
 * changes.h - parts of the simulation of changes of zones: a model of what may
 * be so, a disk, a loader and a clock that are played, and the real xfrd
 * between them.
 */
#ifndef TESTS_SIM_CHANGES_H
#define TESTS_SIM_CHANGES_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/store_fixture.h"
#include "sim/fate.h"
#include "xfrd/xfrd.h"
#include "xfrd/xfrd_change.h"

#define ZONES 14u        /* zones that come and go */
#define FIXED 6u         /* zones of nsd.conf */
#define NAMES (ZONES + FIXED)
#define PENDING_MAX 6u   /* changes of a zone that are asked for at a time */

/* How much goes wrong. */
struct plan {
	bool loader_dies, xfrd_dies, power_fails, disk_fails, memory_fails;
};

/* State of the world, and of the run. */
struct sim {
	struct plan plan;
	bool fixed[NAMES];         /* zones of nsd.conf */
	struct server server;      /* main's, for xfrd */
	struct xfrd *xfrd;         /* NULL: dead */
	struct peer peer;          /* the loader, to it */
	unsigned lives;            /* of xfrd */
	bool calm;                 /* no fault comes any more */
	bool in_xfrd;              /* code of xfrd is run */
	jmp_buf died;              /* return point when it dies */
	bool has_ended;            /* xfrd wants to end */
	const char *conf;          /* more of nsd.conf; NULL: nothing */
	void (*on_start)(void);    /* xfrd has begun, in it; NULL: not called */
	unsigned long long asked, done, refused, deaths, cuts, loaders;
};
extern struct sim sim;

/* ---- changes_xfrd.c ------------------------------------------------------ */

/* Calls xfrd, which may run out of memory or die meanwhile. False: it has
 * died: sim.xfrd is NULL, and the world is as it has left it. */
bool xfrd_call(void (*call)(void));
/* In what xfrd calls: it may die just here. */
void may_die(uint32_t times);
/* Ends an xfrd that has died; perhaps with the computer. */
void sim_bury(bool is_cut);
/* Time goes on, and all parts with it; a dead xfrd is followed by another. */
void sim_turn(void);
/* True if an xfrd that is alive has nothing under way, nor has any part. */
bool sim_is_quiet(void);

/* ---- changes_model.c: states that may be --------------------------------- */

/* States of a zone: a bit each. What is known of one is a set of them. */
enum {
	STATE_NONE = 1,
	STATE_P = 2,
	STATE_Q = 4,
	STATE_LONG = 8,
	STATE_FIXED = 16, /* in nsd.conf */
};

extern const char *const patterns[]; /* by the number of the bit, from 1 */

/* The name of a zone. Those from ZONES on stand in nsd.conf. */
const char *model_name(unsigned zone);
/* Begins without zones of the list. */
void model_begin(void);
/* Asks xfrd for a change of a zone, if not too many are asked for. */
void model_ask(void);
/* Forgets who waited: changes that were asked for are made or not. */
void model_on_death(void);
/* True if every change is answered. */
bool model_is_quiet(void);
/* A zone is published so; it must be one of what may be. */
void model_check(unsigned zone, unsigned state);
/* And from now on it is known to be so. */
void model_settle(unsigned zone, unsigned state);
/* The disk fails: what has failed may come again when xfrd begins anew. */
void model_doubt(void);
/* Other zones stand in nsd.conf, while all is quiet: sim.fixed. */
void model_reconfig(void);
/* The disk has what was answered, and no more. */
void model_doubt_nothing(void);
void model_print(void);

/* ---- changes_disk.c ------------------------------------------------------ */

void disk_begin(void);
void disk_end(void);
const char *disk_list(void); /* the path of the zone list */
/* The syncer goes on. */
void disk_turn(void);
bool disk_is_idle(void);
/* Writes fail for a while, or no longer. */
void disk_fail(bool fails);
void disk_settle(void);
/* A message or an answer was seen outside: a later death of xfrd leaves what
 * was written before. */
void disk_note(void);
/* xfrd has died; with it the computer. */
void disk_die(bool is_cut);

/* ---- changes_loader.c ---------------------------------------------------- */

/* Another computer has started, and has published what its zone list says. */
void loader_begin(void);
void loader_end(void);
/* Takes the zones of sim.fixed as those of nsd.conf. */
void loader_reconfig(void);
struct store *loader_store(void); /* where it publishes */
/* Takes a message, or has an answer arrive. */
void loader_turn(void);
bool loader_is_idle(void);
/* xfrd has died: its messages are gone. */
void loader_lose_xfrd(void);
/* A new xfrd is there. */
void loader_meet_xfrd(void);
void loader_die(void);
bool loader_is_alive(void);
/* As a zone is published. */
unsigned loader_state(unsigned zone);

#endif
