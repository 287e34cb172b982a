/* loader_keys.c - the loader's part when keys of TSIG come, go or change.
 * Main's part is key_change.c. */
#include "config.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "keep/settings_edit.h"
#include "load/load_settings.h"
#include "proc/loader.h"
#include "role/key_message.h"
#include "store/writer.h"

/* One word leads readers to other settings. */
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

static enum nsd_err
loader_take_key(struct loader *loader, const struct key_edit *edit)
{
	struct load_batch batch = loader_begin_batch(loader);
	enum nsd_err err = key_edit_apply(batch.conf, edit);

	if (err != NSD_OK)
		return err;
	if (edit->what == KEY_EDIT_ASSOC)
		return load_batch_list_anew(&batch,
			conf_find_zone_text(batch.conf, edit->zone));
	return loader_publish_settings(loader);
}

/* Main has done it already. A loader that cannot follow, or cannot publish it,
 * ends: the next one has what main has, and publishes that. */
static enum nsd_err
loader_change_key(struct loader *loader, const struct key_edit *edit)
{
	enum nsd_err err = loader_take_key(loader, edit);

	/* NSD_E_ZONE: the zone has gone meanwhile, and its options with it. */
	if (err == NSD_OK || err == NSD_E_ZONE)
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
	struct ipc_key payload;

	if (key_message_read(m, &payload, &message) != NSD_OK)
		return;
	payload.err = loader_change_key(loader, &message.edit);
	role_send(role, IPC_KEY_DONE, &payload, m->len);
	loader_reclaim(loader);
}
