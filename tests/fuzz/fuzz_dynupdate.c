/*
 * fuzz_dynupdate.c - any octets as dynamic updates of a zone, several in a
 * batch: what they come to fits the zone exactly, and the strict build of a
 * primary takes it. A message that is refused changes nothing.
 *
 * The first octet: 3 the zone (plain, signed with NSEC, with NSEC3), 4 without
 * the check of signed zones, 8 little room, 16 limits, 32 serials by date. Then
 * frames: an octet, a length of 2, so many octets of a message. The octet: 1
 * its header is made that of an UPDATE, and its question that of the zone if
 * it has the right name; 2 the batch ends before it.
 */
#include <stdlib.h>
#include <string.h>

#include "dns/message.h"
#include "dynupdate/dynupdate.h"
#include "fuzz/mutate_dns.h"
#include "fuzz/mutate_frames.h"
#include "lib/zone_fixture.h"
#include "store/writer.h"
#include "target.h"
#include "update/update.h"
#include "xfr/changes.h"

#define APEX ((const uint8_t *)"\7example")
#define APEX_LEN 9u
#define NOW 1700000000

enum how { HOW_UPDATE = 1, HOW_ENDS = 2 };
enum flags {
	FLAG_ZONE = 3,
	FLAG_NO_CHECK = 4,
	FLAG_SMALL = 8,
	FLAG_LIMITS = 16,
	FLAG_DATE = 32,
};

#define SIG(name, type)                                                  \
	name " 300 RRSIG " type " 13 2 300 20300101000000 "              \
	"20200101000000 2064 example. AAAA\n"
#define PLAIN                                                            \
	"@ 300 SOA ns. host. 10 2 3 4 5\n@ 300 NS ns.example.\n"         \
	"www 300 A 192.0.2.1\nwww 300 A 192.0.2.2\nwww 300 TXT a\n"      \
	"c 300 CNAME www\n*.w 300 MX 1 Mail.example.\n"                  \
	"x.y.z 300 AAAA ::1\n"
#define SIGNED                                                           \
	"@ 300 SOA ns. host. 10 2 3 4 5\n" SIG("@", "SOA")               \
	"@ 300 NS ns.\n" SIG("@", "NS")                                  \
	"@ 300 DNSKEY 257 3 13 AQID\n" SIG("@", "DNSKEY")                \
	"cut 300 NS ns.cut\nns.cut 300 A 192.0.2.1\n"                    \
	"www 300 A 192.0.2.1\n" SIG("www", "A")

/* Hashes of the apex, www and cut. */
#define NSEC3_RECORDS                                                    \
	"c1kgc91hrn9nqi2qjh1ms78ki8p7s75o 300 NSEC3 1 0 1 - "            \
	"s5ta6kp60kjdcr5m4j1djjrk535llg5s NS SOA RRSIG DNSKEY "          \
	"NSEC3PARAM\n" SIG("c1kgc91hrn9nqi2qjh1ms78ki8p7s75o", "NSEC3")  \
	"s5ta6kp60kjdcr5m4j1djjrk535llg5s 300 NSEC3 1 0 1 - "            \
	"tjdm3lpr9g0nfnf8cnr0fdan40p8dnb6 A RRSIG\n"                     \
	SIG("s5ta6kp60kjdcr5m4j1djjrk535llg5s", "NSEC3")                 \
	"tjdm3lpr9g0nfnf8cnr0fdan40p8dnb6 300 NSEC3 1 0 1 - "            \
	"c1kgc91hrn9nqi2qjh1ms78ki8p7s75o NS\n"                          \
	SIG("tjdm3lpr9g0nfnf8cnr0fdan40p8dnb6", "NSEC3")

static const char *const zones[] = {
	PLAIN "d 300 DNAME www\ncut 300 NS ns.cut\nns.cut 300 A 192.0.2.1\n",
	SIGNED "@ 300 NSEC cut NS SOA RRSIG NSEC DNSKEY\n" SIG("@", "NSEC")
	"cut 300 NSEC www NS RRSIG NSEC\n" SIG("cut", "NSEC")
	"www 300 NSEC @ A RRSIG NSEC\n" SIG("www", "NSEC"),
	SIGNED "@ 300 NSEC3PARAM 1 0 1 -\n" SIG("@", "NSEC3PARAM")
	NSEC3_RECORDS,
	PLAIN "w 300 WKS 192.0.2.1 TCP 25\n@ 300 TXT a\n",
};

static const char *const names[] = {"\7example", "\7example",
	"\3www\7example", "\1a\7example", "\1*\1w\7example", "\1d\7example",
	"\1x\1d\7example", "\1c\7example", "\3cut\7example",
	"\2ns\3cut\7example", "\1x\1y\1z\7example", "\4test", ""};
static const struct mutate_key keys[] = {
	{"\3key", MAC_HMAC_SHA256, "s"},
	{"\7unknown", MAC_HMAC_SHA256, "u"},
};
static const struct mutate_dns dns = {
	.names = names,
	.name_count = sizeof(names) / sizeof(*names),
	.keys = keys,
	.key_count = sizeof(keys) / sizeof(*keys),
	.now_sec = NOW,
};
static const struct mutate_frames frames = {
	.prefix = 1,
	.head = 3,
	.dns = &dns,
};

static struct zone_fixture f;

struct batch {
	store_ref entry;
	struct dynupdate *d;
	struct dynupdate_options options;
};

static const struct zone *
batch_zone(const struct batch *b)
{
	const struct zone_entry *entry = store_get(f.view, b->entry);

	return store_get(f.view, store_load_ref(&entry->zone));
}

/* ---- the zone takes a batch ---------------------------------------------- */

static void
note_record(struct zone_update *update, const struct changes_rr *rr)
{
	const struct zone_rr record = {
		.owner = rr->owner,
		.ttl_sec = rr->ttl_sec,
		.type = rr->type,
		.rdlen = rr->rdlen,
		.rdata = rr->rdata,
	};

	MUST((rr->action == XFR_ADD ? update_add(update, &record)
		: update_remove(update, &record)) == NSD_OK);
}

static void
take_records(const struct batch *b, const uint8_t *records, size_t len,
	uint32_t to)
{
	const struct zone_update_options options = {
		.threads = 1,
		.exact = true,
		.limits = {.records_per_type = b->options.records_max,
			.types_per_name = b->options.types_max},
	};
	uint8_t *octets = malloc(CHANGES_HEAD_MAX + len);
	struct diag_sink sink = {0};
	struct zone_update *update;
	struct changes changes;
	struct changes_rr rr;
	bool is_first = true;
	size_t head;
	uint32_t last;

	MUST(octets != NULL);
	head = changes_write_head(octets, XFR_DIFFS, APEX, APEX_LEN);
	memcpy(octets + head, records, len);
	MUST(changes_open(&changes, octets, head + len) == NSD_OK);
	MUST(update_begin(f.writer, b->entry, &options, &update) == NSD_OK);
	while (changes_left(&changes) > 0) {
		MUST(changes_read(&changes, &rr) == NSD_OK);
		if (rr.part == CHANGES_OLD_SOA && !is_first)
			update_next_version(update);
		is_first = false;
		note_record(update, &rr);
	}
	MUST(changes_close(&changes, &last) == NSD_OK && last == to);
	MUST(update_commit(update, &sink, NULL) == NSD_OK);
	free(octets);
}

static void
batch_end(struct batch *b)
{
	const uint8_t *records;
	uint32_t from, to;
	size_t len;

	if (b->d == NULL)
		return;
	records = dynupdate_records(b->d, &len, &from, &to);
	MUST(from == batch_zone(b)->serial && len <= b->options.octets_max);
	MUST(len > 0 || from == to);
	if (len > 0)
		take_records(b, records, len, to);
	MUST(batch_zone(b)->serial == to);
	dynupdate_end(b->d);
	b->d = NULL;
	store_reclaim(f.writer);
}

/* ---- messages ------------------------------------------------------------ */

/* Makes a message one of the zone: most by chance are not. */
static void
make_update(uint8_t *message, size_t len)
{
	if (len < MESSAGE_HEADER_LEN)
		return;
	octets_put_u16(message + MESSAGE_FLAGS, OPCODE_UPDATE << 11);
	octets_put_u16(message + MESSAGE_QDCOUNT, 1);
	if (len < MESSAGE_HEADER_LEN + APEX_LEN + MESSAGE_QUESTION_TAIL
		|| memcmp(message + MESSAGE_HEADER_LEN, APEX, APEX_LEN) != 0)
		return;
	message += MESSAGE_HEADER_LEN + APEX_LEN;
	octets_put_u16(message, TYPE_SOA);
	octets_put_u16(message + 2, CLASS_IN);
}

static void
apply_message(struct batch *b, const uint8_t *message, size_t len)
{
	static struct dynupdate_result result;
	uint32_t from, before, after;
	size_t len_before, len_after;
	enum nsd_err err;

	(void)dynupdate_records(b->d, &len_before, &from, &before);
	err = dynupdate_apply(b->d, message, len, &result);
	(void)dynupdate_records(b->d, &len_after, &from, &after);
	MUST(err == NSD_OK || (err == NSD_E_LIMIT && len_before > 0));
	if (err != NSD_OK) {
		MUST(len_before == len_after && before == after);
		return;
	}
	MUST((result.rcode == RCODE_NOERROR) == (result.ede == EDE_NONE));
	MUST((result.ede == EDE_NONE) == (*result.why == '\0'));
	MUST(memchr(result.why, '\0', sizeof(result.why)) != NULL);
	MUST(result.changed == (len_after > len_before));
	MUST(result.changed == (after != before));
	MUST(result.serial == after);
	MUST(result.rcode == RCODE_NOERROR || !result.changed);
}

static void
take_frame(void *ctx, const uint8_t *head, const uint8_t *octets, size_t len)
{
	struct batch *b = ctx;
	uint8_t *message;

	if ((head[0] & HOW_ENDS) != 0)
		batch_end(b);
	if (b->d == NULL)
		MUST(dynupdate_begin(f.view, batch_zone(b), APEX, &b->options,
			&b->d) == NSD_OK);
	message = malloc(len + 1);
	MUST(message != NULL);
	/* Memory that ends where the message does. */
	memcpy(message + 1, octets, len);
	if ((head[0] & HOW_UPDATE) != 0)
		make_update(message + 1, len);
	apply_message(b, message + 1, len);
	free(message);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool ready;
	struct batch b = {.d = NULL};
	uint8_t flags = size > 0 ? data[0] : 0;

	if (!ready)
		zone_fixture_init(&f);
	ready = true;
	b.options = (struct dynupdate_options){
		.policy = flags & FLAG_DATE ? DYNUPDATE_DATESERIAL
					    : DYNUPDATE_INCREMENT,
		.now_sec = NOW,
		.no_check = (flags & FLAG_NO_CHECK) != 0,
		.octets_max = flags & FLAG_SMALL ? 1000 : 1u << 20,
		.records_max = flags & FLAG_LIMITS ? 3 : 0,
		.types_max = flags & FLAG_LIMITS ? 4 : 0,
		.seed = size,
	};
	MUST(zone_fixture_load(&f, "example.", zones[flags & FLAG_ZONE],
		&b.entry) == NSD_OK);
	frames_walk(&frames, data, size, take_frame, &b);
	batch_end(&b);
	store_reclaim(f.writer);
	return 0;
}

FRAMES_FOR_FUZZER(&frames)
