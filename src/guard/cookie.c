/* cookie.c - server cookies (RFC 9018). */
#include "guard/cookie.h"

#include <netinet/in.h>
#include <string.h>

#include "base/octets.h"
#include "base/siphash.h"

/* gcc says that ThreadSanitizer knows nothing of fences. */
#ifdef __SANITIZE_THREAD__
#pragma GCC diagnostic ignored "-Wtsan"
#endif

#define VERSION 1u
#define TIME_AT (COOKIE_CLIENT_LEN + 4)
#define HASH_AT (COOKIE_CLIENT_LEN + 8)
#define HASH_LEN (COOKIE_SERVER_LEN - 8)

/* Seconds, RFC 9018 section 4.3. */
#define AGE_MAX (60 * 60)
#define AGE_RENEW (30 * 60)
#define FUTURE_MAX (5 * 60)

/* The hash of all that comes before it in a cookie, and the address:
 * SipHash-2-4 of 20 or 32 octets, word by word. */
static uint64_t
hash_cookie(const uint8_t secret[COOKIE_SECRET_LEN],
	const uint8_t cookie[HASH_AT], const struct sockaddr_storage *client)
{
	const struct sockaddr_in *ip4 = (const struct sockaddr_in *)client;
	const struct sockaddr_in6 *ip6 = (const struct sockaddr_in6 *)client;
	uint64_t last;
	struct siphash s;

	siphash_begin(&s, secret);
	siphash_add(&s, siphash_word(cookie), 2);
	siphash_add(&s, siphash_word(cookie + 8), 2);
	if (client->ss_family == AF_INET6) {
		siphash_add(&s, siphash_word(ip6->sin6_addr.s6_addr), 2);
		siphash_add(&s, siphash_word(ip6->sin6_addr.s6_addr + 8), 2);
		last = (uint64_t)(HASH_AT + 16) << 56;
	} else {
		last = le32toh(ip4->sin_addr.s_addr)
			| (uint64_t)(HASH_AT + 4) << 56;
	}
	siphash_add(&s, last, 2);
	return siphash_end(&s, 4);
}

static enum cookie_state
check_age(uint32_t made_sec, uint32_t now_sec)
{
	int32_t age = (int32_t)(now_sec - made_sec);

	if (age > AGE_MAX || age < -FUTURE_MAX)
		return COOKIE_BAD;
	return age > AGE_RENEW ? COOKIE_RENEW : COOKIE_GOOD;
}

enum cookie_state
cookie_check(const struct cookie_secrets *secrets, const uint8_t *cookie,
	size_t len, const struct sockaddr_storage *client, uint32_t now_sec)
{
	enum cookie_state state;
	uint64_t is;

	if (len < COOKIE_CLIENT_LEN)
		return COOKIE_NONE;
	if (len == COOKIE_CLIENT_LEN)
		return COOKIE_FIRST;
	if (len != COOKIE_LEN || cookie[COOKIE_CLIENT_LEN] != VERSION)
		return COOKIE_BAD;
	state = check_age(octets_get_u32(cookie + TIME_AT), now_sec);
	if (state == COOKIE_BAD)
		return COOKIE_BAD;
	is = siphash_word(cookie + HASH_AT);
	for (uint32_t i = 0; i < secrets->count && i < COOKIE_SECRETS_MAX; i++)
		/* Words: the time of a comparison tells nothing. */
		if (hash_cookie(secrets->secrets[i], cookie, client) == is)
			return i == 0 ? state : COOKIE_RENEW;
	return COOKIE_BAD;
}

void
cookie_make(const struct cookie_secrets *secrets,
	const uint8_t client_cookie[COOKIE_CLIENT_LEN],
	const struct sockaddr_storage *client, uint32_t now_sec,
	uint8_t cookie[COOKIE_LEN])
{
	static const uint8_t head[4] = {VERSION, 0, 0, 0};
	uint64_t word;

	memmove(cookie, client_cookie, COOKIE_CLIENT_LEN);
	memcpy(cookie + COOKIE_CLIENT_LEN, head, sizeof(head));
	octets_put_u32(cookie + TIME_AT, now_sec);
	word = htole64(hash_cookie(secrets->secrets[0], cookie, client));
	memcpy(cookie + HASH_AT, &word, HASH_LEN);
}

/* Writes the secrets octet by octet, atomically: another process may read them
 * meanwhile. */
static void
slot_write(struct cookie_secrets *slot, const struct cookie_secrets *secrets)
{
	const uint8_t *from = (const uint8_t *)secrets;
	uint8_t *to = (uint8_t *)slot;

	for (size_t i = 0; i < sizeof(*slot); i++)
		__atomic_store_n(&to[i], from[i], __ATOMIC_RELAXED);
}

static void
slot_read(const struct cookie_secrets *slot, struct cookie_secrets *secrets)
{
	const uint8_t *from = (const uint8_t *)slot;
	uint8_t *to = (uint8_t *)secrets;

	for (size_t i = 0; i < sizeof(*slot); i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

void
cookie_share_write(struct cookie_share *share,
	const struct cookie_secrets *secrets)
{
	static const struct cookie_secrets none = {.count = 0};
	uint64_t version = share->version + 1;

	slot_write(&share->slots[version % 2], secrets);
	__atomic_store_n(&share->version, version, __ATOMIC_RELEASE);
	/* Release: a reader of an octet written from here on, in this call or
	 * the next, finds that the version has changed. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	slot_write(&share->slots[(version + 1) % 2], &none);
}

void
cookie_share_read(const struct cookie_share *share, uint64_t *version,
	struct cookie_secrets *secrets)
{
	uint64_t now = __atomic_load_n(&share->version, __ATOMIC_ACQUIRE);
	struct cookie_secrets copy;

	if (now == *version)
		return;
	slot_read(&share->slots[now % 2], &copy);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	/* A slot is wiped when the other one has been written. */
	if (__atomic_load_n(&share->version, __ATOMIC_RELAXED) == now) {
		*secrets = copy;
		*version = now;
	}
	explicit_bzero(&copy, sizeof(copy));
}
