/*
 * writer.c - the role that writes what is served of secondary zones to their
 * zone files.
 *
 * Main forks it when xfrd has something to write; it ends when it has had
 * nothing to do for a while. The store says what is to be written where:
 * version, name, file and options of a zone. It makes new files and renames
 * them, and opens none that is there (doc/decisions/0086). It looks whether
 * files are there, too.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/priority.h"
#include "conf/chroot.h"
#include "dns/name.h"
#include "ipc/handlers.h"
#include "loader/ixfr_file.h"
#include "loader/load_files.h"
#include "loader/writeback.h"
#include "process/role.h"
#include "settings/pattern.h"
#include "store/store.h"
#include "writer/writer_edited.h"
#include "writer/writer_folders.h"
#include "zone/sources.h"
#include "zone/table.h"

/* The writer ends after this without a request. */
#define IDLE_SEC 5
/* From this age on, a folder that the writer may not write to may have been
 * replaced since the writer was let into it. */
#define OLD_MSEC 3000
/* Records between two signs of life. */
#define HEARTBEAT_RECORDS 10000u

struct writer {
	struct role role;
	struct store_reader *reader;
	struct event *idle_event;
	int64_t began_msec;
	struct writer_folders folders; /* the folders that may be written to */
	bool has_answered;
	bool is_shut_out; /* requests from now on are for the next writer */
};

/* A zone that is being written. */
struct writer_zone {
	uint8_t apex[NAME_MAX_LEN];
	char name[NAME_TEXT_MAX]; /* as written in nsd.conf */
	bool keeps_changesets;    /* store-ixfr */
	bool takes_updates;
	const struct zone *served;
	const struct zone_sources *sources; /* of the served version; NULL:
					     * none */
	struct history_path history; /* changesets to the served version, if any
				 * are kept */
	bool history_unknown;   /* memory was short for `way` */
	const char *received; /* see struct writeback */
	char path[PATH_MAX];
	char copy[PATH_MAX];  /* in xfrdir; empty: it may not lie there */
};

/* ---- where to ------------------------------------------------------------ */

/* In xfrdir every zone has a name that no zone's file is likely to have: what
 * lies there is replaced. */
static void
writer_find_copy(const struct server *server, struct writer_zone *zone)
{
	const char *folder = server->conf->server.xfrdir;
	char name[PATH_MAX];
	size_t len;
	int n = -1;

	if (folder != NULL && *folder != '\0'
		&& conf_expand_name("%s.zone.copy", zone->name, zone->apex,
			   name, sizeof(name), &len)
			== NSD_OK)
		n = snprintf(zone->copy, sizeof(zone->copy), "%s/%s",
			conf_path_in_chroot(server->chroot, folder), name);
	if (n < 0 || (size_t)n >= sizeof(zone->copy))
		zone->copy[0] = '\0';
}

/* Finds the file of a zone whose apex is known. The reader is online. */
static enum nsd_err
writer_find_path(const struct server *server, const struct store_view *view,
	const struct zone_entry *entry, struct writer_zone *zone)
{
	const char *file = zone_entry_file(view, entry);
	char text[NAME_TEXT_MAX], path[PATH_MAX];
	enum nsd_err err;
	size_t len;

	snprintf(zone->name, sizeof(zone->name), "%s",
		zone_entry_name(view, entry, text));
	if (file == NULL)
		return NSD_E_NOT_FOUND;
	err = conf_expand_name(file, zone->name, zone->apex, path,
		sizeof(path), &len);
	if (err == NSD_OK)
		snprintf(zone->path, sizeof(zone->path), "%s",
			conf_path_in_chroot(server->chroot, path));
	return err;
}

/* ---- writing ------------------------------------------------------------- */

/* xfrd tells the log, once for many zones. */
static void
writer_on_diag(struct diag_sink *sink, const struct diag *d)
{
	log_at(2, log_diag_level(d), "%s", d->text);
}

static void
writer_on_records(void *ctx)
{
	role_heartbeat(ctx);
}

/* Writes the differences between versions. Failures are logged: they cost
 * secondaries a whole transfer after a restart. */
static enum nsd_err
writer_write_changesets(struct writer *writer, const struct writer_zone *zone,
	const struct writeback *writeback, struct diag_sink *sink)
{
	const struct ixfr_text text = {
		.apex = writeback->apex,
		.name = writeback->name,
		.version = writeback->version,
		.time_sec = writeback->time_sec,
	};
	enum nsd_err err;
	int error;

	/* Unknown changesets are not none: files would be removed. Files that
	 * stay do no harm. */
	if (!zone->keeps_changesets || zone->history_unknown)
		return NSD_OK;
	err = ixfr_file_write(writeback->view, &zone->history, writeback->path,
		&text, sink);
	error = errno;
	if (err == NSD_OK)
		log_at(3, LOG_LEVEL_INFO, "zone %s: %zu differences written to"
			" %s.ixfr and the like", zone->name,
			zone->history.count, writeback->path);
	role_heartbeat(&writer->role);
	errno = error;
	return err;
}

static struct writeback
writer_make_writeback(struct writer *writer, const struct writer_zone *zone,
	const char *path)
{
	return (struct writeback){
		.view = store_reader_view(writer->reader),
		.zone = zone->served,
		.apex = zone->apex,
		.path = path,
		.name = zone->name,
		.version = PACKAGE_VERSION,
		.time_sec = (int64_t)time(NULL),
		.received = zone->received,
		.on_records = writer_on_records,
		.on_records_every = HEARTBEAT_RECORDS,
		.ctx = &writer->role,
	};
}

static enum nsd_err
writer_write(struct writer *writer, const struct writer_zone *zone,
	const char *path, struct stat *st, uint32_t *serial)
{
	struct diag_sink sink = {.on_diag = writer_on_diag};
	struct writeback writeback = writer_make_writeback(writer, zone, path);
	struct writer_edited edited = {
		.zone = zone->name,
		.path = path,
		.sources = zone->sources,
	};
	enum nsd_err err;

	/* No other was found in the store, or is let into. */
	assert(path == zone->path || path == zone->copy);
	log_at(1, LOG_LEVEL_INFO, "writing zone %s to file %s", zone->name,
		path);
	if (path == zone->path) {
		if (zone->takes_updates)
			writeback.find_aside = writer_edited_find;
		writeback.aside_ctx = &edited;
		(void)writer_write_changesets(writer, zone, &writeback, &sink);
	}
	writeback.st = st;
	err = writeback_zone(&writeback, &sink, serial);
	if (err == NSD_OK)
		log_at(3, LOG_LEVEL_INFO, "zone %s written to file %s",
			zone->name, path);
	return err;
}

/* True if only the next writer may be able to write the zone's file: the
 * folders were looked up when this one began, and the zone was added since, or
 * a folder was made anew. A writer's first zone is never passed on, since a
 * successor would know no more. */
static bool
writer_is_shut_out(struct writer *writer, const struct writer_zone *zone,
	enum nsd_err err)
{
	int error = errno;

	writer->is_shut_out = err == NSD_E_SYSTEM && error == EACCES
		&& writer->has_answered
		&& (!writer_folders_have(&writer->folders, zone->path)
			|| clock_now_msec() - writer->began_msec > OLD_MSEC);
	errno = error;
	return writer->is_shut_out;
}

static struct ipc_file_stamp
writer_get_stamp(const struct stat *st)
{
	return (struct ipc_file_stamp){
		.mtime_sec = st->st_mtim.tv_sec,
		.mtime_nsec = (uint32_t)st->st_mtim.tv_nsec,
		.ctime_sec = st->st_ctim.tv_sec,
		.ctime_nsec = (uint32_t)st->st_ctim.tv_nsec,
		.size = (uint64_t)st->st_size,
		.inode = (uint64_t)st->st_ino,
		.device = (uint64_t)st->st_dev,
	};
}

/* True if the copy in xfrdir is another file than the zone's, whatever names
 * they have. */
static bool
writer_has_copy_apart(const struct writer_zone *zone)
{
	struct stat copy, own;

	return *zone->copy != '\0' && strcmp(zone->copy, zone->path) != 0
		&& (stat(zone->copy, &copy) == -1
			|| stat(zone->path, &own) == -1
			|| copy.st_ino != own.st_ino
			|| copy.st_dev != own.st_dev);
}

static void
writer_write_version(struct writer *writer, const struct writer_zone *zone,
	uint32_t flags, struct ipc_written *written)
{
	uint32_t serial;
	struct stat st = {.st_size = 0};
	enum nsd_err err = writer_write(writer, zone, zone->path, &st, &serial);

	if (writer_is_shut_out(writer, zone, err)) {
		written->err = NSD_E_AGAIN;
		return;
	}
	written->err = err;
	written->error = err == NSD_E_SYSTEM ? (uint32_t)errno : 0;
	if (err == NSD_OK) {
		written->to = IPC_WRITTEN_FILE;
		written->stamp = writer_get_stamp(&st);
		if ((flags & IPC_WRITE_HAS_COPY) != 0
			&& writer_has_copy_apart(zone))
			(void)unlink(zone->copy);
	} else if (err == NSD_E_SYSTEM && (flags & IPC_WRITE_COPY) != 0
		&& writer_has_copy_apart(zone)
		&& writer_write(writer, zone, zone->copy, &st, &serial)
			== NSD_OK) {
		written->to = IPC_WRITTEN_COPY;
	} else {
		return;
	}
	written->serial = serial;
}

/* True if the files of the zone say what is served, as far as is known. */
static bool
writer_has_file_as_served(const struct writer_zone *zone)
{
	return zone->sources != NULL
		&& (zone->sources->flags & ZONE_SOURCES_FAILED) == 0
		&& !load_files_have_changed(zone->sources, zone->path);
}

/* A file that has changed since it was read may say other things under the
 * serial that is served, and is older than what would be written now. So
 * nothing stays beside it then (doc/decisions/0092). */
static enum nsd_err
writer_write_changesets_of_file(struct writer *writer, struct writer_zone *zone,
	const struct writeback *writeback, struct diag_sink *sink)
{
	enum nsd_err err;
	int error;

	if (!writer_has_file_as_served(zone))
		zone->history.count = 0;
	err = writer_write_changesets(writer, zone, writeback, sink);
	error = errno;
	if (zone->history.count > 0 && !writer_has_file_as_served(zone)) {
		zone->history.count = 0;
		err = writer_write_changesets(writer, zone, writeback, sink);
		error = errno;
	}
	errno = error;
	return err;
}

/* Of a zone whose file is the operator's. */
static void
writer_write_changesets_alone(struct writer *writer, struct writer_zone *zone,
	uint32_t flags, struct ipc_written *written)
{
	bool unsure = (flags & IPC_WRITE_UNSURE) != 0;
	struct diag_sink sink = {.on_diag = writer_on_diag};
	const struct writeback writeback = writer_make_writeback(writer, zone,
		zone->path);

	written->err = unsure && ixfr_file_is_new(zone->path)
		? NSD_OK
		: writer_write_changesets_of_file(writer, zone, &writeback,
			&sink);
	if (writer_is_shut_out(writer, zone, (enum nsd_err)written->err)) {
		written->err = NSD_E_AGAIN;
		return;
	}
	written->error = written->err == NSD_E_SYSTEM ? (uint32_t)errno : 0;
	written->serial = zone->served->serial;
}

/* Later on, entries lead to changesets that are not pinned. */
static void
writer_take_version(const struct store_view *view,
	const struct zone_entry *entry, store_ref served,
	struct writer_zone *zone)
{
	assert(zone->history.changesets == NULL); /* or they would be lost */
	zone->served = store_get(view, served);
	if (!zone->keeps_changesets)
		return;
	zone->history_unknown = history_list(view, entry,
		zone->served->serial, &zone->history) != NSD_OK;
	if (zone->history_unknown)
		log_error("zone %s: out of memory", zone->name);
}

/* Versions are written that were transferred; of others differences alone. */
static bool
writer_may_write(const struct zone_entry *entry, uint32_t flags)
{
	uint32_t roles = __atomic_load_n(&entry->flags, __ATOMIC_RELAXED)
		& (ZONE_ENTRY_FROM_XFRD | ZONE_ENTRY_WAS_FROM_XFRD);

	return (flags & IPC_WRITE_CHANGESETS) != 0
		? (roles & ZONE_ENTRY_FROM_XFRD) == 0
		: roles != 0;
}

/* Finds what is to be written of the zone with this apex, and where; nothing
 * else that a message says leads anywhere. */
static enum nsd_err
writer_find(struct writer *writer, uint32_t flags, struct writer_zone *zone)
{
	const struct store_view *view = store_reader_view(writer->reader);
	const struct server *server = writer->role.server;
	const struct settings_storing *storing;
	const struct zone_entry *entry;
	store_ref ref, served;
	enum nsd_err err;

	if (table_find_apex(view, zone->apex, &ref) != NSD_OK)
		return NSD_E_NOT_FOUND;
	entry = store_get(view, ref);
	/* A version that comes meanwhile is not of files that are noted. */
	zone->sources = zone_sources_get(view, ref);
	served = store_load_ref(&entry->zone);
	if (served == STORE_NONE || !writer_may_write(entry, flags))
		return NSD_E_NOT_FOUND;
	err = writer_find_path(server, view, entry, zone);
	if (err != NSD_OK)
		return err;
	writer_find_copy(server, zone);
	ref = store_load_ref(&entry->options);
	zone->takes_updates = ref != STORE_NONE
		&& settings_options_take_updates(store_get(view, ref));
	storing = zone_entry_storing(view, entry);
	zone->keeps_changesets = storing != NULL && storing->store_ixfr;
	writer_take_version(view, entry, served, zone);
	return NSD_OK;
}

/* The version stays while it is pinned, whatever is published meanwhile. */
static void
writer_pin_and_write(struct writer *writer, struct writer_zone *zone,
	const struct ipc_write *what, struct ipc_written *written)
{
	struct store_pin pin;

	store_reader_online(writer->reader);
	if (store_reader_pin(writer->reader, &pin) != NSD_OK) {
		store_reader_offline(writer->reader);
		written->err = NSD_E_BUG;
		return;
	}
	written->err = writer_find(writer, what->flags, zone);
	store_reader_offline(writer->reader);
	if (written->err == NSD_OK) {
		if (*what->received != '\0'
			&& zone->served->serial != what->serial)
			written->err = NSD_E_AGAIN;
		else if ((what->flags & IPC_WRITE_CHANGESETS) != 0)
			writer_write_changesets_alone(writer, zone, what->flags,
				written);
		else
			writer_write_version(writer, zone, what->flags,
				written);
	}
	store_reader_unpin(writer->reader, &pin);
	free(zone->history.changesets);
}

/* ---- requests ------------------------------------------------------------ */

/* A comment is a line: what is no text of one is left out with all of it. */
static bool
writer_is_line(const char *text)
{
	for (; *text != '\0'; text++)
		if (*text < ' ' || *text > '~')
			return false;
	return true;
}


static void
writer_rest(struct writer *writer)
{
	static const struct timeval idle = {.tv_sec = IDLE_SEC};

	event_add(writer->idle_event, &idle);
}

static void
writer_answer(struct writer *writer, const struct ipc_message *m,
	const void *payload, size_t len)
{
	role_answer(&writer->role, m->channel, &(struct role_answer){
		.of = m->type,
		.payload = payload,
		.len = len,
	});
	writer->has_answered = true;
	if (writer->is_shut_out)
		role_stop(&writer->role);
	else
		writer_rest(writer);
}

/* Reads the apex of a zone from a message. */
static enum nsd_err
writer_read_apex(struct cursor *cursor, uint8_t apex[NAME_MAX_LEN])
{
	size_t size;

	if (name_read_uncompressed(cursor, apex, &size) != NSD_OK)
		return NSD_E_WIRE;
	name_lower(apex);
	return NSD_OK;
}

static void
writer_on_write(struct role *role, const struct ipc_message *m)
{
	struct writer *writer = (struct writer *)role;
	static struct writer_zone zone; /* large */
	struct ipc_write what = {.flags = 0};
	struct ipc_written written = {.err = NSD_OK};
	struct cursor cursor;

	if (writer->is_shut_out)
		return;
	/* The text ends the payload, and has its NUL. */
	memcpy(&what, m->payload, m->len);
	what.received[sizeof(what.received) - 1] = '\0';
	memset(&zone, 0, sizeof(zone));
	written.ticket = what.request.ticket;
	cursor_init(&cursor, what.apex, sizeof(what.apex));
	written.err = writer_read_apex(&cursor, zone.apex);
	if (*what.received != '\0' && writer_is_line(what.received))
		zone.received = what.received;
	if (written.err == NSD_OK)
		writer_pin_and_write(writer, &zone, &what, &written);
	writer_answer(writer, m, &written, sizeof(written));
}

/* ---- looking ------------------------------------------------------------- */

/* True if a zone's file is there, as far as can be seen. A zone that is gone,
 * or has no file, lacks none. */
static bool
writer_look(struct writer *writer, struct writer_zone *zone)
{
	const struct store_view *view = store_reader_view(writer->reader);
	enum nsd_err err = NSD_E_NOT_FOUND;
	struct stat st;
	store_ref ref;

	store_reader_online(writer->reader);
	if (table_find_apex(view, zone->apex, &ref) == NSD_OK)
		err = writer_find_path(writer->role.server, view,
			store_get(view, ref), zone);
	store_reader_offline(writer->reader);
	return err != NSD_OK || stat(zone->path, &st) == 0
		|| (errno != ENOENT && errno != ENOTDIR);
}

static void
writer_on_find_files(struct role *role, const struct ipc_message *m)
{
	const size_t head = offsetof(struct ipc_find_files, apexes);
	struct writer *writer = (struct writer *)role;
	static struct writer_zone zone; /* large */
	struct ipc_files_found answer = {.err = NSD_OK};
	struct ipc_find_files what;
	struct cursor apexes;
	bool found = true;

	if (writer->is_shut_out)
		return;
	memcpy(&what, m->payload, head);
	answer.ticket = what.request.ticket;
	cursor_init(&apexes, m->payload + head, m->len - head);
	while (found && cursor_left(&apexes) > 0) {
		answer.err = writer_read_apex(&apexes, zone.apex);
		if (answer.err != NSD_OK)
			break;
		found = writer_look(writer, &zone);
		answer.count += found;
	}
	writer_answer(writer, m, &answer, sizeof(answer));
}

/* ---- begin and end ------------------------------------------------------- */

#define WRITER_HANDLERS(X)                                                   \
	ROLE_HANDLERS(X)                                                     \
	X(LET_GO, NULL) /* between two messages it has no pin */             \
	X(WRITE_ZONE, writer_on_write)                                       \
	X(FIND_FILES, writer_on_find_files)

static void (*const writer_handlers[IPC_TYPE_COUNT])(struct role *role,
	const struct ipc_message *m) = {WRITER_HANDLERS(IPC_HANDLER)};
IPC_CHECK_HANDLERS(WRITER_HANDLERS, IPC_TO_WRITER);

static void
writer_on_idle(evutil_socket_t fd, short what, void *arg)
{
	role_stop(arg);
}

/* A signal to all processes: xfrd may have zones to write yet, so main says
 * when to end. */
static void
writer_on_term(struct role *role)
{
}

static enum nsd_err
writer_enter_sandbox(struct writer *writer, const struct server *server)
{
	/* Dates are local, and the file that says how is out of reach then. */
	tzset();
	store_reader_online(writer->reader);
	writer_folders_init(&writer->folders, server,
		store_reader_view(writer->reader));
	store_reader_offline(writer->reader);
	return sandbox_enter(&server->sandbox, ROLE_WRITER,
		writer->folders.paths);
}

static enum nsd_err
writer_init(struct writer *writer, const struct role_start *start)
{
	int keep[2 + LOG_FDS_MAX] = {start->channel.fd, start->stop_fd};
	unsigned kept = 2 + log_list_fds(keep + 2);
	enum nsd_err err;

	writer->role.handlers = writer_handlers;
	writer->began_msec = clock_now_msec();
	writer->role.on_term = writer_on_term;
	role_init_name("writer", "writer");
	role_init_death(start->server, true);
	priority_write();
	server_leave_secrets(start->server);
	err = store_reader_open(start->store, start->reader_slot, "writer",
		&writer->reader);
	if (err != NSD_OK)
		return err;
	fs_close_all_but(keep, kept);
	err = role_init_loop(&writer->role, start);
	if (err != NSD_OK)
		return err;
	writer->idle_event = event_new(writer->role.base, -1, 0,
		writer_on_idle, &writer->role);
	if (writer->idle_event == NULL)
		return NSD_E_MEMORY;
	writer_rest(writer);
	return writer_enter_sandbox(writer, start->server);
}

void
writer_main(const struct role_start *start)
{
	struct writer *writer = calloc(1, sizeof(*writer));
	enum nsd_err err = writer != NULL ? writer_init(writer, start)
					  : NSD_E_MEMORY;

	if (err != NSD_OK) {
		log_error("the writer cannot start: %s", err_text(err));
		_exit(1);
	}
	role_run(&writer->role);
	_exit(0);
}
