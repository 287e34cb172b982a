/* words_control.h - words of clients of nsd-control and of the metrics, for
 * the targets that read them. */
#ifndef TESTS_FUZZ_WORDS_CONTROL_H
#define TESTS_FUZZ_WORDS_CONTROL_H

#include <stdio.h>

#include "ctl/verbs.h"
#include "fuzz/mutate_tokens.h"
#include "lib/chance.h"

/* The version of the protocol, verbs, and what these are about. */
static inline void
control_put_word(char out[MUTATE_WORD_MAX], uint64_t *chance)
{
	static const char *const words[] = {"NSDCT1", "NSDCT2", "example.",
		"a.b", "pattern", "key", "AAAA", "hmac-sha256", "%s", "\\",
		"0123456789abcdef0123456789abcdef", "1", "-1", "-j",
		"--no-wait", "\x04"};

	if (chance_below(chance, 2) == 0)
		snprintf(out, MUTATE_WORD_MAX, "%s", ctl_verb_rows[
			chance_below(chance, CTL_VERB_COUNT)].word);
	else
		mutate_pick(out, words, sizeof(words) / sizeof(*words),
			chance);
}

static inline void
control_put_first(char out[MUTATE_WORD_MAX], uint64_t *chance)
{
	int len = snprintf(out, MUTATE_WORD_MAX, "NSDCT%u ",
		1 + chance_below(chance, 8) / 7);
	char word[MUTATE_WORD_MAX];

	control_put_word(word, chance);
	snprintf(out + len, MUTATE_WORD_MAX - (size_t)len, "%.100s", word);
}

static inline void
http_put_word(char out[MUTATE_WORD_MAX], uint64_t *chance)
{
	static const char *const words[] = {"GET", "HEAD", "POST", "/metrics",
		"/", "/metrics?a", "HTTP/1.0", "HTTP/1.1", "HTTP/2", "Host:",
		"Host: a\r\n\r\n", "\r\n", "\r\n\r\n", "Connection:", "close",
		"Content-Length:", "Transfer-Encoding:", "chunked", "http://a/",
		"keep-alive"};

	mutate_pick(out, words, sizeof(words) / sizeof(*words), chance);
}

#endif
