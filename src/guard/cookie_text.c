/* cookie_text.c - secrets of cookies as text. */
#include <string.h>

#include "guard/cookie_text.h"

/* The value of a hex digit; 16: it is none. */
static unsigned
digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned)(c - 'a') + 10;
	if (c >= 'A' && c <= 'F')
		return (unsigned)(c - 'A') + 10;
	return 16;
}

bool
cookie_text_parse_secret(const char *text, size_t len,
	uint8_t secret[COOKIE_SECRET_LEN])
{
	if (len != COOKIE_TEXT_DIGITS)
		return false;
	for (size_t i = 0; i < COOKIE_SECRET_LEN; i++) {
		unsigned high = digit_value(text[2 * i]);
		unsigned low = digit_value(text[2 * i + 1]);

		if (high > 15 || low > 15)
			return false;
		secret[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

bool
cookie_text_parse(const char *text, size_t len, struct cookie_secrets *secrets)
{
	const char *end = text + len;

	memset(secrets, 0, sizeof(*secrets));
	while (text < end) {
		const char *line_end = memchr(text, '\n',
			(size_t)(end - text));
		const char *next;
		size_t line;

		if (line_end == NULL)
			line_end = end;
		next = line_end < end ? line_end + 1 : end;
		line = (size_t)(line_end - text);
		if (line > 0 && text[line - 1] == '\r')
			line--;
		if (line > 0) {
			if (secrets->count == COOKIE_SECRETS_MAX
				|| !cookie_text_parse_secret(text, line,
					secrets->secrets[secrets->count]))
				return false;
			secrets->count++;
		}
		text = next;
	}
	return secrets->count > 0;
}

void
cookie_text_print_secret(const uint8_t secret[COOKIE_SECRET_LEN],
	char out[COOKIE_TEXT_DIGITS + 1])
{
	static const char digits[16] = "0123456789abcdef";

	for (size_t i = 0; i < COOKIE_SECRET_LEN; i++) {
		out[2 * i] = digits[secret[i] >> 4];
		out[2 * i + 1] = digits[secret[i] & 15];
	}
	out[COOKIE_TEXT_DIGITS] = '\0';
}

size_t
cookie_text_print(const struct cookie_secrets *secrets,
	char out[COOKIE_TEXT_MAX])
{
	size_t len = 0;

	for (uint32_t i = 0; i < secrets->count && i < COOKIE_SECRETS_MAX;
		i++) {
		cookie_text_print_secret(secrets->secrets[i], out + len);
		len += COOKIE_TEXT_DIGITS;
		out[len++] = '\n';
	}
	out[len] = '\0';
	return len;
}
