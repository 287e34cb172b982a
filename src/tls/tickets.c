/*
 * tickets.c - tickets to resume sessions with (RFC 8446 section 4.6.1). All
 * workers have the same secret, from which the keys of each period of time
 * follow. So a session may be resumed with any of them, and none has to be told
 * of new keys.
 */
#include "config.h"

#include <openssl/core_names.h>
#include <openssl/hmac.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <string.h>
#include <time.h>

#include "base/octets.h"
#include "inside.h"

/* Time for which tickets are made with the same keys. They are read for a
 * second such period. */
#define PERIOD_SEC (6 * 3600)

static bool
tickets_derive(const struct tls_tickets *tickets, uint64_t period,
	uint8_t what, uint8_t out[TICKET_KEY_LEN])
{
	uint8_t of[9];
	unsigned len = TICKET_KEY_LEN;

	octets_put_u32(of, (uint32_t)(period >> 32));
	octets_put_u32(of + 4, (uint32_t)period);
	of[8] = what;
	return HMAC(EVP_sha256(), tickets->secret, sizeof(tickets->secret), of,
		       sizeof(of), out, &len)
		!= NULL;
}

/* Returns the keys of a period; NULL: OpenSSL cannot make them. */
static struct ticket_keys *
tickets_get(struct tls_tickets *tickets, uint64_t period)
{
	struct ticket_keys *keys = &tickets->keys[period & 1];
	uint8_t name[TICKET_KEY_LEN];

	if (keys->period == period)
		return keys;
	keys->period = 0;
	if (!tickets_derive(tickets, period, 1, keys->cipher)
		|| !tickets_derive(tickets, period, 2, keys->mac)
		|| !tickets_derive(tickets, period, 3, name))
		return NULL;
	memcpy(keys->name, name, sizeof(keys->name));
	keys->period = period;
	return keys;
}

/* Returns the keys that a ticket was made with, if it is not too old. */
static struct ticket_keys *
tickets_find(struct tls_tickets *tickets, const uint8_t *name, uint64_t now)
{
	for (uint64_t period = now; period + 1 >= now; period--) {
		struct ticket_keys *keys = tickets_get(tickets, period);

		if (keys != NULL
			&& memcmp(keys->name, name, TICKET_NAME_LEN) == 0)
			return keys;
	}
	return NULL;
}

static bool
tickets_set_mac(EVP_MAC_CTX *mac, struct ticket_keys *keys)
{
	static char digest[] = "SHA256";
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY,
			keys->mac, sizeof(keys->mac)),
		OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest,
			0),
		OSSL_PARAM_construct_end(),
	};

	return EVP_MAC_CTX_set_params(mac, params) == 1;
}

/* The callback of OpenSSL for the keys of a ticket. 1: they are set; 2: the
 * same, and the client is to have another ticket, so that no ticket is used
 * twice (RFC 8446 appendix C.4); 0: the session gets no ticket, or is not
 * resumed; -1: failure. */
static int
tickets_on_key(SSL *ssl, uint8_t *name, uint8_t *iv, EVP_CIPHER_CTX *cipher,
	EVP_MAC_CTX *mac, int making)
{
	struct tls_server *server
		= SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
	uint64_t now = (uint64_t)time(NULL) / PERIOD_SEC;
	struct ticket_keys *keys;

	/* A ticket of 1.2 has all that is needed to read the session (RFC 9325
	 * section 3.4). */
	if (SSL_version(ssl) < TLS1_3_VERSION)
		return 0;
	if (!making) {
		keys = tickets_find(&server->tickets, name, now);
		if (keys == NULL)
			return 0;
		return EVP_DecryptInit_ex(cipher, EVP_aes_256_cbc(), NULL,
			       keys->cipher, iv) == 1
				&& tickets_set_mac(mac, keys)
			? 2 : -1;
	}
	keys = tickets_get(&server->tickets, now);
	if (keys == NULL || RAND_bytes(iv, EVP_MAX_IV_LENGTH) != 1)
		return -1;
	memcpy(name, keys->name, TICKET_NAME_LEN);
	return EVP_EncryptInit_ex(cipher, EVP_aes_256_cbc(), NULL,
		       keys->cipher, iv) == 1
			&& tickets_set_mac(mac, keys)
		? 1 : -1;
}

void
tickets_use(SSL_CTX *ctx)
{
	SSL_CTX_set_timeout(ctx, PERIOD_SEC);
	SSL_CTX_set_num_tickets(ctx, 1);
	SSL_CTX_set_tlsext_ticket_key_evp_cb(ctx, tickets_on_key);
}
