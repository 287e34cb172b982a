/* words_zone.h - the words of zone files, for mutate_tokens.h. */
#ifndef TESTS_FUZZ_WORDS_ZONE_H
#define TESTS_FUZZ_WORDS_ZONE_H

#include <stdio.h>

#include "dns/rrtype.h"
#include "fuzz/mutate_tokens.h"
#include "lib/chance.h"

#define WORDS_COUNT(words) (sizeof(words) / sizeof(*(words)))

static inline void
put_zone_name(char out[MUTATE_WORD_MAX], uint64_t *chance)
{
	static const char *const names[] = {"@", "a", "*", "example.org.",
		"b.example.org.", "a.b.c", "x.other.", ".", "*.w",
		"\\097.b", "a\\.b", "\\000", "$", "${0,3,x}", "a$.b",
		"${-1,2,n}", "${1,4,o}", "\"a\"", "MIL",
		("abcdefghijklmnopqrstuvwxyz-abcdefghijklmnopqrstuvwxyz-01234567"
		"89"), "a..b", "_tcp"};

	mutate_pick(out, names, WORDS_COUNT(names), chance);
}

static inline void
put_zone_word(char out[MUTATE_WORD_MAX], uint64_t *chance)
{
	static const char *const data[] = {"192.0.2.1", "2001:db8::1", "::",
		"::ffff:1.2.3.4", "1d", "1w2d3h4m5s", "20300101000000",
		"20240229235959", "AAAA", "AQID", "01", "00FF", "\\#", "-",
		"alpn=h2,h3", "mandatory=alpn", "port=53", "ipv4hint=1.2.3.4",
		"no-default-alpn", "ech=AAAA", "key65535=x", "ipv6hint=::1",
		"dohpath=/q{?dns}", "RSASHA256", "ED25519", "PKIX", "tcp",
		"domain", "52", "22", "23.000", "N", "E", "-24m", "30m",
		"1:192.0.2.0/24", "!2:2001:db8::/32", "0x47.0005",
		"00-00-5e-00-53-2a", "0014:4fff:ff20:ee64", "issue",
		"\"ca.example\"", "B3JUG", "+61.2.0001", "NOTIFY"};
	static const char *const classes[] = {"IN", "CH", "HS", "ANY", "in",
		"CLASS1", "CLASS65535", "CLASS256"};
	const char *name;
	uint16_t type = (uint16_t)chance_below(chance, 270);

	switch (chance_below(chance, 6)) {
	case 0:
	case 1:
		name = rrtype_get(type)->name;
		if (name != NULL)
			snprintf(out, MUTATE_WORD_MAX, "%s", name);
		else
			snprintf(out, MUTATE_WORD_MAX, "TYPE%u",
				(unsigned)(chance_next(chance) & 0xffff));
		break;
	case 2:
		put_zone_name(out, chance);
		break;
	case 3:
		mutate_pick(out, classes, WORDS_COUNT(classes), chance);
		break;
	default:
		mutate_pick(out, data, WORDS_COUNT(data), chance);
	}
}

/* A directive, an owner, or, of an empty word, the owner before. */
static inline void
put_zone_first(char out[MUTATE_WORD_MAX], uint64_t *chance)
{
	static const char *const firsts[] = {"$ORIGIN", "$TTL", "$INCLUDE",
		"$GENERATE 1-3", "$GENERATE 0-10/2", "$GENERATE 5-1", "$", "",
		"$ttl", "@ SOA a b 1 2 3 4 5", "a NS b", "a 300 IN A 192.0.2.1",
		"; a comment", "a TXT (", ")",
		"@ RRSIG SOA 13 2 300 20300101000000 20200101000000 1 @ AA=="};

	if (chance_below(chance, 2) == 0)
		put_zone_name(out, chance);
	else
		mutate_pick(out, firsts, WORDS_COUNT(firsts), chance);
}

/* The words of inputs that are an octet and a zone file. */
static const struct mutate_text words_zone = {
	.prefix = 1,
	.put_word = put_zone_word,
	.put_first = put_zone_first,
};

#endif
