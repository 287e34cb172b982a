/* hand.c - the messages that a process has in hand: xfrd notes its message, and
 * main reads those of a dead process. */
#include "config.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "process/hand.h"

/* ---- taking -------------------------------------------------------------- */

void
hand_take(struct hand *hand, enum hand_kind kind,
	const struct sockaddr_storage *peer, const void *octets, size_t len)
{
	if (hand == NULL)
		return;
	if (len > HAND_OCTETS_MAX)
		len = HAND_OCTETS_MAX;
	if (peer != NULL)
		hand->peer = *peer;
	else
		hand->peer.ss_family = AF_UNSPEC;
	memcpy(hand->octets, octets, len);
	hand->len = (uint32_t)len;
	__atomic_store_n(&hand->kind, (uint32_t)kind, __ATOMIC_RELEASE);
}

void
hand_drop(struct hand *hand)
{
	if (hand != NULL)
		__atomic_store_n(&hand->kind, HAND_NOTHING, __ATOMIC_RELEASE);
}

/* ---- reading ------------------------------------------------------------- */

/* Turns an address that the process has written into a pointer to the same
 * octets in main; NULL: they are not all within the hand. */
static const uint8_t *
hand_find(const struct hand *hand, uintptr_t there, size_t len)
{
	uintptr_t at = there - (uintptr_t)hand;

	if (at > sizeof(*hand) || len > sizeof(*hand) - at)
		return NULL;
	return (const uint8_t *)hand + at;
}

static void
message_check_peer(struct hand_message *m)
{
	if (m->peer.ss_family != AF_INET && m->peer.ss_family != AF_INET6)
		memset(&m->peer, 0, sizeof(m->peer));
}

static bool
hand_read_request(const struct hand *hand, uintptr_t there,
	struct hand_message *m)
{
	const uint8_t *at = hand_find(hand, there, sizeof(struct exchange));
	struct exchange x;

	if (at == NULL)
		return false;
	memcpy(&x, at, sizeof(x));
	if (x.request_len > HAND_OCTETS_MAX)
		return false;
	m->len = x.request_len;
	m->octets = hand_find(hand, (uintptr_t)x.request, m->len);
	if (m->octets == NULL)
		return false;
	m->kind = x.transport == TRANSPORT_TLS ? HAND_REQUEST_TLS
		: x.transport == TRANSPORT_TCP ? HAND_REQUEST_TCP
					       : HAND_REQUEST_UDP;
	m->peer.ss_family = AF_UNSPEC;
	at = hand_find(hand, (uintptr_t)x.peer, sizeof(m->peer));
	if (at != NULL)
		memcpy(&m->peer, at, sizeof(m->peer));
	message_check_peer(m);
	return true;
}

static bool
hand_read_copy(const struct hand *hand, struct hand_message *m)
{
	/* Read once, as the process may still write. */
	uint32_t kind = __atomic_load_n(&hand->kind, __ATOMIC_RELAXED);
	uint32_t len = __atomic_load_n(&hand->len, __ATOMIC_RELAXED);

	if (kind == HAND_NOTHING || kind >= HAND_KIND_COUNT
		|| len > HAND_OCTETS_MAX)
		return false;
	m->kind = (enum hand_kind)kind;
	m->peer = hand->peer;
	message_check_peer(m);
	m->octets = hand->octets;
	m->len = len;
	return true;
}

size_t
hand_read(const struct hand *hand,
	struct hand_message messages[HAND_MESSAGES_MAX])
{
	uint64_t requests = __atomic_load_n(&hand->request_count,
		__ATOMIC_RELAXED);
	uintptr_t first = (uintptr_t)__atomic_load_n(&hand->requests,
		__ATOMIC_RELAXED);
	size_t count = 0;

	if (requests > EXCHANGE_BATCH_MAX)
		requests = 0;
	for (size_t i = 0; i < requests; i++)
		count += hand_read_request(hand,
			first + i * sizeof(struct exchange),
			&messages[count]);
	return count + hand_read_copy(hand, &messages[count]);
}

const char *
hand_kind_text(enum hand_kind kind)
{
	static const char *const texts[HAND_KIND_COUNT] = {
		[HAND_NOTHING] = "nothing",
		[HAND_REQUEST_UDP] = "UDP request",
		[HAND_REQUEST_TCP] = "TCP request",
		[HAND_REQUEST_TLS] = "TLS request",
		[HAND_REPLY] = "reply of a primary",
		[HAND_NOTIFY] = "NOTIFY",
		[HAND_COMMAND] = "command",
	};

	assert(kind < HAND_KIND_COUNT);
	return texts[kind];
}
