/*
 * reader.h - reads the messages of a transfer (AXFR: RFC 5936, IXFR: RFC 1995),
 * checks them, and passes their content on as octets of changes.h.
 *
 * Nothing that it passes on is good before XFR_READ_DONE: the end of a transfer
 * may be missing, or its signature wrong. The caller then drops all of it.
 *
 * It has no clock and no timer: the caller bounds the time of a transfer. Its
 * memory is the struct, for any transfer.
 */
#ifndef XFR_READER_H
#define XFR_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "dns/tsig.h"
#include "xfr/changes.h"
#include "xfr/fault.h"
#include "xfr/machine.h"
#include "xfr/request.h"

/* Takes octets of changes.h, in order; any number at a time. A result other
 * than NSD_OK ends the transfer with XFR_FAULT_SINK. */
struct xfr_sink {
	enum nsd_err (*on_octets)(void *ctx, const uint8_t *octets,
		size_t len);
	void *ctx;
};

/* The request, and the replies that may come. Pointers are kept until the
 * transfer ends. */
struct xfr_read_setup {
	const uint8_t *apex;   /* wire name in lower case */
	enum xfr_asking asking; /* XFR_ASK_AXFR or XFR_ASK_IXFR */
	uint16_t id;
	bool udp;              /* one message, and that is all */
	bool has_serial;       /* we have a version: a reply has to be newer.
				* Always with IXFR */
	uint32_t serial;       /* of our version */
	struct tsig_chain *chain; /* the chain that signed the request; NULL: it
				   * is not signed */
	uint64_t octets_max;   /* octets passed on or left out, and octets of
				* messages; 0: any number */
	struct xfr_sink sink;
};

enum xfr_verdict {
	XFR_READ_MORE,      /* there are messages to come */
	XFR_READ_DONE,      /* the transfer is whole and sound */
	XFR_READ_UNCHANGED, /* the primary has our version or an older one (RFC
			     * 1982): result.to. Nothing was passed on. If
			     * result.is_ended is false, more messages may come
			     * on the same connection. */
	XFR_READ_USE_TCP,   /* over UDP: the reply did not fit */
	XFR_READ_FAILED,    /* result.fault, result.rcode */
};

/* Records whose owner is not at or below the apex: they are left out of the
 * served zone, as NSD, Knot and BIND do (decisions/0134). */
struct xfr_left_out {
	uint64_t records;
	uint64_t octets;     /* the length of these records in changes.h */
	/* Of the first one: */
	uint16_t type;
	uint8_t owner[NAME_MAX_LEN]; /* in lower case */
};

struct xfr_read_result {
	enum xfr_fault fault;
	uint16_t rcode;      /* as in struct xfr_answer, like the next two */
	uint16_t ede;
	uint64_t tsig_time_sec;
	bool has_opt;        /* the last message had an OPT record */
	enum nsd_err sink_err; /* with XFR_FAULT_SINK: the result of the sink */
	/* From here: with XFR_READ_DONE. */
	enum changes_kind kind; /* IXFR may be answered with the whole zone */
	uint32_t from;       /* XFR_DIFFS: our serial */
	uint32_t to;         /* also with XFR_READ_UNCHANGED, USE_TCP */
	struct xfr_soa soa;  /* of the version `to` */
	uint32_t soa_ttl_sec;
	bool is_ended;
	bool has_expire;     /* EXPIRE was there (RFC 7314) */
	uint32_t expire_sec; /* the value of EXPIRE */
	uint64_t messages;
	uint64_t records;    /* received: the last SOA, too, records that are
			      * left out, and those that come twice in a row, of
			      * which one is passed on */
	uint64_t received;   /* octets of messages */
	uint64_t octets;     /* given to the sink */
	struct xfr_left_out left_out;
};

/* A transfer. Its user reads result and soa. */
struct xfr_reader {
	struct xfr_read_setup setup;
	struct xfr_read_result result;
	uint16_t soa_len;
	uint8_t soa[XFR_SOA_RDATA_MAX]; /* RDATA of the first SOA; soa_len 0:
					 * not received yet */
	/* private */
	uint8_t apex_len;
	uint8_t state;
	uint8_t empty_count;  /* messages without records */
	uint32_t version_from; /* of the differences at hand */
	uint32_t version_to;
};

/* Octets to work with during a call: one for all readers of a thread. */
struct xfr_room {
	uint8_t octets[3u * 65536u + 8192u];
};

void xfr_reader_init(struct xfr_reader *reader,
	const struct xfr_read_setup *setup);

/*
 * Takes the next message: any octets, without the length that stands before it
 * on a stream. now: seconds since 1970, compared with the times of signatures.
 * returns XFR_READ_MORE, or another verdict: then the transfer has ended, and
 * nothing more is taken. But a stray message (fault.h) changes nothing: the
 * next may be taken all the same.
 * Cost: linear in the octets of the message and those it passes on.
 */
enum xfr_verdict xfr_reader_take(struct xfr_reader *reader,
	const uint8_t *message, size_t len, uint64_t now,
	struct xfr_room *room) MUST_USE;

#endif
