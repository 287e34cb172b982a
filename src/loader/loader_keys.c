/* loader_keys.c - the loader's part when keys of TSIG come, go or change.
 * Main's part is key_change.c. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "loader/load_settings.h"
#include "loader/loader.h"
#include "process/key_message.h"
#include "store/writer.h"
#include "zonedb/settings_edit.h"

/* Publishes settings: one word leads readers to them. */
static enum nsd_err
loader_publish_settings(struct loader *loader)
{
	struct settings_edit *edit;
	enum nsd_err err = settings_edit_begin(loader->writer, &edit);

	if (err != NSD_OK)
		return err;
	err = load_settings_publish(edit, loader->role.server->conf);
	settings_edit_end(edit);
	return err;
}

/* Publishes the options of the zones that have a new key: of those that came
 * while a key of this name was away. */
static enum nsd_err
loader_list_users(struct load_batch *batch, const char *name)
{
	const struct conf_key *key = conf_find_key(batch->conf, name);
	const struct conf_zone *zone = NULL;
	enum nsd_err err = NSD_OK;

	while (err == NSD_OK && (zone = key_edit_find_user(batch->conf, key,
			zone)) != NULL) {
		err = load_batch_list_anew(batch, zone);
		/* A zone without an entry has the key when it gets one. */
		if (err == NSD_E_NOT_FOUND)
			err = NSD_OK;
	}
	return err;
}

static enum nsd_err
loader_publish_key(struct loader *loader, const struct key_edit *edit)
{
	struct load_batch batch = loader_begin_batch(loader);
	enum nsd_err err;

	if (edit->what == KEY_EDIT_ASSOC)
		return load_batch_list_anew(&batch,
			conf_find_zone_text(batch.conf, edit->zone));
	err = loader_publish_settings(loader);
	if (err == NSD_OK && edit->what == KEY_EDIT_ADD)
		err = loader_list_users(&batch, edit->key);
	return err;
}

/* Names a zone that uses the key, for the answer, if there is room. */
static void
loader_name_user(const struct conf *conf, struct key_edit *edit)
{
	const struct conf_zone *zone = key_edit_find_user(conf,
		conf_find_key(conf, edit->key), NULL);

	if (strlen(zone->name) + strlen(edit->key) + 3 <= IPC_KEY_TEXT_MAX)
		edit->zone = zone->name;
}

/* Makes the change of a key. Main has added secrets and keys before, and does
 * the rest after. A loader that cannot follow, or cannot publish, ends: the
 * next one has main's configuration, and publishes that, or is asked. */
static enum nsd_err
loader_change_key(struct loader *loader, struct key_edit *edit)
{
	bool is_mains = edit->what == KEY_EDIT_ADD
		|| edit->what == KEY_EDIT_SECRET;
	struct conf *conf = loader->role.server->conf;
	enum nsd_err err = key_edit_apply(conf, edit);

	if (err == NSD_E_DENIED && edit->what == KEY_EDIT_REMOVE)
		loader_name_user(conf, edit);
	if (err != NSD_OK && !is_mains)
		return err;
	if (err == NSD_OK)
		err = loader_publish_key(loader, edit);
	if (err == NSD_OK)
		return err;
	log_error("cannot take a change of key %s: %s; ending", edit->key,
		err_text(err));
	_exit(1);
}

void
loader_on_change_key(struct role *role, const struct ipc_message *m)
{
	struct loader *loader = (struct loader *)role;
	struct key_message message;
	struct ipc_key payload, done;
	size_t len;

	if (key_message_read(m, &payload, &message) != NSD_OK)
		return;
	loader_publish_zones(loader);
	message.err = loader_change_key(loader, &message.edit);
	if (key_message_write(&message, &done, &len) != NSD_OK)
		abort(); /* the answer is no longer than the request */
	role_send(role, IPC_KEY_DONE, &done, len);
	loader_reclaim(loader);
}
