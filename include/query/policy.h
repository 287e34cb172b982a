/*
 * policy.h - whether the lines of update-policy allow all that an UPDATE of a
 * client changes. Workers ask before a request is passed on, and xfrd asks
 * again.
 */
#ifndef QUERY_POLICY_H
#define QUERY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dns/message.h"
#include "settings/update_policy.h"

struct policy_request {
	const uint8_t *message; /* any octets */
	size_t len;
	const uint8_t *apex;    /* of the zone, wire form, lower case */
	store_ref key;          /* of the signature; none: unsigned */
};

/* A record that a policy does not allow. */
struct policy_fault {
	struct message_name owner; /* len 0: there is no such record */
	uint16_t type;
};

/*
 * True if a policy allows each record of the update section, and there is one.
 * A name outside the zone is never allowed. policy: NULL allows nothing.
 * out: *fault: the first record that is not allowed; *searches: looks into the
 *     policy (update_policy_find), each of which has its cost.
 * False without a fault: no record, no key, or a message that is not
 * well-formed. Does not block.
 */
bool policy_allows(const struct update_policy *policy,
	const struct policy_request *request, struct policy_fault *fault,
	unsigned *searches);

#endif
