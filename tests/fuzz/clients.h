/*
 * clients.h - clients of a TCP service that runs in the same thread: they keep
 * what they have said, and see that this is what was handed over, and that what
 * they hear are sound messages in its order. Plain, or over TLS.
 */
#ifndef TESTS_FUZZ_CLIENTS_H
#define TESTS_FUZZ_CLIENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/exchange.h"
#include "fuzz/wire.h"
#include "fuzz/world.h"

#define CLIENTS_MAX 32u

struct client {
	struct wire wire;
	uint16_t port; /* of its address: no two have the same */
	bool proxied;  /* sends a PROXY header first */
	bool broken;   /* cannot send any more */
	uint8_t *said;
	size_t said_len, said_size;
	size_t handed;  /* of what was said, what has been handed over */
	size_t replied; /* the same, of what has had a reply before */
	uint8_t *heard;
	size_t heard_len;
};

struct clients {
	struct client all[CLIENTS_MAX];
	size_t said_left; /* octets, of all of them */
};

/* Has turns of the service. */
typedef void clients_turn(void *ctx);

void clients_init(struct clients *clients);
/* Closes all. */
void clients_fini(struct clients *clients);

/* How one connects. */
struct client_way {
	int listener;
	struct world_peer peer; /* clients_open chooses the port */
	SSL_CTX *tls;           /* NULL: plain */
	bool proxied;
	bool silent;            /* with TLS: hands are not shaken */
};

/* Connects one, in the place of another. NULL: it could not. */
struct client *clients_open(struct clients *clients,
	unsigned i, const struct client_way *way, clients_turn *turn,
	void *ctx);
void clients_close(struct client *client);

/* Says octets, as far as they are taken. */
void clients_say(struct clients *clients,
	struct client *client, const uint8_t *octets, size_t len);

/* Hears up to so many octets. Returns how many messages are whole with them. */
size_t clients_hear(struct client *client, size_t max);

/* Sees whether a request on a stream is what its client has said. */
void clients_check(struct clients *clients, const struct exchange *x);

#endif
