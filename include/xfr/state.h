/*
 * state.h - xfrd.state: the timers of secondary zones, as text that NSD 4 reads
 * and writes (doc/surface.md, section 6).
 *
 * The file is words between blanks; from a word that begins with '#' to the end
 * of the line it is a comment. The order of the words is fixed: NSDXFRD2, the
 * time of the file, the number of zones, for each the fields of struct
 * xfr_state_zone, NSDXFRD2. Times are dates in seconds since 1970. The file may
 * be wrong: it is read by a bounded parser, and xfr_state_to_start checks its
 * dates.
 */
#ifndef XFR_STATE_H
#define XFR_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/err.h"
#include "dns/name.h"
#include "xfr/machine.h"

struct xfr_state_soa {
	int64_t acquired_sec; /* a date; 0: there is no SOA */
	uint32_t ttl_sec;
	uint32_t serial, refresh_sec, retry_sec, expire_sec, minimum_sec;
	uint8_t mname[NAME_MAX_LEN]; /* wire names, case kept */
	uint8_t rname[NAME_MAX_LEN];
};

enum xfr_state_which {
	XFR_STATE_NSD,    /* the served version */
	XFR_STATE_DISK,   /* the stored version, and when it was last known to
			   * be fresh */
	XFR_STATE_NOTIFY, /* the version that a NOTIFY announced */
	XFR_STATE_SOAS,
};

struct xfr_state_zone {
	uint8_t name[NAME_MAX_LEN]; /* wire name, case kept */
	uint32_t state;          /* enum xfr_state */
	uint32_t master;         /* index of the primary */
	int32_t next_master;     /* of the next check; -1: any */
	int32_t round_num;       /* -1: no check is under way */
	uint32_t next_timeout_sec; /* after the time of the file */
	uint32_t backoff;        /* checks in a row that failed; has no meaning
				  * with state OK */
	struct xfr_state_soa soas[XFR_STATE_SOAS];
};

/* ---- reading ------------------------------------------------------------ */

#define XFR_STATE_WORD_MAX NAME_TEXT_MAX

struct xfr_state_parser {
	/* Set by xfr_state_parse_begin. */
	const char *file; /* for diagnostics; kept until the end */
	struct diag_sink *diag; /* kept until the end; may be NULL */
	/* Set by the caller after that, or not. Takes a zone, lent for the
	 * call. */
	void (*on_zone)(void *context, const struct xfr_state_zone *zone);
	void *context;

	/* The other fields are the parser's. */
	int64_t filetime_sec; /* valid once a zone was passed on, or at the
			       * end */
	uint32_t zone_count;  /* as the file announces */
	uint32_t zones_read;
	uint32_t line;
	uint32_t step;
	uint8_t part, which;
	bool in_comment, failed;
	uint32_t word_len;
	char word[XFR_STATE_WORD_MAX];
	struct xfr_state_zone zone;
};

/* Begins a file: sets all fields. */
void xfr_state_parse_begin(struct xfr_state_parser *parser, const char *file,
	struct diag_sink *diag);

/*
 * Parses further octets of the file. returns NSD_OK; NSD_E_SYNTAX: the file is
 * wrong, and one error with its line has gone to the sink. Later calls return
 * the same.
 */
enum nsd_err xfr_state_parse(struct xfr_state_parser *parser, const char *text,
	size_t len) MUST_USE;

/*
 * Ends the parsing of a file. A wrong file counts as none: zones that were
 * passed on before the error are worth nothing. A caller who cannot forget them
 * again reads the file twice, first without on_zone. returns as
 * xfr_state_parse.
 */
enum nsd_err xfr_state_parse_end(struct xfr_state_parser *parser) MUST_USE;

/* ---- writing ------------------------------------------------------------ */

#define XFR_STATE_TEXT_MAX 10240u /* any of the texts fits */

/* Print a part of the file, NUL-terminated; return its length without the NUL.
 * filetime_sec: now, as a date. */
size_t xfr_state_print_head(int64_t filetime_sec, uint32_t zone_count,
	char out[XFR_STATE_TEXT_MAX]);
size_t xfr_state_print_zone(const struct xfr_state_zone *zone,
	int64_t filetime_sec, char out[XFR_STATE_TEXT_MAX]);
size_t xfr_state_print_tail(char out[XFR_STATE_TEXT_MAX]);

/* ---- from dates to the machine's clock and back ------------------------- */

struct xfr_state_clocks {
	int64_t real_sec; /* the date now */
	int64_t now;      /* the machine's time now, milliseconds */
};

/*
 * Makes the state that a zone begins with. zone: its entry in the file; NULL:
 * there is none. served: the SOA of the data that there is, NULL: none.
 * The entry counts only if its serial is that of the data and its dates can be:
 * else the zone is taken as fresh now, and checked soon. A zone that had
 * expired with that serial stays so, whatever the dates are.
 */
void xfr_state_to_start(const struct xfr_state_zone *zone,
	int64_t filetime_sec, const struct xfr_state_clocks *clocks,
	const struct xfr_soa *served, struct xfr_start *start);

/* Fills the entry of a zone in xfrd.state. The caller sets what the machine
 * does not know: the name of the zone, and TTL, names and minimum of the SOAs
 * with a date. */
void xfr_state_from_status(const struct xfr_status *status,
	const struct xfr_state_clocks *clocks, struct xfr_state_zone *zone);

#endif
