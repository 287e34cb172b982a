/*
 * client_update.c - UPDATEs of clients: for which zones, by whom, of which
 * records (RFC 2136 section 3.3, RFC 3007).
 */
#include "query/client_update.h"

#include <stdio.h>
#include <string.h>

#include "dns/rrtype.h"
#include "query/access.h"
#include "query/acl.h"
#include "query/keys.h"
#include "query/parse.h"
#include "query/policy.h"

/* The cost of a search in the policy, in the unit of proof_spent.steps. */
#define COST_SEARCH 8u

/* ---- refusals ------------------------------------------------------------ */

static char *
text_of(struct query_ctx *ctx, const struct query *q)
{
	return ctx->texts[q - ctx->queries];
}

static void
count_refusal(struct query_ctx *ctx, const struct query *q)
{
	if (q->exchange->seen == EXCHANGE_NEW
		&& q->reply.rcode < COUNTER_RCODES)
		ctx->counters->update_rcode[q->reply.rcode]++;
}

/* Notes a fault that is not of an access list, for the log. of: the name that
 * its line has; NULL: none. Returns the note, as access_note. */
static struct query_access *
refuse_for(struct query_ctx *ctx, struct query *q, enum query_fault fault,
	const struct message_name *of)
{
	struct query_access *access = access_note(ctx, q, QUERY_ACCESS_UPDATE,
		false);

	if (access == NULL)
		return NULL;
	access->blocked = false;
	access->fault = fault;
	if (of != NULL)
		memcpy(access->of, of->name, of->len);
	return access;
}

/* Notes for the log and the extended error why a signature does not count. The
 * RCODE is chosen. */
static void
explain_key(struct query_ctx *ctx, struct query *q)
{
	const struct exchange *x = q->exchange;
	struct query_access *access;
	char *text = text_of(ctx, q);
	struct tsig tsig;

	if (tsig_read(x->request, x->request_len, q->tsig_at, &tsig)
		!= NSD_OK)
		return;
	switch (q->tsig_error) {
	case RCODE_BADKEY:
		(void)refuse_for(ctx, q, QUERY_FAULT_KEY, &tsig.key);
		query_set_ede(q, EDE_PROHIBITED,
			"The key of the TSIG is not known");
		break;
	case RCODE_BADSIG:
		(void)refuse_for(ctx, q, QUERY_FAULT_SIGNATURE, &tsig.key);
		query_set_ede(q, EDE_PROHIBITED,
			"The signature of the TSIG is wrong");
		break;
	case RCODE_BADTIME:
		access = refuse_for(ctx, q, QUERY_FAULT_TIME, &tsig.key);
		if (access != NULL) {
			access->signed_sec = tsig.time_sec;
			access->now_sec = ctx->now_sec;
		}
		snprintf(text, QUERY_TEXT_MAX, "Clocks differ: the TSIG says"
			" %llu, and it is %llu here",
			(unsigned long long)tsig.time_sec,
			(unsigned long long)ctx->now_sec);
		query_set_ede(q, EDE_PROHIBITED, text);
		break;
	default:
		break;
	}
}

/* Checks the signature, if there is one. False: the reply is chosen. */
static bool
check_update_key(struct query_ctx *ctx, struct query *q)
{
	if (q->tsig_at == 0 || parse_check_key(ctx, q))
		return true;
	explain_key(ctx, q);
	return false;
}

/* Refuses a client that a list does not let in. */
static void
refuse_client(struct query_ctx *ctx, struct query *q,
	enum query_access_kind kind)
{
	(void)access_note(ctx, q, kind, false);
	query_fail(q, RCODE_REFUSED, EDE_PROHIBITED,
		kind == QUERY_ACCESS_FORWARD
			? "No element of update-forward fits"
			: "No element of allow-update fits");
}

/* Refuses an unsigned request to a zone that has update-policy. */
static void
refuse_unsigned(struct query_ctx *ctx, struct query *q)
{
	(void)refuse_for(ctx, q, QUERY_FAULT_UNSIGNED, NULL);
	query_fail(q, RCODE_REFUSED, EDE_PROHIBITED,
		"The update is not signed: update-policy needs a key");
}

/* ---- update-policy ------------------------------------------------------- */

static void
refuse_record(struct query_ctx *ctx, struct query *q,
	const struct policy_fault *fault)
{
	struct query_access *access = refuse_for(ctx, q, QUERY_FAULT_POLICY,
		&fault->owner);
	char name[NAME_TEXT_MAX], type[RRTYPE_TEXT_MAX];
	char *text = text_of(ctx, q);

	if (access != NULL)
		access->type = fault->type;
	(void)name_print_text(fault->owner.name, name);
	(void)rrtype_print(fault->type, type);
	/* A longer name is cut, and the type stands before it. */
	snprintf(text, QUERY_TEXT_MAX, "update-policy does not allow %s of"
		" %.250s", type, name);
	query_fail(q, RCODE_REFUSED, EDE_PROHIBITED, text);
}

/* True if update-policy allows all changes of a request. *fault: see
 * query/policy.h. */
static bool
is_allowed_by_policy(const struct update_policy *policy, struct query *q,
	struct policy_fault *fault)
{
	const struct policy_request request = {
		.message = q->exchange->request,
		.len = q->exchange->request_len,
		.apex = q->search.entry->name,
		.key = q->key,
	};
	unsigned searches;
	bool is = policy_allows(policy, &request, fault, &searches);

	q->spent.steps += COST_SEARCH * searches;
	return is;
}

/* ---- decisions ----------------------------------------------------------- */

/* Has the request passed on, unless that was done in an earlier batch
 * (EXCHANGE_ANSWERED). */
static void
pass_on(struct query_ctx *ctx, struct query *q)
{
	struct exchange *x = q->exchange;

	q->step = STEP_LATER;
	x->pass_on = x->seen != EXCHANGE_ANSWERED;
	ctx->passed_on += x->pass_on;
}

/* Decides for a zone whose updates are passed on to its primaries. An element
 * with NOKEY admits signed requests, too: primaries may know keys that this
 * server does not. */
static void
decide_forward(struct query_ctx *ctx, struct query *q,
	const struct settings_options *options)
{
	struct acl_list list = acl_list_get(options, SETTINGS_UPDATE_FORWARD);
	struct acl_client client = QUERY_CLIENT(ctx, q);

	if (!acl_list_allows(&list, &client)) {
		if (!check_update_key(ctx, q))
			return;
		client.key = q->key;
		if (!acl_list_allows(&list, &client)) {
			refuse_client(ctx, q, QUERY_ACCESS_FORWARD);
			return;
		}
	}
	pass_on(ctx, q);
}

/* Decides for a zone that takes updates. An element that blocks the client does
 * so whatever update-policy allows. */
static void
decide_update(struct query_ctx *ctx, struct query *q,
	const struct settings_options *options)
{
	struct acl_list list = acl_list_get(options, SETTINGS_ALLOW_UPDATE);
	const struct update_policy *policy = update_policy_get(options);
	const struct acl_client client = QUERY_CLIENT(ctx, q);
	struct policy_fault fault = {.owner.len = 0};
	struct acl_block block;

	if (acl_list_allows(&list, &client)) {
		pass_on(ctx, q);
	} else if (policy == NULL
		|| acl_list_find_block(&list, &client, &block)) {
		refuse_client(ctx, q, QUERY_ACCESS_UPDATE);
	} else if (q->key == STORE_NONE) {
		refuse_unsigned(ctx, q);
	} else if (is_allowed_by_policy(policy, q, &fault)) {
		pass_on(ctx, q);
	} else if (fault.owner.len > 0) {
		refuse_record(ctx, q, &fault);
	} else {
		(void)access_note(ctx, q, QUERY_ACCESS_UPDATE, false);
		query_fail(q, RCODE_REFUSED, EDE_PROHIBITED,
			"update-policy allows changes, and there are none");
	}
}

static void
decide_request(struct query_ctx *ctx, struct query *q,
	const struct settings_options *options)
{
	bool forwards = settings_options_forward_updates(options);

	if (!parse_update_rest(ctx, q))
		return;
	if (q->question.rrclass == CLASS_IN && forwards) {
		decide_forward(ctx, q, options);
		return;
	}
	if (!check_update_key(ctx, q))
		return;
	if (options == NULL || q->question.rrclass != CLASS_IN) {
		(void)refuse_for(ctx, q, QUERY_FAULT_ZONE, NULL);
		query_fail(q, RCODE_NOTAUTH, EDE_NOT_AUTHORITATIVE, NULL);
		return;
	}
	decide_update(ctx, q, options);
}

/* ---- the reply to what was passed on ------------------------------------- */

static void
tell_outcome(struct query_ctx *ctx, struct query *q)
{
	const struct query_outcome *outcome = ctx->outcome;

	if (!parse_update_rest(ctx, q)) {
		q->step = STEP_LATER;
		return;
	}
	q->step = STEP_QUESTION;
	if (q->tsig_at != 0 && keys_check(ctx, q) != RCODE_NOERROR) {
		/* The key may be the primary's alone, or gone by now. */
		q->tsig = QUERY_TSIG_NONE;
		if (outcome->rcode == RCODE_NOERROR)
			q->step = STEP_LATER;
	}
	q->reply.rcode = outcome->rcode;
	query_set_ede(q, outcome->ede, outcome->text);
}

void
client_update_take(struct query_ctx *ctx, struct query *q)
{
	const struct settings_options *options = NULL;
	store_ref ref;

	if (ctx->outcome != NULL) {
		tell_outcome(ctx, q);
		return;
	}
	if (query_is_of_apex(q)) {
		ref = store_load_ref(&q->search.entry->options);
		options = ref != STORE_NONE ? store_get(ctx->view, ref) : NULL;
		if (!settings_options_take_updates(options)
			&& !settings_options_forward_updates(options)) {
			parse_refuse_opcode(ctx, q);
			return;
		}
	} else if (ctx->settings->drop_updates) {
		q->step = STEP_DROP;
		return;
	}
	if (q->exchange->seen == EXCHANGE_NEW)
		ctx->counters->update_received++;
	decide_request(ctx, q, options);
	if (q->step > STEP_LATER)
		count_refusal(ctx, q);
}
