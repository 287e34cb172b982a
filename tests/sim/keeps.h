/*
 * keeps.h - parts of the simulation of keeping: primaries, a disk, the threads
 * of the journal, a loader and a writer that are played, and the real xfrd, its
 * real journal and its real xfrdfile between them.
 */
#ifndef TESTS_SIM_KEEPS_H
#define TESTS_SIM_KEEPS_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/store_fixture.h"
#include "sim/fate.h"
#include "xfrd/xfrd.h"

#define ZONES 8u
/* A zone without a file that changes more often: primaries refuse AXFR of it to
 * whoever can have differences. */
#define ZONE_IN_PARTS 7u
#define VERSIONS_MAX 2048u
#define NO_VERSION (-1)
#define REFRESH_SEC 300u
#define RETRY_SEC 60u
#define EXPIRE_SEC 3000u
/* The journal's octets count so many times: a few entries fill it. */
#define JOURNAL_SCALE 32768u

/* How much goes wrong. */
struct plan {
	bool loader_dies, xfrd_dies, power_fails, disk_fails, files_break,
		memory_fails;
};

/* A zone, as its primaries have it, and as it should be kept. Versions have
 * numbers in the order in which they were made, whatever their serials; each
 * has a record that tells its number. */
struct zone_model {
	uint32_t serials[VERSIONS_MAX];
	int newest;        /* number of the primaries' version */
	int first;         /* differences go back to this one */
	unsigned pads;     /* records that are the same in all versions */
	bool has_file;     /* by nsd.conf */
	int file;          /* version in the zone file; NO_VERSION: no file */
	int published;     /* the last version that was; NO_VERSION: none */
	int64_t heard_msec; /* a primary has said something sound of it */
	bool is_unheard;   /* by this xfrd, which knows no time either */
	int64_t begins;    /* xfrds that have begun since then */
	int seen;          /* the version that xfrd has seen to be published */
	bool is_back;      /* an operator has to have it transferred */
	bool has_expired;  /* since xfrd has begun */
	/* Timers when xfrd was stopped, if they were kept. */
	bool has_kept, was_poked;
	int kept;          /* version then */
	int64_t kept_acquired_at, kept_check_at, kept_expire_at;
};

/* State of the world, and of the run. */
struct sim {
	struct plan plan;
	struct zone_model zones[ZONES];
	struct server server;    /* main's, for xfrd */
	struct xfrd *xfrd;       /* NULL: dead */
	struct peer peer;        /* the loader, to it */
	struct link writer;      /* to the writer */
	bool calm;               /* no fault comes any more */
	bool in_xfrd;            /* code of xfrd is run */
	jmp_buf died;            /* return point when it dies */
	bool has_ended;          /* xfrd wants to end */
	/* Since all was well: */
	bool has_broken;         /* files were damaged */
	bool may_lose;           /* a transfer was given up */
	unsigned long long transfers, published, deaths, cuts, stops, loaders,
		written;
};
extern struct sim sim;

/* Calls xfrd, which may run out of memory or die meanwhile. False: it has
 * died: sim.xfrd is NULL, and the world is as it has left it. */
bool xfrd_call(void (*call)(void));
/* In what xfrd calls: it may die just here. */
void may_die(uint32_t times);

/* The number of a zone, by its apex, and its apex. */
unsigned zone_number(const uint8_t *apex);
const uint8_t *zone_apex(unsigned number);
/* Notes that a primary's word is known from now on. */
void zone_hear(unsigned number);

/* ---- keeps_check.c ------------------------------------------------------- */

struct xfrd_zone *keeps_find_zone(unsigned number);
/* Gets the state of a zone in the machine. False: it has none yet. */
bool keeps_get_status(unsigned number, struct xfr_status *status);
/* Checks what holds all the while. */
void keeps_check_all(void);
/* An xfrd is about to begin. Without a time in the store or in xfrdfile, a zone
 * counts as fresh then. */
void keeps_check_begin(void);
/* Xfrd is stopped: its timers are to be kept. */
void keeps_check_stop(void);
/* All zone files are written: the journal has what no zone file has, and
 * nothing else. */
void keeps_check_written(void);

/* ---- keeps_primary.c ----------------------------------------------------- */

void primary_begin(void);
/* A zone changes, by chance back to an older serial. */
void primary_change(unsigned zone);
/* Makes a NOTIFY of a primary. */
void primary_fill_notify(unsigned zone, struct ipc_notify *notify, size_t *len);
/* Delivers what is due. */
void primary_turn(void);
/* Goes up and down. */
void primary_trouble(void);
bool primary_is_idle(void);
void primary_lose_xfrd(void);

/* ---- keeps_disk.c -------------------------------------------------------- */

void disk_begin(void);
void disk_end(void);
const char *disk_folder(void);
const char *disk_state(void); /* the path of xfrdfile */
/* The threads of the journal go on. */
void disk_turn(void);
/* Writes fail for a while, or no longer. */
void disk_fail(bool fails);
/* Notes that something was seen outside: a later death of xfrd leaves what was
 * written before. */
void disk_note(void);
/* The ways in which xfrd ends: it is told to; it dies; with the computer. */
enum disk_end { DISK_STOP, DISK_DEATH, DISK_CUT };
/* xfrd has ended. breaks: files are damaged meanwhile. */
void disk_restart(enum disk_end how, bool breaks);
/* Opens a folder with what the disk has, if the power failed now and it had
 * written what was flushed and nothing else. */
int disk_open_flushed(void);
void disk_close_flushed(int dirfd);

/* ---- keeps_loader.c ------------------------------------------------------ */

/* Another computer has started, and has published what zone files and journal
 * say. */
void loader_begin(void);
void loader_end(void);
struct store *loader_store(void);
/* Checks that a start would publish nothing older than what is published, by a
 * journal in a folder. */
void loader_check_folder(int dirfd);
/* Takes a message, or has an answer arrive. */
void loader_turn(void);
bool loader_is_idle(void);
/* xfrd has died: some of its messages are still taken. */
void loader_lose_xfrd(void);
/* A new xfrd is there. */
void loader_meet_xfrd(void);
void loader_die(void);
/* The version that is served. */
int loader_version(unsigned zone);
/* The second in which it expires, as published; 0: none. */
uint32_t loader_expiry(unsigned zone);

/* ---- keeps_writer.c ------------------------------------------------------ */

void writer_begin(void);
/* Takes a message of xfrd. */
enum nsd_err writer_take(const struct link_message *message);
/* Main is asked for a writer. */
void writer_want(void);
void writer_turn(void);
void writer_lose_xfrd(void);

#endif
