/*
 * batch.h - for tests of dynamic updates: messages from text, and a zone that
 * takes what a batch comes to as the loader does.
 *
 * A message is lines, each a record:
 *
 *	p CLASS NAME TYPE [RDATA]        a prerequisite: TTL 0
 *	u CLASS NAME [TTL] TYPE [RDATA]  an update
 *
 * CLASS: in, any, none. "p" and "u" in upper case: the record is written with
 * TTL 1, to be refused. RDATA is of a zone file.
 */
#ifndef TESTS_UNIT_DYNUPDATE_BATCH_H
#define TESTS_UNIT_DYNUPDATE_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "dynupdate/dynupdate.h"
#include "lib/zone_fixture.h"

#define BATCH_APEX "example."

/* A message that is being made. */
struct batch_message {
	size_t len;
	uint8_t octets[65535];
};

extern struct zone_fixture batch_fixture;
extern struct dynupdate_options batch_options; /* of the next batch */

int batch_setup(void **state);
int batch_teardown(void **state);

/* Serves a zone, and drops the batch under way. */
void batch_load(const char *text);

/* Makes a message. */
void batch_message_init(struct batch_message *m);
void batch_message_add(struct batch_message *m, const char *line);
/* Adds a record of any octets. section: MESSAGE_ANCOUNT or MESSAGE_NSCOUNT. */
void batch_message_put(struct batch_message *m, unsigned section,
	const uint8_t *owner, uint16_t type, uint16_t rrclass,
	uint32_t ttl_sec, const uint8_t *rdata, size_t rdlen);

/* The allocation that fails next, in a program where they can; -1: none. */
extern int batch_fail_at;
/* Begins a batch; one is begun anyway where there is none. */
enum nsd_err batch_begin(void);

/* Gives a message to the batch, and begins one if there is none. */
enum nsd_err batch_apply(const struct batch_message *m);
/* The same of lines. Returns the name of the RCODE, and " same" behind NOERROR
 * if nothing has changed. */
const char *batch_ask(const char *lines);
/* The result of the last message. */
extern struct dynupdate_result batch_result;

/* Ends the batch, and lets the zone become what it says. Each version has to
 * fit the one before it exactly. Returns the records of it: "-NAME TTL TYPE
 * RDATA" or "+...", a line each, SOAs by their serial alone. */
const char *batch_take(void);
/* All records of the served zone but the SOA: "NAME TTL TYPE RDATA" */
const char *batch_zone(void);
uint32_t batch_serial(void);
/* Octets that the batch has taken. */
size_t batch_memory(void);
/* Prints a record as it stands in these, with its newline. */
#define BATCH_LINE_MAX 8192u
void batch_print(char line[BATCH_LINE_MAX], const uint8_t *owner,
	uint32_t ttl_sec, uint16_t type, const uint8_t *rdata, size_t rdlen);

#endif
