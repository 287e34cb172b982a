/* writeback.c - a served zone as a zone file. */
#include "config.h"

#include "load/writeback.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/octets.h"
#include "dns/rrtype.h"
#include "zone/walk.h"
#include "zonefile/writer.h"

#define BUFFER (256u << 10)
/* RFC 1035 section 3.3.13: five numbers end the SOA's RDATA. */
#define SOA_NUMBERS 20u

/* A file that is being written. */
struct written_file {
	struct zonefile_writer writer;
	char *temp; /* its path */
	FILE *out;
	char *buffer;
	uint32_t serial;
	uint64_t records;
	const struct writeback *writeback;
};

/* What went wrong, with which file. errno stays. */
static enum nsd_err
say(struct diag_sink *sink, const char *path, const char *what)
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
			enum nsd_err err = say(sink, path, "make folder");

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
		err = say(sink, slash == NULL ? "." : path, "flush folder");
	error = errno;
	if (fd != -1)
		close(fd);
	if (slash != NULL)
		*slash = '/';
	errno = error;
	return err;
}

/* ---- the file */

/* Makes FILE~ anew: what stands there may be a link that somebody planted, or
 * what a writer left that was killed. */
static enum nsd_err
open_temp(struct written_file *w, struct diag_sink *sink)
{
	int fd;

	if (unlink(w->temp) == -1 && errno == ENOENT
		&& make_folders(w->temp, sink) != NSD_OK)
		return NSD_E_SYSTEM;
	fd = open(w->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		0666);
	w->out = fd != -1 ? fdopen(fd, "w") : NULL;
	if (w->out == NULL) {
		enum nsd_err err = say(sink, w->temp, "make file");
		int error = errno;

		if (fd != -1)
			close(fd);
		errno = error;
		return err;
	}
	setvbuf(w->out, w->buffer, _IOFBF, BUFFER);
	return NSD_OK;
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

/* Writes all of FILE~ and flushes it. It is closed in any case. */
static enum nsd_err
write_temp(struct written_file *w, const struct writeback *writeback,
	struct diag_sink *sink)
{
	enum nsd_err err;

	print_comments(w, writeback);
	err = write_records(w, writeback);
	if (err == NSD_OK && (fflush(w->out) != 0 || fsync(fileno(w->out))
		== -1))
		err = NSD_E_SYSTEM;
	if (err == NSD_E_MEMORY)
		(void)say_memory(sink, w->temp);
	else if (err != NSD_OK)
		err = say(sink, w->temp, "write");
	if (fclose(w->out) != 0 && err == NSD_OK)
		err = say(sink, w->temp, "write");
	w->out = NULL;
	return err;
}

static enum nsd_err
write_file(struct written_file *w, const struct writeback *writeback,
	struct diag_sink *sink)
{
	enum nsd_err err = open_temp(w, sink);
	int error;

	if (err != NSD_OK)
		return err;
	err = write_temp(w, writeback, sink);
	if (err == NSD_OK && rename(w->temp, writeback->path) == -1)
		err = say(sink, writeback->path, "replace");
	if (err == NSD_OK)
		return sync_folder(w->temp, sink);
	error = errno;
	unlink(w->temp);
	errno = error;
	return err;
}

enum nsd_err
writeback_zone(const struct writeback *writeback, struct diag_sink *sink,
	uint32_t *serial)
{
	struct written_file w = {.writeback = writeback};
	size_t len = strlen(writeback->path);
	enum nsd_err err;
	int error;

	w.temp = malloc(len + 2);
	w.buffer = malloc(BUFFER);
	if (w.temp == NULL || w.buffer == NULL) {
		err = say_memory(sink, writeback->path);
	} else {
		memcpy(w.temp, writeback->path, len);
		memcpy(w.temp + len, "~", 2);
		err = write_file(&w, writeback, sink);
	}
	error = errno;
	free(w.temp);
	free(w.buffer);
	errno = error;
	if (err == NSD_OK)
		*serial = w.serial;
	return err;
}
