/*
 * additional.c - addresses of names that an answer mentions.
 *
 * Only those that the same zone has: a resolver would not believe others, and
 * looking for them would cost each answer a search in another zone.
 */
#include "dns/rrtype.h"
#include "query/answer.h"

/* Names that get addresses in one reply, other than glue that must be there. */
#define WANTED_MAX 32

/* A name that wants addresses. */
struct wanted {
	const void *key;   /* same name, same key */
	uint32_t owner_at; /* where the name stands in the reply */
	struct glue_cell cell;
};

struct wanted_list {
	unsigned count;
	struct wanted names[WANTED_MAX];
};

/* True if the RRset is the answer itself. */
static bool
is_answered(const struct query *q, const struct rrset *rrset,
	uint32_t owner_at)
{
	const struct placed *answer = &q->placed[0];

	return answer->rrset == rrset && emit_names_equal(q->reply.out,
		answer->owner_at, owner_at);
}

/* False: there was no room for it. */
static bool
add_address(struct query *q, uint32_t owner_at, store_ref ref, store_ref sigs)
{
	struct reply *reply = &q->reply;
	struct emit_rrset what = {
		.section = SECTION_ADDITIONAL,
	};

	if (ref == STORE_NONE)
		return true;
	what.rrset = store_get(reply->view, ref);
	what.ttl_sec = what.rrset->ttl_sec;
	if (is_answered(q, what.rrset, owner_at))
		return true;
	what.owner_at = emit_suffix_at(reply->out, owner_at, 0);
	if (!emit_rrset(reply, &what, NULL))
		return false;
	/* RFC 4035 section 3.1.1: here the signatures may be left out. */
	if (query_wants_dnssec(q) && sigs != STORE_NONE)
		(void)emit_sigs(reply, SECTION_ADDITIONAL, sigs,
			what.owner_at, what.ttl_sec);
	return true;
}

static bool
add_cell(struct query *q, uint32_t owner_at, const struct glue_cell *cell,
	uint16_t type)
{
	return type == TYPE_A
		? add_address(q, owner_at, cell->a, cell->a_sigs)
		: add_address(q, owner_at, cell->aaaa, cell->aaaa_sigs);
}

/* All addresses of one type of the name servers that lie in the child. */
static bool
add_in_domain(struct query *q, const struct placed *ns, uint16_t type)
{
	const struct rrset_tail *tail = rrset_get_tail(ns->rrset);
	const struct rrset_target *target = rrset_tail_targets(tail);

	for (unsigned i = 0; i < tail->target_count; i++) {
		if ((target[i].flags & TARGET_IN_DOMAIN) == 0
			|| target[i].glue == STORE_NONE)
			continue;
		if (!add_cell(q, emit_sent_at(ns, target[i].offset),
				glue_cell_get(q->reply.view, target[i].glue,
					ns->zone),
				type))
			return false;
	}
	return true;
}

static bool
want(struct wanted_list *list, const void *key, uint32_t owner_at,
	const struct glue_cell *cell)
{
	struct wanted *w = &list->names[list->count];

	for (unsigned i = 0; i < list->count; i++)
		if (list->names[i].key == key)
			return true;
	if (list->count == WANTED_MAX)
		return false;
	w->key = key;
	w->owner_at = owner_at;
	w->cell = *cell;
	list->count++;
	return true;
}

/* A node's own addresses, as a cell has them. */
static struct glue_cell
cell_of_node(const struct node *node)
{
	struct glue_cell cell = { .a = STORE_NONE };
	const struct node_rrset *a = node_find_entry(node, TYPE_A);
	const struct node_rrset *aaaa = node_find_entry(node, TYPE_AAAA);

	if (a != NULL) {
		cell.a = a->ref;
		cell.a_sigs = node_entry_sigs(node, a);
	}
	if (aaaa != NULL) {
		cell.aaaa = aaaa->ref;
		cell.aaaa_sigs = node_entry_sigs(node, aaaa);
	}
	return cell;
}

/* RFC 9460 section 2.5.2: in ServiceMode the root as a target stands for the
 * owner. It is not among the RRset's targets. */
static void
want_owner(struct wanted_list *list, const struct placed *p)
{
	const uint8_t *rr = p->rrset->data;
	const uint8_t *end = rr + rrset_len(p->rrset);
	struct glue_cell cell;

	for (; rr < end; rr += 2 + octets_get_u16(rr)) {
		if (octets_get_u16(rr) < 3 || octets_get_u16(rr + 2) == 0
			|| rr[4] != 0)
			continue;
		cell = cell_of_node(p->node);
		want(list, p->node, p->owner_at, &cell);
		return;
	}
}

/* Collects the names of an RRset. Those of a referral that lie in the child
 * have been added before. */
static void
collect(struct query_ctx *ctx, struct query *q, struct wanted_list *list,
	const struct placed *p, bool is_referral)
{
	const struct rrset_tail *tail;
	const struct rrset_target *target;
	const struct glue_cell *cell;

	if (p->rrset == NULL)
		return;
	if (p->rrset->type == TYPE_SVCB || p->rrset->type == TYPE_HTTPS)
		want_owner(list, p);
	tail = rrset_get_tail(p->rrset);
	if (tail == NULL)
		return;
	target = rrset_tail_targets(tail);
	for (unsigned i = 0; i < tail->target_count; i++) {
		if (target[i].glue == STORE_NONE || (is_referral
				&& (target[i].flags & TARGET_IN_DOMAIN) != 0))
			continue;
		cell = glue_cell_get(ctx->view, target[i].glue, p->zone);
		/* RFC 1034 section 4.3.2 step 6: glue goes into referrals
		 * alone. */
		if (p->rrset->type != TYPE_NS && glue_cell_is_hidden(cell))
			continue;
		if (!want(list, cell, emit_sent_at(p, target[i].offset), cell))
			return;
	}
}

/* All A before any AAAA, so that where room ends each name has one. */
static void
add_wanted(struct query *q, const struct wanted_list *list)
{
	for (unsigned i = 0; i < list->count; i++)
		(void)add_cell(q, list->names[i].owner_at,
			&list->names[i].cell, TYPE_A);
	for (unsigned i = 0; i < list->count; i++)
		(void)add_cell(q, list->names[i].owner_at,
			&list->names[i].cell, TYPE_AAAA);
}

void
additional_add_glue(struct query_ctx *ctx, struct query *q)
{
	const struct placed *ns = &q->placed[0];
	struct wanted_list list;

	if (ns->rrset == NULL || rrset_get_tail(ns->rrset) == NULL)
		return;
	if (!add_in_domain(q, ns, TYPE_A) || !add_in_domain(q, ns, TYPE_AAAA)) {
		q->reply.flags |= MESSAGE_TC;
		return;
	}
	list.count = 0;
	collect(ctx, q, &list, ns, true);
	add_wanted(q, &list);
}

void
additional_add(struct query_ctx *ctx, struct query *q)
{
	struct wanted_list list;

	list.count = 0;
	for (unsigned i = 0; i < q->placed_count; i++)
		collect(ctx, q, &list, &q->placed[i], false);
	add_wanted(q, &list);
}
