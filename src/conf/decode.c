/* decode.c - turns words of nsd.conf into numbers, octets and names of
 * algorithms. */
#include <string.h>
#include <strings.h>

#include "conf/parser.h"

bool
decode_number(const char *text, uint64_t *number)
{
	uint64_t n = 0;

	if (*text == '\0')
		return false;
	for (; *text != '\0'; text++) {
		if (*text < '0' || *text > '9')
			return false;
		/* A number over all ranges stays over them. */
		n = n > UINT64_MAX / 10 - 1 ? UINT64_MAX
			: n * 10 + (uint64_t)(*text - '0');
	}
	*number = n;
	return true;
}

int
decode_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

const char *
decode_algorithm(const char *text)
{
	static const char *const names[] = { "hmac-md5", "hmac-sha1",
		"hmac-sha224", "hmac-sha256", "hmac-sha384", "hmac-sha512" };
	size_t i;

	if (strcasecmp(text, "hmac-md5.sig-alg.reg.int") == 0
		|| strcasecmp(text, "hmac-md5.sig-alg.reg.int.") == 0)
		return names[0];
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcasecmp(text, names[i]) == 0
			|| strcasecmp(text, names[i] + 5) == 0)
			return names[i];
	return NULL;
}

static int
base64_digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Base64 of RFC 4648 section 4, with blanks anywhere. */
const uint8_t *
decode_base64(struct arena *arena, const char *text, uint32_t *len)
{
	uint8_t *data = arena_alloc(arena, strlen(text) / 4 * 3 + 3);
	uint32_t digits = 0, pads = 0, bits = 0, count = 0;
	int digit;

	if (data == NULL)
		return NULL;
	for (; *text != '\0'; text++) {
		if (strchr(" \t\r\n", *text) != NULL)
			continue;
		if (*text == '=') {
			pads++;
			continue;
		}
		digit = base64_digit(*text);
		if (digit < 0 || pads > 0)
			return NULL;
		bits = bits << 6 | (uint32_t)digit;
		/* The second to the fourth digit each complete an octet. */
		if (digits++ % 4 != 0)
			data[count++] = (uint8_t)(bits >>
				(6 - 2 * ((digits - 1) % 4)));
	}
	if (pads > 2 || (digits + pads) % 4 != 0)
		return NULL;
	*len = count;
	return data;
}
