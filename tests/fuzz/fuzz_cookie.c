/*
 * fuzz_cookie.c - cookies and files of their secrets. The first octet says
 * which of both; a file that is read is printed and read again; a cookie that
 * is taken is one that we have made.
 */
#include <netinet/in.h>
#include <string.h>

#include "fuzz/mutate_tokens.h"
#include "guard/cookie.h"
#include "guard/cookie_text.h"
#include "lib/chance.h"
#include "target.h"

static void
read_file(const uint8_t *data, size_t size)
{
	char text[COOKIE_TEXT_MAX];
	struct cookie_secrets secrets, again;
	size_t len;

	if (!cookie_text_parse((const char *)data, size, &secrets))
		return;
	MUST(secrets.count >= 1 && secrets.count <= COOKIE_SECRETS_MAX);
	len = cookie_text_print(&secrets, text);
	MUST(len == secrets.count * (COOKIE_TEXT_DIGITS + 1));
	MUST(cookie_text_parse(text, len, &again));
	MUST(memcmp(&secrets, &again, sizeof(secrets)) == 0);
}

/* The first four octets are the time, the rest is the cookie. */
static void
check_cookie(const uint8_t *data, size_t size)
{
	static const struct cookie_secrets secrets = {2,
		{"sixteen octets A", "sixteen octets B"}};
	struct sockaddr_storage client = {.ss_family = AF_INET6};
	uint8_t fresh[COOKIE_LEN];
	enum cookie_state state;
	uint32_t now_sec;

	if (size < sizeof(now_sec))
		return;
	memcpy(&now_sec, data, sizeof(now_sec));
	data += sizeof(now_sec);
	size -= sizeof(now_sec);
	if (now_sec % 2 == 0)
		client.ss_family = AF_INET;
	state = cookie_check(&secrets, data, size, &client, now_sec);
	MUST((state == COOKIE_NONE) == (size < COOKIE_CLIENT_LEN));
	MUST((state == COOKIE_FIRST) == (size == COOKIE_CLIENT_LEN));
	if (size < COOKIE_CLIENT_LEN)
		return;
	cookie_make(&secrets, data, &client, now_sec, fresh);
	MUST(cookie_check(&secrets, fresh, sizeof(fresh), &client, now_sec)
		== COOKIE_GOOD);
	fresh[now_sec % sizeof(fresh)] ^= 1;
	MUST(cookie_check(&secrets, fresh, sizeof(fresh), &client, now_sec)
		== COOKIE_BAD);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if (data[0] % 2 == 0)
		read_file(data + 1, size - 1);
	else
		check_cookie(data + 1, size - 1);
	return 0;
}

/* ---- for the fuzzer ------------------------------------------------------ */

static void
put_word(char out[MUTATE_WORD_MAX], uint64_t *chance)
{
	static const char *const words[] = {"00112233445566778899aabbccddeeff",
		"00112233445566778899AABBCCDDEEFF\n", "0", "\n", "#",
		"00112233445566778899aabbccddeef"};

	mutate_pick(out, words, sizeof(words) / sizeof(*words), chance);
}

static const struct mutate_text text_of_file = {
	.prefix = 1,
	.put_word = put_word,
};

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	uint64_t chance = seed;

	if (size > 0 && data[0] % 2 != 0)
		return mutate_octets(&chance, data, size, max);
	return mutate_tokens(&text_of_file, data, size, max, seed);
}

