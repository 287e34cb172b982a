/* test_build.c - the nodes of a zone, packed RRsets, glue. */
#include "built.h"
#include "store/writer.h"
#include "zone/unpack.h"

/* ---- nodes ------------------------------------------------------------- */

/* RFC 8499 section 7: empty non-terminals */
static void
empty_non_terminals_are_nodes(void **state)
{
	build_ok(HEAD "a.b.c TXT x\nd.c TXT x\n_sip._tcp TXT x\n");
	assert_int_equal(flags("c.example."), NODE_EMPTY);
	assert_int_equal(flags("b.c.example."), NODE_EMPTY);
	assert_int_equal(flags("_tcp.example."), NODE_EMPTY);
	assert_int_equal(flags("a.b.c.example."), 0);
	assert_null(node("b.example."));
	assert_int_equal(((const struct zone *)store_get(f.view, zone))
		->node_count, 2 + 4 + 2);
	drop();
}

/* RFC 1034 section 4.2.1 */
static void
names_below_a_cut_are_occluded_and_the_topmost_cut_wins(void **state)
{
	build_ok(HEAD "sub NS ns.sub\nns.sub A 192.0.2.1\nx.sub NS ns.x.sub\n"
		"ns.x.sub A 192.0.2.1\na.b.sub TXT x\nsuc TXT x\nsub-x TXT x\n"
		"*.sub TXT x\n");
	assert_int_equal(flags("example."), NODE_APEX);
	assert_int_equal(flags("sub.example."), NODE_CUT
		| NODE_WILDCARD_CHILD);
	assert_int_equal(flags("ns.sub.example."), NODE_OCCLUDED);
	assert_int_equal(flags("x.sub.example."), NODE_OCCLUDED);
	assert_int_equal(flags("ns.x.sub.example."), NODE_OCCLUDED);
	assert_int_equal(flags("b.sub.example."), NODE_OCCLUDED | NODE_EMPTY);
	assert_int_equal(flags("a.b.sub.example."), NODE_OCCLUDED);
	assert_int_equal(flags("*.sub.example."), NODE_OCCLUDED
		| NODE_WILDCARD);
	assert_int_equal(flags("suc.example."), 0);
	assert_int_equal(flags("sub-x.example."), 0);
	drop();
}

/* RFC 6672 section 2.4 */
static void
names_below_a_dname_are_occluded(void **state)
{
	const struct zone *z;

	f.secondary = true;
	build_ok(HEAD "d DNAME e\nx.d A 192.0.2.1\ne TXT x\n");
	f.secondary = false;
	assert_int_equal(flags("d.example."), NODE_DNAME);
	assert_int_equal(flags("x.d.example."), NODE_OCCLUDED);
	assert_int_equal(flags("e.example."), 0);
	z = store_get(f.view, zone);
	assert_int_equal(z->flags, ZONE_DNAMES);
	drop();
}

/* RFC 4592 section 2.1.1 */
static void
wildcards_are_marked_and_so_are_their_parents(void **state)
{
	build_ok(HEAD "*.a.b TXT x\n!.a.b TXT x\n*x.c TXT x\n*.example. TXT x\n"
		"y.*.e TXT x\n");
	assert_int_equal(flags("*.a.b.example."), NODE_WILDCARD);
	assert_int_equal(flags("a.b.example."), NODE_EMPTY
		| NODE_WILDCARD_CHILD);
	assert_int_equal(flags("b.example."), NODE_EMPTY);
	assert_int_equal(flags("*x.c.example."), 0);
	assert_int_equal(flags("example."), NODE_APEX | NODE_WILDCARD_CHILD);
	/* An empty non-terminal can be a wildcard (RFC 4592 section 2.2.1). */
	assert_int_equal(flags("*.e.example."), NODE_WILDCARD | NODE_EMPTY);
	assert_int_equal(flags("e.example."), NODE_EMPTY
		| NODE_WILDCARD_CHILD);
	assert_int_equal(((const struct zone *)store_get(f.view, zone))->flags,
		ZONE_WILDCARDS);
	drop();
}

static void
apex_facts_are_in_the_zone(void **state)
{
	const struct zone *z;

	build_ok("$TTL 3600\n@ 30 SOA ns1 host 7 2 3 4 50\n@ NS ns1\nns1 A "
		"192.0.2.1\n");
	z = store_get(f.view, zone);
	assert_int_equal(z->serial, 7);
	assert_int_equal(z->negative_ttl_sec, 30); /* RFC 2308 section 5 */
	assert_int_equal(z->rr_count, 3);
	assert_ptr_equal(store_get(f.view, z->apex), node("example."));
	assert_ptr_equal(store_get(f.view, z->soa),
		rrset("example.", TYPE_SOA));
	drop();
	build_ok("$TTL 3600\n@ 60 SOA ns1 host 7 2 3 4 50\n@ NS ns1\nns1 A "
		"192.0.2.1\n");
	z = store_get(f.view, zone);
	assert_int_equal(z->negative_ttl_sec, 50);
	drop();
}

/* RFC 2181 section 5: a set. A transfer brings SOAs below the apex, too. */
static void
equal_soas_below_the_apex_are_one(void **state)
{
	f.secondary = true;
	build_ok(HEAD "a 30 SOA ns h 1 2 3 4 5\na 20 SOA ns h 1 2 3 4 5\n"
		"a 20 SOA ns h 2 2 3 4 5\n");
	f.secondary = false;
	assert_int_equal(rrset("a.example.", TYPE_SOA)->count, 2);
	assert_int_equal(rrset("a.example.", TYPE_SOA)->ttl_sec, 20);
	drop();
}

#define N3 "NSEC3 1 0 1 ab 0p9mhaveqvm6t7vbl5lop2u3t2rp3tom A\n"
#define N3SIG                                                        \
	"RRSIG NSEC3 8 2 3600 20300101000000 20200101000000 1 example. AAAA\n"

/* RFC 5155 section 7.2.8 */
static void
owners_of_nsec3_alone_are_no_names(void **state)
{
	const struct zone *z;

	build_ok(HEAD "h1 " N3 "h2 " N3 "h1 " N3SIG "a.b TXT x\nb " N3
		"x " N3SIG);
	z = store_get(f.view, zone);
	assert_int_equal(z->flags, 0);
	assert_int_equal(z->node_count, 4);
	assert_int_equal(node("h1.example.")->entry_count, 2);
	assert_int_equal(node("x.example.")->entry_count, 1);
	/* An empty non-terminal is another node than the hash of its name. */
	assert_int_equal(flags("b.example."), NODE_EMPTY);
	drop();
}

static void
name_with_nsec3_and_other_data_far_apart_is_one_node(void **state)
{
	build_ok(HEAD "a " N3 "b TXT x\na TXT x\na " N3SIG "c " N3);
	assert_int_equal(node("a.example.")->entry_count, 3);
	assert_int_equal(((const struct zone *)store_get(f.view, zone))
		->node_count, 4);
	drop();
}

static void
sigs_stand_behind_the_rrset_they_cover(void **state)
{
	const struct node_rrset *e;
	const struct rrset_sigs *sigs;
	const struct sig *sig;

	build_ok(HEAD "a TXT x\n"
		"a RRSIG TXT 8 2 3600 20300101000000 20200101000000 1 example. AAAA\n"
		"a RRSIG TXT 13 2 3600 20300101000000 20200101000000 2 example. AAAA\n"
		"a RRSIG A 8 2 3600 20300101000000 20200101000000 1 example. AAAA\n"
		"a A 192.0.2.1\n"
		"b RRSIG A 8 2 3600 20300101000000 20200101000001 1 example. AAAB\n");
	e = node_entries(node("a.example."));
	assert_int_equal(node("a.example.")->entry_count, 4);
	assert_int_equal(e[0].type, TYPE_A);
	assert_int_equal(e[1].type, TYPE_A);
	assert_int_equal(e[1].flags, NODE_RRSET_SIGS);
	assert_int_equal(node_entry_sigs(node("a.example."), &e[0]), e[1].ref);
	assert_int_equal(e[3].type, TYPE_TXT);
	sigs = store_get(f.view, e[3].ref);
	assert_int_equal(sigs->count, 2);
	/* The common part of a key's signatures on a type is stored once. */
	sig = (const struct sig *)((const struct rrset_sigs *)store_get(f.view,
		e[1].ref))->data;
	sigs = store_get(f.view, node_entries(node("b.example."))->ref);
	assert_int_equal(((const struct sig *)sigs->data)->template_ref,
		sig->template_ref);
	assert_null(node_find_entry(node("b.example."), TYPE_A));
	drop();
}

/* ---- RRsets ------------------------------------------------------------ */

static void
same_contents_are_stored_once(void **state)
{
	build_ok(HEAD "a A 192.0.2.9\nb A 192.0.2.9\nc 60 A 192.0.2.9\n"
		"d NS x.example.org.\nd NS y.example.org.\n"
		"e NS y.example.org.\ne NS x.example.org.\n"
		"f NS x.example.org.\nf NS Y.example.org.\n");
	assert_ptr_equal(rrset("a.example.", TYPE_A),
		rrset("b.example.", TYPE_A));
	assert_int_equal(rrset("a.example.", TYPE_A)->refs, 2);
	assert_ptr_not_equal(rrset("a.example.", TYPE_A),
		rrset("c.example.", TYPE_A));
	assert_ptr_equal(rrset("d.example.", TYPE_NS),
		rrset("e.example.", TYPE_NS));
	/* Names keep their case. */
	assert_ptr_not_equal(rrset("d.example.", TYPE_NS),
		rrset("f.example.", TYPE_NS));
	drop();
}

/* RFC 1035 section 4.1.4 */
static void
names_end_in_cells(void **state)
{
	const struct rrset *r;
	const struct rrset_tail *t;

	build_ok(HEAD "a NS n1.host.org.\na NS n2.host.org.\n"
		"a NS z.example.\n");
	r = rrset("a.example.", TYPE_NS);
	t = rrset_get_tail(r);
	/* In canonical order, the octets' own: sent, there are 10 octets of
	 * owner to TTL and the length before each RDATA.
	 *   12: 1 'z' cell at 14, of the apex at 0
	 *   28: 2 'n1' 4 'host' at 31, 3 'org' 0
	 *   53: 2 'n2' cell at 56, to 31 */
	assert_int_equal(rrset_len(r), 2 + 4 + 2 + 13 + 2 + 5);
	assert_memory_equal(r->data, "\0\4\1z\200\0\0\15\2n1\4host\3org\0"
				     "\0\5\2n2\300\37", 28);
	assert_int_equal(t->fixup_count, 2);
	assert_int_equal(t->fixups[0], 14);
	assert_int_equal(t->fixups[1], 56);
	assert_int_equal(t->target_count, 3);
	assert_int_equal(rrset_tail_targets(t)[0].offset, 12);
	assert_int_equal(rrset_tail_targets(t)[0].flags, 0);
	assert_int_equal(rrset_tail_targets(t)[2].offset, 53);
	assert_int_equal(rrset_tail_targets(t)[2].flags, 0);
	drop();
}

/* RFC 3597 section 4: only the types of RFC 1035 */
static void
names_of_new_types_are_not_compressed(void **state)
{
	build_ok(HEAD "a SRV 1 2 3 x.example.\na KX 1 x.example.\n"
		"b DNAME c.example.\n");
	assert_memory_equal(rrset("a.example.", TYPE_SRV)->data,
		"\0\21\0\1\0\2\0\3\1x\7example\0", 19);
	assert_int_equal(rrset_len(rrset("b.example.", TYPE_DNAME)), 2 + 11);
	assert_null(rrset_get_tail(rrset("b.example.", TYPE_DNAME)));
	drop();
}

static char *
many_ns(size_t count)
{
	char *text = malloc(count * 48 + 1000), *at = text;

	at += sprintf(at, "%s", HEAD);
	for (size_t i = 0; i < count; i++)
		at += sprintf(at, "a NS n%05zu.%s.org.\n", i,
			i % 3 == 0 ? "first" : "second");
	return text;
}

/* Cells lead to the first RRSET_CELL_REACH octets; offsets have 16 bits. */
static void
large_rrsets_compress_as_far_as_offsets_reach(void **state)
{
	char *text = many_ns(9000);
	const struct rrset_tail *t;
	const struct rrset *r;
	size_t n = 0;
	uint8_t out[256];

	build_ok(text);
	free(text);
	r = rrset("a.example.", TYPE_NS);
	t = rrset_get_tail(r);
	assert_int_equal(r->count, 9000);
	assert_true(t->fixup_count > 2500 && t->fixup_count < 5000);
	assert_true(t->target_count >= t->fixup_count + 1
		&& t->target_count <= t->fixup_count + 2);
	for (const uint8_t *rr = r->data; rr < r->data + rrset_len(r);
		rr += 2 + octets_get_u16(rr), n++) {
		char want[32];
		size_t len = unpack_rdata(r, rr,
			(const uint8_t *)"\7example", out);

		snprintf(want, sizeof(want), "\6n%05zu%s", n,
			n % 3 == 0 ? "\5first\3org" : "\6second\3org");
		assert_int_equal(len, strlen(want) + 1);
		assert_memory_equal(out, want, len);
	}
	assert_int_equal(n, 9000);
	drop();
}

/* RFC 1035 section 4.1.4: a pointer has 14 bits. A name that comes again has a
 * cell if its first place is within the reach. */
static void
cells_lead_as_far_as_pointers_reach(void **state)
{
	char *text = malloc(4000 * 40), *at = text;
	const struct rrset_tail *t;
	const struct rrset *r;
	unsigned reached = 0, last = 0, sent = 0;

	at += sprintf(at, "%s", HEAD);
	for (unsigned i = 0; i < 1000; i++)
		at += sprintf(at, "a MX 1 h%04u.org.\na MX 2 h%04u.org.\n", i,
			i);
	build_ok(text);
	free(text);
	r = rrset("a.example.", TYPE_MX);
	t = rrset_get_tail(r);
	/* In order, all with preference 1 come first: 12 octets, 2 of
	 * preference, "h0000" and a cell; the first has "org" in full. */
	for (const uint8_t *rr = r->data; rr < r->data + rrset_len(r);
		rr += 2 + octets_get_u16(rr)) {
		unsigned cell = octets_get_u16(rr + 4);

		sent += 12u + octets_get_u16(rr);
		if (octets_get_u16(rr + 2) != 2 || (cell & RRSET_CELL) == 0)
			continue;
		reached++;
		assert_true((cell & RRSET_CELL_OFFSET) > last);
		last = cell & RRSET_CELL_OFFSET;
	}
	assert_int_equal(t->fixup_count, 2 * 1000 - 1);
	assert_true(last < RRSET_CELL_REACH);
	assert_true(last + 22 >= RRSET_CELL_REACH);
	assert_int_equal(reached, (RRSET_CELL_REACH - 14 - 5) / 22 + 1);
	assert_true(sent > 2 * RRSET_CELL_REACH);
	drop();
}

/* Many suffixes to choose from must not make it slow. */
static void
many_long_names_are_packed_quickly(void **state)
{
	struct zone_build_input input = {.apex = (const uint8_t *)"\7example",
		.threads = 1, .secondary = true};
	struct rrbatch *batch = rrbatch_create(20000 * 300);
	struct rrbatch_rr head = {.type = TYPE_SOA, .rdlen = 22,
		.owner_len = 9};
	struct diag_sink sink = {0};
	uint8_t rdata[256] = {0}, owner[] = "\2aa\7example", out[256];

	assert_int_equal(rrbatch_append(batch, &head, input.apex, rdata),
		NSD_OK);
	head.type = TYPE_PTR;
	head.rdlen = 255;
	head.owner_len = 12;
	for (unsigned i = 0; i < 18000; i++) {
		/* 200 names of 127 labels for each owner. */
		owner[1] = (uint8_t)('a' + i / 200 % 10);
		owner[2] = (uint8_t)('a' + i / 2000);
		for (unsigned n = 0; n < 127; n++) {
			rdata[2 * n] = 1;
			rdata[2 * n + 1] = (uint8_t)('a' + (i * 31 + n * n
				* (i % 200)) % 26);
		}
		assert_int_equal(rrbatch_append(batch, &head, owner, rdata),
			NSD_OK);
	}
	input.batches = batch;
	assert_int_equal(build_zone(&input, f.writer,
		store_writer_heap(f.writer), &sink, &zone), NSD_OK);
	assert_non_null(node("ai.example."));
	assert_int_equal(unpack_rdata(rrset("ai.example.", TYPE_PTR),
		rrset("ai.example.", TYPE_PTR)->data, input.apex, out), 255);
	drop();
	rrbatch_destroy(batch);
}

static void
rrset_of_100000_records_is_built_quickly(void **state)
{
	struct zone_build_input input = {.apex = (const uint8_t *)"\7example",
		.threads = 1, .secondary = true};
	struct rrbatch *batch = rrbatch_create(100000 * 32);
	struct rrbatch_rr head = {.type = TYPE_SOA, .rdlen = 22,
		.owner_len = 9};
	struct diag_sink sink = {0};
	uint8_t soa[22] = {0};

	assert_int_equal(rrbatch_append(batch, &head, input.apex, soa),
		NSD_OK);
	head.type = TYPE_A;
	head.rdlen = 4;
	for (uint32_t i = 0; i < 100000; i++) {
		uint8_t rdata[4];

		octets_put_u32(rdata, i * 2654435761u);
		assert_int_equal(rrbatch_append(batch, &head, NULL, rdata),
			NSD_OK);
	}
	input.batches = batch;
	assert_int_equal(build_zone(&input, f.writer,
		store_writer_heap(f.writer), &sink, &zone), NSD_OK);
	assert_int_equal(rrset("example.", TYPE_A)->count, UINT16_MAX);
	assert_int_equal(rrset_len(rrset("example.", TYPE_A)), 600000);
	drop();
	rrbatch_destroy(batch);
}

/* ---- glue -------------------------------------------------------------- */

static const struct rrset_target *
target(const char *name, uint16_t type, unsigned i)
{
	const struct rrset_tail *t = rrset_get_tail(rrset(name, type));

	assert_non_null(t);
	assert_true(i < t->target_count);
	return &rrset_tail_targets(t)[i];
}

static const struct glue_cell *
cell(const char *name, uint16_t type, unsigned i)
{
	store_ref ref = target(name, type, i)->glue;

	return ref == STORE_NONE ? NULL : store_get(f.view, ref);
}

/* RFC 9471 section 3 */
static void
targets_at_or_below_the_cut_are_in_domain(void **state)
{
	build_ok(HEAD "sub NS sub\nsub NS ns.sub\nsub A 192.0.2.2\nsub NS "
		"ns.other\nns.sub A 192.0.2.3\nns.other A 192.0.2.4\n"
		"sub NS x.example.org.\nsub NS xsub\nxsub A 192.0.2.4\n");
	/* In canonical order: x.example.org, ns.sub, ns.other, sub, xsub. */
	assert_int_equal(target("sub.example.", TYPE_NS, 0)->flags, 0);
	assert_int_equal(target("sub.example.", TYPE_NS, 1)->flags,
		TARGET_IN_DOMAIN);
	assert_int_equal(target("sub.example.", TYPE_NS, 2)->flags, 0);
	assert_int_equal(target("sub.example.", TYPE_NS, 3)->flags,
		TARGET_IN_DOMAIN);
	assert_int_equal(target("sub.example.", TYPE_NS, 4)->flags, 0);
	assert_null(cell("sub.example.", TYPE_NS, 0));
	assert_ptr_equal(store_get(f.view, cell("sub.example.", TYPE_NS, 1)->a),
		rrset("ns.sub.example.", TYPE_A));
	assert_int_equal(cell("sub.example.", TYPE_NS, 1)->aaaa, STORE_NONE);
	assert_ptr_equal(store_get(f.view, cell("sub.example.", TYPE_NS, 3)->a),
		rrset("sub.example.", TYPE_A));
	drop();
}

/* A name server is required glue for one owner only. */
static void
in_domain_sets_are_not_shared_with_other_owners(void **state)
{
	build_ok(HEAD "sub NS ns.sub\nother NS ns.sub\na NS ns.sub\n"
		"x.sub TXT x\nns.sub A 192.0.2.2\n");
	assert_int_equal(target("sub.example.", TYPE_NS, 0)->flags,
		TARGET_IN_DOMAIN);
	assert_int_equal(target("other.example.", TYPE_NS, 0)->flags, 0);
	assert_int_equal(target("a.example.", TYPE_NS, 0)->flags, 0);
	assert_ptr_equal(rrset("a.example.", TYPE_NS),
		rrset("other.example.", TYPE_NS));
	assert_ptr_equal(cell("a.example.", TYPE_NS, 0),
		cell("sub.example.", TYPE_NS, 0));
	drop();
}

/* RFC 1034 section 4.3.2 step 6: additional data is authoritative data; glue
 * goes into referrals alone. */
static void
glue_is_only_for_ns(void **state)
{
	build_ok(HEAD "sub NS ns.sub\nns.sub A 192.0.2.2\nns.sub AAAA ::1\n"
		"a MX 1 ns.sub\na SRV 1 2 3 ns1\na MX 2 sub\nb NS NS.sub\n"
		"a MX 3 gone.sub\nsub A 192.0.2.5\n");
	/* 1 ns.sub, 2 sub, 3 gone.sub */
	assert_true(glue_cell_is_hidden(cell("a.example.", TYPE_MX, 0)));
	assert_true(glue_cell_is_hidden(cell("a.example.", TYPE_MX, 1)));
	assert_int_equal(cell("a.example.", TYPE_MX, 2)->a, STORE_NONE);
	assert_false(glue_cell_is_hidden(cell("a.example.", TYPE_SRV, 0)));
	assert_ptr_equal(store_get(f.view, cell("a.example.", TYPE_SRV, 0)->a),
		rrset("ns1.example.", TYPE_A));
	assert_ptr_equal(cell("b.example.", TYPE_NS, 0),
		cell("sub.example.", TYPE_NS, 0));
	/* A name has one cell, shared by all RRsets that mention it. */
	assert_ptr_equal(cell("example.", TYPE_NS, 0),
		cell("a.example.", TYPE_SRV, 0));
	drop();
}

static void
targets_without_addresses_have_empty_cells(void **state)
{
	build_ok(HEAD "a MX 1 nope\nb MX 1 .\nc MX 1 alias\nalias CNAME ns1\n"
		"d HTTPS 1 .\n");
	assert_int_equal(cell("a.example.", TYPE_MX, 0)->a, STORE_NONE);
	assert_int_equal(cell("c.example.", TYPE_MX, 0)->aaaa, STORE_NONE);
	assert_null(rrset_get_tail(rrset("b.example.", TYPE_MX)));
	/* "." stands for the owner here (RFC 9460 section 2.5). */
	assert_int_equal(target("d.example.", TYPE_HTTPS, 0)->flags, 0);
	assert_null(cell("d.example.", TYPE_HTTPS, 0));
	drop();
}

static void
signed_addresses_have_their_sigs_in_the_cell(void **state)
{
	build_ok(HEAD "ns1 RRSIG A 8 2 3600 20300101000000 20200101000000 1 "
		"example. AAAA\nns1 AAAA ::1\n");
	assert_int_equal(cell("example.", TYPE_NS, 0)->a_sigs,
		node_entries(node("ns1.example."))[1].ref);
	assert_int_equal(cell("example.", TYPE_NS, 0)->aaaa_sigs, STORE_NONE);
	assert_int_not_equal(cell("example.", TYPE_NS, 0)->aaaa, STORE_NONE);
	drop();
}

/* ---- depth ------------------------------------------------------------- */

static void
names_of_127_labels_are_fine(void **state)
{
	char text[2048], name[300] = "";

	for (unsigned i = 0; i < 123; i++)
		strcat(name, "a.");
	snprintf(text, sizeof(text), HEAD "%sexample. TXT x\n"
		"b.%sexample. TXT x\n", name, name + 2);
	build_ok(text);
	assert_int_equal(((const struct zone *)store_get(f.view, zone))
		->node_count, 2 + 123 + 1);
	drop();
}

/* A million labels: memory and time stay linear. */
static void
million_labels_deep_mix_is_fine(void **state)
{
	struct zone_build_input input = {.apex = (const uint8_t *)"\7example",
		.threads = 2, .secondary = true};
	struct rrbatch *batch = rrbatch_create(10000 * 300);
	struct rrbatch_rr head = {.type = TYPE_SOA, .rdlen = 22,
		.owner_len = 9};
	struct diag_sink sink = {0};
	uint8_t soa[22] = {0}, owner[256];
	const struct zone *z;

	assert_int_equal(rrbatch_append(batch, &head, input.apex, soa),
		NSD_OK);
	head.type = TYPE_TXT;
	head.rdlen = 1;
	for (unsigned i = 0; i < 9000; i++) {
		/* Below one digit of the number a chain of 118 labels. */
		unsigned at = 0;

		for (unsigned n = 0; n < 118; n++) {
			owner[at++] = 1;
			owner[at++] = 'x';
		}
		owner[at++] = 4;
		for (unsigned n = 0, v = i; n < 4; n++, v /= 10)
			owner[at++] = (uint8_t)('0' + v % 10);
		memcpy(owner + at, "\7example", 9);
		head.owner_len = (uint8_t)(at + 9);
		assert_int_equal(rrbatch_append(batch, &head, owner, soa),
			NSD_OK);
	}
	input.batches = batch;
	assert_int_equal(build_zone(&input, f.writer,
		store_writer_heap(f.writer), &sink, &zone), NSD_OK);
	z = store_get(f.view, zone);
	assert_int_equal(z->node_count, 1 + 9000 * 119);
	drop();
	rrbatch_destroy(batch);
}

#define T(name) cmocka_unit_test(name)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(empty_non_terminals_are_nodes),
		T(names_below_a_cut_are_occluded_and_the_topmost_cut_wins),
		T(names_below_a_dname_are_occluded),
		T(wildcards_are_marked_and_so_are_their_parents),
		T(apex_facts_are_in_the_zone),
		T(equal_soas_below_the_apex_are_one),
		T(owners_of_nsec3_alone_are_no_names),
		T(name_with_nsec3_and_other_data_far_apart_is_one_node),
		T(sigs_stand_behind_the_rrset_they_cover),
		T(same_contents_are_stored_once),
		T(names_end_in_cells),
		T(names_of_new_types_are_not_compressed),
		T(large_rrsets_compress_as_far_as_offsets_reach),
		T(cells_lead_as_far_as_pointers_reach),
		T(many_long_names_are_packed_quickly),
		T(rrset_of_100000_records_is_built_quickly),
		T(targets_at_or_below_the_cut_are_in_domain),
		T(in_domain_sets_are_not_shared_with_other_owners),
		T(glue_is_only_for_ns),
		T(targets_without_addresses_have_empty_cells),
		T(signed_addresses_have_their_sigs_in_the_cell),
		T(names_of_127_labels_are_fine),
		T(million_labels_deep_mix_is_fine),
	};

	return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
