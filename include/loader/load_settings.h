/* load_settings.h - converts a configuration to the settings that others read
 * in the store. */
#ifndef LOADER_LOAD_SETTINGS_H
#define LOADER_LOAD_SETTINGS_H

#include "base/err.h"
#include "conf/conf.h"
#include "settings/settings.h"
#include "store/store.h"
#include "zonedb/settings_edit.h"

/* Converts an element of a list, but for its key and tls-auth: as if it had
 * NOKEY. */
void load_settings_element(const struct conf_acl *acl, struct acl_element *e);

/*
 * Makes what the store has of a pattern, or of the options of one zone: with no
 * name and no zone file then, so that zones with the same options share it.
 * out: *options, which may be none, and *pattern, which holds them: lent until
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
 * Finds what load_settings_publish has made of a pattern of the configuration
 * that is published. So a zone that comes costs no look at all patterns.
 * returns true and lends *found (struct settings_pattern) until others are
 * published; false: that pattern has no name, or is not published.
 */
bool load_settings_find(const struct store_view *view,
	const struct conf *conf, const struct conf_pattern *pattern,
	store_ref *found);

#endif
