/* tap_wants.h - the records of queries and answers that nsd.conf and the
 * operator want, for dnstap and the query log. */
#ifndef MAIN_TAP_WANTS_H
#define MAIN_TAP_WANTS_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "tap/ring.h"

/* True if there is to be a query log. */
bool tap_wants_log(const struct conf *conf);
/* True if dnstap is enabled, and built in. */
bool tap_wants_dnstap(const struct conf *conf, enum tap_said said);
/* True if a collector is to run. */
bool tap_wants_collector(const struct conf *conf, enum tap_said said);
/* The records that workers are to write: TAP_WANT of kinds and parts. */
uint32_t tap_wants_choose(const struct conf *conf, enum tap_said said);

#endif
