/* vet_world.c - a store with one of everything that a zone can hold. */
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "dns/edns.h"
#include "dns/message.h"
#include "keep/history_edit.h"
#include "keep/sources_edit.h"
#include "lib/history_fixture.h"
#include "lib/settings_fixture.h"
#include "lib/vet_world.h"
#include "store/heap.h"
#include "update/update.h"
#include "zone/nsec3.h"
#include "zone/table.h"

#define TEXT_ROOM (256u << 10)

enum store_claim __real_store_claim(struct store_claims *claims,
	store_ref ref, size_t len, uint8_t kind);
enum store_claim __wrap_store_claim(struct store_claims *claims,
	store_ref ref, size_t len, uint8_t kind);

static struct vet_world *listing; /* its objects are being listed; or NULL */

static void
must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "vet_world: %s\n", what);
	abort();
}

enum store_claim
__wrap_store_claim(struct store_claims *claims, store_ref ref, size_t len,
	uint8_t kind)
{
	enum store_claim claim = __real_store_claim(claims, ref, len, kind);
	struct vet_world *w = listing;

	if (w == NULL || claim != CLAIM_NEW)
		return claim;
	if (w->object_count == w->room) {
		w->room = w->room * 2 + 1024;
		w->objects = realloc(w->objects,
			w->room * sizeof(*w->objects));
		must(w->objects != NULL, "no memory");
	}
	w->objects[w->object_count++] = (struct vet_object){ref, len,
		(enum vet_kind)kind};
	return claim;
}

/* ---- texts ------------------------------------------------------------- */

struct text {
	char *at;
	size_t left;
};

__attribute__((format(printf, 2, 3))) static void
add(struct text *t, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(t->at, t->left, format, ap);
	va_end(ap);
	must(n > 0 && (size_t)n < t->left, "text too long");
	t->at += n;
	t->left -= (size_t)n;
}

static void
add_sig(struct text *t, const char *owner, const char *type, const char *apex)
{
	unsigned labels = 0;

	for (const char *c = owner; *c != '\0'; c++)
		labels += *c == '.';
	add(t, "%s 300 RRSIG %s 13 %u 300 20400101000000 20200101000000 1 %s "
		"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n",
		owner, type, labels - (owner[0] == '*'), apex);
}

/* Records that two of the zones have. */
static void
add_data(struct text *t, const char *apex)
{
	add(t, "$ORIGIN %s\n$TTL 300\n@ SOA ns1.data root 1 2 3 4 5\n"
		"@ NS ns1.data\n@ NS ns2.data\n@ NS ns.elsewhere.\n"
		"@ MX 1 mail.data\n@ MX 2 mail.elsewhere.\n"
		"@ DNSKEY 257 3 13 AAAA\n"
		"ns1.data A 192.0.2.1\nns1.data AAAA 2001:db8::1\n"
		"ns2.data A 192.0.2.2\nmail.data A 192.0.2.3\n"
		"*.w TXT wild\n*.w MX 1 mail.data\n*.c CNAME a.b.c.d\n"
		"a.b.c.d A 192.0.2.3\na.b.c.d A 192.0.2.4\n"
		"cut NS ns.cut\ncut NS ns1.data\nns.cut A 192.0.2.5\n"
		"cut DS 1 13 2 00000000000000000000000000000000"
		"00000000000000000000000000000000\n"
		"insecure NS ns.cut\ninsecure NS a.ns.elsewhere.\n"
		"insecure NS b.ns.elsewhere.\n"
		"dn DNAME d\nx.cut TXT hidden\n"
		"svc HTTPS 1 . alpn=h2\nsvc A 192.0.2.9\nsvc SVCB 1 mail.data\n"
		"srv SRV 1 2 3 mail.data\nsrv SRV 1 2 4 mail.elsewhere.\n"
		"txt TXT \"some text\"\nodd TYPE65280 \\# 3 010203\n",
		apex);
}

static const char *const chain_names[] = {"", "data.", "ns1.data.",
	"ns2.data.", "mail.data.", "w.", "*.w.", "c.", "*.c.", "d.", "c.d.",
	"b.c.d.", "a.b.c.d.", "cut.", "dn.", "svc.", "srv.", "txt.", "odd."};

#define CHAIN_NAMES (sizeof(chain_names) / sizeof(*chain_names))

struct link {
	char label[NSEC3_LABEL_LEN + 1];
};

static int
link_compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* An NSEC3 chain; if broken, with a hole and with two records at one hash. */
static void
add_chain(struct text *t, const char *apex, const char *salt, bool broken)
{
	const uint8_t octet = 0xaa;
	const struct nsec3_params params = {.salt = &octet,
		.salt_len = salt[0] != '-', .iterations = 2};
	struct link links[CHAIN_NAMES + 40];
	size_t count = CHAIN_NAMES + 40;
	char name[300];

	for (size_t i = 0; i < count; i++) {
		struct nsec3_job job, *const jobs[1] = {&job};

		if (i < CHAIN_NAMES)
			snprintf(name, sizeof(name), "%.100s%.100s",
				chain_names[i], apex);
		else
			snprintf(name, sizeof(name), "h%zu.%.100s", i, apex);
		job.name = zone_fixture_name(name);
		nsec3_hash_batch(&params, jobs, 1);
		nsec3_print_label(job.hash, (uint8_t *)links[i].label);
		links[i].label[NSEC3_LABEL_LEN] = '\0';
	}
	qsort(links, count, sizeof(*links), link_compare);
	for (size_t i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "%.32s.%.100s", links[i].label,
			apex);
		add(t, "%s 300 NSEC3 1 1 2 %s %s %s\n", name, salt,
			links[(i + 1 + (broken && i == 3)) % count].label,
			i % 3 == 0 ? "A RRSIG" : "TXT RRSIG");
		if (broken && i == 5)
			add(t, "%s 300 NSEC3 1 1 2 %s %s MX\n", name, salt,
				links[(i + 2) % count].label);
		add_sig(t, name, "NSEC3", apex);
	}
}

static void
load(struct vet_world *w, const char *apex, const char *text)
{
	enum nsd_err err = zone_fixture_load(&w->f, apex, text, NULL);

	if (err != NSD_OK)
		fprintf(stderr, "%s", w->f.findings);
	must(err == NSD_OK, apex);
}

static void
load_zones(struct vet_world *w)
{
	char *text = malloc(TEXT_ROOM);
	struct text t = {text, TEXT_ROOM};

	must(text != NULL, "no memory");
	add_data(&t, "example.");
	add(&t, "@ NSEC3PARAM 1 0 2 aa\n");
	/* Enough RRsets for an index of contents. */
	for (unsigned i = 0; i < 300; i++)
		add(&t, "h%u A 192.0.3.%u\nh%u TXT %u\nh%u NS ns%u.h%u\n",
			i, i % 256, i, i, i, i, i);
	add_sig(&t, "example.", "SOA", "example.");
	add_sig(&t, "txt.example.", "TXT", "example.");
	add_sig(&t, "mail.data.example.", "A", "example.");
	add_chain(&t, "example.", "aa", true);
	add_chain(&t, "example.", "-", false);
	load(w, "example.", text);

	t = (struct text){text, TEXT_ROOM};
	add_data(&t, "nsec.test.");
	add(&t, "@ NSEC txt NS SOA NSEC\ntxt NSEC @ TXT NSEC\n");
	add_sig(&t, "nsec.test.", "SOA", "nsec.test.");
	add_sig(&t, "nsec.test.", "NSEC", "nsec.test.");
	load(w, "nsec.test.", text);
	load(w, "test.", "$TTL 300\n@ SOA ns root 1 2 3 4 5\n@ NS ns\n"
		"ns A 192.0.2.5\nx CNAME *.w.example.\nd DNAME nsec.test.\n");
	load(w, "sub.cut.example.", "$TTL 300\n@ SOA ns root 1 2 3 4 5\n"
		"@ NS ns\nns A 192.0.2.5\n");
	free(text);
}

/* Gives an entry options, files and former versions, as a server does. */
static void
add_belongings(struct vet_world *w)
{
	static char path[] = "zones/test.zone", more[] = "zones/more.inc";
	const struct acl_element acl[2] = {{.family = 4}, {.family = 6}};
	const struct zonefile_source files[2] = {{.path = path},
		{.path = more}};
	const struct history_limits limits = {5, 0};
	store_ref entry;

	must(table_find_apex(w->f.view, zone_fixture_name("test."), &entry)
			== NSD_OK,
		"no entry");
	settings_fixture_set_acl(w->f.writer, entry, acl, 2, NULL, 0);
	sources_set(w->f.writer, entry, files, 2, 0);
	history_fixture_push(w->f.writer, entry, &limits,
		"@ 300 SOA ns root 7 2 3 4 5\n",
		"@ 300 SOA ns root 8 2 3 4 5\na 300 A 192.0.2.6\n");
	history_fixture_push(w->f.writer, entry, &limits,
		"@ 300 SOA ns root 8 2 3 4 5\na 300 A 192.0.2.6\n",
		"@ 300 SOA ns root 1 2 3 4 5\n");
}

/* Makes changes of cells, and leaves them pending: a reader holds them up. */
static void
change_cells(struct vet_world *w)
{
	static const uint8_t rdata[] = {192, 0, 2, 77};

	store_reader_online(w->reader);
	for (unsigned i = 0; i < 2; i++) {
		const struct zone_update_options options = {.threads = 1};
		struct zone_rr rr = {.owner = zone_fixture_name(
			i == 0 ? "ns1.data.nsec.test."
			       : "ns2.data.nsec.test."),
			.ttl_sec = 300, .type = TYPE_A, .rdlen = 4,
			.rdata = rdata};
		struct diag_sink sink = {0};
		struct zone_update_result result;
		struct zone_update *u;
		store_ref entry;

		must(table_find_apex(w->f.view, zone_fixture_name(
			"nsec.test."), &entry) == NSD_OK, "no entry");
		must(update_begin(w->f.writer, entry, &options, &u)
			== NSD_OK && update_add(u, &rr) == NSD_OK
			&& update_commit(u, &sink, &result) == NSD_OK,
			"update");
	}
}

/* ---- the world --------------------------------------------------------- */

void
vet_world_init(struct vet_world *w)
{
	struct query_options options = {.cname_max = 18};
	struct store_writer *writer;

	memset(w, 0, sizeof(*w));
	zone_fixture_init(&w->f);
	writer = w->f.writer;
	must(store_reader_open(w->f.store, 0, "vet", &w->reader) == NSD_OK,
		"reader");
	must(query_ctx_create(&options, &w->counters, &w->ctx) == NSD_OK,
		"query");
	load_zones(w);
	add_belongings(w);
	change_cells(w);
	heap_flush(&writer->heap);
	w->base = writer->base;
	w->size = writer->header->data_at
		+ (size_t)writer->header->span_count * SPAN_SIZE;
	w->copy = malloc(w->size);
	must(w->copy != NULL, "no memory");
	listing = w;
	vet_world_look(w);
	listing = NULL;
	must(w->err == NSD_OK && w->faults == 0, w->said);
	memcpy(w->copy, w->base, w->size);
}

void
vet_world_fini(struct vet_world *w)
{
	query_ctx_destroy(w->ctx);
	store_reader_close(w->reader);
	zone_fixture_fini(&w->f);
	free(w->objects);
	free(w->copy);
}

/* Copies the used part of the bitmaps only: their room is large. */
void
vet_world_restore(struct vet_world *w)
{
	const struct store_header *header = (const void *)w->copy;
	size_t head = STORE_PAGE + header->span_count * (size_t)SPAN_BITMAP;

	memcpy(w->base, w->copy, head);
	memcpy(w->base + header->data_at, w->copy + header->data_at,
		w->size - header->data_at);
}

static void
on_fault(void *ctx, const struct vet_fault *fault)
{
	struct vet_world *w = ctx;

	if (w->said[0] == '\0')
		snprintf(w->said, sizeof(w->said), "%s %u %s", fault->kind,
			(unsigned)fault->ref, fault->text);
}

void
vet_world_look(struct vet_world *w)
{
	const struct vet_options options = {.threads = 1, .key = {11, 12},
		.on_fault = on_fault, .ctx = w};

	w->said[0] = '\0';
	w->err = vet_store(w->f.writer, &options, &w->faults);
}

/* ---- questions --------------------------------------------------------- */

static const char *const questions[] = {"example.", "nope.example.",
	"x.w.example.", "*.w.example.", "y.c.example.", "a.b.c.d.example.",
	"d.example.", "a.cut.example.", "cut.example.", "z.insecure.example.",
	"b.dn.example.", "x.cut.example.", "svc.example.", "srv.example.",
	"txt.example.", "odd.example.", "h7.example.", "a.h9.example.",
	"mail.data.example.", "nsec.test.", "q.nsec.test.",
	"a.b.c.d.nsec.test.", "z.cut.nsec.test.", "x.test.", "txt.d.test.",
	"test.", "ns.sub.cut.example.", "elsewhere."};
static const uint16_t question_types[] = {TYPE_A, TYPE_MX, TYPE_NS, TYPE_SOA,
	TYPE_TXT, TYPE_DS, TYPE_ANY, TYPE_RRSIG, TYPE_HTTPS, TYPE_SRV};

#define QUESTIONS (sizeof(questions) / sizeof(*questions))

static uint32_t
make_question(uint8_t *out, const char *name, uint16_t type)
{
	static const uint8_t opt[] = {0, 0, 41, 16, 0, 0, 0, 128, 0, 0, 0};
	const uint8_t *wire = zone_fixture_name(name);
	uint32_t len = MESSAGE_HEADER_LEN;

	memset(out, 0, len);
	out[5] = out[11] = 1;
	memcpy(out + len, wire, name_len(wire));
	len += (uint32_t)name_len(wire);
	octets_put_u16(out + len, type);
	octets_put_u16(out + len + 2, CLASS_IN);
	memcpy(out + len + 4, opt, sizeof(opt));
	return len + 4 + (uint32_t)sizeof(opt);
}

static void
check_reply(const struct exchange *x)
{
	struct message_question question;
	struct message_rr rr;
	unsigned records = 0;
	struct cursor c;

	must(x->reply_len <= x->reply_capacity, "a reply beyond its room");
	cursor_init(&c, x->reply, x->reply_len);
	c.at += MESSAGE_HEADER_LEN;
	must(message_read_question(&c, &question) == NSD_OK, "no question");
	for (unsigned at = MESSAGE_ANCOUNT; at <= MESSAGE_ARCOUNT; at += 2)
		records += octets_get_u16(x->reply + at);
	while (records-- > 0)
		must(message_read_rr(&c, &rr) == NSD_OK, "no record");
	must(cursor_left(&c) == 0, "octets behind a reply");
}

void
vet_world_ask(struct vet_world *w)
{
	static uint8_t requests[QUESTIONS][512];
	static uint8_t replies[QUESTIONS][MESSAGE_MAX_LEN];
	struct sockaddr_storage peer = {.ss_family = AF_INET};
	struct exchange x[QUESTIONS];

	for (size_t t = 0; t < sizeof(question_types) / 2; t++) {
		memset(x, 0, sizeof(x));
		for (size_t i = 0; i < QUESTIONS; i++) {
			x[i].request = requests[i];
			x[i].request_len = make_question(requests[i],
				questions[i], question_types[t]);
			x[i].reply = replies[i];
			x[i].reply_capacity = MESSAGE_MAX_LEN;
			x[i].transport = TRANSPORT_TCP;
			x[i].peer = &peer;
		}
		query_answer_batch(w->ctx, w->f.view, x, QUESTIONS);
		for (size_t i = 0; i < QUESTIONS; i++)
			if (x[i].reply_len > 0)
				check_reply(&x[i]);
	}
}
