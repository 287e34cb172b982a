/* edns.c - reads OPT records. */
#include "dns/edns.h"

/* RFC 7873 section 5.2.2: other lengths are malformed. */
static bool
cookie_len_is_valid(size_t len)
{
	return len == EDNS_COOKIE_CLIENT_LEN
		|| (len >= EDNS_COOKIE_CLIENT_LEN + EDNS_COOKIE_SERVER_MIN
			&& len <= EDNS_COOKIE_CLIENT_LEN
				+ EDNS_COOKIE_SERVER_MAX);
}

static enum nsd_err
read_option(struct edns *edns, uint16_t code, const uint8_t *data,
	uint16_t len)
{
	switch (code) {
	case EDNS_NSID:
		/* RFC 5001 section 2.1: data in a request is ignored. */
		edns->nsid = edns->any = true;
		break;
	case EDNS_COOKIE:
		if (!cookie_len_is_valid(len))
			return NSD_E_WIRE;
		/* RFC 7873 section 5.2: only the first cookie counts. */
		if (edns->cookie_len == 0) {
			edns->any = true;
			edns->cookie = data;
			edns->cookie_len = (uint8_t)len;
		}
		break;
	case EDNS_PADDING:
		edns->padding = edns->any = true;
		break;
	case EDNS_EXPIRE:
		/* RFC 7314 section 3: empty in a request. */
		edns->expire = edns->any = true;
		break;
	case EDNS_TCP_KEEPALIVE:
		/* RFC 7828 section 3.2.1: empty in a request; the time that
		 * some clients send all the same is for us to choose. */
		edns->keepalive = edns->any = true;
		break;
	case EDNS_ZONEVERSION:
		/* RFC 9660 section 3: empty in a request. */
		if (len != 0)
			return NSD_E_WIRE;
		edns->zoneversion = edns->any = true;
		break;
	default:
		break;
	}
	return NSD_OK;
}

enum nsd_err
edns_read(const struct message_rr *rr, struct edns *edns)
{
	struct cursor c;

	memset(edns, 0, sizeof(*edns));
	edns->present = true;
	edns->udp_size = rr->rrclass;
	edns->version = (uint8_t)(rr->ttl_sec >> 16);
	edns->dnssec_ok = (rr->ttl_sec & EDNS_DO) != 0;
	if (edns->version != EDNS_VERSION)
		return NSD_OK;
	cursor_init(&c, rr->rdata, rr->rdlen);
	while (cursor_left(&c) > 0) {
		uint16_t code = cursor_read_u16(&c);
		uint16_t len = cursor_read_u16(&c);
		const uint8_t *data = cursor_read_octets(&c, len);

		if (c.failed || read_option(edns, code, data, len) != NSD_OK)
			return NSD_E_WIRE;
	}
	return NSD_OK;
}

const uint8_t *
edns_find_option(const struct message_rr *rr, uint16_t code, uint16_t *len)
{
	struct cursor c;

	cursor_init(&c, rr->rdata, rr->rdlen);
	while (cursor_left(&c) > 0) {
		uint16_t at_hand = cursor_read_u16(&c);
		const uint8_t *data;

		*len = cursor_read_u16(&c);
		data = cursor_read_octets(&c, *len);
		if (c.failed)
			break;
		if (at_hand == code)
			return data;
	}
	return NULL;
}
