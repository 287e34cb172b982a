/*
 * loader_written.c - notes zone files that the writer has written: they need
 * not be read, and a file that differs from its note was changed by others.
 */
#include "config.h"

#include <limits.h>
#include <string.h>

#include "base/octets.h"
#include "conf/chroot.h"
#include "dns/name.h"
#include "loader/load_files.h"
#include "loader/loader.h"
#include "store/writer.h"

static void
written_note(struct loader *loader, const struct load_zone *zone,
	const struct ipc_file_written *written)
{
	char path[PATH_MAX];
	size_t len;

	if (conf_zone_file_name(zone->conf, path, sizeof(path), &len) == NSD_OK)
		load_files_note_written(loader->writer, zone->entry,
			conf_path_in_chroot(loader->context.chroot, path),
			&written->stamp, written->serial);
}

static struct load_zone *
written_find_zone(struct loader *loader, const uint8_t *apex, size_t len)
{
	const struct conf_zone *conf;
	struct cursor cursor;
	uint8_t name[NAME_MAX_LEN];
	size_t size;

	cursor_init(&cursor, apex, len);
	if (name_read_uncompressed(&cursor, name, &size) != NSD_OK
		|| size != len)
		return NULL;
	conf = conf_find_zone(loader->role.server->conf, name);
	return conf == NULL ? NULL : load_set_find(&loader->set,
		store_writer_view(loader->writer), conf);
}

/* A zone whose file is being read is left out: what is read is noted. A thread
 * that reads a transfer, or waits for its verifier, does not look at the note
 * of the file. */
static void
written_note_unless_read(struct loader *loader, struct load_zone *zone,
	const struct ipc_file_written *written)
{
	if (zone->transfer != NULL) {
		written_note(loader, zone, written);
		return;
	}
	if (!load_zone_claim(zone, false))
		return;
	written_note(loader, zone, written);
	if (load_zone_release(zone))
		loader_push_again(loader, zone, 0);
}

void
loader_on_file_written(struct role *role, const struct ipc_message *m)
{
	struct loader *loader = (struct loader *)role;
	struct ipc_file_written written;
	struct ipc_file_noted noted;
	struct load_zone *zone;

	memset(&written, 0, sizeof(written));
	memcpy(&written, m->payload, m->len);
	noted.ticket = written.request.ticket;
	zone = written_find_zone(loader, written.apex,
		m->len - offsetof(struct ipc_file_written, apex));
	if (zone != NULL)
		written_note_unless_read(loader, zone, &written);
	role_answer(role, m->channel, &(struct role_answer){
		.of = m->type,
		.payload = &noted,
		.len = sizeof(noted),
	});
}
