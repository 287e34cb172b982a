/* cookies.c - cookies of clients, and ours for them. */
#include <string.h>

#include "query/cookies.h"

void
cookies_begin(struct query_ctx *ctx)
{
	if (ctx->settings->answer_cookie && ctx->options.cookies != NULL)
		cookie_share_read(ctx->options.cookies, &ctx->cookie_version,
			&ctx->cookie_secrets);
}

void
cookies_check(const struct query_ctx *ctx, struct query *q)
{
	if (q->edns.cookie_len == 0 || !ctx->settings->answer_cookie
		|| ctx->cookie_secrets.count == 0
		|| q->exchange->peer == NULL)
		return;
	q->cookie = cookie_check(&ctx->cookie_secrets, q->edns.cookie,
		q->edns.cookie_len, q->exchange->peer,
		(uint32_t)ctx->now_sec);
}

void
cookies_write(const struct query_ctx *ctx, const struct query *q, uint8_t *out)
{
	octets_put_u16(out, EDNS_COOKIE);
	octets_put_u16(out + 2, COOKIE_LEN);
	out += EDNS_OPTION_HEAD;
	if (q->cookie == COOKIE_GOOD)
		memcpy(out, q->edns.cookie, COOKIE_LEN);
	else
		cookie_make(&ctx->cookie_secrets, q->edns.cookie,
			q->exchange->peer, (uint32_t)ctx->now_sec, out);
}
