/* transfer.c - makes the messages of a zone transfer. */
#include <assert.h>
#include <stdlib.h>

#include "query/emit.h"
#include "query/keys.h"
#include "query/reply.h"
#include "query/transfer.h"
#include "zone/history.h"
#include "zone/nsec3_page.h"
#include "zone/objects.h"
#include "zone/unpack.h"

/*
 * A message is full beyond this: no pointer reaches further, so that larger
 * ones would be longer in all. One that would have no record else may have as
 * many octets as there are.
 */
#define MESSAGE_FULL 16384u

/* The parts of a transfer, in the order in which they are sent. */
enum transfer_part {
	TRANSFER_FIRST_SOA,
	TRANSFER_STEPS,   /* what versions differ by; the last SOA is next */
	TRANSFER_NAMES,
	TRANSFER_OTHERS,  /* owners of NSEC3 records outside of the chain */
	TRANSFER_CHAIN,
	TRANSFER_LAST_SOA,
	TRANSFER_NONE,
};

/* A name relative to the apex. */
struct transfer_name {
	uint8_t len;   /* octets */
	uint8_t count; /* labels */
	uint8_t labels[NAME_MAX_LEN];
	uint8_t label_at[NAME_MAX_LABELS + 1];
};

/* What is sent next, all at the same owner. */
enum item_kind { ITEM_RRSET, ITEM_SIGS, ITEM_NSEC3, ITEM_STEP };

struct transfer {
	const struct store_view *view;
	struct store_pin pin;
	const struct zone *zone;
	uint8_t apex[NAME_MAX_LEN];
	/* Header and question, the same in each message. */
	uint8_t head[MESSAGE_HEADER_LEN + NAME_MAX_LEN
		+ MESSAGE_QUESTION_TAIL];
	uint32_t head_len;
	uint8_t opt[EDNS_OPT_LEN]; /* of the first message */
	uint32_t opt_len;          /* 0: the next has none */
	bool is_signed;
	struct tsig_key key;
	struct tsig_chain chain;

	enum transfer_part part;
	struct history_way way;    /* steps: none if the zone is sent; count:
				    * those that are still to be sent */
	struct cursor step;        /* records of one that are not sent yet */
	struct history_rr record;
	struct trie_iter nodes;
	const struct node *node;   /* NULL: the next one is to be fetched */
	unsigned entry;            /* of the node; or of an SOA */
	struct nsec3_iter records;
	bool has_sent_record;      /* its signatures are next */

	enum item_kind kind;
	const void *object;        /* struct rrset, rrset_sigs, nsec3_record
				    * or history_rr */
	struct transfer_name owner;
	uint32_t sent;             /* octets of its data, if it fits into no
				    * message and is sent in several */

	/* The owner before in this message, and where its labels are. */
	struct transfer_name last;
	uint32_t last_at[NAME_MAX_LABELS + 1];
};

/* ---- owners ------------------------------------------------------------ */

static void
name_set(struct transfer_name *name, const uint8_t *labels, unsigned len)
{
	struct trie_name split;

	if (len > 0)
		memcpy(name->labels, labels, len);
	trie_name_split(&split, name->labels, len, name->label_at);
	name->len = (uint8_t)len;
	name->count = split.count;
}

/* The labels that two names end with, both. */
static unsigned
count_shared(const struct transfer_name *a, const struct transfer_name *b)
{
	unsigned shared = 0;

	while (shared < a->count && shared < b->count) {
		const uint8_t *x = a->labels
			+ a->label_at[a->count - shared - 1];
		const uint8_t *y = b->labels
			+ b->label_at[b->count - shared - 1];

		if (*x != *y || memcmp(x, y, 1u + *x) != 0)
			break;
		shared++;
	}
	return shared;
}

/* How the owner of the next records gets into the message. */
struct placing {
	uint32_t start;   /* where its first label goes, or is */
	uint32_t written; /* octets of labels that are not there yet */
	uint32_t suffix;  /* offset of what follows them */
};

/* Finds the longest end of the owner that a pointer reaches, and writes the
 * labels before it behind the reply. False: no room for them. */
static bool
place_owner(struct transfer *t, struct reply *reply, struct placing *p)
{
	const struct transfer_name *name = &t->owner;
	unsigned shared = count_shared(name, &t->last), first;

	while (shared > 0 && t->last_at[t->last.count - shared]
		> MESSAGE_POINTER_MAX)
		shared--;
	first = name->count - shared;
	p->suffix = shared > 0 ? t->last_at[t->last.count - shared]
		: MESSAGE_HEADER_LEN;
	p->written = shared > 0 ? name->label_at[first] : name->len;
	p->start = p->written > 0 ? reply->len : p->suffix;
	if (p->written + 2u > emit_room(reply))
		return false;
	memcpy(reply->out + reply->len, name->labels, p->written);
	octets_put_u16(reply->out + reply->len + p->written,
		(uint16_t)(EMIT_POINTER | p->suffix));
	return true;
}

/* The owner is in the message from now on. */
static void
note_owner(struct transfer *t, const struct placing *p)
{
	const struct transfer_name *name = &t->owner;
	uint32_t at[NAME_MAX_LABELS + 1];

	if (p->written == 0)
		return; /* all its labels are those of the owner before */
	for (unsigned i = 0; i < name->count; i++)
		at[i] = name->label_at[i] < p->written
			? p->start + name->label_at[i]
			: t->last_at[t->last.count - (name->count - i)];
	memcpy(t->last_at, at, name->count * sizeof(at[0]));
	t->last = *name;
}

/* ---- items ------------------------------------------------------------- */

static bool
emit_scratch(struct reply *reply, uint32_t owner_at, uint16_t type,
	uint32_t ttl_sec, size_t len)
{
	return emit_record(reply, &(struct emit_record){
		.section = SECTION_ANSWER,
		.owner_at = owner_at,
		.type = type,
		.ttl_sec = ttl_sec,
		.rdata = reply->scratch,
		.rdlen = (uint16_t)len,
	});
}

/* Writes an NSEC3 record of the chain, whose RDATA is put together. */
static bool
emit_chain_record(struct transfer *t, struct reply *reply, uint32_t owner_at)
{
	const struct nsec3_record *record = t->object;
	const struct nsec3_form *form = store_get(t->view, record->form);
	size_t len = nsec3_unpack_rdata(t->view, record, t->records.next_hash,
		reply->scratch);

	return emit_scratch(reply, owner_at, TYPE_NSEC3, form->ttl_sec, len);
}

/* Writes a record of a step. Its RDATA leads to the question, if anywhere. */
static bool
emit_step_record(struct transfer *t, struct reply *reply, uint32_t owner_at)
{
	const struct history_rr *rr = t->object;

	return emit_record(reply, &(struct emit_record){
		.section = SECTION_ANSWER,
		.owner_at = owner_at,
		.type = rr->type,
		.ttl_sec = rr->ttl_sec,
		.rdata = rr->rdata,
		.rdlen = rr->rdlen,
	});
}

static bool
emit_item(struct transfer *t, struct reply *reply, uint32_t owner_at)
{
	const struct rrset *rrset = t->object;
	const struct rrset_sigs *sigs = t->object;

	if (t->kind == ITEM_STEP)
		return emit_step_record(t, reply, owner_at);
	if (t->kind == ITEM_NSEC3)
		return emit_chain_record(t, reply, owner_at);
	if (t->kind == ITEM_SIGS)
		return emit_sig_list(reply, SECTION_ANSWER, sigs, owner_at,
			sigs->ttl_sec);
	return emit_rrset(reply, &(struct emit_rrset){
		.section = SECTION_ANSWER,
		.owner_at = owner_at,
		.ttl_sec = rrset->ttl_sec,
		.rrset = rrset,
	}, NULL);
}

/*
 * Writes with `emit` what is at the owner. It writes owners as pointers to a
 * name that is in the message already. So the first labels of the first owner
 * go before what it writes, and what it has as a pointer to them leads to the
 * labels behind them. Where no pointer reaches it copies the name instead.
 */
static bool
put_at_owner(struct transfer *t, struct reply *reply,
	bool (*emit)(struct transfer *t, struct reply *reply,
		uint32_t owner_at))
{
	struct emit_mark mark = emit_get_mark(reply);
	struct placing p;
	bool is_split;

	if (!place_owner(t, reply, &p))
		return false;
	is_split = p.written > 0 && p.start <= MESSAGE_POINTER_MAX;
	if (is_split)
		reply->len += p.written;
	if (!emit(t, reply, p.start)) {
		emit_reset(reply, &mark);
		return false;
	}
	if (is_split)
		octets_put_u16(reply->out + p.start + p.written,
			(uint16_t)(EMIT_POINTER | p.suffix));
	note_owner(t, &p);
	return true;
}

/* One record of an item that fits into no message. */
static bool
emit_one(struct transfer *t, struct reply *reply, uint32_t owner_at)
{
	const struct rrset *rrset = t->object;
	const struct rrset_sigs *sigs = t->object;
	const uint8_t *at;
	size_t len;

	if (t->kind == ITEM_STEP)
		return false;
	if (t->kind == ITEM_SIGS) {
		at = sigs->data + t->sent;
		len = unpack_sig_rdata(t->view, (const struct sig *)at,
			reply->scratch);
		return emit_scratch(reply, owner_at, TYPE_RRSIG, sigs->ttl_sec,
			len);
	}
	at = rrset->data + t->sent;
	len = unpack_rdata(rrset, at, t->apex, reply->scratch);
	return emit_scratch(reply, owner_at, rrset->type, rrset->ttl_sec, len);
}

/* Steps over a record that emit_one has written. False: it was the last. */
static bool
step_one(struct transfer *t)
{
	const struct rrset *rrset = t->object;
	const struct rrset_sigs *sigs = t->object;

	if (t->kind == ITEM_RRSET) {
		t->sent += 2u + octets_get_u16(rrset->data + t->sent);
		return t->sent < rrset_len(rrset);
	}
	if (t->kind == ITEM_NSEC3)
		return false;
	t->sent += (uint32_t)sig_size(
		(const struct sig *)(sigs->data + t->sent));
	return t->sent < rrset_sigs_size(sigs) - sizeof(*sigs);
}

/* ---- the walk ---------------------------------------------------------- */

static void
set_item(struct transfer *t, enum item_kind kind, const void *object)
{
	t->kind = kind;
	t->object = object;
	t->sent = 0;
}

static bool
fetch_soa(struct transfer *t)
{
	name_set(&t->owner, NULL, 0);
	switch (t->entry++) {
	case 0:
		set_item(t, ITEM_RRSET, store_get(t->view, t->zone->soa));
		return true;
	case 1:
		if (t->part == TRANSFER_LAST_SOA || t->way.steps != NULL
			|| t->zone->soa_sigs == STORE_NONE)
			return false;
		set_item(t, ITEM_SIGS, store_get(t->view, t->zone->soa_sigs));
		return true;
	default:
		return false;
	}
}

/* The steps lie from the newest to the oldest, which is sent first. */
static bool
fetch_from_steps(struct transfer *t)
{
	const struct zone_step *next;

	while (cursor_left(&t->step) == 0) {
		if (t->way.count == 0)
			return false;
		next = store_get(t->view, t->way.steps[--t->way.count]);
		cursor_init(&t->step, next->data, next->len);
	}
	if (history_read(&t->step, &t->record) != NSD_OK)
		return false;
	name_set(&t->owner, t->record.labels, t->record.labels_len);
	set_item(t, ITEM_STEP, &t->record);
	return true;
}

static bool
fetch_from_node(struct transfer *t)
{
	const struct node *node = t->node;

	while (t->entry < node->entry_count) {
		const struct node_rrset *e = &node_entries(node)[t->entry++];

		if ((node->flags & NODE_APEX) != 0 && e->type == TYPE_SOA)
			continue;
		set_item(t, (e->flags & NODE_RRSET_SIGS) != 0 ? ITEM_SIGS
			: ITEM_RRSET, store_get(t->view, e->ref));
		return true;
	}
	return false;
}

static bool
fetch_from_trie(struct transfer *t)
{
	store_ref ref;

	while (t->node == NULL || !fetch_from_node(t)) {
		ref = trie_iter_next(&t->nodes);
		if (ref == STORE_NONE)
			return false;
		t->node = store_get(t->view, ref);
		t->entry = 0;
		name_set(&t->owner, trie_leaf_name(&t->node->leaf),
			t->node->leaf.name_len);
	}
	return true;
}

static bool
fetch_from_chain(struct transfer *t)
{
	const struct nsec3_record *record = t->records.record;
	uint8_t label[1 + NSEC3_LABEL_LEN + 1] = {NSEC3_LABEL_LEN};

	if (t->has_sent_record && record->sigs.count > 0) {
		t->has_sent_record = false;
		set_item(t, ITEM_SIGS, &record->sigs);
		return true;
	}
	if (!nsec3_iter_next(&t->records))
		return false;
	record = t->records.record;
	nsec3_print_label(t->records.hash, label + 1);
	name_set(&t->owner, label, 1 + NSEC3_LABEL_LEN);
	t->has_sent_record = true;
	if ((record->flags & NSEC3_RRSET) != 0)
		set_item(t, ITEM_RRSET, store_get(t->view, record->form));
	else
		set_item(t, ITEM_NSEC3, record);
	return true;
}

static void
begin_next_part(struct transfer *t)
{
	if (t->step.failed)
		t->part = TRANSFER_NONE; /* a store that is damaged */
	else if (t->part == TRANSFER_STEPS && t->way.steps != NULL)
		t->part = TRANSFER_LAST_SOA;
	else
		t->part++;
	t->node = NULL;
	t->entry = 0;
	if (t->part == TRANSFER_NAMES)
		trie_iter_init(&t->nodes, t->view, &t->zone->names.root);
	else if (t->part == TRANSFER_OTHERS)
		trie_iter_init(&t->nodes, t->view, &t->zone->nsec3.root);
	else if (t->part == TRANSFER_CHAIN)
		nsec3_iter_init(&t->records, t->view,
			t->zone->chain == STORE_NONE ? NULL
				: store_get(t->view, t->zone->chain));
}

/* Goes to the next item; TRANSFER_NONE: there is none. */
static void
fetch(struct transfer *t)
{
	static bool (*const fetchers[])(struct transfer *t) = {
		[TRANSFER_FIRST_SOA] = fetch_soa,
		[TRANSFER_STEPS] = fetch_from_steps,
		[TRANSFER_NAMES] = fetch_from_trie,
		[TRANSFER_OTHERS] = fetch_from_trie,
		[TRANSFER_CHAIN] = fetch_from_chain,
		[TRANSFER_LAST_SOA] = fetch_soa,
	};

	while (t->part != TRANSFER_NONE && !fetchers[t->part](t))
		begin_next_part(t);
}

/* ---- messages ---------------------------------------------------------- */

static void
fill(struct transfer *t, struct reply *reply)
{
	while (t->part != TRANSFER_NONE && t->sent == 0
		&& put_at_owner(t, reply, emit_item))
		fetch(t);
}

/* Fills a message with records of an item that fits into none as a whole. */
static void
fill_with_ones(struct transfer *t, struct reply *reply)
{
	while (put_at_owner(t, reply, emit_one))
		if (!step_one(t)) {
			fetch(t);
			return;
		}
}

/* Signs it if the request was signed. Returns its length; 0: no memory. */
static size_t
end_message(const struct query_ctx *ctx, struct transfer *t,
	struct reply *reply, size_t capacity)
{
	struct tsig_stamp stamp = keys_stamp(ctx);
	size_t len = reply->len;

	if (t->is_signed && tsig_sign(&t->chain, reply->out, &len, capacity,
			&stamp) != NSD_OK)
		return 0;
	return len;
}

size_t
transfer_next(struct query_ctx *ctx, struct transfer *t, uint8_t *out,
	size_t capacity)
{
	uint32_t rest = t->opt_len
		+ (t->is_signed ? (uint32_t)tsig_len(&t->key) : 0);
	struct reply reply = {
		.out = out,
		.len = t->head_len,
		.limit = MESSAGE_FULL - rest,
		.view = t->view,
		.scratch = ctx->scratch,
	};

	assert(capacity >= MESSAGE_MAX_LEN);
	if (t->part == TRANSFER_NONE)
		return 0;
	memcpy(out, t->head, t->head_len);
	emit_set_apex(&reply, t->apex, MESSAGE_HEADER_LEN);
	t->last.count = 0;
	fill(t, &reply);
	reply.limit = MESSAGE_MAX_LEN - rest;
	if (reply.count[SECTION_ANSWER] == 0) {
		if (t->sent == 0 && put_at_owner(t, &reply, emit_item))
			fetch(t);
		else
			fill_with_ones(t, &reply);
	}
	if (reply.count[SECTION_ANSWER] == 0) {
		/* A record without room in any message: nobody can send it. */
		t->part = TRANSFER_NONE;
		out[MESSAGE_FLAGS + 1] |= RCODE_SERVFAIL;
	}
	memcpy(out + reply.len, t->opt, t->opt_len);
	reply.len += t->opt_len;
	octets_put_u16(out + MESSAGE_ANCOUNT, reply.count[SECTION_ANSWER]);
	octets_put_u16(out + MESSAGE_ARCOUNT, t->opt_len > 0);
	t->opt_len = 0;
	return end_message(ctx, t, &reply, capacity);
}

/* ---- begin and end ----------------------------------------------------- */

void
transfer_end(struct query_ctx *ctx, struct transfer *t)
{
	store_reader_unpin(ctx->options.reader, &t->pin);
	if (t->is_signed)
		mac_destroy(t->key.mac);
	free(t->way.steps);
	free(t);
}

/* Has all messages signed, if the request is. False: no memory. */
static bool
take_key(struct query_ctx *ctx, struct query *q, struct transfer *t)
{
	t->is_signed = q->tsig_at != 0;
	if (!t->is_signed)
		return true;
	if (!keys_copy(ctx, q, &t->key))
		return false;
	t->chain = q->chain;
	t->chain.key = &t->key;
	return true;
}

/* Takes the way, unless it returns false. */
static bool
transfer_open(struct query_ctx *ctx, struct query *q,
	const struct history_way *way)
{
	const struct zone_entry *entry = q->search.entry;
	struct transfer *t = calloc(1, sizeof(*t));

	if (t == NULL || ctx->options.reader == NULL || !take_key(ctx, q, t)) {
		free(t);
		return false;
	}
	if (store_reader_pin(ctx->options.reader, &t->pin) != NSD_OK) {
		if (t->is_signed)
			mac_destroy(t->key.mac);
		free(t);
		return false;
	}
	t->view = ctx->view;
	t->zone = q->zone;
	t->way = *way;
	memcpy(t->apex, entry->name, entry->leaf.name_len + 1u);
	t->head_len = q->reply.len;
	/* A reply without records is what all messages have in common. */
	q->edns.nsid = false;
	q->edns.zoneversion = false;
	q->reply.flags |= MESSAGE_AA;
	q->tsig_at = 0;
	reply_end(ctx, q);
	memcpy(t->head, q->reply.out, t->head_len);
	octets_put_u16(t->head + MESSAGE_ARCOUNT, 0);
	t->opt_len = q->reply.len - t->head_len;
	assert(t->opt_len <= sizeof(t->opt));
	memcpy(t->opt, q->reply.out + t->head_len, t->opt_len);
	fetch(t);
	q->exchange->reply_len = 0;
	q->exchange->stream = t;
	return true;
}

/* Reads the client's version from the SOA of an IXFR (RFC 1995 section 3). */
static bool
read_serial(const struct query *q, uint32_t *serial)
{
	const struct exchange *x = q->exchange;
	struct message_rr rr;
	struct cursor c;

	cursor_init(&c, x->request, x->request_len);
	cursor_read_octets(&c, MESSAGE_HEADER_LEN + q->question.name.len
		+ MESSAGE_QUESTION_TAIL);
	if (message_get_count(x->request, MESSAGE_NSCOUNT) == 0
		|| message_read_rr(&c, &rr) != NSD_OK || rr.type != TYPE_SOA)
		return false;
	return history_read_serial(rr.rdata, rr.rdlen, serial);
}

/* The reply to a client that has this version, or a later one (RFC 1982), and
 * to one that is to ask over TCP (RFC 1995 section 2). */
static void
answer_soa(struct query_ctx *ctx, struct query *q)
{
	const struct rrset *soa = store_get(ctx->view, q->zone->soa);
	const struct emit_rrset what = {
		.section = SECTION_ANSWER,
		.owner_at = MESSAGE_HEADER_LEN,
		.ttl_sec = soa->ttl_sec,
		.rrset = soa,
	};

	q->reply.flags |= MESSAGE_AA;
	emit_set_apex(&q->reply, q->search.entry->name, MESSAGE_HEADER_LEN);
	if (!emit_rrset(&q->reply, &what, NULL))
		q->reply.flags |= MESSAGE_TC;
}

/* Writes all differences into a datagram. False: there is no room, and nothing
 * is written. */
static bool
answer_steps(struct query_ctx *ctx, struct query *q,
	const struct history_way *way)
{
	const struct zone_entry *entry = q->search.entry;
	const struct emit_mark mark = emit_get_mark(&q->reply);
	struct transfer t = {
		.view = ctx->view,
		.zone = q->zone,
		.way = *way,
	};

	memcpy(t.apex, entry->name, entry->leaf.name_len + 1u);
	emit_set_apex(&q->reply, entry->name, MESSAGE_HEADER_LEN);
	fetch(&t);
	fill(&t, &q->reply);
	if (t.part == TRANSFER_NONE && !t.step.failed) {
		q->reply.flags |= MESSAGE_AA;
		return true;
	}
	emit_reset(&q->reply, &mark);
	return false;
}

/* Answers with differences if there is a way, else with the zone. */
static bool
transfer_choose(struct query_ctx *ctx, struct query *q, uint32_t serial)
{
	struct history_way way = {.steps = NULL};
	bool is_ixfr = q->question.type == TYPE_IXFR, done = true;

	if (is_ixfr && history_find(ctx->view, q->search.entry, serial,
			q->zone->serial, &way) == NSD_E_MEMORY)
		return false;
	if (!q->udp)
		done = transfer_open(ctx, q, &way);
	else if (way.steps == NULL || !answer_steps(ctx, q, &way))
		answer_soa(ctx, q);
	if (q->udp || !done)
		free(way.steps);
	return done;
}

void
transfer_begin(struct query_ctx *ctx, struct query *q)
{
	bool is_ixfr = q->question.type == TYPE_IXFR;
	uint32_t serial = 0;

	if (is_ixfr && !read_serial(q, &serial))
		q->reply.rcode = RCODE_FORMERR;
	else if (is_ixfr && (int32_t)(q->zone->serial - serial) <= 0)
		answer_soa(ctx, q);
	else if (!transfer_choose(ctx, q, serial))
		q->reply.rcode = RCODE_SERVFAIL;
	else if (q->exchange->stream != NULL)
		return;
	reply_end(ctx, q);
}
