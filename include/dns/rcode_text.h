/*
 * rcode_text.h - the names of RCODEs (RFC 1035, RFC 2136, RFC 6891), of errors
 * of TSIG (RFC 8945) and of extended errors (RFC 8914), for people.
 */
#ifndef DNS_RCODE_TEXT_H
#define DNS_RCODE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#define RCODE_TEXT_MAX 64u

/* The name of an RCODE of a header, extended or not, such as "REFUSED"; NULL:
 * it has none. */
const char *rcode_text_name(uint16_t rcode);

/* Prints the name of an RCODE of a header, extended or not, such as "REFUSED"
 * or "NOTAUTH (server not authoritative for zone)"; "rcode N" if it has none.
 * Returns out. */
const char *rcode_text_print(uint16_t rcode, char out[RCODE_TEXT_MAX]);

/* Prints an RCODE in the words of NSD's log, such as "SERVER NOT AUTHORITATIVE
 * FOR ZONE", for programs that look for these. Returns out. */
const char *rcode_text_print_log(uint16_t rcode, char out[RCODE_TEXT_MAX]);

/* The name of an error in a TSIG record, such as "BADKEY", and the words of
 * NSD's log for it, "Bad Key". Never NULL. */
const char *rcode_text_tsig(uint16_t error);
const char *rcode_text_tsig_log(uint16_t error);

/* The name of an extended error; NULL: it has none. */
const char *rcode_text_ede(uint16_t code);

#endif
