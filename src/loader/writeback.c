/* writeback.c - a served zone as a zone file. */
#include "config.h"

#include "loader/writeback.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/octets.h"
#include "dns/rrtype.h"
#include "zone/walk.h"
#include "zonefile/writer.h"

#define BUFFER (256u << 10)
#define NAMES_EXCHANGE 2u /* RENAME_EXCHANGE of renameat2(2) */
/* RFC 1035 section 3.3.13: five numbers end the SOA's RDATA. */
#define SOA_NUMBERS 20u

/* A file that is being written. */
struct written_file {
	struct zonefile_writer writer;
	struct fs_replace file; /* FILE~ is the new one */
	char *path;
	FILE *out;
	char *buffer;
	uint32_t serial;
	uint64_t records;
	const struct writeback *writeback;
};

/* Reports a failure, with the file's name. errno stays. */
static enum nsd_err
say_error(struct diag_sink *sink, const char *path, const char *what)
{
	int error = errno;

	diag_emit(sink, DIAG_ERROR, NULL, 0, 0, "cannot %s %s: %s", what, path,
		strerror(error));
	errno = error;
	return NSD_E_SYSTEM;
}

static enum nsd_err
say_memory(struct diag_sink *sink, const char *path)
{
	diag_emit(sink, DIAG_ERROR, NULL, 0, 0, "cannot write %s: out of "
		"memory", path);
	return NSD_E_MEMORY;
}

/* ---- folders */

/* Makes the folders of a path that are not there. */
static enum nsd_err
make_folders(char *path, struct diag_sink *sink)
{
	for (char *slash = strchr(path + 1, '/'); slash != NULL;
		slash = strchr(slash + 1, '/')) {
		int failed;

		*slash = '\0';
		failed = mkdir(path, 0750);
		if (failed == -1 && errno != EEXIST) {
			enum nsd_err err = say_error(sink, path, "make folder");

			*slash = '/';
			return err;
		}
		*slash = '/';
	}
	return NSD_OK;
}

/* Makes the new name durable. */
static enum nsd_err
sync_folder(char *path, struct diag_sink *sink)
{
	char *slash = strrchr(path, '/');
	enum nsd_err err = NSD_OK;
	int fd, error;

	if (slash != NULL)
		*slash = '\0';
	fd = open(slash == NULL ? "." : slash == path ? "/" : path,
		O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1 || fsync(fd) == -1)
		err = say_error(sink, slash == NULL ? "." : path,
			"flush folder");
	error = errno;
	if (fd != -1)
		close(fd);
	if (slash != NULL)
		*slash = '/';
	errno = error;
	return err;
}

/* ---- the file */

static enum nsd_err
open_new(struct written_file *w, struct diag_sink *sink)
{
	enum nsd_err err = fs_replace_open_tilde(&w->file, w->path, O_WRONLY,
		0666);

	if (err == NSD_E_SYSTEM && errno == ENOENT) {
		err = make_folders(w->path, sink);
		if (err != NSD_OK)
			return err;
		err = fs_replace_open_tilde(&w->file, w->path, O_WRONLY, 0666);
	}
	if (err == NSD_E_MEMORY)
		return say_memory(sink, w->path);
	if (err == NSD_OK) {
		err = fs_replace_open_stream(&w->file, &w->out);
		if (err == NSD_OK) {
			setvbuf(w->out, w->buffer, _IOFBF, BUFFER);
			return NSD_OK;
		}
		fs_replace_abort(&w->file);
	}
	return say_error(sink, w->path, "make a file beside");
}

static void
print_comments(struct written_file *w, const struct writeback *writeback)
{
	time_t time = (time_t)writeback->time_sec;
	char date[64] = "";

	/* ctime's text ends the line. */
	if (ctime_r(&time, date) == NULL)
		snprintf(date, sizeof(date), "%" PRId64 "\n",
			writeback->time_sec);
	fprintf(w->out, "; zone %s written by NSD %s on %s", writeback->name,
		writeback->version, date);
	if (writeback->received != NULL)
		fprintf(w->out, "; %s\n", writeback->received);
}

static enum nsd_err
write_rr(void *ctx, const struct zone_rr *rr)
{
	struct written_file *w = ctx;

	if (rr->type == TYPE_SOA && rr->rdlen >= SOA_NUMBERS)
		w->serial = octets_get_u32(rr->rdata + rr->rdlen
			- SOA_NUMBERS);
	w->records++;
	if (w->writeback->on_records_every > 0
		&& w->records % w->writeback->on_records_every == 0)
		w->writeback->on_records(w->writeback->ctx);
	return zonefile_writer_rr(&w->writer, rr->owner, rr->ttl_sec,
		rr->type, rr->rdata, rr->rdlen);
}

static enum nsd_err
write_records(struct written_file *w, const struct writeback *writeback)
{
	enum nsd_err err = zonefile_writer_init(&w->writer, w->out,
		writeback->apex);

	if (err != NSD_OK)
		return err;
	err = zone_walk(writeback->view, writeback->zone, writeback->apex,
		write_rr, w);
	zonefile_writer_fini(&w->writer);
	return err;
}

/* Writes all of the new file and flushes it. It is closed in any case. */
static enum nsd_err
write_new(struct written_file *w, const struct writeback *writeback,
	struct diag_sink *sink)
{
	enum nsd_err err, closed;
	int error;

	print_comments(w, writeback);
	err = write_records(w, writeback);
	error = errno;
	closed = fs_replace_close_stream(w->out);
	if (err == NSD_OK && closed == NSD_OK)
		return NSD_OK;
	if (err == NSD_E_MEMORY)
		return say_memory(sink, w->file.temp);
	if (err != NSD_OK)
		errno = error;
	return say_error(sink, w->file.temp, "write");
}

/* Exchanges the names of two files. The C library may lack the call (musl). */
static int
exchange_names(const char *one, const char *other)
{
#ifdef SYS_renameat2
	return (int)syscall(SYS_renameat2, AT_FDCWD, one, AT_FDCWD, other,
		NAMES_EXCHANGE);
#else
	errno = ENOSYS;
	return -1;
#endif
}

/* Puts the new file into the place of the old one, which gets another name. At
 * no time is none there, and whoever ends this process leaves both: the new
 * file has the other name first. */
static enum nsd_err
take_aside(struct written_file *w, const char *aside)
{
	const char *temp = w->file.temp;
	int failed = rename(temp, aside);

	if (failed == 0) {
		failed = exchange_names(aside, w->path);
		if (failed != 0) {
			int error = errno;

			(void)rename(aside, temp);
			errno = error;
		}
	}
	/* Removes the new file, if it has not come to its place. */
	fs_replace_abort(&w->file);
	return failed == 0 ? NSD_OK : NSD_E_SYSTEM;
}

/* Gives the new file its name. */
static enum nsd_err
take_new_place(struct written_file *w, const struct writeback *writeback,
	struct diag_sink *sink)
{
	char aside[PATH_MAX] = "";
	enum nsd_err err = NSD_OK;
	int none;

	if (writeback->find_aside != NULL)
		err = writeback->find_aside(writeback->aside_ctx, aside);
	if (err != NSD_OK) {
		int error = errno;

		fs_replace_abort(&w->file);
		errno = error;
		return err;
	}
	err = *aside != '\0' ? take_aside(w, aside)
			     : fs_replace_take(&w->file, &none);
	return err == NSD_OK ? NSD_OK : say_error(sink, w->path, "replace");
}

static enum nsd_err
write_file(struct written_file *w, const struct writeback *writeback,
	struct diag_sink *sink)
{
	enum nsd_err err = open_new(w, sink);

	if (err != NSD_OK)
		return err;
	err = write_new(w, writeback, sink);
	if (err != NSD_OK) {
		fs_replace_abort(&w->file);
		return err;
	}
	err = take_new_place(w, writeback, sink);
	if (err != NSD_OK)
		return err;
	if (writeback->st != NULL && stat(w->path, writeback->st) == -1)
		return say_error(sink, w->path, "look at");
	return sync_folder(w->path, sink);
}

enum nsd_err
writeback_zone(const struct writeback *writeback, struct diag_sink *sink,
	uint32_t *serial)
{
	struct written_file w = {
		.writeback = writeback,
		.path = strdup(writeback->path),
		.buffer = malloc(BUFFER),
	};
	enum nsd_err err;
	int error;

	if (w.path == NULL || w.buffer == NULL)
		err = say_memory(sink, writeback->path);
	else
		err = write_file(&w, writeback, sink);
	error = errno;
	free(w.path);
	free(w.buffer);
	errno = error;
	if (err == NSD_OK)
		*serial = w.serial;
	return err;
}
