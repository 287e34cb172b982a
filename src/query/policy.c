/* policy.c - whether update-policy allows all that an UPDATE changes. */
#include "query/policy.h"

#include "dns/name.h"

/* True if a policy allows a change of a record, which is kept in *fault. */
static bool
policy_allows_record(const struct update_policy *policy,
	const struct policy_request *request, const struct message_rr *rr,
	struct policy_fault *fault)
{
	fault->type = rr->type;
	if (message_expand_name(request->message, request->len, rr->owner_at,
		    &fault->owner)
		!= NSD_OK) {
		fault->owner.len = 0;
		return false;
	}
	return name_is_within(fault->owner.name, request->apex)
		&& update_policy_find(policy, request->key, request->apex,
			   fault->owner.name, rr->type)
			!= 0;
}

bool
policy_allows(const struct update_policy *policy,
	const struct policy_request *request, struct policy_fault *fault,
	unsigned *searches)
{
	struct message_question zone;
	struct message_rr rr;
	unsigned before, count;
	struct cursor c;

	fault->owner.len = 0;
	*searches = 0;
	cursor_init(&c, request->message, request->len);
	if (policy == NULL || request->key == STORE_NONE
		|| cursor_read_octets(&c, MESSAGE_HEADER_LEN) == NULL
		|| message_read_question(&c, &zone) != NSD_OK)
		return false;
	before = message_get_count(request->message, MESSAGE_ANCOUNT);
	count = message_get_count(request->message, MESSAGE_NSCOUNT);
	for (unsigned i = 0; i < before + count; i++) {
		if (message_read_rr(&c, &rr) != NSD_OK) {
			fault->owner.len = 0;
			return false;
		}
		if (i < before)
			continue;
		++*searches;
		if (!policy_allows_record(policy, request, &rr, fault))
			return false;
	}
	fault->owner.len = 0;
	return count > 0;
}
