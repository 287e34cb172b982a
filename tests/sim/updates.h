/*
 * updates.h - parts of the simulation of UPDATEs of clients: a journal, a
 * loader and a primary that are played, and the real xfrd between them.
 */
#ifndef TESTS_SIM_UPDATES_H
#define TESTS_SIM_UPDATES_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/store_fixture.h"
#include "sim/fate.h"
#include "xfrd/xfrd.h"

#define ZONES 3u     /* zones with allow-update */
#define FORWARDED 3u /* the number of the zone that is a secondary */
#define NAMES 24u    /* of a zone, which clients change */
#define BAD 1000000u /* values from here on: the loader refuses the version */

/* How much goes wrong. */
struct plan {
	bool loader_dies, xfrd_dies, disk_fails, memory_fails;
};

/* A version of a zone. */
struct version {
	uint32_t serial;
	uint32_t values[NAMES]; /* 0: the name is not there */
	uint32_t bad; /* values that the loader refuses, on the way there */
};

struct sim {
	struct plan plan;
	struct store_fixture store;
	struct server server;
	struct xfrd *xfrd;             /* NULL: dead */
	struct version served[ZONES];
	bool calm;                     /* no fault comes any more */
	bool in_xfrd;
	jmp_buf died;
	unsigned long long asked, done, refused, failed, repeats, batches,
		halves, deaths, renewals, forwarded;
};
extern struct sim sim;

/* The number of a zone, by its apex. */
unsigned zone_number(const uint8_t *apex);
const uint8_t *zone_apex(unsigned number);
/* In what xfrd calls: it may die just here. */
void may_die(uint32_t times);
/* Calls xfrd. False: it has died. */
bool xfrd_call(void (*call)(void));

/* ---- updates_journal.c --------------------------------------------------- */

void journal_play_begin(void);
void journal_play_end(void);
/* An entry becomes durable, or fails. */
void journal_play_turn(void);
/* xfrd has died: of what is not durable yet, some is. */
void journal_play_lose(void);
/* Makes the version that a start would serve if the power failed now. */
void journal_play_start(unsigned zone, struct version *version);
/* Applies the text of an entry. False: it does not fit. */
bool journal_play_apply(struct version *version, const uint8_t *octets,
	size_t len);

/* ---- updates_loader.c ---------------------------------------------------- */

/* Serves a version. */
void loader_serve(unsigned zone, const struct version *version);
/* Takes or answers a request. */
void loader_turn(void);
/* xfrd has died: what was sent may be taken still. */
void loader_lose(void);
bool loader_is_idle(void);

/* The primary of the forwarded zone: answers, closes, or is silent. */
void primary_turn(void);
void primary_lose(void);
/* Counts how often it has taken a message with the ID under way at once. */
unsigned primary_count(uint16_t id);

#endif
