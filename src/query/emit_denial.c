/* emit_denial.c - NSEC and NSEC3 records to wire form in a reply. */
#include <string.h>

#include "dns/rrtype.h"
#include "query/emit_denial.h"

#define POINTER 0xc000u

/* Where in a name's labels each begins; returns their count. */
static unsigned
split(const uint8_t *labels, unsigned len, uint8_t at[NAME_MAX_LABELS + 1])
{
	unsigned count = 0;

	for (unsigned i = 0; i < len; i += 1u + labels[i])
		at[count++] = (uint8_t)i;
	at[count] = (uint8_t)len;
	return count;
}

/* Labels at the end of both names, below the apex, that are the same. */
static unsigned
count_common(const struct search *s, const uint8_t *labels,
	const uint8_t *label_at, unsigned count)
{
	const struct message_name *name = s->name;
	unsigned below = name->count - s->zone_labels, common = 0;

	while (common < count && common < below) {
		const uint8_t *a = labels + label_at[count - common - 1];
		const uint8_t *b = name->name
			+ name->label_at[below - common - 1];

		if (*a != *b || memcmp(a, b, 1u + *a) != 0)
			break;
		common++;
	}
	return common;
}

bool
emit_make_owner(const struct reply *reply, const struct search *s,
	const uint8_t *labels, unsigned len, struct emit_owner *owner)
{
	uint8_t label_at[NAME_MAX_LABELS + 1];
	unsigned count = split(labels, len, label_at);
	unsigned common = count_common(s, labels, label_at, count);
	unsigned apex_len = s->entry->leaf.name_len + 1u;
	uint32_t at = emit_suffix_at(reply->out, s->name_at,
		s->name->count - s->zone_labels - common);

	if (len + apex_len > NAME_MAX_LEN)
		return false;
	if (at > MESSAGE_POINTER_MAX) {
		memcpy(owner->octets, labels, len);
		memcpy(owner->octets + len, s->entry->name, apex_len);
		owner->len = (uint16_t)(len + apex_len);
		return true;
	}
	len = label_at[count - common];
	memcpy(owner->octets, labels, len);
	octets_put_u16(owner->octets + len, (uint16_t)(POINTER | at));
	owner->len = (uint16_t)(len + 2);
	return true;
}

bool
emit_denial(struct reply *reply, const struct emit_owner *owner,
	const struct rrset *rrset, store_ref sigs, uint32_t ttl_sec)
{
	struct emit_mark mark = emit_get_mark(reply);
	const uint8_t *rr = rrset->data;
	const uint8_t *end = rr + rrset_len(rrset);
	uint32_t owner_at = reply->len;

	while (rr < end) {
		uint32_t len = 2u + octets_get_u16(rr);
		uint8_t *out = reply->out + reply->len;

		if (owner->len + RRSET_RR_HEAD - 2u + len > emit_room(reply)) {
			emit_reset(reply, &mark);
			return false;
		}
		memcpy(out, owner->octets, owner->len);
		out += owner->len;
		octets_put_u16(out, rrset->type);
		octets_put_u16(out + 2, CLASS_IN);
		octets_put_u32(out + 4, ttl_sec);
		memcpy(out + RRSET_RR_HEAD - 2, rr, len);
		reply->len += owner->len + RRSET_RR_HEAD - 2u + len;
		reply->count[SECTION_AUTHORITY]++;
		rr += len;
	}
	if (sigs == STORE_NONE || emit_sigs(reply, SECTION_AUTHORITY, sigs,
			owner_at, ttl_sec))
		return true;
	emit_reset(reply, &mark);
	return false;
}
