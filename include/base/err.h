/*
 * err.h - the error codes that functions return.
 *
 * A code says what kind of thing went wrong, so that the caller can decide what
 * to do. The text for people goes through a diag_sink.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#define NSD_ERR_LIST(X)                                                  \
	X(NSD_OK, "no error")                                            \
	X(NSD_E_SYSTEM, "system call failed") /* errno says which */     \
	X(NSD_E_MEMORY, "out of memory")                                 \
	X(NSD_E_SYNTAX, "syntax error") /* text input */                 \
	X(NSD_E_WIRE, "malformed wire data")                             \
	X(NSD_E_ZONE, "zone rules broken")                               \
	X(NSD_E_PEER, "the peer is gone or broke the protocol")          \
	X(NSD_E_DENIED, "not allowed")                                   \
	X(NSD_E_LIMIT, "limit reached")                                  \
	X(NSD_E_NOT_FOUND, "not found")                                  \
	X(NSD_E_AGAIN, "try again")                                      \
	X(NSD_E_INEXACT, "the differences do not fit")                   \
	X(NSD_E_DIGEST, "the zone is not what its ZONEMD digest is of")   \
	X(NSD_E_SIGNED, "its signatures or its chain of names are not right") \
	X(NSD_E_REFUSED, "its verifier has refused it")                  \
	X(NSD_E_CHANGE, "more of the zone would go than xfr-max-change says") \
	X(NSD_E_BUG, "internal error")

#define NSD_ERR_ENUM(code, text) code,
enum nsd_err { NSD_ERR_LIST(NSD_ERR_ENUM) };
#undef NSD_ERR_ENUM

#define MUST_USE __attribute__((warn_unused_result))

/* The fixed English text of a code; never NULL. */
const char *err_text(enum nsd_err err);
/* The text for people: of NSD_E_SYSTEM that of errno, else err_text. */
const char *err_reason(enum nsd_err err);

#endif
