/*
 * compare.h - differences between the configuration that a server runs with and
 * the one that its nsd.conf says now. By the table of options.
 */
#ifndef CONF_COMPARE_H
#define CONF_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"

/* Counts of what differs. */
struct conf_difference {
	size_t options;  /* of the server, that have effect at once */
	size_t waiting;  /* of the server, that wait for the next start */
	size_t keys;     /* added, removed or changed */
	size_t tls_auths;
	size_t patterns;
	size_t zones_added, zones_removed, zones_changed;
};

/*
 * Compares two configurations. Secrets of keys are compared as they stand, and
 * moved ones (secret_keys.h) by their places. Secrets of cookies that were
 * wiped are for the caller to compare.
 * cost: linear in the zones of both.
 */
void conf_compare(const struct conf *old, const struct conf *new,
	struct conf_difference *difference);

/* An option of a clause that is there once. */
struct conf_changed {
	const char *clause; /* static, as the name is */
	const char *option;
	bool waits;         /* for the next start */
	const char *file;   /* place in the new configuration where it is set
			     * last, lent by that; NULL: nowhere */
	uint32_t line;
};

/* Calls on_changed for each option, of a clause that is there once, whose value
 * has changed, in the order of nsd-checkconf -v. Options that have no effect in
 * this program are left out. */
void conf_compare_options(const struct conf *old, const struct conf *new,
	void (*on_changed)(void *ctx, const struct conf_changed *changed),
	void *ctx);

/* Describes an option of server: by its name, which is there, whatever its
 * value. */
struct conf_changed conf_find_option(const struct conf *conf,
	const char *option);

/* True if a difference has effect at once. */
static inline bool
conf_difference_is_live(const struct conf_difference *d)
{
	return d->options + d->keys + d->tls_auths + d->patterns
		+ d->zones_added + d->zones_removed + d->zones_changed
		> 0;
}

/* True if the options of a clause that is there once, whose names begin with
 * the prefix, have the same values in both. */
bool conf_options_are_same(const struct conf *a, const struct conf *b,
	const char *clause, const char *prefix);

/*
 * Gives conf the values of running for all options that wait for the next start
 * and have an effect, so that conf can be run with now. The values are lent by
 * running, which has to stay.
 */
void conf_keep_waiting(struct conf *conf, const struct conf *running);

/* Gives conf copies of running's texts in a clause that is there once, for
 * options whose names begin with the prefix. NSD_E_MEMORY. */
enum nsd_err conf_keep_texts(struct conf *conf, const struct conf *running,
	const char *clause, const char *prefix) MUST_USE;

#endif
