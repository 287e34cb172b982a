/*
 * fuzz_transfer.c - messages of transfers of the zone "z.": what the reader
 * gives on is sound whatever comes, and a transfer that is done is whole.
 *
 * The input: octets of flags (enum flag) and our serial; then messages, each
 * behind its length in 2 octets.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz/mutate_dns.h"
#include "fuzz/mutate_frames.h"
#include "xfr/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum flag {
	FLAG_IXFR = 1,
	FLAG_UDP = 2,
	FLAG_HAS_SERIAL = 4,
	FLAG_KEY = 8,      /* the request is signed */
	FLAG_SIGN = 16,    /* and so is what comes, but for */
	FLAG_SKIP = 32,    /* each message of an odd length */
};

#define APEX ((const uint8_t *)"\001z")
#define NOW 1700000000u
#define KEPT_MAX (1u << 22)

static uint8_t kept[KEPT_MAX];
static size_t kept_len;

static void
check(bool condition)
{
	if (!condition)
		abort();
}

static enum nsd_err
on_octets(void *ctx, const uint8_t *octets, size_t len)
{
	check(len <= KEPT_MAX - kept_len);
	memcpy(kept + kept_len, octets, len);
	kept_len += len;
	return NSD_OK;
}

/* The octets that the reader passed on are records, whether or not the transfer
 * is whole. */
static void
check_kept(const struct xfr_reader *reader, enum xfr_verdict verdict)
{
	struct changes changes;
	struct changes_rr rr;
	enum nsd_err err;
	uint32_t to;

	check(reader->result.octets >= kept_len);
	if (kept_len == 0) {
		check(verdict != XFR_READ_DONE);
		return;
	}
	check(verdict != XFR_READ_UNCHANGED && verdict != XFR_READ_USE_TCP);
	check(changes_open(&changes, kept, kept_len) == NSD_OK);
	while ((err = changes_read(&changes, &rr)) == NSD_OK)
		;
	check(err == NSD_E_AGAIN && changes_left(&changes) == 0);
	if (verdict != XFR_READ_DONE)
		return;
	check(changes_close(&changes, &to) == NSD_OK);
	check(to == reader->result.to && to == reader->result.soa.serial);
	check(changes.kind == reader->result.kind);
	/* Some records are not passed on: the last SOA, with differences the
	 * first, and duplicates in a row. */
	check(changes.records + (changes.kind == XFR_DIFFS ? 2 : 1)
		<= reader->result.records);
}

/* The key of both sides, and their TSIG chains. */
struct keys {
	struct tsig_key us_key, them_key;
	struct tsig_chain us, them;
};

static void
init_keys(struct keys *keys)
{
	static struct mac *macs[2];
	uint8_t request[XFR_ASK_MAX];
	const struct xfr_ask ask = {
		.asking = XFR_ASK_IXFR,
		.apex = APEX,
		.chain = &keys->us,
	};
	struct tsig tsig;
	size_t len;

	memset(keys, 0, sizeof(*keys));
	for (unsigned i = 0; i < 2 && macs[i] == NULL; i++)
		check(mac_create(MAC_HMAC_SHA256, (const uint8_t *)"s", 1,
			&macs[i]) == NSD_OK);
	memcpy(keys->us_key.name, "\003key", 5);
	keys->us_key.kind = MAC_HMAC_SHA256;
	keys->us_key.mac = macs[0];
	keys->them_key = keys->us_key;
	keys->them_key.mac = macs[1];
	tsig_begin(&keys->us, &keys->us_key);
	tsig_begin(&keys->them, &keys->them_key);
	check(xfr_ask_write(&ask, NOW, request, &len) == NSD_OK);
	check(tsig_read(request, len, len - tsig_len(&keys->us_key), &tsig)
		== NSD_OK);
	check(tsig_check(&keys->them, request, &tsig, NOW) == RCODE_NOERROR);
}

/* A copy of its own size, signed if the flags say so. */
static uint8_t *
copy_message(const uint8_t *message, size_t *len, uint8_t flags,
	struct keys *keys)
{
	static const struct tsig_stamp stamp = {NOW, TSIG_FUDGE_SEC,
		RCODE_NOERROR, 0};
	size_t room = *len + tsig_len(&keys->us_key);
	uint8_t *copy = malloc(room + 1), *cut;

	check(copy != NULL);
	memcpy(copy, message, *len);
	if ((flags & FLAG_SIGN) == 0 || *len < MESSAGE_HEADER_LEN)
		return copy;
	if ((flags & FLAG_SKIP) != 0 && *len % 2 == 1
		&& tsig_skip(&keys->them, message, *len) == NSD_OK)
		return copy;
	check(tsig_sign(&keys->them, copy, len, room, &stamp) == NSD_OK);
	cut = realloc(copy, *len);
	check(cut != NULL);
	return cut;
}

static void
read_short_replies(const uint8_t *message, size_t len)
{
	struct xfr_ask ask = {.apex = APEX, .id = 0x1234};
	struct xfr_notified notified;
	struct xfr_answer answer;

	check(xfr_answer_read(&ask, message, len, NOW, &answer)
		!= XFR_FAULT_NONE || answer.has_soa);
	ask.asking = XFR_TELL_NOTIFY;
	check(xfr_answer_read(&ask, message, len, NOW, &answer)
		< XFR_FAULT_COUNT);
	if (xfr_notify_read(message, len, &notified))
		check(name_len(notified.apex) <= NAME_MAX_LEN);
}

/* ---- inputs -------------------------------------------------------------- */

static const char *const names[] = {"\1z", "\1a\1z", "\1*\1z", "\2ns\1z",
	"\1a\1a\1z", "", "\1y"};
static const struct mutate_key signers[] = {
	{"\3key", MAC_HMAC_SHA256, "s"},
	{"\7unknown", MAC_HMAC_SHA256, "u"},
};
static const struct mutate_dns dns = {
	.names = names,
	.name_count = sizeof(names) / sizeof(*names),
	.keys = signers,
	.key_count = 2,
	.now_sec = NOW,
	.id = 0x1234,
};
static const struct mutate_frames frames = {
	.prefix = 2,
	.head = 2,
	.dns = &dns,
};

struct report {
	struct xfr_reader reader;
	enum xfr_verdict verdict;
	struct keys keys;
	uint8_t flags;
};

static void
take_message(void *ctx, const uint8_t *head, const uint8_t *octets, size_t len)
{
	static struct xfr_room room;
	struct report *t = ctx;
	uint8_t *message;

	if (t->verdict != XFR_READ_MORE)
		return;
	message = copy_message(octets, &len, t->flags, &t->keys);
	t->verdict = xfr_reader_take(&t->reader, message, len, NOW, &room);
	read_short_replies(message, len);
	free(message);
	check((t->verdict == XFR_READ_FAILED)
		== (t->reader.result.fault != XFR_FAULT_NONE));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct report t = {.verdict = XFR_READ_MORE};
	struct xfr_read_setup setup = {
		.apex = APEX,
		.id = 0x1234,
		.octets_max = KEPT_MAX,
		.sink = {on_octets, NULL},
	};

	t.flags = size > 0 ? data[0] : 0;
	setup.serial = size > 1 ? data[1] : 0;
	setup.asking = t.flags & FLAG_IXFR ? XFR_ASK_IXFR : XFR_ASK_AXFR;
	setup.udp = setup.asking == XFR_ASK_IXFR && (t.flags & FLAG_UDP) != 0;
	setup.has_serial = (t.flags & (FLAG_HAS_SERIAL | FLAG_IXFR)) != 0;
	init_keys(&t.keys);
	if ((t.flags & FLAG_KEY) != 0)
		setup.chain = &t.keys.us;
	xfr_reader_init(&t.reader, &setup);
	kept_len = 0;
	frames_walk(&frames, data, size, take_message, &t);
	check_kept(&t.reader, t.verdict);
	return 0;
}

FRAMES_FOR_FUZZER(&frames)
