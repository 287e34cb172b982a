/*
 * request.h - requests of a secondary to its primaries, NOTIFY of a primary to
 * its secondaries, and the short replies to both: SOA (RFC 1034 section 4.3.5),
 * AXFR (RFC 5936), IXFR (RFC 1995), NOTIFY (RFC 1996). The replies of
 * transfers: reader.h.
 */
#ifndef XFR_REQUEST_H
#define XFR_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "dns/edns.h"
#include "dns/message.h"
#include "dns/name.h"
#include "dns/tsig.h"
#include "xfr/fault.h"
#include "xfr/machine.h"

/* Octets of an SOA's RDATA, at most: two names and five numbers. */
#define XFR_SOA_NUMBERS_LEN 20u
#define XFR_SOA_RDATA_MAX (2u * NAME_MAX_LEN + XFR_SOA_NUMBERS_LEN)

/* Reads the numbers at the end of an SOA's RDATA, which is sound
 * (rdata_check). */
void xfr_soa_read(const uint8_t *rdata, size_t rdata_len,
	struct xfr_soa *soa);

enum xfr_asking {
	XFR_ASK_SOA,
	XFR_ASK_AXFR,
	XFR_ASK_IXFR,
	XFR_TELL_NOTIFY,
};

/* A request. Pointers are borrowed. */
struct xfr_ask {
	enum xfr_asking asking;
	uint16_t id;
	const uint8_t *apex; /* wire name in lower case */
	/* IXFR: our version; NOTIFY: the new one, if it is to be told. With
	 * soa, the RDATA of the SOA (uncompressed) is sent. Without, IXFR sends
	 * an SOA that is empty but for the serial; a primary needs no more. */
	const uint8_t *soa;
	uint16_t soa_len;
	uint32_t soa_ttl_sec;
	uint32_t serial;
	uint16_t udp_size;  /* of EDNS; 0: no EDNS */
	bool wants_expire;  /* with EDNS: asks for EXPIRE (RFC 7314) */
	bool is_stream;     /* over TCP */
	/* Signs the request; answers are checked with it from there on. Begun
	 * by tsig_begin, with a key that lasts as long. NULL: not signed. */
	struct tsig_chain *chain;
};

/* Octets that any request fits into. */
#define XFR_ASK_MAX 2048u

/*
 * Writes a request. now: seconds since 1970, for the signature.
 * returns NSD_OK with *len; NSD_E_MEMORY: it cannot be signed.
 */
enum nsd_err xfr_ask_write(const struct xfr_ask *ask, uint64_t now,
	uint8_t out[XFR_ASK_MAX], size_t *len) MUST_USE;

/* The content of a NOTIFY from a primary. */
struct xfr_notified {
	uint8_t apex[NAME_MAX_LEN]; /* in lower case */
	bool has_serial;   /* the SOA of the apex is in the answer section */
	uint32_t serial;
};

/*
 * Reads a NOTIFY that a primary has sent (RFC 1996 section 3), which may be any
 * octets, and may be cut behind the question. Its sender was checked before.
 * False: it is no NOTIFY.
 */
bool xfr_notify_read(const uint8_t *message, size_t len,
	struct xfr_notified *notified) MUST_USE;

/* The content of a reply to SOA or NOTIFY. */
struct xfr_answer {
	uint16_t rcode;      /* with XFR_FAULT_RCODE (may be an extended one) or
			      * TSIG_WRONG, TSIG_REFUSED (that of the TSIG) */
	uint16_t ede;        /* extended error (RFC 8914); EDE_NONE */
	uint64_t tsig_time_sec; /* with TSIG_WRONG or TSIG_REFUSED: the sender's
				 * clock; 0: not known */
	bool has_soa;        /* of the apex, in the answer section */
	bool has_opt;        /* with XFR_FAULT_RCODE, too */
	bool has_expire;     /* EXPIRE was there (RFC 7314) */
	uint32_t expire_sec; /* the value of EXPIRE */
	struct xfr_soa soa;
	uint32_t soa_ttl_sec;
	uint16_t soa_len;
	uint8_t soa_rdata[XFR_SOA_RDATA_MAX]; /* uncompressed */
};

/*
 * Reads the reply to a request for an SOA, or to NOTIFY: any octets. now: as
 * above; it is compared with the time of the signature.
 * returns XFR_FAULT_NONE, and the SOA that was asked for is there;
 * XFR_FAULT_TRUNCATED: over UDP, ask over TCP; or another fault. After a stray
 * fault (fault.h) nothing has changed, and the right reply may still come.
 */
enum xfr_fault xfr_answer_read(const struct xfr_ask *ask,
	const uint8_t *message, size_t len, uint64_t now,
	struct xfr_answer *answer) MUST_USE;

/* True if a reply says that its sender does not do EDNS (RFC 6891 section 7).
 * fault, rcode, has_opt: of the reply. */
bool xfr_lacks_edns(enum xfr_fault fault, uint16_t rcode, bool has_opt);

#endif
