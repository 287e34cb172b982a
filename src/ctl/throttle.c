/* throttle.c - bounds how many TLS handshakes a loop does for strangers. */
#include "throttle.h"

#include "crowd.h"

#define TOKEN 1000u

/* ---- slots --------------------------------------------------------------- */

static struct throttle_slot *
throttle_find_slot(struct ctl_throttle *throttle, uint64_t net)
{
	uint64_t x = net ^ throttle->seed;

	/* Each bit of the slot depends on each bit of the network. */
	for (unsigned i = 0; i < 2; i++) {
		x ^= x >> 32;
		x *= UINT64_C(0xd6e8feb86659fd93);
	}
	x ^= x >> 32;
	return &throttle->slots[x % THROTTLE_SLOTS];
}

/* The place of a network that is known, or NULL. */
static struct throttle_known *
throttle_find_known(struct ctl_throttle *throttle, uint64_t net,
	int64_t now_msec)
{
	for (unsigned i = 0; i < THROTTLE_KNOWN; i++) {
		struct throttle_known *known = &throttle->known[i];

		if (known->seen_msec != 0 && known->net == net
			&& now_msec - known->seen_msec < THROTTLE_KNOWN_MSEC)
			return known;
	}
	return NULL;
}

/* Takes the place of the known network that was not seen for longest. */
static struct throttle_known *
throttle_add_known(struct ctl_throttle *throttle, uint64_t net)
{
	struct throttle_known *known = &throttle->known[0];

	for (unsigned i = 1; i < THROTTLE_KNOWN; i++)
		if (throttle->known[i].seen_msec < known->seen_msec)
			known = &throttle->known[i];
	*known = (struct throttle_known){.net = net};
	return known;
}

/* Adds the tokens that have come since the last refill. */
static void
slot_refill(struct throttle_slot *slot, unsigned rate, int64_t now_msec)
{
	int64_t passed = now_msec - slot->at_msec;

	slot->at_msec = now_msec;
	if (passed > 1000000)
		slot->taken = 0;
	else if (passed > 0 && (uint64_t)passed * rate < slot->taken)
		slot->taken -= (uint32_t)passed * rate;
	else if (passed > 0)
		slot->taken = 0;
}

static bool
slot_has_token(const struct throttle_slot *slot, unsigned burst)
{
	return slot->taken + TOKEN <= burst * TOKEN;
}

static void
slot_give(struct throttle_slot *slot, unsigned count)
{
	uint32_t given = count * TOKEN;

	slot->taken = slot->taken > given ? slot->taken - given : 0;
}

/* ---- handshakes ---------------------------------------------------------- */

static bool
slot_take(struct throttle_slot *slot)
{
	slot->taken += TOKEN;
	return true;
}

bool
throttle_take(struct ctl_throttle *throttle,
	const struct sockaddr_storage *peer, int64_t now_msec)
{
	uint64_t net = crowd_find_net(peer);
	struct throttle_known *known = throttle_find_known(throttle, net,
		now_msec);
	struct throttle_slot *slot = known != NULL
		? &known->slot
		: throttle_find_slot(throttle, net);

	if (crowd_is_loopback(peer)) {
		slot = &throttle->loopback;
		slot_refill(slot, THROTTLE_ALL_RATE, now_msec);
		return slot_has_token(slot, THROTTLE_ALL_BURST)
			&& slot_take(slot);
	}
	slot_refill(slot, THROTTLE_NET_RATE, now_msec);
	slot_refill(&throttle->all, THROTTLE_ALL_RATE, now_msec);
	if (!slot_has_token(slot, THROTTLE_NET_BURST))
		return false;
	if (known != NULL)
		return slot_take(slot);
	return slot_has_token(&throttle->all, THROTTLE_ALL_BURST)
		&& slot_take(slot) && slot_take(&throttle->all);
}

void
throttle_give(struct ctl_throttle *throttle,
	const struct sockaddr_storage *peer, unsigned count, int64_t now_msec)
{
	uint64_t net = crowd_find_net(peer);
	struct throttle_known *known = throttle_find_known(throttle, net,
		now_msec);

	if (crowd_is_loopback(peer)) {
		slot_give(&throttle->loopback, count);
		return;
	}
	if (known != NULL) {
		slot_give(&known->slot, count);
	} else {
		slot_give(throttle_find_slot(throttle, net), count);
		slot_give(&throttle->all, count);
		known = throttle_add_known(throttle, net);
	}
	known->seen_msec = now_msec;
}

bool
throttle_knows(struct ctl_throttle *throttle,
	const struct sockaddr_storage *peer, int64_t now_msec)
{
	return crowd_is_loopback(peer)
		|| throttle_find_known(throttle, crowd_find_net(peer),
			   now_msec)
			!= NULL;
}
