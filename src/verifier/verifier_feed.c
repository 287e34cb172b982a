/* verifier_feed.c - writes a zone to the program that judges it. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fs.h"
#include "verifier/verifier_feed.h"
#include "zone/walk.h"
#include "zonefile/writer.h"

/* Octets of text that are written at once. */
#define FEED_PART (64u << 10)

/* Set by SIGUSR1: the store is not to be held any longer. */
static volatile sig_atomic_t feed_hurries;

struct feed_run {
	struct zonefile_writer writer;
	FILE *text;   /* in memory: a part */
	char *octets; /* of text */
	size_t len;
	int fd;
	int spool;     /* a file in memory for what waits; -1: none */
	sigset_t wait; /* signals that are blocked while fd is waited for */
};

static void
feed_on_hurry(int signal_number)
{
	feed_hurries = 1;
}

/* Has the signal come in feed_wait alone. */
static void
feed_init_signal(struct feed_run *run)
{
	struct sigaction action = {.sa_handler = feed_on_hurry};
	sigset_t block;

	sigemptyset(&block);
	sigaddset(&block, SIGUSR1);
	sigprocmask(SIG_BLOCK, &block, &run->wait);
	sigdelset(&run->wait, SIGUSR1);
	sigaction(SIGUSR1, &action, NULL);
}

/* Waits until the program has read, or the signal has come. */
static void
feed_wait(const struct feed_run *run)
{
	struct pollfd poll = {.fd = run->fd, .events = POLLOUT};

	(void)ppoll(&poll, 1, NULL, &run->wait);
}

/* Writes octets to the program; returns how many it has taken before there was
 * hurry. -1: it reads no more. */
static ssize_t
feed_write_pipe(const struct feed_run *run, const char *octets, size_t len,
	bool minds_hurry)
{
	size_t done = 0;

	while (done < len && !(minds_hurry && feed_hurries)) {
		ssize_t n = write(run->fd, octets + done, len - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno == EAGAIN)
			feed_wait(run);
		else if (errno != EINTR)
			return -1;
	}
	return (ssize_t)done;
}

/* Writes a part, to the program or behind what waits for it. NSD_E_PEER: the
 * program reads no more. */
static enum nsd_err
feed_write_part(struct feed_run *run, const char *octets, size_t len)
{
	ssize_t done = 0;

	if (run->spool == -1)
		done = feed_write_pipe(run, octets, len, true);
	if (done == -1)
		return NSD_E_PEER;
	if ((size_t)done == len)
		return NSD_OK;
	if (run->spool == -1)
		run->spool = memfd_create("nsd verifier", MFD_CLOEXEC);
	if (run->spool == -1)
		return NSD_E_MEMORY;
	return fs_write_all(run->spool, octets + done, len - (size_t)done);
}

static enum nsd_err
feed_flush(struct feed_run *run)
{
	enum nsd_err err;

	if (fflush(run->text) != 0)
		return NSD_E_MEMORY;
	err = feed_write_part(run, run->octets, run->len);
	rewind(run->text);
	return err;
}

static enum nsd_err
feed_write_rr(void *ctx, const struct zone_rr *rr)
{
	struct feed_run *run = ctx;
	enum nsd_err err = zonefile_writer_rr(&run->writer, rr->owner,
		rr->ttl_sec, rr->type, rr->rdata, rr->rdlen);

	if (err != NSD_OK)
		return err;
	return ftell(run->text) < (long)FEED_PART ? NSD_OK : feed_flush(run);
}

static enum nsd_err
feed_walk(struct feed_run *run, const struct verifier_feed *feed)
{
	enum nsd_err err = zonefile_writer_init(&run->writer, run->text,
		feed->apex);

	if (err != NSD_OK)
		return err;
	err = zone_walk(feed->view, feed->zone, feed->apex, feed_write_rr,
		run);
	zonefile_writer_fini(&run->writer);
	return err != NSD_OK ? err : feed_flush(run);
}

/* Writes what has waited, when the store is not needed any more. */
static enum nsd_err
feed_write_rest(const struct feed_run *run)
{
	static char part[FEED_PART];
	ssize_t n;

	if (run->spool == -1)
		return NSD_OK;
	if (lseek(run->spool, 0, SEEK_SET) == -1)
		return NSD_E_SYSTEM;
	while ((n = read(run->spool, part, sizeof(part))) > 0)
		if (feed_write_pipe(run, part, (size_t)n, false) == -1)
			return NSD_E_PEER;
	return n == 0 ? NSD_OK : NSD_E_SYSTEM;
}

enum nsd_err
verifier_feed_write(const struct verifier_feed *feed, int fd)
{
	struct feed_run run = {.fd = fd, .spool = -1};
	enum nsd_err err;

	feed_init_signal(&run);
	run.text = open_memstream(&run.octets, &run.len);
	if (run.text == NULL || fcntl(fd, F_SETFL, O_NONBLOCK) == -1)
		return NSD_E_MEMORY;
	err = feed_walk(&run, feed);
	close(feed->fed_fd);
	if (err == NSD_OK)
		err = feed_write_rest(&run);
	/* A program need not read all. */
	return err == NSD_E_PEER ? NSD_OK : err;
}
