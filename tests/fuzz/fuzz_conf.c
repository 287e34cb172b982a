/* fuzz_conf.c - any octets as nsd.conf; what is accepted must print as text
 * that reads as the same configuration. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "conf/option.h"
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

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct diag_sink sink = { .on_diag = on_diag };
	struct conf *conf, *again;
	char *text, *second;

	if (conf_load_text("fuzz.conf", (const char *)data, size, false, &sink,
		&conf) != NSD_OK) {
		if (sink.errors == 0)
			abort(); /* it must say why */
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

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	return mutate_tokens(&text_of_conf, data, size, max, seed);
}
