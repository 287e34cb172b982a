/*
 * additional.c - adds addresses of names that an answer mentions.
 *
 * Only addresses of the same zone are added. A resolver would not believe
 * others, and each would cost a search in another zone.
 */
#include "base/assert.h"
#include "dns/rrtype.h"
#include "query/answer.h"
#include "query/emit.h"
#include "query/lookup.h"

/* The most names that get addresses beside one answer. A referral's name
 * servers in the zone all get theirs, this many at a time. */
#define WANTED_MAX 32
/* Labels below the apex, in all names of an answer, up to which wildcards are
 * looked for. That is all of the names but where they are unusually long: a
 * search takes time for each label, and the zone's author decides how many
 * there are. */
#define LOOKUP_LABELS_MAX (WANTED_MAX * 4)

/* Octets of RDLENGTH and an address. */
#define IP4_RR 6u
#define IP6_RR 18u

/* A name that wants addresses. */
struct wanted {
	const struct glue_cell *cell;
	const void *key;   /* equal for equal names */
	uint32_t owner_at; /* where the name begins in the reply */
};

struct wanted_list {
	unsigned count;
	struct wanted names[WANTED_MAX];
	/* Cells of nodes that have none in the store, each at the index of its
	 * name. */
	struct glue_cell made[WANTED_MAX];
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

/* Adds one address RRset, unless it is the answer. False: no room. */
static bool
add_address(struct query *q, uint32_t owner_at, const struct rrset *rrset)
{
	struct emit_rrset what = {
		.section = SECTION_ADDITIONAL,
		.owner_at = owner_at,
		.ttl_sec = rrset->ttl_sec,
		.rrset = rrset,
	};

	return is_answered(q, rrset, owner_at)
		|| emit_rrset(&q->reply, &what, NULL);
}

/* Adds the addresses of one type. False: there was no room for all. It is
 * inlined for each type, since writing single addresses is most of the work of
 * a referral. */
static inline __attribute__((always_inline)) bool
add_wanted_of(struct query *q, const struct wanted_list *list, uint16_t type)
{
	const struct wanted *end = list->names + list->count, *w;
	struct reply *reply = &q->reply;
	bool whole = true;

	for (w = list->names; w < end; w++) {
		bool is_a = type == TYPE_A;
		store_ref ref = is_a ? w->cell->a : w->cell->aaaa;
		store_ref sigs = is_a ? w->cell->a_sigs : w->cell->aaaa_sigs;
		const struct rrset *rrset;

		if (ref == STORE_NONE)
			continue;
		rrset = store_get(reply->view, ref);
		if ((rrset == q->placed[0].rrset
			    || !emit_single(reply, w->owner_at, rrset, type,
				    is_a ? IP4_RR : IP6_RR))
			&& !add_address(q, w->owner_at, rrset)) {
			whole = false;
			continue;
		}
		/* RFC 4035 section 3.1.1: here they may be left out. */
		if (sigs != STORE_NONE && query_wants_dnssec(q)
			&& !is_answered(q, rrset, w->owner_at))
			(void)emit_sigs(reply, SECTION_ADDITIONAL, sigs,
				w->owner_at, rrset->ttl_sec);
	}
	return whole;
}

/* Adds all A before any AAAA, so that names have one of both if room runs out.
 * False: there was no room for all. */
static bool
add_wanted(struct query *q, const struct wanted_list *list)
{
	bool whole = add_wanted_of(q, list, TYPE_A);

	return add_wanted_of(q, list, TYPE_AAAA) && whole;
}

static bool
want_target(const struct query *q, struct wanted_list *list, const void *key,
	uint32_t owner_at, const struct glue_cell *cell)
{
	struct wanted *w = &list->names[list->count];

	for (unsigned i = 0; i < list->count; i++)
		if (list->names[i].key == key)
			return true;
	if (list->count == WANTED_MAX)
		return false;
	w->key = key;
	w->owner_at = emit_name_at(q->reply.out, owner_at);
	w->cell = cell;
	list->count++;
	return true;
}

/* Makes the cell of the name at an index of the list. */
static const struct glue_cell *
make_cell(struct wanted_list *list, unsigned index, const struct node *node)
{
	struct glue_cell *cell = &list->made[index];

	*cell = (struct glue_cell){.a = STORE_NONE};
	node_read_addresses(node, cell);
	return cell;
}

/* Puts the owner of an SVCB or HTTPS RRset on the list. In ServiceMode, the
 * root as a target stands for it (RFC 9460 section 2.5.2), and the RRset's
 * targets do not have it. False: no RR has that target. */
static bool
want_owner(const struct query *q, struct wanted_list *list,
	const struct placed *p)
{
	const uint8_t *rr = p->rrset->data;
	const uint8_t *end = rr + rrset_len(p->rrset);

	for (; rr < end; rr += 2 + octets_get_u16(rr)) {
		if (octets_get_u16(rr) < 3 || octets_get_u16(rr + 2) == 0
			|| rr[4] != 0)
			continue;
		ASSERT_HOT(list->count == 0);
		want_target(q, list, p->node, p->owner_at,
			make_cell(list, 0, p->node));
		return true;
	}
	return false;
}

/* Puts the targets of an RRset on the list. */
static void
collect_targets(struct query_ctx *ctx, struct query *q,
	struct wanted_list *list, const struct placed *p)
{
	const struct rrset_tail *tail;
	const struct rrset_target *target;
	struct emit_place place;
	const struct glue_cell *cell;
	bool has_owner;

	has_owner = (p->rrset->type == TYPE_SVCB
		|| p->rrset->type == TYPE_HTTPS) && want_owner(q, list, p);
	tail = rrset_get_tail(p->rrset);
	if (tail == NULL)
		return;
	target = rrset_tail_targets(tail);
	place.rr = NULL;
	for (unsigned i = 0; i < tail->target_count; i++) {
		uint32_t at;

		if (target[i].glue == STORE_NONE)
			continue;
		cell = glue_cell_get(ctx->view, target[i].glue, p->zone);
		/* RFC 1034 section 4.3.2 step 6: glue goes into referrals
		 * alone. */
		if (p->rrset->type != TYPE_NS && glue_cell_is_hidden(cell))
			continue;
		at = emit_find_sent(&q->reply, p, &place, target[i].offset);
		if (has_owner && emit_names_equal(q->reply.out, p->owner_at,
				at))
			continue;
		if (!want_target(q, list, cell, at, cell))
			return;
	}
}

/* RFC 1034 section 4.3.3: finds the wildcard that answers for a name on the
 * list. NULL: the name exists, or no wildcard stands for it. */
static const struct node *
find_wildcard(struct query_ctx *ctx, const struct query *q,
	const struct wanted *w)
{
	struct search s = q->search;

	ctx->target.count = s.zone_labels;
	if (message_expand_name(q->reply.out, q->reply.len, w->owner_at,
			&ctx->target) != NSD_OK)
		return NULL;
	s.name = &ctx->target;
	lookup_one(ctx, &s, TYPE_A);
	return s.from_wildcard ? s.node : NULL;
}

/* Gives names on the list that have no addresses those of a wildcard. They are
 * not in the cells: see doc/decisions/0044. */
static __attribute__((noinline)) void
expand_wildcards(struct query_ctx *ctx, const struct query *q,
	struct wanted_list *list, unsigned *labels)
{
	for (unsigned i = 0; i < list->count && *labels < LOOKUP_LABELS_MAX;
		i++) {
		struct wanted *w = &list->names[i];
		const struct node *node;

		if ((w->cell->a | w->cell->aaaa) != STORE_NONE)
			continue;
		node = find_wildcard(ctx, q, w);
		*labels += ctx->target.count - q->search.zone_labels;
		if (node != NULL)
			w->cell = make_cell(list, i, node);
	}
}

/* True if wildcards have to be looked for. */
static inline bool
may_expand(const struct query *q, const struct wanted_list *list)
{
	const struct wanted *w = list->names, *end = w + list->count;

	if ((q->search.zone->flags & ZONE_WILDCARDS) == 0)
		return false;
	while (w < end && (w->cell->a | w->cell->aaaa) != STORE_NONE)
		w++;
	return w < end;
}

/* The name servers of a referral that are added: in the child, or elsewhere in
 * the zone (siblings). */
struct glue_pass {
	bool in_domain;
	bool loose;  /* the RRset is: placed.loose */
	bool others; /* out: there are some of the other kind */
};

/* Adds the addresses of one kind of name servers, some names at a time. False:
 * there was no room for all. Inlined for each kind. */
static inline __attribute__((always_inline)) bool
add_glue(struct query_ctx *ctx, struct query *q, const struct placed *ns,
	const struct rrset_tail *tail, struct glue_pass *pass)
{
	const struct rrset_target *target = rrset_tail_targets(tail);
	const struct rrset_target *end = target + tail->target_count;
	struct emit_place place = {.rr = NULL};
	struct wanted_list list;
	unsigned labels = 0;

	do {
		list.count = 0;
		for (; target < end && list.count < WANTED_MAX; target++) {
			struct wanted *w = &list.names[list.count];
			uint32_t at;

			if (target->glue == STORE_NONE)
				continue;
			if (((target->flags & TARGET_IN_DOMAIN) != 0)
				!= pass->in_domain) {
				pass->others = true;
				continue;
			}
			w->cell = glue_cell_get(q->reply.view, target->glue,
				ns->zone);
			at = pass->loose ? emit_find_loose(&q->reply, ns,
						   &place, target->offset)
					 : emit_sent_at(ns, target->offset);
			w->owner_at = emit_name_at(q->reply.out, at);
			list.count++;
		}
		if (!pass->in_domain && may_expand(q, &list))
			expand_wildcards(ctx, q, &list, &labels);
		if (!add_wanted(q, &list))
			return false;
	} while (target < end);
	return true;
}

/* True if name servers in the child may be missing from the list of targets: it
 * has those of the first 64 KB. Such an RRset fits only if it was compressed
 * anew. */
static __attribute__((noinline, cold)) bool
lacks_targets(const struct rrset *rrset, const struct rrset_tail *tail)
{
	const struct rrset_target *target = rrset_tail_targets(tail);

	if (rrset_len(rrset) + rrset->count * rrset_rr_head(rrset)
		<= UINT16_MAX)
		return false;
	for (unsigned i = 0; i < tail->target_count; i++)
		if ((target[i].flags & TARGET_IN_DOMAIN) != 0)
			return true;
	return false;
}

static inline __attribute__((always_inline)) void
add_all_glue(struct query_ctx *ctx, struct query *q, const struct placed *ns,
	const struct rrset_tail *tail, bool loose)
{
	struct glue_pass child = {.in_domain = true, .loose = loose};
	struct glue_pass siblings = {.in_domain = false, .loose = loose};

	/* RFC 9471 section 2.1: the glue must be complete. */
	if (!add_glue(ctx, q, ns, tail, &child)
		|| (loose && lacks_targets(ns->rrset, tail))) {
		q->reply.flags |= MESSAGE_TC;
		return;
	}
	/* Section 2.2: as many as there is room for. */
	if (child.others)
		(void)add_glue(ctx, q, ns, tail, &siblings);
}

static __attribute__((noinline, cold)) void
add_loose_glue(struct query_ctx *ctx, struct query *q, const struct placed *ns,
	const struct rrset_tail *tail)
{
	add_all_glue(ctx, q, ns, tail, true);
}

void
additional_add_glue(struct query_ctx *ctx, struct query *q)
{
	const struct placed *ns = &q->placed[0];
	const struct rrset_tail *tail = rrset_get_tail(ns->rrset);

	if (tail == NULL)
		return;
	if (__builtin_expect(ns->loose != 0, false))
		add_loose_glue(ctx, q, ns, tail);
	else
		add_all_glue(ctx, q, ns, tail, false);
}

void
additional_add(struct query_ctx *ctx, struct query *q)
{
	struct wanted_list list;
	unsigned labels = 0;

	list.count = 0;
	for (unsigned i = 0; i < q->placed_count; i++)
		collect_targets(ctx, q, &list, &q->placed[i]);
	if (may_expand(q, &list))
		expand_wildcards(ctx, q, &list, &labels);
	(void)add_wanted(q, &list);
}
