/*
 * fuzz_denial.c - signed zones, changed in structure, and questions for them.
 * The zone is built or refused; what comes back for each question is a whole
 * message within its limit, and no record that denies stands there twice.
 *
 * The first octet chooses the zone: NSEC, NSEC3, with opt-out, or a chain of
 * another salt added to the one of the parameters. Then, in pairs or more, the
 * changes, up to an octet 0, then the questions.
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dns/edns.h"
#include "dns/message.h"
#include "dns/nsec3.h"
#include "dns/rrtype.h"
#include "query/query.h"

#include "lib/zone_fixture.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LINES_MAX 256
#define LINE_MAX_LEN 512
#define QUESTIONS_MAX 24

/* Names with their types; those of cuts and below have no signature. */
static const struct {
	const char *owner, *types;
	bool unsigned_cut;
} names[] = {
	{ "example.", "NS SOA RRSIG DNSKEY", false },
	{ "a.example.", "TXT RRSIG", false },
	{ "c.example.", "", false },
	{ "b.c.example.", "TXT RRSIG", false },
	{ "w.example.", "", false },
	{ "*.w.example.", "TXT RRSIG", false },
	{ "l.example.", "", false },
	{ "*.l.example.", "CNAME RRSIG", false },
	{ "d.example.", "DNAME RRSIG", false },
	{ "s.example.", "NS DS RRSIG", false },
	{ "i.example.", "NS", true },
	{ "e.example.", "", true },
	{ "i.e.example.", "NS", true },
};
#define NAME_COUNT (sizeof(names) / sizeof(names[0]))

static const char *const data_lines[] = {
	"example. 300 SOA ns.i.example. r.example. 1 2 3 4 60",
	"example. 300 NS ns.i.example.",
	"example. 300 DNSKEY 257 3 13 AAAA",
	"a.example. 300 TXT a", "b.c.example. 300 TXT b",
	"*.w.example. 300 TXT w", "*.l.example. 300 CNAME x.l.w.example.",
	"d.example. 300 DNAME l.example.",
	"s.example. 300 NS ns.s.example.", "ns.s.example. 300 A 192.0.2.1",
	"s.example. 300 DS 1 13 2 00000000000000000000000000000000"
	"00000000000000000000000000000000",
	"i.example. 300 NS ns.i.example.", "ns.i.example. 300 A 192.0.2.2",
	"x.ns.i.example. 300 A 192.0.2.3", "i.e.example. 300 NS ns.i.example.",
};

struct text {
	size_t count;
	char lines[LINES_MAX][LINE_MAX_LEN];
};

static void
check(bool condition)
{
	if (!condition)
		abort();
}

static void
text_add(struct text *text, const char *line)
{
	size_t len = strlen(line);

	if (text->count < LINES_MAX && len < LINE_MAX_LEN)
		memmove(text->lines[text->count++], line, len + 1);
}

static void
text_add_sig(struct text *text, const char *owner, const char *type)
{
	char line[LINE_MAX_LEN];
	unsigned labels = 0;

	for (const char *c = owner; *c != '\0'; c++)
		labels += *c == '.';
	labels -= owner[0] == '*';
	snprintf(line, sizeof(line), "%s 300 RRSIG %s 13 %u 300 "
		"20400101000000 20200101000000 1 example. AAAAAAAAAAAAAAAA",
		owner, type, labels);
	text_add(text, line);
}

/* ---- chains ------------------------------------------------------------ */

struct link {
	unsigned name;
	char label[NSEC3_LABEL_LEN + 1];
};

static int
link_compare(const void *a, const void *b)
{
	return strcmp(((const struct link *)a)->label,
		((const struct link *)b)->label);
}

static void
add_nsec3(struct text *text, unsigned iterations, const char *salt,
	bool opt_out)
{
	const uint8_t octet = 0xaa;
	const struct nsec3_params params = { .salt = &octet,
		.salt_len = salt[0] != '-', .iterations =
			(uint16_t)iterations };
	struct link links[NAME_COUNT];
	char line[LINE_MAX_LEN], owner[64];
	unsigned count = 0;

	for (unsigned i = 0; i < NAME_COUNT; i++) {
		struct nsec3_job job = { .name = zone_fixture_name(
			names[i].owner) };
		struct nsec3_job *const jobs[1] = { &job };

		if (opt_out && names[i].unsigned_cut)
			continue;
		nsec3_hash_batch(&params, jobs, 1);
		links[count].name = i;
		nsec3_print_label(job.hash, (uint8_t *)links[count].label);
		links[count++].label[NSEC3_LABEL_LEN] = '\0';
	}
	qsort(links, count, sizeof(links[0]), link_compare);
	for (unsigned i = 0; i < count; i++) {
		snprintf(owner, sizeof(owner), "%s.example.", links[i].label);
		snprintf(line, sizeof(line), "%s 300 NSEC3 1 %u %u %s %s %s",
			owner, opt_out, iterations, salt,
			links[(i + 1) % count].label,
			names[links[i].name].types);
		text_add(text, line);
		text_add_sig(text, owner, "NSEC3");
	}
}

static void
add_nsec(struct text *text)
{
	/* The names that are not empty, in canonical order. */
	static const uint8_t order[] = { 0, 1, 3, 8, 12, 10, 7, 9, 5 };
	char line[LINE_MAX_LEN];

	for (unsigned i = 0; i < sizeof(order); i++) {
		const char *owner = names[order[i]].owner;

		snprintf(line, sizeof(line), "%s 300 NSEC %s %s NSEC", owner,
			names[order[(i + 1) % sizeof(order)]].owner,
			names[order[i]].types);
		text_add(text, line);
		text_add_sig(text, owner, "NSEC");
	}
}

static void
make_zone(struct text *text, uint8_t how)
{
	for (size_t i = 0; i < sizeof(data_lines) / sizeof(*data_lines); i++)
		text_add(text, data_lines[i]);
	text_add_sig(text, "example.", "SOA");
	text_add_sig(text, "example.", "DNSKEY");
	text_add_sig(text, "*.w.example.", "TXT");
	text_add_sig(text, "*.l.example.", "CNAME");
	text_add_sig(text, "s.example.", "DS");
	switch (how & 3) {
	case 0:
		add_nsec(text);
		return;
	case 1:
		add_nsec3(text, 0, "-", false);
		text_add(text, "example. 300 NSEC3PARAM 1 0 0 -");
		break;
	case 2:
		add_nsec3(text, 2, "aa", true);
		text_add(text, "example. 300 NSEC3PARAM 1 0 2 aa");
		break;
	default:
		add_nsec3(text, 1, "aa", false);
		add_nsec3(text, 0, "-", true);
		text_add(text, "example. 300 NSEC3PARAM 1 0 1 aa");
	}
	if ((how & 4) != 0)
		add_nsec(text);
}

/* ---- changes ----------------------------------------------------------- */

/* The start of the nth word of a line and its length. */
static char *
find_word(char *line, unsigned n, size_t *len)
{
	while (n-- > 0) {
		line += strcspn(line, " ");
		line += strspn(line, " ");
	}
	*len = strcspn(line, " ");
	return line;
}

/* Puts the word that stands at n in one line in the place of another's. */
static void
take_word(char *line, const char *from, unsigned n)
{
	char copy[LINE_MAX_LEN], source[LINE_MAX_LEN];
	size_t len, new_len;
	char *word, *new_word;

	snprintf(source, sizeof(source), "%s", from);
	snprintf(copy, sizeof(copy), "%s", line);
	word = find_word(copy, n, &len);
	new_word = find_word(source, n, &new_len);
	snprintf(line, LINE_MAX_LEN, "%.*s%.*s%.200s", (int)(word - copy),
		copy, (int)new_len, new_word, word + len);
}

static void
change(struct text *text, struct cursor *in, uint8_t how)
{
	static const char *const extra[] = {
		"example. 300 NSEC3PARAM 1 0 65535 -",
		"example. 300 NSEC3PARAM 1 0 0 -",
		"example. 300 NSEC3PARAM 1 1 0 -",
		"example. 300 NSEC3PARAM 2 0 0 -",
		"example. 300 NSEC a.example. A",
		"x.i.example. 300 NSEC a.example. A",
		"zz.example. 300 NSEC3 1 0 0 - "
		"00000000000000000000000000000000 A",
		"00000000000000000000000000000000.example. 300 NSEC3 1 0 0 - "
		"00000000000000000000000000000000 A",
		"00000000000000000000000000000000.example. 300 TXT a",
		"w.w.w.w.w.w.w.w.w.i.e.example. 300 TXT a",
		"*.example. 300 TXT a", "c.example. 300 NS a.example.",
		"*.c.example. 300 CNAME y.l.example.",
		"w.example. 300 DNAME l.example.",
		"*.e.example. 300 NS a.example.",
		"a.b.c.example. 300 DS 1 13 2 00",
	};
	size_t at = cursor_read_u8(in) % text->count;
	char *line = text->lines[at];

	switch (how & 7) {
	case 0:
	case 1: /* drop it */
		text->count--;
		memmove(line, text->lines[at + 1],
			(text->count - at) * LINE_MAX_LEN);
		if (text->count == 0)
			text_add(text, data_lines[0]);
		break;
	case 2: /* again, so that another change makes two of it */
		text_add(text, line);
		break;
	case 3:
	case 4: /* a word of another line: next hash, flags, salt, owner */
		take_word(line, text->lines[cursor_read_u8(in) % text->count],
			how >> 4);
		break;
	case 5: { /* one octet of a hash */
		size_t len;
		char *word = find_word(line, (how & 8) != 0 ? 0 : 7, &len);

		if (len > 0)
			word[cursor_read_u8(in) % len] = "0av9"[how >> 6];
		break;
	}
	default:
		text_add(text, extra[how >> 4]);
	}
}

/* ---- questions --------------------------------------------------------- */

static size_t
make_name(struct cursor *in, uint8_t *name)
{
	uint8_t how = cursor_read_u8(in);
	size_t len = 0;

	for (unsigned n = how >> 6; n > 0; n--) {
		static const char *const words[] = { "\1*", "\1x", "\1a",
			"\1w", "\1i", "\1e", "\1l", "\2ns" };
		const char *label = words[cursor_read_u8(in) & 7];

		memcpy(name + len, label, label[0] + 1u);
		len += label[0] + 1u;
	}
	if ((how & 31) == 31) { /* the name of a record */
		name[len] = 32;
		memset(name + len + 1, '0', 32);
		len += 33;
	}
	memcpy(name + len, zone_fixture_name(names[how % NAME_COUNT].owner),
		name_len(zone_fixture_name(names[how % NAME_COUNT].owner)));
	return name_len(name);
}

static size_t
make_question(struct cursor *in, uint8_t *out)
{
	static const uint16_t types[] = { TYPE_A, TYPE_TXT, TYPE_DS, TYPE_NS,
		TYPE_NSEC, TYPE_NSEC3, TYPE_ANY, TYPE_RRSIG, TYPE_CNAME,
		TYPE_DNAME, TYPE_SOA, TYPE_NSEC3PARAM };
	static const uint8_t opt[] = { 0, 0, 41, 4, 208, 0, 0, 128, 0, 0, 0 };
	size_t len = MESSAGE_HEADER_LEN;

	memset(out, 0, len);
	out[5] = out[11] = 1;
	len += make_name(in, out + len);
	octets_put_u16(out + len, types[cursor_read_u8(in)
		% (sizeof(types) / sizeof(types[0]))]);
	octets_put_u16(out + len + 2, CLASS_IN);
	memcpy(out + len + 4, opt, sizeof(opt));
	return len + 4 + sizeof(opt);
}

/* The records of a reply can be read, and no NSEC or NSEC3 occurs twice. */
static void
check_reply(const struct exchange *x)
{
	struct message_question question;
	struct message_name seen[128], name;
	struct message_rr rr;
	unsigned records = 0, count = 0, at_most;
	struct cursor c;

	check(x->reply_len <= x->reply_capacity);
	cursor_init(&c, x->reply, x->reply_len);
	c.at += MESSAGE_HEADER_LEN;
	check(message_read_question(&c, &question) == NSD_OK);
	for (unsigned at = MESSAGE_ANCOUNT; at <= MESSAGE_ARCOUNT; at += 2)
		records += octets_get_u16(x->reply + at);
	at_most = records;
	for (unsigned r = 0; r < at_most; r++) {
		check(message_read_rr(&c, &rr) == NSD_OK);
		check(message_expand_name(x->reply, x->reply_len, rr.owner_at,
			&name) == NSD_OK);
		if (r < octets_get_u16(x->reply + MESSAGE_ANCOUNT)
			|| (rr.type != TYPE_NSEC && rr.type != TYPE_NSEC3))
			continue;
		/* Several at one name stand together. */
		for (unsigned i = 0; i + 1 < count; i++)
			check(!name_equal(seen[i].name, name.name)
				|| name_equal(seen[count - 1].name, name.name));
		if (count < 128)
			seen[count++] = name;
	}
	check(cursor_left(&c) == 0);
}

static void
ask(struct query_ctx *ctx, const struct store_view *view, struct cursor *in)
{
	static uint8_t requests[QUESTIONS_MAX][512];
	static uint8_t replies[QUESTIONS_MAX][MESSAGE_MAX_LEN];
	struct sockaddr_storage peer = { .ss_family = AF_INET };
	struct exchange x[QUESTIONS_MAX];
	bool tcp = (cursor_read_u8(in) & 1) != 0;
	size_t count = 0;

	((struct sockaddr_in *)&peer)->sin_port = htons(53);
	memset(x, 0, sizeof(x));
	while (count < QUESTIONS_MAX && (count == 0 || cursor_left(in) > 0)) {
		x[count].request = requests[count];
		x[count].request_len = (uint32_t)make_question(in,
			requests[count]);
		x[count].reply = replies[count];
		x[count].reply_capacity = tcp ? MESSAGE_MAX_LEN : 1232;
		x[count].transport = tcp ? TRANSPORT_TCP : TRANSPORT_UDP;
		x[count].peer = &peer;
		count++;
	}
	query_answer_batch(ctx, view, x, count);
	for (size_t i = 0; i < count; i++)
		check_reply(&x[i]);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct zone_fixture zones;
	static struct counters counters;
	static struct query_ctx *ctx;
	static struct text text;
	static char whole[LINES_MAX * LINE_MAX_LEN];
	struct cursor in;
	size_t len = 0;
	uint8_t how;

	if (ctx == NULL) {
		const struct query_options options = { .cname_max = 18 };

		zone_fixture_init(&zones);
		check(query_ctx_create(&options, &counters, &ctx) == NSD_OK);
	}
	cursor_init(&in, data, size < 4096 ? size : 4096);
	text.count = 0;
	how = cursor_read_u8(&in);
	zones.nsec3_iterations_max = (how & 8) != 0 ? 100 : 0;
	make_zone(&text, how);
	while ((how = cursor_read_u8(&in)) != 0 && !in.failed)
		change(&text, &in, how);
	for (size_t i = 0; i < text.count; i++)
		len += (size_t)sprintf(whole + len, "%s\n", text.lines[i]);
	if (zone_fixture_load(&zones, "example.", whole, NULL) == NSD_OK)
		ask(ctx, zones.view, &in);
	return 0;
}
