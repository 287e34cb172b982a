/*
 * zonefile.h - master files (RFC 1035 section 5, RFC 2308 section 4, RFC 3597)
 * to batches of records.
 *
 * Knows no database: gives batches in file order. A large file is cut into
 * pieces that several threads parse; the result is the same as by one.
 *
 * $INCLUDE names are relative to the directory of the file that has them.
 * Behind an included file the origin and the owner are again what they were;
 * TTLs go on as stated there. $GENERATE is known. Owners outside the zone are
 * not looked for here.
 */
#ifndef ZONEFILE_ZONEFILE_H
#define ZONEFILE_ZONEFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "base/diag.h"
#include "base/err.h"
#include "dns/rrbatch.h"

struct zonefile_options {
	const uint8_t *apex;     /* first $ORIGIN */
	uint32_t default_ttl_sec;/* for a file that states none; 0: 3600 */
	unsigned threads;        /* 0 or 1: only the caller's */
	size_t piece_size;       /* octets of the file that a thread takes at a
				  * time; 0: 1 MiB. A parse that keeps no
				  * records takes some ten times that */
	unsigned errors_max;     /* stop after that many; 0: 50 */
	unsigned include_depth_max; /* 0: 10 */
	/* Of a zone that was transferred: RDATA of the right layout with a
	 * value that breaks a rule is kept, with a warning. Else it is an
	 * error. */
	bool secondary;
	/* What is no regular file is an error, as it is for $INCLUDE. Else a
	 * pipe that the program was started with may be read too, as
	 * /dev/stdin or /dev/fd/N. */
	bool only_files;
	/* Called now and then from the calling thread with how far it is. */
	void (*on_progress)(void *ctx, uint64_t octets_done,
		uint64_t octets_total);
	void *progress_ctx;
	/* Given, records are not collected: each batch is lent to it as soon as
	 * it is parsed, in file order, from the calling thread, and destroyed;
	 * so the memory of a parse does not depend on the file's size. What it
	 * returns but NSD_OK ends the parse and is the parse's result. Batches
	 * that came before an error is found came of a file with an error. */
	enum nsd_err (*on_batch)(void *ctx, const struct rrbatch *batch);
	void *batch_ctx;
	/* Given, records whose owner (lower case) it returns false for are left
	 * out, and their RDATA is not looked at; but for the SOA. Any thread,
	 * several at once. For a file that was read once without. */
	bool (*wants_owner)(const void *ctx, const uint8_t *owner, size_t len);
	const void *wants_ctx;
};

/* A file that was read, $INCLUDEd ones too: enough to see later whether it
 * has changed. */
struct zonefile_source {
	char *path;           /* as opened */
	struct timespec mtime;
	struct timespec ctime; /* of the inode's change: is not set back */
	uint64_t size;
	uint64_t inode;
	uint64_t device;
};

struct zonefile_result {
	struct rrbatch *batches;          /* in file order, NULL: no records
					   * (or on_batch had them) */
	struct zonefile_source *sources;  /* index = rrbatch_rr.file */
	size_t source_count;
	uint64_t rr_count;
};

/*
 * Reads a zone file. Findings go to the sink with file:line:column, from the
 * calling thread, in file order. Records that are at fault are left out.
 * out: *result, also when there were errors (for the list of files); gives:
 *      release with zonefile_result_fini.
 * returns NSD_OK; NSD_E_SYNTAX if the sink got errors; NSD_E_SYSTEM if the
 *      file cannot be read (said to the sink); NSD_E_AGAIN if the file was
 *      changed or replaced while it was read; NSD_E_MEMORY.
 * May block on the file system; any role but a worker.
 */
enum nsd_err zonefile_parse(const char *path,
	const struct zonefile_options *options, struct diag_sink *sink,
	struct zonefile_result *result) MUST_USE;

/* As zonefile_parse for text in memory, named `name` in findings. $INCLUDE
 * is refused. */
enum nsd_err zonefile_parse_text(const char *name, const char *text,
	size_t len, const struct zonefile_options *options,
	struct diag_sink *sink, struct zonefile_result *result) MUST_USE;

void zonefile_result_fini(struct zonefile_result *result);

#endif
