/* database.c - the store in a file, kept over a clean stop. */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include "base/log.h"
#include "loader/database.h"
#include "store/writer.h"
#include "zone/table.h"

/* Returns a number for the layouts in a file and the version of the program: a
 * file is of use only to a program with the same number. */
static uint64_t
database_contents(void)
{
	uint64_t sum = table_layout();

	for (const char *c = PACKAGE_STRING; *c != '\0'; c++)
		sum = (sum ^ (uint8_t)*c) * 0x9e3779b97f4a7c15u;
	return sum;
}

static void
database_log(const char *path, enum nsd_err err,
	const struct store_file_report *report)
{
	const char *why = store_file_state_text(report->state);

	if (err == NSD_OK && report->state == STORE_FILE_ATTACHED)
		log_notice("database %s: %s, %llu octets checked", path, why,
			(unsigned long long)report->octets);
	else if (err == NSD_OK)
		log_notice("database %s: %s; zones are read from their files",
			path, why);
	else
		log_error("database %s is not used: %s%s%s; zones are kept in"
			  " memory only",
			path, err == NSD_E_MEMORY ? "out of memory" : why,
			report->error != 0 ? ": " : "",
			report->error != 0 ? strerror(report->error) : "");
}

/*
 * Opens the file with the rights of its owner. Root may lack the right to open
 * what belongs to others (CAP_DAC_OVERRIDE, which service managers take away).
 * If only root may make files in the directory, root opens it.
 */
static enum nsd_err
database_open_file(const struct store_options *options,
	const struct store_file *file, struct store **store,
	struct store_file_report *report)
{
	enum nsd_err err;
	uid_t us = geteuid();

	if (file->owner == us)
		return store_open_file(options, file, store, report);
	setfsuid(file->owner);
	err = store_open_file(options, file, store, report);
	setfsuid(us);
	if (err == NSD_E_SYSTEM && report->error == EACCES)
		err = store_open_file(options, file, store, report);
	return err;
}

struct store *
database_open(const struct conf_server *options, uid_t owner,
	unsigned reader_max)
{
	struct store_options store_options = {.reader_max = reader_max};
	struct store_file file = {
		.path = options->database,
		.owner = owner,
		.contents = database_contents(),
	};
	struct store_file_report report;
	struct store *store = NULL;
	enum nsd_err err;

	if (file.path == NULL || *file.path == '\0')
		return NULL;
	err = database_open_file(&store_options, &file, &store, &report);
	database_log(file.path, err, &report);
	return err == NSD_OK ? store : NULL;
}

/* ---- closing ------------------------------------------------------------- */

static void
database_log_close(uint64_t octets, enum nsd_err err)
{
	if (err == NSD_OK)
		log_notice("database closed: %llu octets of zones",
			(unsigned long long)octets);
	else
		log_error("the database is of no use to the next start: %s",
			strerror(errno));
}

void
database_save(struct store_writer *writer, int fd)
{
	struct store_stats stats;

	store_get_stats(writer, &stats);
	database_log_close(stats.live,
		store_writer_close_into(writer, fd, database_contents()));
}

void
database_close(struct store_writer *writer)
{
	struct store_stats stats;

	store_get_stats(writer, &stats);
	database_log_close(stats.live, store_writer_close_clean(writer));
}
