/*
 * cookie_text.h - secrets of cookies as text, as in the file of
 * cookie-secret-file: a secret of 32 hex digits a line, the active one first.
 */
#ifndef GUARD_COOKIE_TEXT_H
#define GUARD_COOKIE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "guard/cookie.h"

#define COOKIE_TEXT_DIGITS (2 * COOKIE_SECRET_LEN)
/* The longest text that is printed, with its final NUL. */
#define COOKIE_TEXT_MAX (COOKIE_SECRETS_MAX * (COOKIE_TEXT_DIGITS + 1) + 1)

/* Parses one secret: COOKIE_TEXT_DIGITS digits and nothing else. */
bool cookie_text_parse_secret(const char *text, size_t len,
	uint8_t secret[COOKIE_SECRET_LEN]) MUST_USE;

/*
 * Parses a whole file. Lines may be empty, or end in CR LF; the last line need
 * not end. True: secrets has 1 to COOKIE_SECRETS_MAX. False: the text has no
 * secrets, more of them, or anything else; secrets has no defined value then.
 */
bool cookie_text_parse(const char *text, size_t len,
	struct cookie_secrets *secrets) MUST_USE;

/* Print one secret, with a final NUL; or all, a line each. cookie_text_print
 * returns the length without the NUL. */
void cookie_text_print_secret(const uint8_t secret[COOKIE_SECRET_LEN],
	char out[COOKIE_TEXT_DIGITS + 1]);
size_t cookie_text_print(const struct cookie_secrets *secrets,
	char out[COOKIE_TEXT_MAX]);

#endif
