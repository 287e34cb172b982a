/* fuzz_conf.c - any octets as nsd.conf; what is accepted must print as text
 * that reads as the same configuration. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/compare.h"
#include "conf/conf.h"
#include "conf/key_edit.h"
#include "conf/option.h"
#include "conf/secret_keys.h"
#include "fuzz/mutate_tokens.h"
#include "lib/chance.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
on_diag(struct diag_sink *sink, const struct diag *d)
{
	char text[256];

	if (conf_print_diag(d, text, sizeof(text)) >= sizeof(text))
		abort();
}

/* The caller frees it. */
static char *
print(const struct conf *conf)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (out == NULL)
		abort();
	conf_print(conf, true, out);
	if (fclose(out) != 0)
		abort();
	return text;
}

static void
use_zones(const struct conf *conf)
{
	const struct conf_zone *zone;
	char name[64];
	size_t i, len;

	for (i = 0; i < conf->zone_count; i++) {
		zone = conf->zones[i];
		if (conf_find_zone(conf, zone->wire) != zone
			|| conf_find_zone_text(conf, zone->name) != zone
			|| zone->index != i)
			abort();
		if (conf_zone_file_name(zone, name, sizeof(name), &len) ==
			NSD_OK && strlen(name) != len)
			abort();
	}
}

static void
on_changed(void *ctx, const struct conf_changed *changed)
{
	if (changed->clause == NULL || changed->option == NULL)
		abort();
	(*(size_t *)ctx)++;
}

/* A configuration read twice has no differences; compared with an empty one, it
 * has the same number both ways. */
static void
compare(const struct conf *conf, const struct conf *same)
{
	struct conf_difference d, back;
	size_t changed = 0, there = 0;
	struct conf *empty;

	conf_compare(conf, same, &d);
	conf_compare_options(conf, same, on_changed, &changed);
	if (conf_difference_is_live(&d) || d.waiting != 0 || changed != 0)
		abort();
	if (conf_load_text("empty", "", 0, false, NULL, &empty) != NSD_OK)
		abort();
	conf_compare(empty, conf, &d);
	conf_compare(conf, empty, &back);
	conf_compare_options(empty, conf, on_changed, &there);
	if (d.zones_added != conf->zone_count || back.zones_removed
		!= conf->zone_count || d.options != back.options
		|| d.waiting != back.waiting || d.keys != back.keys)
		abort();
	conf_keep_waiting(empty, conf);
	if (conf_keep_texts(empty, conf, "remote-control", "server-")
		!= NSD_OK)
		abort();
	conf_destroy(empty);
}

/* Prints every option alone, as nsd-checkconf -o does. */
static void
print_options(const struct conf *conf)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	enum nsd_err err = NSD_OK;

	if (out == NULL)
		abort();
	for (size_t i = 0; i < conf_option_count; i++) {
		const char *name = conf_options[i].name;
		bool full = i % 2 != 0;

		err = conf_print_option(conf, name, full, out);
		if (conf->zone_count > 0)
			err = conf_print_zone_option(conf, conf->zones[0],
				name, full, out);
		if (conf->pattern_count > 0)
			err = conf_print_pattern_option(conf,
				conf->patterns[0], name, full, out);
		if (err != NSD_OK && err != NSD_E_NOT_FOUND)
			abort();
	}
	if (fclose(out) != 0)
		abort();
	free(text);
}

static void
edit_key(struct conf *conf, struct key_edit *edit, enum key_edit_what what)
{
	enum nsd_err may;

	edit->what = what;
	may = key_edit_check(conf, edit);
	if (key_edit_apply(conf, edit) != may)
		abort();
}

/* Keys come and go, as nsd-control has it. */
static void
edit_keys(struct conf *conf)
{
	struct key_edit edit = {.key = "added.by.fuzz",
		.algorithm = "hmac-sha256"};

	edit_key(conf, &edit, KEY_EDIT_ADD);
	for (size_t i = 0; i < conf->zone_count && i < 3; i++) {
		edit.zone = conf->zones[i]->name;
		edit_key(conf, &edit, KEY_EDIT_ASSOC);
	}
	edit_key(conf, &edit, KEY_EDIT_SECRET);
	edit_key(conf, &edit, KEY_EDIT_REMOVE);
	if (conf->key_count > 0) {
		edit.key = conf->keys[0]->name;
		edit_key(conf, &edit, KEY_EDIT_REMOVE);
	}
}

/* Adds and removes zones, as edit_keys does with keys. */
static void
edit_zones(struct conf *conf)
{
	const struct conf_zone *zone;
	size_t count = conf->zone_count;
	enum nsd_err err;

	for (size_t i = 0; i < conf->pattern_count && i < 3; i++) {
		const char *pattern = conf->patterns[i]->name;

		err = conf_add_zone(conf, "added.by.fuzz", pattern, &zone);
		if (err != NSD_OK)
			continue;
		if (conf_find_zone(conf, zone->wire) != zone
			|| conf_change_zone(conf, zone->wire, pattern)
				!= NSD_OK)
			abort();
		if (i % 2 == 0 && conf_remove_zone(conf, zone->wire) != NSD_OK)
			abort();
	}
	if (conf->zone_count < count || conf->zone_count > count + 1)
		abort();
	if (count > 0 && conf_remove_zone(conf, conf->zones[0]->wire)
		!= NSD_OK)
		abort();
	(void)conf_memory_size(conf);
}

/* And secrets leave the configuration. */
static void
move_secrets(struct conf *conf)
{
	struct key_store *key_store;

	if (secret_keys_create(conf, &key_store) != NSD_OK
		|| secret_keys_move(conf, NULL, key_store) != NSD_OK)
		abort();
	secret_keys_sweep(conf, key_store);
	secret_keys_remove(conf, NULL, key_store);
	conf_wipe_secrets(conf);
	key_store_destroy(key_store);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct diag_sink sink = { .on_diag = on_diag };
	struct conf *conf, *again;
	char *text, *second;

	if (conf_load_text("fuzz.conf", (const char *)data, size, false, &sink,
		&conf) != NSD_OK) {
		if (sink.errors == 0)
			abort(); /* a refusal needs a message */
		return 0;
	}
	if (sink.errors != 0)
		abort();
	conf_check(conf, &sink);
	conf_list_without_effect(conf, NULL, &sink);
	use_zones(conf);
	text = print(conf);
	if (conf_load_text("again.conf", text, strlen(text), false, NULL,
		&again) != NSD_OK)
		abort();
	second = print(again);
	if (strcmp(text, second) != 0)
		abort();
	free(text);
	free(second);
	conf_destroy(again);
	if (conf_load_text("same.conf", (const char *)data, size, false, NULL,
		&again) != NSD_OK)
		abort();
	compare(conf, again);
	print_options(conf);
	edit_keys(again);
	edit_zones(again);
	move_secrets(again);
	conf_destroy(again);
	conf_destroy(conf);
	return 0;
}

/* ---- for the fuzzer ------------------------------------------------------ */

static void
put_value(char out[MUTATE_WORD_MAX], uint64_t *chance)
{
	static const char *const values[] = {"yes", "no", "\"\"", "\"a b\"",
		"192.0.2.1", "192.0.2.1@53", "::1@5353", "2001:db8::/32",
		"192.0.2.0/24", "192.0.2.1-192.0.2.9", "192.0.2.0&255.0.255.0",
		"NOKEY", "BLOCKED", "AXFR", "UDP", "k", "t", "p", "example.",
		"b.test", "%s", "%1.%2.%z", "hmac-sha256", "hmac-md5", "AAAA",
		"ascii_abc", "00ff", "inherit", "consumer", "producer", "all",
		"nxdomain", "servers=1", "setfib=1", "bindtodevice=yes",
		"0.0.0.0/0", "::0/0", "default", "none",
		"0123456789abcdef0123456789abcdef", "server-1-cpu-affinity:",
		"eth0", "/dev/null", "include:"};

	mutate_pick(out, values, sizeof(values) / sizeof(*values), chance);
}

/* The name of an option, or of a clause. */
static void
put_option(char out[MUTATE_WORD_MAX], uint64_t *chance)
{
	if (chance_below(chance, 5) == 0)
		snprintf(out, MUTATE_WORD_MAX, "%s:\n", conf_clauses[
			chance_below(chance, CLAUSE_COUNT)].name);
	else
		snprintf(out, MUTATE_WORD_MAX, "%s:", conf_options[
			chance_below(chance, (uint32_t)conf_option_count)]
			.name);
}

static void
put_word(char out[MUTATE_WORD_MAX], uint64_t *chance)
{
	if (chance_below(chance, 4) == 0)
		put_option(out, chance);
	else
		put_value(out, chance);
}

static const struct mutate_text text_of_conf = {
	.put_word = put_word,
	.put_first = put_option,
};

TOKENS_FOR_FUZZER(&text_of_conf)
