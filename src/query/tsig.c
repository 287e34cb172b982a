/* tsig.c - answers requests that are signed with an unknown key. */
#include <string.h>

#include "dns/rrtype.h"
#include "query/tsig.h"

/*
 * RDATA (RFC 8945 section 4.2): algorithm, then
 *
 *   +0 time signed 6, fudge 2   +8 MAC size 2, MAC
 *      original ID 2, error 2, other length 2, other data
 */
#define TIME_AND_FUDGE 8u
#define TSIG_TAIL 6u
/* RFC 8945 section 5.2.3: other data is the time of the server, or nothing. */
#define OTHER_MAX 6u

bool
tsig_is_well_formed(const struct message_rr *rr)
{
	uint8_t algorithm[NAME_MAX_LEN];
	size_t algorithm_len;
	struct cursor c;
	uint16_t other_len;

	if (rr->rrclass != CLASS_ANY || rr->ttl_sec != 0
		|| rr->owner_at > UINT16_MAX)
		return false;
	cursor_init(&c, rr->rdata, rr->rdlen);
	if (name_read_uncompressed(&c, algorithm, &algorithm_len) != NSD_OK)
		return false;
	cursor_read_octets(&c, TIME_AND_FUDGE);
	cursor_read_octets(&c, cursor_read_u16(&c));
	cursor_read_octets(&c, TSIG_TAIL - 2);
	other_len = cursor_read_u16(&c);
	cursor_read_octets(&c, other_len);
	return !c.failed && cursor_left(&c) == 0 && other_len <= OTHER_MAX;
}

void
tsig_write_badkey(struct query *q)
{
	const struct exchange *x = q->exchange;
	struct reply *reply = &q->reply;
	uint8_t *out = reply->out + reply->len;
	struct message_name key;
	struct message_rr rr;
	struct cursor c;
	size_t algorithm_len, rdlen;

	cursor_init(&c, x->request, x->request_len);
	c.at += q->tsig_at;
	if (message_read_rr(&c, &rr) != NSD_OK
		|| message_expand_name(x->request, x->request_len,
			q->tsig_at, &key) != NSD_OK)
		return;
	algorithm_len = name_len(rr.rdata);
	rdlen = algorithm_len + TIME_AND_FUDGE + 2 + TSIG_TAIL;
	if (reply->len + key.len + 10 + rdlen > x->reply_capacity)
		return;
	memcpy(out, key.name, key.len);
	out += key.len;
	octets_put_u16(out, TYPE_TSIG);
	octets_put_u16(out + 2, CLASS_ANY);
	octets_put_u32(out + 4, 0);
	octets_put_u16(out + 8, (uint16_t)rdlen);
	out += 10;
	memcpy(out, rr.rdata, algorithm_len + TIME_AND_FUDGE);
	out += algorithm_len + TIME_AND_FUDGE;
	octets_put_u16(out, 0); /* MAC size */
	memcpy(out + 2, x->request, 2);
	octets_put_u16(out + 4, RCODE_BADKEY);
	octets_put_u16(out + 6, 0);
	reply->len = (uint32_t)(out + 2 + TSIG_TAIL - reply->out);
	reply->count[SECTION_ADDITIONAL]++;
}
