/*
 * cookie.h - DNS cookies (RFC 7873), in the common form (RFC 9018): so servers
 * of one address may share their secrets.
 *
 * A server cookie has 16 octets (RFC 9018 section 4):
 *
 *   +0 version 1: 1      +1 reserved 3: 0
 *   +4 time 4: seconds since 1970 modulo 2^32, network order
 *   +8 hash 8: SipHash-2-4 of client cookie, version to time, client address
 *
 * Nothing here allocates, has state, or knows the time.
 */
#ifndef GUARD_COOKIE_H
#define GUARD_COOKIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define COOKIE_CLIENT_LEN 8u
#define COOKIE_SERVER_LEN 16u
#define COOKIE_LEN (COOKIE_CLIENT_LEN + COOKIE_SERVER_LEN)
#define COOKIE_SECRET_LEN 16u
/* The active secret, by which cookies are made, and the staged one. */
#define COOKIE_SECRETS_MAX 2u

struct cookie_secrets {
	uint32_t count; /* up to COOKIE_SECRETS_MAX; 0: no cookies are made */
	uint8_t secrets[COOKIE_SECRETS_MAX][COOKIE_SECRET_LEN];
};

/* The verdict on a client's cookie. */
enum cookie_state {
	COOKIE_NONE,   /* the request has none */
	COOKIE_FIRST,  /* a client cookie alone */
	COOKIE_BAD,    /* made with another secret, for another client, or out
			* of date */
	COOKIE_RENEW,  /* good, but to be replaced by a fresh one (RFC 9018
			* section 4.3: half an hour old), or of the staged
			* secret */
	COOKIE_GOOD,   /* good, and may be sent again as it is */
};

/*
 * Checks the octets of a cookie option.
 * in: len octets of any content; the client's address (its port does not
 * count); now_sec: since 1970. A cookie is good for an hour, and from five
 * minutes in the future (RFC 9018 section 4.3); times are compared modulo 2^32
 * (RFC 1982).
 * Cost: a hash for each secret at most, compared in constant time.
 */
enum cookie_state cookie_check(const struct cookie_secrets *secrets,
	const uint8_t *cookie, size_t len,
	const struct sockaddr_storage *client, uint32_t now_sec);

/* Makes a fresh cookie with the active secret, which must be there, for a
 * client cookie: all COOKIE_LEN octets. */
void cookie_make(const struct cookie_secrets *secrets,
	const uint8_t client_cookie[COOKIE_CLIENT_LEN],
	const struct sockaddr_storage *client, uint32_t now_sec,
	uint8_t cookie[COOKIE_LEN]);

/*
 * Secrets in memory that main writes and workers read, all zeros at first. Main
 * may die while it writes; readers do not wait for it.
 */
struct cookie_share {
	uint64_t version; /* count of writes; the secrets are in slots[version %
			   * 2], the other slot is all zeros */
	struct cookie_secrets slots[2];
};

/* Replaces the secrets. One process writes at a time. */
void cookie_share_write(struct cookie_share *share,
	const struct cookie_secrets *secrets);
/* Copies the secrets if they are others than those of *version. If they change
 * while they are copied, nothing is changed, and the next call copies them.
 * Cost without a change: a load. */
void cookie_share_read(const struct cookie_share *share, uint64_t *version,
	struct cookie_secrets *secrets);

#endif
