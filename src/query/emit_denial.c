/* emit_denial.c - writes NSEC and NSEC3 records into a reply. */
#include <string.h>

#include "dns/rrtype.h"
#include "query/denial_kind.h"
#include "query/emit_denial.h"

#define HEAD_AFTER_OWNER 8u /* octets of type, class and TTL */

/* Finds where each label begins; returns how many there are. */
static unsigned
split_labels(const uint8_t *labels, unsigned len,
	uint8_t at[NAME_MAX_LABELS + 1])
{
	unsigned count = 0;

	for (unsigned i = 0; i < len; i += 1u + labels[i])
		at[count++] = (uint8_t)i;
	at[count] = (uint8_t)len;
	return count;
}

/* Counts the labels below the apex that both names share, from the apex. */
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

/* Writes where an owner goes on in the reply, behind len octets: a pointer, or
 * the root, which is shorter. */
static inline void
put_rest(const struct reply *reply, uint32_t at, unsigned len,
	struct emit_owner *owner)
{
	octets_put_u16(owner->octets + len, (uint16_t)(EMIT_POINTER | at));
	owner->len = (uint16_t)(len + 2);
	if (reply->out[at] != 0)
		return;
	owner->octets[len] = 0;
	owner->len = (uint16_t)(len + 1);
}

bool
emit_make_owner(const struct reply *reply, const struct search *s,
	const uint8_t *labels, unsigned len, struct emit_owner *owner)
{
	uint8_t label_at[NAME_MAX_LABELS + 1];
	unsigned count = split_labels(labels, len, label_at);
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
	put_rest(reply, at, len, owner);
	return true;
}

/* Writes the signatures behind what they cover. If they do not fit, takes back
 * all since the mark, and returns false. */
static bool
emit_sigs_or_reset(struct reply *reply, const struct rrset_sigs *sigs,
	uint32_t owner_at, uint32_t ttl_sec, const struct emit_mark *mark)
{
	if (sigs == NULL || emit_sig_list(reply, SECTION_AUTHORITY, sigs,
			owner_at, ttl_sec))
		return true;
	emit_reset(reply, mark);
	return false;
}

/* Writes owner, type, class and TTL. The caller has checked that there is
 * room. */
static uint8_t *
write_head(uint8_t *out, const struct emit_owner *owner, uint16_t type,
	uint32_t ttl_sec)
{
	memcpy(out, owner->octets, owner->len);
	out += owner->len;
	octets_put_u16(out, type);
	octets_put_u16(out + 2, CLASS_IN);
	octets_put_u32(out + 4, ttl_sec);
	return out + HEAD_AFTER_OWNER;
}

bool
emit_denial(struct reply *reply, const struct emit_owner *owner,
	const struct rrset *rrset, const struct rrset_sigs *sigs,
	uint32_t ttl_sec)
{
	struct emit_mark mark = emit_get_mark(reply);
	const uint8_t *rr = rrset->data;
	const uint8_t *end = rr + rrset_len(rrset);

	while (rr < end) {
		uint32_t rr_len = 2u + octets_get_u16(rr);
		uint32_t len = owner->len + HEAD_AFTER_OWNER + rr_len;
		uint8_t *out = reply->out + reply->len;

		if (len > emit_room(reply)) {
			emit_reset(reply, &mark);
			return false;
		}
		memcpy(write_head(out, owner, rrset->type, ttl_sec), rr,
			rr_len);
		reply->len += len;
		reply->count[SECTION_AUTHORITY]++;
		rr += rr_len;
	}
	return emit_sigs_or_reset(reply, sigs, mark.len, ttl_sec, &mark);
}

/* RFC 5155 section 3: the hash is a label below the apex. */
static bool
make_hash_owner(const struct reply *reply, const struct search *s,
	const uint8_t *hash, struct emit_owner *owner)
{
	unsigned apex_len = s->entry->leaf.name_len + 1u;
	uint32_t at = emit_suffix_at(reply->out, s->name_at,
		s->name->count - s->zone_labels);

	if (1 + NSEC3_LABEL_LEN + apex_len > NAME_MAX_LEN)
		return false;
	owner->octets[0] = NSEC3_LABEL_LEN;
	nsec3_print_label(hash, owner->octets + 1);
	owner->len = 1 + NSEC3_LABEL_LEN;
	if (at > MESSAGE_POINTER_MAX) {
		memcpy(owner->octets + owner->len, s->entry->name, apex_len);
		owner->len = (uint16_t)(owner->len + apex_len);
	} else {
		put_rest(reply, at, owner->len, owner);
	}
	return true;
}

/* Writes one record, put together from the parts that the chain keeps. */
static bool
emit_template(struct reply *reply, const struct emit_owner *owner,
	const struct nsec3_find *found, const struct nsec3_template *template,
	uint32_t ttl_sec)
{
	uint32_t rdlen = template->head_len + NSEC3_HASH_LEN
		+ template->bitmap_len;
	uint32_t len = owner->len + HEAD_AFTER_OWNER + 2 + rdlen;
	uint8_t *out;

	if (len > emit_room(reply))
		return false;
	out = write_head(reply->out + reply->len, owner, TYPE_NSEC3, ttl_sec);
	octets_put_u16(out, (uint16_t)rdlen);
	out += 2;
	memcpy(out, template->data, template->head_len);
	out += template->head_len;
	memcpy(out, found->next_hash, NSEC3_HASH_LEN);
	memcpy(out + NSEC3_HASH_LEN, template->data + template->head_len,
		template->bitmap_len);
	reply->len += len;
	reply->count[SECTION_AUTHORITY]++;
	return true;
}

bool
emit_nsec3(struct reply *reply, const struct search *s,
	const struct nsec3_find *found)
{
	const struct nsec3_record *record = found->record;
	const struct rrset_sigs *sigs = record->sigs.count > 0
		? &record->sigs : NULL;
	struct emit_mark mark = emit_get_mark(reply);
	const struct nsec3_template *template;
	struct emit_owner owner;
	uint32_t ttl_sec;

	if (!make_hash_owner(reply, s, found->owner_hash, &owner))
		return true;
	if ((record->flags & NSEC3_RRSET) != 0) {
		const struct rrset *rrset = store_get(reply->view,
			record->template);

		return emit_denial(reply, &owner, rrset, sigs,
			denial_ttl(s->zone, rrset->ttl_sec));
	}
	template = store_get(reply->view, record->template);
	ttl_sec = denial_ttl(s->zone, template->ttl_sec);
	return emit_template(reply, &owner, found, template, ttl_sec)
		&& emit_sigs_or_reset(reply, sigs, mark.len, ttl_sec, &mark);
}
