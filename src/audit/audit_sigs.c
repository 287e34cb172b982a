/* audit_sigs.c - the RRSIGs over one RRset: what RFC 4035 section 5.3 has a
 * validator check, and what section 2.2 asks of a signer. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "audit/audit_part.h"
#include "base/grow.h"
#include "dns/rdata.h"

/* An RRSIG taken apart (RFC 4034 section 3.1). */
struct rrsig {
	const uint8_t *rdata;
	uint32_t ttl_sec;
	uint16_t covered;
	uint8_t algorithm;
	uint8_t labels;
	uint32_t original_ttl_sec;
	uint32_t expiration;
	uint32_t inception;
	uint16_t tag;
	const uint8_t *signer;
	size_t signer_len;
	const uint8_t *signature;
	size_t signature_len;
};

/* The verdict on the signatures of one RRset. */
struct verdict {
	const struct audit_rrset *rrset;
	uint8_t present[32]; /* bit a: there is a signature of algorithm a */
	uint8_t good[32];    /* bit a: a signature of algorithm a is without
			      * fault */
	size_t count;
	bool is_good; /* each needed algorithm has a signature without fault */
};

/* A signature is judged as one of enum audit_kind, or as this. */
#define SIG_GOOD (-1)
/* The most signatures of an RRset that are verified. A zone may have many keys
 * with one tag, and many signatures of each, to make this take long
 * (CVE-2023-50387); of a real one there are few. */
#define TRIES_MAX 32u
/* The same of keys that are looked at, whatever they are. */
#define LOOKS_MAX 1000u
#define JUDGED_MAX 64u /* judgements kept; further ones are made again */

static bool
rrsig_read(const uint8_t *at, struct rrsig *sig)
{
	size_t len = octets_get_u16(at + 4);
	uint8_t name[NAME_MAX_LEN];
	struct cursor c;

	sig->ttl_sec = octets_get_u32(at);
	sig->rdata = at + 6;
	cursor_init(&c, sig->rdata, len);
	sig->covered = cursor_read_u16(&c);
	sig->algorithm = cursor_read_u8(&c);
	sig->labels = cursor_read_u8(&c);
	sig->original_ttl_sec = cursor_read_u32(&c);
	sig->expiration = cursor_read_u32(&c);
	sig->inception = cursor_read_u32(&c);
	sig->tag = cursor_read_u16(&c);
	sig->signer = c.at;
	if (c.failed || name_read_uncompressed(&c, name, &sig->signer_len)
			!= NSD_OK)
		return false;
	sig->signature_len = cursor_left(&c);
	sig->signature = c.at;
	return true;
}

/* ---- signed octets ----------------------------------------------------- */

/* The octets that are signed (RFC 4034 section 3.1.8.1); 0 without memory. */
static size_t
message_make(struct audit_worker *w, const struct audit_rrset *rrset,
	const struct rrsig *sig)
{
	const uint8_t *rr = rrset->data + rrset->owner_len;
	const uint8_t *end = rr + rrset->rrs_len;
	size_t head = rrset->owner_len + 8u, size = RRSIG_HEAD + NAME_MAX_LEN;
	uint8_t *at;

	for (const uint8_t *p = rr; p < end; p += 2u + octets_get_u16(p))
		size += head + 2u + octets_get_u16(p);
	at = grow_octets(w->message, size, &w->message_room);
	if (at == NULL)
		return 0;
	w->message = at;
	memcpy(at, sig->rdata, RRSIG_HEAD + sig->signer_len);
	name_lower(at + RRSIG_HEAD);
	at += RRSIG_HEAD + sig->signer_len;
	while (rr < end) {
		size_t len = octets_get_u16(rr);

		memcpy(at, rrset->data, rrset->owner_len);
		at += rrset->owner_len;
		octets_put_u16(at, rrset->type);
		octets_put_u16(at + 2, CLASS_IN);
		octets_put_u32(at + 4, sig->original_ttl_sec);
		memcpy(at + 8, rr, 2 + len);
		rdata_make_canonical(rrset->type, at + 10, len);
		at += 10 + len;
		rr += 2 + len;
	}
	assert((size_t)(at - w->message) <= size);
	return (size_t)(at - w->message);
}

/* The thread's context for a key; NULL without memory. */
static struct verify_context *
context_get(struct audit_worker *w, const struct audit_key *key)
{
	const struct audit_keys *keys = &w->audit->keys;
	size_t index = (size_t)(key - keys->keys);

	if (w->contexts == NULL)
		w->contexts = calloc(keys->count, sizeof(*w->contexts));
	if (w->contexts == NULL)
		return NULL;
	if (w->contexts[index] == NULL)
		w->contexts[index] = verify_context_create(key->key);
	return w->contexts[index];
}

/* ---- faults ------------------------------------------------------------ */

/* True if time a is after b, by serial arithmetic: RFC 4034 section 3.1.5. */
static bool
time_is_after(uint32_t a, uint32_t b)
{
	return a != b && a - b < 0x80000000u;
}

static const char *
time_print(uint32_t value, uint64_t now, char out[16])
{
	/* The field holds 32 bits: of the times that it may stand for, the
	 * nearest to now. */
	time_t t = (time_t)(now + (uint64_t)(int64_t)(int32_t)(value
		- (uint32_t)now));
	struct tm tm;

	if (gmtime_r(&t, &tm) == NULL
		|| strftime(out, 16, "%Y%m%d%H%M%S", &tm) == 0)
		strcpy(out, "?");
	return out;
}

/* Notes what is wrong with a signature. */
static void __attribute__((format(printf, 5, 6)))
fault_add(struct audit_worker *w, enum audit_kind kind,
	const struct verdict *v, const struct rrsig *sig, const char *format,
	...)
{
	const struct audit_place place = {v->rrset->data, v->rrset->type,
		sig->rdata, v->rrset->order};
	char name[NAME_TEXT_MAX], type[RRTYPE_TEXT_MAX], text[128];
	va_list args;

	if (audit_skip(w->audit, kind, v->is_good, place.order))
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	name_print_text(v->rrset->data, name);
	rrtype_print(v->rrset->type, type);
	audit_add(w->audit, kind, v->is_good, &place,
		"RRSIG of %s %s by key %u, algorithm %u, %s", name, type,
		sig->tag, sig->algorithm, text);
}

/* Returns the fault of the fields (RFC 4035 section 5.3.1), or SIG_GOOD. */
static int
sig_check_fields(const struct audit_options *options, const struct verdict *v,
	const struct rrsig *sig)
{
	uint32_t now = (uint32_t)options->now_sec;

	if (!name_equal(sig->signer, options->apex))
		return AUDIT_RRSIG_SIGNER;
	if (sig->labels != v->rrset->labels)
		return AUDIT_RRSIG_LABELS;
	if (time_is_after(sig->inception, sig->expiration))
		return AUDIT_RRSIG_PERIOD;
	if (time_is_after(now + options->margin_sec, sig->expiration))
		return AUDIT_RRSIG_EXPIRED;
	if (time_is_after(sig->inception, now))
		return AUDIT_RRSIG_EARLY;
	return SIG_GOOD;
}

/* True if the signature is that of the key. */
static bool
sig_verify(struct audit_worker *w, const struct verdict *v,
	const struct rrsig *sig, const struct audit_key *key)
{
	struct verify_context *c = context_get(w, key);
	size_t len = message_make(w, v->rrset, sig);

	if (c == NULL || len == 0) {
		w->err = NSD_E_MEMORY;
		return true;
	}
	if (!verify_signature(c, w->message, len, sig->signature,
			sig->signature_len))
		return false;
	w->verified++;
	return true;
}

/* True for the DNSKEY RRset of the zone: there is one, so only one thread looks
 * at it. */
static bool
verdict_is_of_keys(const struct audit_worker *w, const struct verdict *v)
{
	return v->rrset->type == TYPE_DNSKEY
		&& v->rrset->owner_len == w->audit->apex_len;
}

/* Judges a signature that one key may have made. SIG_GOOD also if it cannot be
 * verified here. */
static int
sig_check_key(struct audit_worker *w, const struct verdict *v,
	const struct rrsig *sig, const struct audit_key *key)
{
	if (!key->usable)
		return AUDIT_RRSIG_NO_KEY;
	/* RFC 5011 section 2.1 */
	if (key->revoked && !verdict_is_of_keys(w, v))
		return AUDIT_RRSIG_REVOKED;
	if (key->broken || (key->key != NULL && (++w->tries > TRIES_MAX
			|| !sig_verify(w, v, sig, key))))
		return AUDIT_RRSIG_WRONG;
	return SIG_GOOD;
}

/* Tries the keys with its tag; there may be several (RFC 4035 section 5.3.1).
 * The best judgement counts. */
static int
sig_check_keys(struct audit_worker *w, const struct verdict *v,
	const struct rrsig *sig)
{
	const struct audit_keys *keys = &w->audit->keys;
	bool is_of_keys = verdict_is_of_keys(w, v), was_known = true;
	struct audit_key *k = audit_keys_find(keys, sig->algorithm, sig->tag);
	int judged = AUDIT_RRSIG_NO_KEY;

	for (; k != NULL && k < keys->keys + keys->count
		&& k->algorithm == sig->algorithm && k->tag == sig->tag; k++) {
		int now = ++w->looks > LOOKS_MAX ? AUDIT_RRSIG_WRONG
			: sig_check_key(w, v, sig, k);

		if (now == SIG_GOOD && is_of_keys) {
			was_known = k->self_signed;
			k->self_signed = true;
		}
		if (now == SIG_GOOD || (judged != SIG_GOOD
				&& (now == AUDIT_RRSIG_WRONG
					|| judged == AUDIT_RRSIG_NO_KEY)))
			judged = now;
		/* Unverified, it may be that of any key with its tag. */
		if (w->looks > LOOKS_MAX || (now == SIG_GOOD
				&& (k->key != NULL || was_known)))
			break;
	}
	return judged;
}

static int
sig_check(struct audit_worker *w, const struct verdict *v,
	const struct rrsig *sig)
{
	int judged = sig_check_fields(w->audit->options, v, sig);

	return judged == SIG_GOOD ? sig_check_keys(w, v, sig) : judged;
}

/* Notes what a signature was judged as. */
static void
sig_tell(struct audit_worker *w, const struct verdict *v,
	const struct rrsig *sig, int judged)
{
	uint64_t now = w->audit->options->now_sec;
	char name[NAME_TEXT_MAX], time[16];

	switch (judged) {
	case AUDIT_RRSIG_SIGNER:
		name_print_text(sig->signer, name);
		fault_add(w, judged, v, sig, "names %.90s as signer", name);
		break;
	case AUDIT_RRSIG_LABELS:
		fault_add(w, judged, v, sig, "counts %u labels, not %u",
			sig->labels, v->rrset->labels);
		break;
	case AUDIT_RRSIG_PERIOD:
		fault_add(w, judged, v, sig, "ends before it begins");
		break;
	case AUDIT_RRSIG_EXPIRED:
		fault_add(w, judged, v, sig, "expired at %s",
			time_print(sig->expiration, now, time));
		break;
	case AUDIT_RRSIG_EARLY:
		fault_add(w, judged, v, sig, "is not valid before %s",
			time_print(sig->inception, now, time));
		break;
	case AUDIT_RRSIG_NO_KEY:
		fault_add(w, judged, v, sig, "has no DNSKEY");
		break;
	case AUDIT_RRSIG_REVOKED:
		fault_add(w, judged, v, sig, "is by a revoked key");
		break;
	case AUDIT_RRSIG_WRONG:
		fault_add(w, judged, v, sig, "does not verify");
		break;
	default:
		assert(judged == SIG_GOOD);
		break;
	}
}

/* The TTLs of RRset and RRSIG and the original TTL in it are the same
 * (RFC 4034 section 3, RFC 4035 section 2.2). A resolver uses the least. */
static void
sig_check_ttl(struct audit_worker *w, const struct verdict *v,
	const struct rrsig *sig)
{
	uint32_t ttl = v->rrset->ttl_sec;

	if (sig->original_ttl_sec != ttl)
		fault_add(w, AUDIT_RRSIG_TTL, v, sig,
			"has original TTL %u, the RRset has %u",
			(unsigned)sig->original_ttl_sec, (unsigned)ttl);
	else if (sig->ttl_sec != ttl)
		fault_add(w, AUDIT_RRSIG_TTL, v, sig,
			"has TTL %u, the RRset has %u",
			(unsigned)sig->ttl_sec, (unsigned)ttl);
}

/* The RRset has no signature of an algorithm that it needs. */
static void
missing_add(struct audit_worker *w, const struct verdict *v,
	unsigned algorithm)
{
	const struct audit_place place = {v->rrset->data, v->rrset->type, NULL,
		v->rrset->order};
	char name[NAME_TEXT_MAX], type[RRTYPE_TEXT_MAX];

	if (audit_skip(w->audit, AUDIT_RRSIG_MISSING, false, place.order))
		return;
	name_print_text(v->rrset->data, name);
	rrtype_print(v->rrset->type, type);
	if (v->count == 0)
		audit_add(w->audit, AUDIT_RRSIG_MISSING, false, &place,
			"%s %s has no RRSIG", name, type);
	else
		audit_add(w->audit, AUDIT_RRSIG_MISSING, false, &place,
			"%s %s has no RRSIG of algorithm %u", name, type,
			algorithm);
}

/* Checks that an RRset has signatures of all algorithms that it needs. */
static void
algorithms_check(struct audit_worker *w, struct verdict *v)
{
	const struct audit_keys *keys = &w->audit->keys;
	bool good = true;

	for (unsigned i = 0; i < keys->needed_count; i++) {
		unsigned a = keys->needed_list[i];

		if ((v->good[a / 8] >> a % 8 & 1) == 0)
			good = false;
		if ((v->present[a / 8] >> a % 8 & 1) != 0)
			continue;
		missing_add(w, v, a);
		if (v->count == 0)
			break;
	}
	v->is_good = good && keys->needed_count > 0;
}

static void
rrset_check(struct audit_worker *worker, const struct audit_rrset *rrset)
{
	struct verdict v = {.rrset = rrset};
	const uint8_t *sigs = rrset->data + rrset->owner_len + rrset->rrs_len;
	const uint8_t *end = sigs + rrset->sigs_len;
	int judged[JUDGED_MAX], now;
	size_t faults = 0, i = 0;
	struct rrsig sig;

	worker->tries = worker->looks = 0;
	for (const uint8_t *p = sigs; p < end;
		p += 6u + octets_get_u16(p + 4)) {
		uint8_t bit;

		if (!rrsig_read(p, &sig))
			continue;
		bit = (uint8_t)(1u << sig.algorithm % 8);
		v.present[sig.algorithm / 8] |= bit;
		sig_check_ttl(worker, &v, &sig);
		now = sig_check(worker, &v, &sig);
		if (now == SIG_GOOD)
			v.good[sig.algorithm / 8] |= bit;
		else
			faults++;
		if (v.count < JUDGED_MAX)
			judged[v.count] = now;
		v.count++;
	}
	algorithms_check(worker, &v);
	if (faults == 0)
		return;
	/* A fault is milder if the RRset is good all the same, which is known
	 * only now. */
	for (const uint8_t *p = sigs; p < end; p += 6u + octets_get_u16(p + 4))
		if (rrsig_read(p, &sig)) {
			sig_tell(worker, &v, &sig, i < JUDGED_MAX ? judged[i]
				: sig_check(worker, &v, &sig));
			i++;
		}
}

void
audit_sigs_check(struct audit_worker *worker, const struct audit_batch *batch)
{
	for (size_t at = 0; at < batch->len;) {
		const struct audit_rrset *rrset = (const void *)(batch->data
			+ at);

		rrset_check(worker, rrset);
		at += rrset->size;
	}
}

void
audit_sigs_fini(struct audit_worker *worker)
{
	for (size_t i = 0; worker->contexts != NULL
		&& i < worker->audit->keys.count; i++)
		verify_context_destroy(worker->contexts[i]);
	free(worker->contexts);
	free(worker->message);
}
