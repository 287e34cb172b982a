/* load_settings.h - compiles a configuration to settings in the store. */
#ifndef LOADER_LOAD_SETTINGS_H
#define LOADER_LOAD_SETTINGS_H

#include "base/err.h"
#include "conf/conf.h"
#include "settings/settings.h"
#include "store/store.h"
#include "zonedb/settings_edit.h"

/* Converts an element of a list; key and tls-auth are left out, as with
 * NOKEY. */
void load_settings_element(const struct conf_acl *acl, struct acl_element *e);

/*
 * Makes the settings of a pattern, or of the options of one zone; these have no
 * name and no zone file, so that zones with the same options share them.
 * out: *options, which may be none, and *pattern, which holds them: lent until
 * the end of the edit.
 * the end of the edit.
 * returns NSD_OK; NSD_E_MEMORY; NSD_E_LIMIT: a list is too long.
 */
enum nsd_err load_settings_pattern(struct settings_edit *edit,
	const struct conf_pattern *from, store_ref *options,
	store_ref *pattern) MUST_USE;

/* Publishes the settings of a configuration: the server's options, all keys,
 * all patterns. returns as load_settings_pattern; on failure all is as it
 * was. */
enum nsd_err load_settings_publish(struct settings_edit *edit,
	const struct conf *conf) MUST_USE;

/*
 * Finds the settings that load_settings_publish has made of a pattern of the
 * published configuration. So a new zone costs no look at all patterns.
 * returns true and lends *found (struct settings_pattern) until other settings
 * are published; false: the pattern has no name, or is not published.
 */
bool load_settings_find(const struct store_view *view,
	const struct conf *conf, const struct conf_pattern *pattern,
	store_ref *found);

#endif
