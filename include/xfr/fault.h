/*
 * fault.h - faults of a message from a primary.
 */
#ifndef XFR_FAULT_H
#define XFR_FAULT_H

#include <stdbool.h>

#define XFR_FAULT_LIST(X)                                                    \
	X(NONE, "no fault")                                                  \
	/* Not a reply to what we asked. */                                  \
	X(HEADER, "the message is shorter than a header")                    \
	X(ID, "the message has another ID")                                  \
	X(QR, "the message is not a reply")                                  \
	X(OPCODE, "the message has another opcode")                          \
	X(QUESTION, "the message has another question")                      \
	/* Of the message as a whole. */                                     \
	X(MALFORMED, "the message is malformed")                             \
	X(TSIG_MISSING, "the message is not signed")                         \
	X(TSIG_UNASKED, "the message is signed, the request was not")        \
	X(TSIG_WRONG, "the signature is wrong")                              \
	X(TSIG_REFUSED, "it refuses our signature")                 \
	X(RCODE, "it answers with an error")                        \
	X(TRUNCATED, "the reply is truncated")                               \
	X(NO_AA, "it is not authoritative")                         \
	X(EMPTY, "it sends messages without records")               \
	/* Of records. */                                                    \
	X(NO_SOA, "the zone's SOA is missing")                               \
	X(SOA_BELOW, "there is an SOA below the apex")                       \
	X(SOA_DIFFERS, "the last SOA is not the first one")                  \
	X(CLASS, "a record is not of class IN")                              \
	X(TYPE, "a record has a type that no zone has")                      \
	X(OWNER, "there is an SOA of another zone")                          \
	X(RDATA, "the RDATA of a record is malformed")                       \
	X(BEHIND_END, "there are records behind the last SOA")               \
	X(CUT, "the reply ends too early")                                   \
	/* Of differences. */                                                \
	X(NO_DIFFERENCES, "there are no differences")                        \
	X(BEGINNING, "the differences do not begin at our serial")           \
	X(ORDER, "the serials of the differences are not in order")          \
	/* Limits, and ours. */                                              \
	X(OCTETS, "the transfer is larger than size-limit-xfr")              \
	X(MEMORY, "out of memory")                                           \
	X(SINK, "what came cannot be kept")

#define XFR_FAULT_ENUM(name, text) XFR_FAULT_##name,
enum xfr_fault { XFR_FAULT_LIST(XFR_FAULT_ENUM) XFR_FAULT_COUNT };
#undef XFR_FAULT_ENUM

/* The text of a fault; never NULL. */
const char *xfr_fault_text(enum xfr_fault fault);

/* True if the message is no reply to the request. It may be forged: over UDP
 * the caller goes on waiting. */
static inline bool
xfr_fault_is_stray(enum xfr_fault fault)
{
	return fault >= XFR_FAULT_HEADER && fault <= XFR_FAULT_QUESTION;
}

#endif
