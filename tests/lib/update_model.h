/*
 * update_model.h - random zones of hostile shapes and random changes of them,
 * with a list of records as the model of what an update has to come to.
 */
#ifndef TESTS_LIB_UPDATE_MODEL_H
#define TESTS_LIB_UPDATE_MODEL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/build.h"
#include "dns/name.h"
#include "dns/nsec3.h"
#include "dns/rdata.h"
#include "lib/chance.h"
#include "store/writer.h"
#include "update/update.h"

#define MODEL_APEX "\7example"
#define MODEL_MAX 4000u

struct model_rr {
	uint8_t owner[NAME_MAX_LEN];
	uint32_t ttl_sec;
	uint16_t type;
	uint16_t rdlen;
	uint8_t rdata[300];
};

struct model {
	uint64_t random;
	struct model_rr *rrs;
	size_t count;
	unsigned labels;  /* of the pool: few make many names meet */
	unsigned depth;   /* of names */
	bool valid;       /* mostly what a primary may have */
	bool signatures;
	bool nsec3;
	uint8_t salt;     /* of the chain in use; 0: none */
	uint32_t serial;
};

static inline uint32_t
model_random(struct model *m, uint32_t below)
{
	return chance_below(&m->random, below);
}

/* ---- making records ---------------------------------------------------- */

static inline size_t
model_make_name(struct model *m, uint8_t *out, bool in_zone)
{
	static const char *const words[] = {"a", "b", "*", "ns1", "c", "d",
		"e", "mail", "f", "g", "h", "i"};
	size_t len = 0;

	if (!in_zone && model_random(m, 6) == 0) {
		memcpy(out, "\3ns1\5other", 11);
		return 11;
	}
	for (unsigned n = model_random(m, m->depth + 1); n > 0; n--) {
		uint32_t i = model_random(m, m->labels);
		const char *word = words[i % 12];

		out[len] = (uint8_t)strlen(word);
		memcpy(out + len + 1, word, out[len]);
		/* Case is kept in RDATA. */
		if (!in_zone && model_random(m, 8) == 0)
			out[len + 1] &= 0xdf;
		len += out[len] + 1u;
	}
	memcpy(out + len, MODEL_APEX, sizeof(MODEL_APEX));
	return len + sizeof(MODEL_APEX);
}

static inline size_t
model_make_sig(struct model *m, uint16_t covered, uint8_t *out)
{
	size_t len = 18;

	octets_put_u16(out, covered);
	out[2] = 13;
	out[3] = 1;
	octets_put_u32(out + 4, 3600);
	octets_put_u32(out + 8, 1000 + model_random(m, 5));
	octets_put_u32(out + 12, 1);
	octets_put_u16(out + 16, (uint16_t)model_random(m, 2));
	memcpy(out + len, MODEL_APEX, sizeof(MODEL_APEX));
	len += sizeof(MODEL_APEX);
	for (unsigned n = model_random(m, 20); n > 0; n--)
		out[len++] = (uint8_t)model_random(m, 256);
	return len;
}

/* Makes a hash; half of them are hashes of names that may exist. */
static inline void
model_make_hash(struct model *m, uint8_t hash[NSEC3_HASH_LEN])
{
	static const uint8_t salt[] = {1};
	const struct nsec3_params params = {.salt = salt, .salt_len = 1,
		.iterations = 1};
	uint8_t name[NAME_MAX_LEN];
	struct nsec3_job job = {.name = name}, *jobs = &job;

	memset(hash, (int)model_random(m, 12) * 21, NSEC3_HASH_LEN);
	if (model_random(m, 2) == 0)
		return;
	model_make_name(m, name, true);
	nsec3_hash_batch(&params, &jobs, 1);
	memcpy(hash, job.hash, NSEC3_HASH_LEN);
}

static inline size_t
model_make_nsec3(struct model *m, uint8_t *out)
{
	static const uint8_t bitmap[] = {0, 1, 0x40};

	/* Mostly of the first salt, so that there is a chain. */
	memcpy(out, "\1\0\0\1\1", 5);
	out[5] = (uint8_t)(1 + (model_random(m, 5) == 0));
	out[6] = NSEC3_HASH_LEN;
	model_make_hash(m, out + 7);
	memcpy(out + 7 + NSEC3_HASH_LEN, bitmap, sizeof(bitmap));
	return 7 + NSEC3_HASH_LEN + sizeof(bitmap);
}

static inline size_t
model_make_rdata(struct model *m, uint16_t type, uint16_t covered,
	uint8_t *out)
{
	switch (type) {
	case TYPE_NS: case TYPE_CNAME: case TYPE_DNAME: case TYPE_PTR:
		return model_make_name(m, out, false);
	case TYPE_MX:
		octets_put_u16(out, (uint16_t)model_random(m, 2));
		return 2 + model_make_name(m, out + 2, false);
	case TYPE_SRV:
		memset(out, 0, 6);
		return 6 + model_make_name(m, out + 6, false);
	case TYPE_SOA:
		memcpy(out, "\2ns\0\1x\0", 7);
		octets_put_u32(out + 7, ++m->serial);
		for (unsigned i = 0; i < 4; i++)
			octets_put_u32(out + 11 + 4 * i, 300
				+ model_random(m, 2));
		return 27;
	case TYPE_A:
		octets_put_u32(out, model_random(m, 6));
		return 4;
	case TYPE_AAAA:
		memset(out, (int)model_random(m, 4), 16);
		return 16;
	case TYPE_DS:
		memcpy(out, "\0\1\15\2", 4);
		memset(out + 4, (int)model_random(m, 3), 32);
		return 36;
	case TYPE_DNSKEY:
		memcpy(out, "\1\1\3\15", 4);
		memset(out + 4, (int)model_random(m, 3), 64);
		return 68;
	case TYPE_RRSIG:
		return model_make_sig(m, covered, out);
	case TYPE_NSEC: {
		size_t len = model_make_name(m, out, true);

		memcpy(out + len, "\0\1\100", 3);
		return len + 3;
	}
	case TYPE_NSEC3:
		return model_make_nsec3(m, out);
	case TYPE_NSEC3PARAM:
		memcpy(out, "\1\0\0\1\1", 5);
		out[5] = (uint8_t)(1 + model_random(m, 2));
		return 6;
	default:
		out[0] = (uint8_t)model_random(m, 10);
		memset(out + 1, 't', out[0]);
		return out[0] + 1u;
	}
}

static inline void
model_make_hash_owner(struct model *m, uint8_t *out)
{
	uint8_t hash[NSEC3_HASH_LEN];

	model_make_hash(m, hash);
	out[0] = NSEC3_LABEL_LEN;
	nsec3_print_label(hash, out + 1);
	memcpy(out + 1 + NSEC3_LABEL_LEN, MODEL_APEX, sizeof(MODEL_APEX));
}

static inline uint16_t
model_choose_type(struct model *m, bool apex)
{
	static const uint16_t types[] = {TYPE_A, TYPE_A, TYPE_AAAA, TYPE_NS,
		TYPE_NS, TYPE_MX, TYPE_SRV, TYPE_TXT, TYPE_DS, TYPE_CNAME,
		TYPE_DNAME};
	static const uint16_t safe[] = {TYPE_A, TYPE_AAAA, TYPE_NS, TYPE_MX,
		TYPE_SRV, TYPE_TXT, TYPE_DS, TYPE_A, TYPE_NS};
	static const uint16_t more[] = {TYPE_RRSIG, TYPE_NSEC, TYPE_RRSIG};

	if (apex && model_random(m, 2) == 0)
		return model_random(m, 2) == 0 ? TYPE_DNSKEY : TYPE_NS;
	if (m->signatures && model_random(m, 3) == 0)
		return more[model_random(m, 3)];
	/* Types that clash with others are rare, or most changes would be
	 * refused. */
	if (m->valid && model_random(m, 30) > 0)
		return safe[model_random(m, 9)];
	return types[model_random(m, 11)];
}

static inline void
model_make_rr(struct model *m, struct model_rr *rr)
{
	static const uint16_t covered[] = {TYPE_A, TYPE_AAAA, TYPE_NS,
		TYPE_SOA, TYPE_NSEC, TYPE_NSEC3, TYPE_DNSKEY};

	memset(rr, 0, sizeof(*rr));
	rr->ttl_sec = model_random(m, 10) == 0 ? 60 : 3600;
	model_make_name(m, rr->owner, true);
	rr->type = model_choose_type(m, rr->owner[0] == 7);
	if (m->nsec3 && model_random(m, 4) == 0) {
		rr->type = model_random(m, 3) > 0 ? TYPE_NSEC3 : TYPE_RRSIG;
		model_make_hash_owner(m, rr->owner);
		if (model_random(m, 10) == 0) {
			rr->type = TYPE_NSEC3PARAM;
			memcpy(rr->owner, MODEL_APEX, sizeof(MODEL_APEX));
		} else if (model_random(m, 20) == 0) {
			rr->type = TYPE_TXT;
		}
	}
	rr->rdlen = (uint16_t)model_make_rdata(m, rr->type,
		covered[model_random(m, 7)], rr->rdata);
}

/* ---- the model --------------------------------------------------------- */

static inline bool
model_same_rrset(const struct model_rr *a, const struct model_rr *b)
{
	return a->type == b->type && name_equal(a->owner, b->owner)
		&& (a->type != TYPE_RRSIG
			|| memcmp(a->rdata, b->rdata, 2) == 0);
}

static inline bool
model_equal(const struct model_rr *a, const struct model_rr *b)
{
	return model_same_rrset(a, b) && rdata_compare(a->type, a->rdata,
			a->rdlen, b->rdata, b->rdlen) == 0;
}

static inline void
model_remove(struct model *m, const struct model_rr *rr)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->count; i++)
		if (!model_equal(&m->rrs[i], rr))
			m->rrs[kept++] = m->rrs[i];
	m->count = kept;
}

static inline void
model_remove_set(struct model *m, const uint8_t *owner, uint16_t type)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->count; i++)
		if (!name_equal(m->rrs[i].owner, owner)
			|| (type != TYPE_ANY && m->rrs[i].type != type))
			m->rrs[kept++] = m->rrs[i];
	m->count = kept;
}

static inline void
model_add(struct model *m, const struct model_rr *rr)
{
	if (m->count == MODEL_MAX)
		abort();
	m->rrs[m->count++] = *rr;
}

/* An RRset has one TTL, the lowest (RFC 2181 section 5.2). */
static inline void
model_settle_ttls(struct model *m)
{
	for (size_t i = 0; i < m->count; i++)
		for (size_t j = 0; j < m->count; j++)
			if (m->rrs[j].ttl_sec < m->rrs[i].ttl_sec
				&& model_same_rrset(&m->rrs[i], &m->rrs[j]))
				m->rrs[i].ttl_sec = m->rrs[j].ttl_sec;
}

/* The order in which a zone prints, but SOAs stay in the order in which they
 * came. */
static inline int
model_compare(const void *a, const void *b)
{
	const struct model_rr *x = *(const struct model_rr *const *)a;
	const struct model_rr *y = *(const struct model_rr *const *)b;
	int c = name_compare(x->owner, y->owner);

	if (c == 0)
		c = (int)x->type - (int)y->type;
	if (c == 0 && x->type != TYPE_SOA)
		c = rdata_compare(x->type, x->rdata, x->rdlen, y->rdata,
			y->rdlen);
	return c != 0 ? c : (x > y) - (x < y);
}

static inline struct rrbatch *
model_make_batch(const struct model *m)
{
	struct rrbatch *batch = rrbatch_create(m->count * 600 + 1000);
	const struct model_rr *sorted[MODEL_MAX];

	for (size_t i = 0; i < m->count; i++)
		sorted[i] = &m->rrs[i];
	qsort(sorted, m->count, sizeof(sorted[0]), model_compare);
	for (size_t i = 0; i < m->count; i++) {
		const struct model_rr *rr = sorted[i];
		struct rrbatch_rr head = {
			.ttl_sec = rr->ttl_sec,
			.type = rr->type,
			.rdlen = rr->rdlen,
			.owner_len = (uint8_t)name_len(rr->owner),
		};

		if (batch == NULL || rrbatch_append(batch, &head, rr->owner,
				rr->rdata) != NSD_OK)
			abort();
	}
	return batch;
}

static char model_said[1000]; /* the last error of a build */

static inline void
model_on_diag(struct diag_sink *sink, const struct diag *d)
{
	(void)sink;
	if (d->severity == DIAG_ERROR)
		snprintf(model_said, sizeof(model_said), "%s", d->text);
}

/* A zone of the model's records; not visible to anyone. */
static inline enum nsd_err
model_build(const struct model *m, struct store_writer *writer, store_ref *zone)
{
	struct zone_build_input input = {
		.apex = (const uint8_t *)MODEL_APEX,
		.threads = 1,
		.secondary = !m->valid,
	};
	struct diag_sink sink = {.on_diag = model_on_diag};
	struct rrbatch *batch = model_make_batch(m);
	enum nsd_err err;

	input.batches = batch;
	err = build_zone(&input, writer, store_writer_heap(writer), &sink,
		zone);
	rrbatch_destroy(batch);
	return err;
}

/* Starts with an apex and some records. */
static inline void
model_start(struct model *m, size_t count)
{
	struct model_rr rr = {.ttl_sec = 3600, .type = TYPE_SOA};

	m->count = 0;
	memcpy(rr.owner, MODEL_APEX, sizeof(MODEL_APEX));
	rr.rdlen = (uint16_t)model_make_rdata(m, TYPE_SOA, 0, rr.rdata);
	model_add(m, &rr);
	rr.type = TYPE_NS;
	rr.rdlen = (uint16_t)model_make_rdata(m, TYPE_NS, 0, rr.rdata);
	model_add(m, &rr);
	if (m->nsec3) {
		rr.type = TYPE_NSEC3PARAM;
		rr.rdlen = (uint16_t)model_make_rdata(m, rr.type, 0, rr.rdata);
		model_add(m, &rr);
	}
	for (size_t i = 0; i < count; i++) {
		model_make_rr(m, &rr);
		model_remove(m, &rr);
		model_add(m, &rr);
	}
	model_settle_ttls(m);
}

#endif
