/*
 * zonefile.h - parses master files (RFC 1035 section 5, RFC 2308 section 4, RFC
 * 3597) into batches of records.
 *
 * The parser knows no database: it gives batches in the order of the file. A
 * large file is cut into pieces that several threads parse; the result is the
 * same as with one thread.
 *
 * $INCLUDE names are relative to the working directory, which is zonesdir in a
 * server, or if there is no such file, to the directory of the file that has
 * them. Behind an included file the origin and the owner are as before it; TTLs
 * are as they became in it. $GENERATE is known. Owners outside of the zone are
 * not an error here. A carriage return without a newline ends a line, too, but
 * only newlines are counted.
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
	/* The zone was transferred: RDATA that has the right layout but a value
	 * that breaks a rule is kept, with a warning. Otherwise it is an
	 * error. */
	bool secondary;
	/* A file that is no regular file is an error, as it always is for
	 * $INCLUDE. Otherwise a pipe that the program was started with may be
	 * read, too, as /dev/stdin or /dev/fd/N. */
	bool only_files;
	/* The caller has just seen that the file is a regular one, so the
	 * parser does not look before it opens it. With only_files. */
	bool is_seen;
	/* Called behind each piece, from the calling thread; or NULL. */
	void (*on_progress)(void *ctx, uint64_t octets_done,
		uint64_t octets_total);
	void *progress_ctx;
	/* Gets the records, or NULL: they are collected in the result. A batch
	 * is lent as soon as it is parsed, in file order, from the calling
	 * thread, and then destroyed. So the memory of a parse does not depend
	 * on the size of the file. A result other than NSD_OK ends the parse,
	 * which returns it. Batches come before errors in the rest of the file
	 * are known. */
	enum nsd_err (*on_batch)(void *ctx, const struct rrbatch *batch);
	/* Used in place of on_batch; takes the batch, also when it fails;
	 * rrbatch_destroy releases it. */
	enum nsd_err (*take_batch)(void *ctx, struct rrbatch *batch);
	void *batch_ctx; /* of either */
	struct rrbatch_pool *pool; /* the source of batches; or NULL */
};

/* A file that was read, also by $INCLUDE: enough to see later whether it has
 * changed. All zeros but path: the file was not there. */
struct zonefile_source {
	char *path;           /* as opened */
	struct timespec mtime;
	struct timespec ctime; /* of the inode's change: cannot be set back */
	uint64_t size;
	uint64_t inode;
	uint64_t device;
};

struct zonefile_result {
	struct rrbatch *batches;          /* in file order, NULL: no records
					   * (or they were handed on) */
	struct zonefile_source *sources;  /* index = rrbatch_rr.file */
	size_t source_count;
	uint64_t rr_count;
	/* With NSD_E_SYNTAX: there were too many errors, or so much text had
	 * to be scanned anew behind them, that the rest was not read. */
	bool is_cut;
};

/*
 * Reads a zone file. Findings go to the sink with file:line:column, from the
 * calling thread, in the order of the file: errors_max errors and 1000
 * warnings, and then how many warnings there are more. Records at fault are
 * left out; behind a quote or parenthesis that is not closed the parse goes on
 * with the next line that begins with an owner or a directive.
 * gives *result, also when it fails (for the list of files); release it with
 *      zonefile_result_fini.
 * returns NSD_OK; NSD_E_SYNTAX: the sink got errors, such as an included file
 *      that cannot be opened; NSD_E_SYSTEM: a file cannot be read, or the one
 *      at path cannot be opened; the sink was told, errno says why;
 *      NSD_E_AGAIN: a file was changed or replaced while it was read;
 *      NSD_E_MEMORY: there is no memory; or what on_batch or take_batch
 *      returned.
 * May block on the file system; any role but a worker.
 */
enum nsd_err zonefile_parse(const char *path,
	const struct zonefile_options *options, struct diag_sink *sink,
	struct zonefile_result *result) MUST_USE;

/* As zonefile_parse for text in memory, which is borrowed and named `name` in
 * findings. $INCLUDE is an error. Never NSD_E_SYSTEM or NSD_E_AGAIN. */
enum nsd_err zonefile_parse_text(const char *name, const char *text,
	size_t len, const struct zonefile_options *options,
	struct diag_sink *sink, struct zonefile_result *result) MUST_USE;

/* Frees all that the result holds. */
void zonefile_result_fini(struct zonefile_result *result);

/* Gives the names of the files in an array, which free() releases; they are
 * lent by the result. NULL: no memory. */
const char **zonefile_list_names(const struct zonefile_result *result);

#endif
