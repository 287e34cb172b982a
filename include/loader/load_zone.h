/* load_zone.h - a zone of the configuration in the loader, and the result of
 * reading it. */
#ifndef LOADER_LOAD_ZONE_H
#define LOADER_LOAD_ZONE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "compile/build.h"
#include "conf/conf.h"
#include "loader/ixfr_file.h"
#include "store/store.h"
#include "update/diff.h"
#include "update/update.h"
#include "zone/zone.h"
#include "zonedb/history_edit.h"
#include "zonefile/zonefile.h"

struct load_refusal;
struct load_text;
struct store_writer;

/* A zone of the configuration. Its version, and the stamps of its files, are in
 * the store: they outlive the loader. */
struct load_zone {
	const struct conf_zone *conf;
	store_ref entry;   /* in the table of zones */
	uint8_t retries;   /* count of readings in a row during which its files
			    * changed */
	bool whole;        /* is to be built anew, not compared: its differences
			    * could not be applied */
	bool busy;         /* a thread reads the published version, which must
			    * stay; under busy_lock */
	bool reading;      /* from before load_read_zone until its result is
			    * taken: one file or transfer at a time; atomic, as
			    * are skipped and removed */
	bool skipped;      /* a pass has found it reading: its file is still to
			    * be looked at */
	bool removed;      /* not to be read any more: see load_batch_drop */
	bool held;         /* counts as expired: load_expiry_hold */
	bool is_behind;    /* takes updates, of which the journal has some that
			    * are not served, up to `lacks`: only a newer file
			    * counts */
	bool is_refused;   /* a version with the serial `refused` was not served
			    * last, and the log has it; the loop's */
	uint32_t refused;
	bool accepts;      /* an operator takes the file as it is: not judged;
			    * the loop sets it before and after a reading */
	uint32_t lacks;    /* serial */
	uint32_t expires_sec; /* while held: expires_sec of the entry, to be
			       * restored */
	bool judged;       /* waits for a verifier, or for a thread that may:
			    * of the loop */
	const struct load_text *transfer; /* to be read, or being read; NULL:
					   * none */
};

/* The progress of a thread in reading a large zone. The thread writes it, the
 * main thread shows it; all fields are atomic. */
struct load_progress {
	const struct load_zone *zone; /* NULL: no zone in work */
	const char *stage;
	uint64_t done;
	uint64_t total;
};

/* The outcome of looking at a zone. */
enum load_outcome {
	LOAD_UNCHANGED, /* no work; nobody takes the result */
	LOAD_LARGE,     /* put off: to be read with several threads */
	LOAD_KEPT,      /* the served version stays, or there is none; see
			 * note */
	LOAD_COMPARED,  /* changes of the served version are to be published, if
			 * there are any */
	LOAD_APPLIED,   /* changes of the served version are published
			 * already */
	LOAD_BUILT,     /* a new version is ready to be published */
	LOAD_PUT_OFF,   /* to be read by a thread that may wait for a verifier;
			 * the zone stays claimed */
	LOAD_AGAIN,     /* the zone's files changed while they were read */
	LOAD_FAILED,    /* said in the log */
};

/* The record of a zone's files, made behind a publish. It tells whether they
 * are to be read again. */
enum load_note {
	LOAD_NOTE_NOTHING,
	LOAD_NOTE_READ,       /* result.files */
	LOAD_NOTE_FAILED,     /* result.files, which could not be used */
	LOAD_NOTE_UNREADABLE, /* the files could not be opened or read: they are
			       * still to be read */
	LOAD_NOTE_NONE,       /* the zone has no file, or is a secondary zone
			       * that has none yet */
	LOAD_NOTE_AS_BEFORE,  /* the files are as their record says, but the
			       * entry does not say any more whether they could
			       * be used */
};

/* The result of reading a zone. The loader's main thread acts on it. */
struct load_result {
	struct load_result *next;
	struct load_zone *zone;
	enum load_outcome outcome;
	enum load_note note;
	bool crowded;                 /* of LOAD_FAILED: the store is full with
				       * the served version */
	bool awaited;                 /* of LOAD_FAILED: there is no file yet,
				       * and nothing was served */
	bool as_before;               /* of LOAD_FAILED: it failed the last
				       * time, with the same files */
	store_ref built;              /* of LOAD_BUILT */
	store_ref rehashed;           /* of other outcomes: the served version
				       * made for another limit (load_rehash.h);
				       * or none */
	char *reasons;                /* of LOAD_FAILED: lines that say why,
				       * for people; owned; NULL: the log has
				       * them */
	enum nsd_err err;             /* of a transfer that is LOAD_FAILED */
	struct load_refusal *refusal; /* of a transfer that was refused; owned;
				       * NULL: none, or no memory */
	struct diff *diff;            /* of LOAD_COMPARED: owned */
	const struct diff_change *changes; /* lent by diff */
	size_t change_count;
	struct zone_update_result done; /* of LOAD_APPLIED */
	uint32_t old_serial;          /* of LOAD_APPLIED: of the version
				       * before */
	uint32_t file_serial;         /* of a file that was passed over */
	bool is_passed_over;          /* the served version came from the
				       * journal */
	struct zonefile_result files; /* of this try; no batches */
	struct ixfr_drafts history;   /* the differences that lead to the new
				       * version; owned */
	int64_t begun_msec;           /* clock_now_msec; 0 without timed */
};

/* The choice of zones that a pass reads. */
enum load_which {
	LOAD_CHANGED,  /* zones whose files have changed since the last try */
	LOAD_MISSING,  /* changed ones that have no version, or one of a file
			* with another name */
	LOAD_STALE,    /* changed ones, and zones whose last try failed */
};

struct load_journal;
struct load_retire;
struct load_loop;
struct load_judging;

/* The context in which zones are read. */
struct load_context {
	struct store_writer *writer;
	const char *chroot;          /* of this process; NULL: none */
	unsigned threads_max;        /* for a large zone */
	uint32_t nsec3_iterations_max;
	struct zone_limits limits;   /* of zones from other servers */
	enum load_which which;
	bool beside_answers;         /* workers serve already */
	bool of_transfers;           /* transfers are read, not files */
	bool is_start;               /* of files: none are verified by a
				      * program */
	bool awaits;                 /* threads that may wait for a verifier;
				      * zones are claimed before */
	const struct load_judging *judging; /* NULL: no program does */
	bool cancelled;              /* no more zones are begun; atomic */
	bool timed;                  /* rssac002: log how long loads take */
	const struct load_journal *journal; /* for a first pass; or NULL */
	struct load_progress *progress;
	pthread_mutex_t *busy_lock;  /* for load_zone.busy */
	struct load_retire *retire;
	struct load_loop *loop;      /* of the main thread; NULL: there is no
				      * other thread */
};

/* Returns the published version, or NULL. Any thread of the loader. The version
 * may be retired unless the zone is busy or busy_lock is held. */
const struct zone *load_zone_published(const struct store_view *view,
	const struct load_zone *zone);

/* conf_is_from_xfrd of the zone's options. */
bool load_zone_is_from_xfrd(const struct load_zone *zone);

/* conf_takes_updates of the zone's options. */
bool load_zone_takes_updates(const struct load_zone *zone);

/* True if faults of the zone's records are served, and only said: they come
 * from others, or from xfrd. */
bool load_zone_is_lenient(const struct load_zone *zone);

/* True if the zone takes updates, and what is served is not what its file had
 * when it was read or written last: it has been updated since, or was
 * transferred. */
bool load_zone_is_updated(const struct store_view *view,
	const struct load_zone *zone);

/* True if the zone is secondary, or was, and its served version has come by a
 * transfer: then an older file is not read over it, and no file need be
 * there. */
bool load_zone_is_received(const struct store_view *view,
	const struct load_zone *zone);

/* The limits of the differences that the zone keeps (store-ixfr, ixfr-number,
 * ixfr-size). */
struct history_limits load_zone_get_history(const struct load_zone *zone);

/*
 * Claims a zone for one reading: of its file by a pass, or of a transfer.
 * False: it is claimed already. load_zone_release ends the claim; true: a pass
 * has left the zone out meanwhile, so its file is still to be looked at.
 */
bool load_zone_claim(struct load_zone *zone, bool pass) MUST_USE;
bool load_zone_release(struct load_zone *zone);

/* The zone is busy no more: nobody reads its published version. Any thread of
 * the loader. */
void load_zone_end_busy(const struct load_context *context,
	struct load_zone *zone);

/* Notes the progress of a large zone. stage: kept. */
void load_zone_note_progress(struct load_progress *progress,
	const char *stage, uint64_t done, uint64_t total);

/* Fills the input of build_zone for a zone, but for its records. names: of its
 * files (zonefile_list_names), kept; NULL if there are none. */
void load_zone_fill_input(const struct load_context *context,
	const struct load_zone *zone, const struct zonefile_result *files,
	const char *const *names, struct zone_build_input *input);

#endif
