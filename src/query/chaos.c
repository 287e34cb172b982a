/* chaos.c - answers for the server's own names in class CH. */
#include <string.h>

#include "dns/rrtype.h"
#include "query/answer.h"
#include "query/emit.h"

struct chaos_name {
	uint8_t len;
	const char *wire; /* lower case */
	bool of_version;
};

static const struct chaos_name chaos_names[] = {
	{ 11, "\2id\6server", false },
	{ 15, "\10hostname\4bind", false },
	{ 16, "\7version\6server", true },
	{ 14, "\7version\4bind", true },
};

static const struct chaos_name *
find_name(const struct message_name *name)
{
	for (size_t i = 0; i < sizeof(chaos_names) / sizeof(*chaos_names); i++)
		if (name->len == chaos_names[i].len && memcmp(name->name,
				chaos_names[i].wire, name->len) == 0)
			return &chaos_names[i];
	return NULL;
}

/* Writes one TXT record of one string, TTL 0. */
static void
add_text(struct query *q, const uint8_t *text, size_t len)
{
	struct reply *reply = &q->reply;
	uint8_t *out = reply->out + reply->len;

	if (len > 255)
		len = 255;
	if (RRSET_RR_HEAD + 3 + len > reply->limit - reply->len) {
		reply->flags |= MESSAGE_TC;
		return;
	}
	octets_put_u16(out, EMIT_POINTER | MESSAGE_HEADER_LEN);
	octets_put_u16(out + 2, TYPE_TXT);
	octets_put_u16(out + 4, CLASS_CH);
	octets_put_u32(out + 6, 0);
	octets_put_u16(out + 10, (uint16_t)(len + 1));
	out[12] = (uint8_t)len;
	memcpy(out + 13, text, len);
	reply->len += RRSET_RR_HEAD + 3 + (uint32_t)len;
	reply->count[SECTION_ANSWER]++;
}

void
chaos_answer(struct query_ctx *ctx, struct query *q)
{
	const struct chaos_name *name = find_name(&q->question.name);
	uint16_t type = q->question.type;
	const struct settings_text *text;

	if (name == NULL || (type != TYPE_TXT && type != TYPE_ANY)) {
		q->reply.rcode = RCODE_REFUSED;
		query_set_ede(q, EDE_NOT_SUPPORTED, NULL);
		return;
	}
	text = name->of_version ? &ctx->settings->version
		: &ctx->settings->identity;
	if (text->at == 0) {
		q->reply.rcode = RCODE_REFUSED;
		query_set_ede(q, EDE_PROHIBITED, NULL);
		return;
	}
	add_text(q, settings_read_text(ctx->settings, text), text->len);
}
