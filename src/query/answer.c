/* answer.c - composes answers, following CNAME and DNAME. */
#include <string.h>

#include "base/assert.h"
#include "dns/rrtype.h"
#include "query/answer.h"
#include "query/authority.h"
#include "query/denial.h"
#include "query/emit.h"
#include "query/lookup.h"
#include "query/zones.h"

#define DNAME_TOO_LONG "DNAME expansion became too large"
#define TOO_LARGE "Answer exceeds 65535 octets"

/* If a wildcard answered for the name in hand, notes that it needs a proof. */
static void
note_expansion(struct query *q)
{
	const struct search *s = &q->search;
	struct expansion *e = &q->expansions[q->expansion_count];

	if (!s->from_wildcard || !query_wants_proof(q, s->zone))
		return;
	ASSERT_HOT(q->expansion_count <= LINKS_MAX);
	e->entry = s->entry;
	e->zone = s->zone;
	e->encloser = s->encloser;
	e->name_at = s->name_at;
	q->expansion_count++;
}

/*
 * The RR that an RRset begins with this time (round-robin). Each RRset has a
 * counter, so that those which are asked for in turn, such as A and AAAA, all
 * go around. The first label counts too: names that share a wildcard or equal
 * contents have counters of their own. Two may have the same one by chance.
 */
static __attribute__((noinline)) uint32_t
next_rotation(struct query_ctx *ctx, const struct search *s,
	const struct node_rrset *entry, uint32_t count)
{
	const uint8_t *label = s->name->name;
	uint32_t hash = entry->ref;

	for (unsigned i = 0; i <= label[0]; i++)
		hash = (hash ^ label[i]) * 0x01000193u;
	hash = (hash * 0x9e3779b1u) >> (32 - QUERY_ROTATION_BITS);
	return ctx->rotations[hash]++ % count;
}

/* Puts an entry of the search's node into the answer section. */
static bool
add_entry(struct query_ctx *ctx, struct query *q,
	const struct node_rrset *entry, uint32_t owner_at,
	struct placed *placed)
{
	const struct search *s = &q->search;
	const struct rrset *rrset = store_get(ctx->view, entry->ref);
	struct emit_rrset what = {
		.section = SECTION_ANSWER,
		.owner_at = owner_at,
		.ttl_sec = rrset->ttl_sec,
		.rrset = rrset,
	};

	/* Whether it can be rotated is seen by a look at all its names. */
	if (ctx->settings->round_robin
		&& rrset_len(rrset) <= emit_room(&q->reply)
		&& emit_can_rotate(rrset))
		what.rotate = next_rotation(ctx, s, entry, rrset->count);
	return emit_signed(q, &what, node_entry_sigs(s->node, entry),
		placed);
}

/* The index of the node's DNAME among those in the reply; dname_count if it is
 * not there. */
static unsigned
find_dname(const struct query *q, const struct node *node)
{
	unsigned i = 0;

	while (i < q->dname_count && q->dnames[i].node != node)
		i++;
	return i;
}

static bool
has_dname_in_reply(const struct query *q)
{
	return !q->search.from_wildcard
		&& find_dname(q, q->search.node) < q->dname_count;
}

static void
answer_hit(struct query_ctx *ctx, struct query *q,
	const struct node_rrset *entry)
{
	struct placed *placed = &q->placed[0];

	note_expansion(q);
	/* The chain may have come here by this same DNAME: it is there once. */
	if (entry->type == TYPE_DNAME && has_dname_in_reply(q))
		return;
	if (!add_entry(ctx, q, entry, q->search.name_at, placed))
		return;
	placed->zone = q->search.zone;
	placed->node = q->search.node;
	q->placed_count = 1;
}

/* Answers QTYPE RRSIG with the signatures at the name; of very many types, with
 * those of the first. */
static void
answer_sigs(struct query_ctx *ctx, struct query *q)
{
	const struct node *node = q->search.node;
	const struct node_rrset *e = node_entries(node);

	note_expansion(q);
	for (unsigned i = 0; i < node->entry_count && i < QUERY_ENTRIES_MAX;
		i++) {
		const struct rrset_sigs *sigs;

		if ((e[i].flags & NODE_RRSET_SIGS) == 0
			|| (e[i].type == TYPE_DNAME && query_wants_dnssec(q)
				&& has_dname_in_reply(q)))
			continue;
		sigs = store_get(ctx->view, e[i].ref);
		if (!emit_sigs(&q->reply, SECTION_ANSWER, e[i].ref,
				q->search.name_at, sigs->ttl_sec)) {
			q->reply.flags |= MESSAGE_TC;
			return;
		}
	}
}

/* Tells the reply which zone the search is in now. */
static void
enter_zone(struct query *q)
{
	const struct search *s = &q->search;

	emit_set_apex(&q->reply, s->entry->name, emit_suffix_at(q->reply.out,
		s->name_at, s->name->count - s->zone_labels));
}

/*
 * Goes on with the target of a CNAME, a name that is in the reply by now.
 * False if the chain ends here: it is too long or a loop, or the name is not
 * served.
 */
static bool
follow_cname(struct query_ctx *ctx, struct query *q, uint32_t target_at)
{
	struct search *s = &q->search;
	unsigned most = ctx->options.cname_max;

	if (q->link_count >= (most < LINKS_MAX ? most : LINKS_MAX))
		return false;
	q->links_at[q->link_count++] = s->name_at;
	for (unsigned i = 0; i < q->link_count; i++)
		if (emit_names_equal(q->reply.out, q->links_at[i], target_at))
			return false;
	if (message_expand_name(q->reply.out, q->reply.len, target_at,
			&ctx->link) != NSD_OK
		|| !zones_follow(ctx, q, s, &ctx->link))
		return false;
	s->name_at = target_at;
	enter_zone(q);
	lookup_one(ctx, s, q->question.type);
	return s->outcome != OUTCOME_BROKEN;
}

static bool
answer_cname(struct query_ctx *ctx, struct query *q)
{
	struct placed placed;

	note_expansion(q);
	if (!add_entry(ctx, q, q->search.found, q->search.name_at, &placed))
		return false;
	return follow_cname(ctx, q, emit_rdata_at(&placed));
}

/*
 * Writes the CNAME that a DNAME stands for (RFC 6672 section 3.1). Its target
 * has the labels that the name in hand has before the DNAME's owner, and behind
 * them the DNAME's target. The labels are copied from the reply, so they keep
 * their case. False: TC is set, there was no room.
 */
static bool
emit_synthesis(struct query *q, unsigned labels, uint32_t target_at,
	const struct message_name *target, uint32_t ttl_sec)
{
	const struct search *s = &q->search;
	struct reply *reply = &q->reply;
	uint8_t record[2 * NAME_MAX_LEN + RRSET_RR_HEAD + 2];
	uint8_t *out = record;
	uint8_t *rdata;
	uint32_t at = s->name_at;

	if (at <= MESSAGE_POINTER_MAX) {
		octets_put_u16(out, (uint16_t)(EMIT_POINTER | at));
		out += 2;
	} else {
		memcpy(out, s->name->name, s->name->len);
		out += s->name->len;
	}
	octets_put_u16(out, TYPE_CNAME);
	octets_put_u16(out + 2, CLASS_IN);
	octets_put_u32(out + 4, ttl_sec);
	out += RRSET_RR_HEAD;
	rdata = out;
	while (labels-- > 0) {
		at = emit_suffix_at(reply->out, at, 0);
		memcpy(out, reply->out + at, 1u + reply->out[at]);
		out += 1u + reply->out[at];
		at += 1u + reply->out[at];
	}
	if (reply->out[target_at] == 0) {
		*out++ = 0;
	} else if (target_at <= MESSAGE_POINTER_MAX) {
		octets_put_u16(out, (uint16_t)(EMIT_POINTER | target_at));
		out += 2;
	} else {
		memcpy(out, target->name, target->len);
		out += target->len;
	}
	octets_put_u16(rdata - 2, (uint16_t)(out - rdata));
	if ((size_t)(out - record) > emit_room(reply)) {
		reply->flags |= MESSAGE_TC;
		return false;
	}
	memcpy(reply->out + reply->len, record, (size_t)(out - record));
	reply->len += (uint32_t)(out - record);
	reply->count[SECTION_ANSWER]++;
	return true;
}

/* Writes a DNAME when the chain passes it for the first time. */
static bool
add_dname(struct query_ctx *ctx, struct query *q, uint32_t owner_at,
	uint32_t *target_at)
{
	const struct node *node = q->search.node;
	struct placed placed;
	unsigned i;

	i = find_dname(q, node);
	if (i < q->dname_count) {
		*target_at = q->dnames[i].target_at;
		return true;
	}
	if (!add_entry(ctx, q, q->search.found, owner_at, &placed))
		return false;
	*target_at = emit_rdata_at(&placed);
	ASSERT_HOT(i <= LINKS_MAX);
	q->dnames[i].node = node;
	q->dnames[i].target_at = *target_at;
	q->dname_count++;
	return true;
}

static bool
answer_dname(struct query_ctx *ctx, struct query *q)
{
	struct search *s = &q->search;
	const struct rrset *rrset = store_get(ctx->view, s->found->ref);
	/* The labels of the name in hand before the DNAME's owner. */
	unsigned labels = s->name->count - s->zone_labels
		- s->node->leaf.labels;
	uint32_t target_at, cname_rdata_at;

	if (!add_dname(ctx, q, emit_suffix_at(q->reply.out, s->name_at,
			labels), &target_at))
		return false;
	if (message_expand_name(q->reply.out, q->reply.len, target_at,
			&ctx->target) != NSD_OK)
		return false;
	if (s->name->label_at[labels] + ctx->target.len > NAME_MAX_LEN) {
		q->reply.rcode = RCODE_YXDOMAIN;
		query_set_ede(q, EDE_OTHER, DNAME_TOO_LONG);
		return false;
	}
	cname_rdata_at = q->reply.len + RRSET_RR_HEAD + 2;
	if (s->name_at > MESSAGE_POINTER_MAX)
		cname_rdata_at += s->name->len - 2u;
	if (!emit_synthesis(q, labels, target_at, &ctx->target,
			rrset->ttl_sec)
		|| q->question.type == TYPE_CNAME)
		return false;
	return follow_cname(ctx, q, cname_rdata_at);
}

/*
 * Writes the answer section. True if the search ended in a zone: then that
 * zone's authority section follows. False if the chain was cut off or left what
 * is served, or if there was no room.
 */
static bool
compose_answer(struct query_ctx *ctx, struct query *q)
{
	struct search *s = &q->search;

	for (;;) {
		switch (s->outcome) {
		case OUTCOME_HIT:
			answer_hit(ctx, q, s->found);
			return true;
		case OUTCOME_HIT_ANY:
			s->found = any_choose(ctx->view, s->node);
			if (s->found != NULL)
				answer_hit(ctx, q, s->found);
			else
				s->outcome = OUTCOME_NODATA;
			return true;
		case OUTCOME_HIT_SIGS:
			answer_sigs(ctx, q);
			return true;
		case OUTCOME_CNAME:
			if (!answer_cname(ctx, q))
				return false;
			break;
		case OUTCOME_DNAME:
			if (!answer_dname(ctx, q))
				return false;
			break;
		default:
			return true;
		}
	}
}

/* Adds the zone's NS records, as a courtesy: only if they fit. */
static void
add_apex_ns(struct query_ctx *ctx, struct query *q)
{
	const struct search *s = &q->search;
	const struct node *apex = store_get(ctx->view, s->zone->apex);
	const struct node_rrset *entry = node_find_entry(apex, TYPE_NS);
	struct placed *placed = &q->placed[q->placed_count];
	struct emit_rrset what = {
		.section = SECTION_AUTHORITY,
		.owner_at = q->reply.apex_at,
	};
	uint16_t flags = q->reply.flags;

	if (entry == NULL || entry == s->found)
		return;
	ASSERT_HOT(q->placed_count < PLACED_MAX);
	what.rrset = store_get(ctx->view, entry->ref);
	what.ttl_sec = what.rrset->ttl_sec;
	if (!emit_signed(q, &what, node_entry_sigs(apex, entry),
			placed)) {
		/* Not required, so no TC: RFC 2181 section 9. */
		q->reply.flags = flags;
		return;
	}
	placed->zone = s->zone;
	placed->node = apex;
	q->placed_count++;
}

static void
compose_authority(struct query_ctx *ctx, struct query *q)
{
	switch (q->search.outcome) {
	case OUTCOME_NXDOMAIN:
		q->reply.rcode = RCODE_NXDOMAIN;
		authority_add_negative(ctx, q);
		break;
	case OUTCOME_NODATA:
		authority_add_negative(ctx, q);
		break;
	case OUTCOME_DELEGATION:
		if (q->reply.count[SECTION_ANSWER] == 0)
			q->reply.flags &= (uint16_t)~MESSAGE_AA;
		authority_add_referral(ctx, q);
		break;
	default:
		break;
	}
}

/* True if the zone's name servers go beside the answer. Beside DS, the NS of
 * the parent would only confuse. A client that asks for DNSKEY knows them. ANY
 * gets as little as possible (RFC 8482 section 4.1). */
static bool
wants_apex_ns(const struct query_ctx *ctx, const struct query *q)
{
	const struct search *s = &q->search;

	return s->outcome != OUTCOME_NXDOMAIN && s->outcome != OUTCOME_NODATA
		&& s->outcome != OUTCOME_DELEGATION
		&& !ctx->settings->minimal_responses
		&& q->question.type != TYPE_DNSKEY
		&& q->question.type != TYPE_ANY
		&& (s->from_wildcard || (s->node->flags & NODE_CUT) == 0);
}

/* True if addresses go beside the answer. A client that asks for NS wants to
 * send queries there: without addresses priming would need more of these (RFC
 * 9609). */
static bool
wants_additional(const struct query_ctx *ctx, const struct query *q)
{
	return q->question.type == TYPE_NS
		|| (!ctx->settings->minimal_responses
			&& q->question.type != TYPE_ANY);
}

/* Replies SERVFAIL: the answer is longer than a message over TCP can be. TC
 * (RFC 2181 section 9) would tell the client to do what it has just done. See
 * doc/decisions/0045. */
static void
end_too_large(struct query *q)
{
	struct reply *reply = &q->reply;

	emit_reset(reply, &(struct emit_mark){
		.len = MESSAGE_HEADER_LEN + q->question.name.len
			+ MESSAGE_QUESTION_TAIL,
	});
	reply->flags &= (uint16_t)~(MESSAGE_AA | MESSAGE_TC);
	reply->rcode = RCODE_SERVFAIL;
	query_set_ede(q, EDE_OTHER, TOO_LARGE);
}

void
answer_compose(struct query_ctx *ctx, struct query *q)
{
	struct reply *reply = &q->reply;
	bool in_zone;

	if (q->search.outcome == OUTCOME_BROKEN) {
		reply->rcode = RCODE_SERVFAIL;
		query_set_ede(q, EDE_INVALID_DATA, NULL);
		return;
	}
	/* RFC 1034 section 3.7.1: an answer to QCLASS * is never
	 * authoritative. */
	if (q->question.rrclass == CLASS_IN)
		reply->flags |= MESSAGE_AA;
	enter_zone(q);
	in_zone = compose_answer(ctx, q);
	if (in_zone && (reply->flags & MESSAGE_TC) == 0)
		compose_authority(ctx, q);
	if ((reply->flags & MESSAGE_TC) == 0
		&& !denial_add_expansions(ctx, q))
		reply->flags |= MESSAGE_TC;
	if ((reply->flags & MESSAGE_TC) != 0) {
		if (!q->udp)
			end_too_large(q);
		return;
	}
	if (in_zone && wants_apex_ns(ctx, q))
		add_apex_ns(ctx, q);
	if (q->search.outcome == OUTCOME_DELEGATION)
		additional_add_glue(ctx, q);
	else if (wants_additional(ctx, q))
		additional_add(ctx, q);
}
