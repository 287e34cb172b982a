/*
 * catalogs.h - parts of the simulation of member zones: what is wanted, what
 * must stay, and two sources that are played.
 */
#ifndef TESTS_SIM_CATALOGS_H
#define TESTS_SIM_CATALOGS_H

#include "sim/changes.h"

#define SOURCES 2u
#define LABELS 4u
#define NOBODY -1

/* A member node of a version of a source. */
struct member_node {
	bool wanted;
	bool denied;      /* refused, as catalog-allow does */
	bool coo;         /* names the other source (RFC 9432 section 4.4.1) */
	unsigned label;
	unsigned pattern; /* number, from 1 */
};

/* A version of a source. */
struct version {
	struct member_node nodes[NAMES];
};

/* Versions that are served, and whether each is not valid now. */
extern struct version served[SOURCES];
extern bool lies[SOURCES];

/* The zone as it must be. */
struct must {
	int owner;        /* the zone stays a member of this source, with this
			   * label; or NOBODY */
	unsigned label;
	bool is_hand;     /* the zone was added by hand, with this pattern */
	unsigned pattern;
	bool may_hand;    /* the zone may be so */
};
extern struct must musts[NAMES];

/* The ID of a member. Lent until the next call but three. */
const char *catalogs_id(unsigned source, unsigned label);
/* A source may delete the zone, reset it, or let another have it. */
void catalogs_let_go(unsigned zone, unsigned source);

/* ---- catalogs_source.c --------------------------------------------------- */

/* Begins the sources of an xfrd that has just begun. */
void sources_begin(void);
/* Ends them, before their xfrd ends. */
void sources_end(void);
/* The xfrd has died, and its sources with it. */
void sources_lose(void);
/* The sources go on, in xfrd. */
void sources_turn(void);
/* Has each begin one more whole round. */
void sources_force(void);
/* True if each has compared its version as a whole. */
bool sources_are_quiet(void);
extern unsigned long long sources_rounds, sources_stopped;

#endif
