/* conf_zones.c - where the zones of main's configuration are. */
#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "conf/chroot.h"
#include "conf/image.h"
#include "conf/zonelist.h"
#include "dns/name.h"
#include "loader/conf_zones.h"
#include "loader/load_list.h"

/* ---- zones that may have to be written ----------------------------------- */

static bool
options_may_write(const struct conf_pattern *options)
{
	return conf_is_from_xfrd(options)
		|| (options->store_ixfr && options->create_ixfr);
}

bool
conf_zones_may_write(const struct conf *conf)
{
	for (size_t i = 0; i < conf->pattern_count; i++)
		if (options_may_write(conf->patterns[i]))
			return true;
	for (size_t i = 0; i < conf->zone_count; i++)
		if (options_may_write(conf->zones[i]->options))
			return true;
	return false;
}

/* ---- keys of zones ------------------------------------------------------- */

/* Drops the associations of a zone, or if wire is NULL, of a key. */
static void
assocs_drop(struct server *server, const uint8_t *wire, const char *key)
{
	struct server_assoc **at = &server->assocs, *assoc;

	while ((assoc = *at) != NULL) {
		if (wire != NULL ? !name_equal(assoc->wire, wire)
				 : strcmp(assoc->key, key) != 0) {
			at = &assoc->next;
			continue;
		}
		*at = assoc->next;
		free(assoc);
	}
}

enum nsd_err
conf_zones_keep_assoc(struct server *server, const struct key_edit *edit)
{
	size_t len = strlen(edit->zone) + 1, key_len = strlen(edit->key) + 1;
	struct server_assoc *assoc = malloc(sizeof(*assoc) + len + key_len);

	conf_zones_lose_key(server, edit->zone);
	if (assoc == NULL)
		return NSD_E_MEMORY;
	if (!conf_parse_zone_name(edit->zone, assoc->wire)) {
		free(assoc);
		return NSD_E_SYNTAX;
	}
	memcpy(assoc->zone, edit->zone, len);
	assoc->key = assoc->zone + len;
	memcpy(assoc->key, edit->key, key_len);
	assoc->next = server->assocs;
	server->assocs = assoc;
	return NSD_OK;
}

void
conf_zones_lose_key(struct server *server, const char *zone)
{
	uint8_t wire[NAME_MAX_LEN];

	if (conf_parse_zone_name(zone, wire))
		assocs_drop(server, wire, NULL);
}

void
conf_zones_forget_key(struct server *server, const char *key)
{
	assocs_drop(server, NULL, key);
}

/* ---- the zones ----------------------------------------------------------- */

void
conf_zones_take(struct server *server, int image)
{
	struct server_assoc *assoc;

	assert(image > 0);
	if (server->zones > 0)
		close(server->zones);
	server->zones = image;
	while ((assoc = server->assocs) != NULL) {
		server->assocs = assoc->next;
		free(assoc);
	}
}

static enum nsd_err
conf_zones_add_listed(const struct server *server,
	const struct store_view *view)
{
	struct conf *conf = server->conf;

	return view != NULL ? load_list_restore(view, conf)
		: zonelist_load_again(conf,
			conf_path_in_chroot(server->chroot,
				conf->server.zonelistfile),
			server->list, server->list_was_cut);
}

/* Applies the associations of keys. A zone or key may be gone, if the loader
 * that removed it died before it said so. */
static enum nsd_err
conf_zones_associate(const struct server *server)
{
	enum nsd_err err = NSD_OK;

	for (const struct server_assoc *assoc = server->assocs;
		assoc != NULL && err != NSD_E_MEMORY; assoc = assoc->next) {
		const struct key_edit edit = {
			.what = KEY_EDIT_ASSOC,
			.key = assoc->key,
			.zone = assoc->zone,
		};

		err = key_edit_apply(server->conf, &edit);
	}
	return err == NSD_E_MEMORY ? err : NSD_OK;
}

enum nsd_err
conf_zones_add(const struct server *server, const struct store_view *view)
{
	enum nsd_err err = conf_image_read_zones(server->zones, server->conf);

	if (err == NSD_OK)
		err = conf_zones_add_listed(server, view);
	if (err == NSD_OK)
		err = conf_zones_associate(server);
	return err;
}
