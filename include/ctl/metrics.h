/*
 * metrics.h - a small server of HTTP (RFC 9112) for the one page of metrics
 * (doc/surface.md section 5).
 *
 * A client is bounded before anything is known of it: in number (the oldest
 * connection makes room for another), in the time to ask, in the time to take
 * the page, in octets that are read and in octets that wait. A connection
 * serves one request. Nothing here blocks.
 */
#ifndef CTL_METRICS_H
#define CTL_METRICS_H

#include <stdbool.h>

#include "base/err.h"
#include "ctl/statistics.h"

struct ctl_metrics;
struct event_base;

/* Octets of a request, up to the empty line. */
#define CTL_METRICS_REQUEST_MAX 8192u
#define CTL_METRICS_CONNS_MAX 32u
#define CTL_METRICS_REQUEST_MSEC 10000u
#define CTL_METRICS_REPLY_MSEC 120000u

struct ctl_metrics_options {
	struct event_base *base;
	const char *path; /* kept */
	/* Begins a page for a client. NULL: no memory. */
	void *(*open)(void *ctx);
	/* Appends more of the page: some kilooctets, in a millisecond at most;
	 * or nothing, if work is left for another turn. False: that was all. */
	bool (*print)(void *page, struct statistics_text *out);
	/* The page is sent, or its client is gone: frees it. */
	void (*close)(void *page);
	void *ctx;
	/* 0: as above */
	unsigned conns_max;
	unsigned request_msec;
	unsigned reply_msec;
};

/* Gives *metrics. NSD_E_MEMORY. */
enum nsd_err ctl_metrics_create(const struct ctl_metrics_options *options,
	struct ctl_metrics **metrics) MUST_USE;
/* Takes connections from a listening socket, non-blocking, which is kept.
 * NSD_E_MEMORY. */
enum nsd_err ctl_metrics_listen(struct ctl_metrics *metrics, int fd) MUST_USE;
/* Takes no connection any more; open ones go on. */
void ctl_metrics_close(struct ctl_metrics *metrics);
/* Changes the page's path, for requests that come from now on. path: kept. */
void ctl_metrics_set_path(struct ctl_metrics *metrics, const char *path);
/* Closes all connections. NULL is fine. */
void ctl_metrics_destroy(struct ctl_metrics *metrics);

/* ---- requests ------------------------------------------------------------ */

struct ctl_metrics_request {
	unsigned status;  /* 200, 400, 404, 405; 0: the request is not whole */
	bool chunked;     /* the client takes a body in chunks (HTTP/1.1) */
};

/* Reads a request of any octets for the page at a path. */
void ctl_metrics_read(const char *octets, size_t len, const char *path,
	struct ctl_metrics_request *request);

#endif
