/* test_access.c - allow-query, and the requests that it governs. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

#include "query/acl.h"
#include "raw.h"

static struct acl_element
element(const char *address, enum acl_kind kind, const char *other)
{
	struct acl_element e = { .kind = (uint8_t)kind, .family = 4 };

	if (strchr(address, ':') != NULL)
		e.family = 6;
	assert_int_equal(inet_pton(e.family == 4 ? AF_INET : AF_INET6,
		address, e.address), 1);
	if (other != NULL)
		assert_int_equal(inet_pton(e.family == 4 ? AF_INET : AF_INET6,
			other, e.other), 1);
	return e;
}

static void
queries_are_refused_by_the_zones_list(void **state)
{
	const struct acl_element query = element("192.0.2.1", ACL_SINGLE,
		NULL);
	const struct acl_element provide = element("192.0.2.2", ACL_SINGLE,
		NULL);
	struct ask ask = { .qname = "example.", .type = TYPE_NS, .edns = true };
	struct world_zone *zone;
	struct world w;
	struct reply_parts *p;

	world_init(&w);
	zone = world_add_zone(&w, "example.", raw_zone_text);
	zone->query_acl = &query;
	zone->query_acl_count = 1;
	zone->provide_acl = &provide;
	zone->provide_acl_count = 1;
	world_start(&w);
	p = ask_with(&w, &ask);
	assert_int_equal(p->flags, 0x8005);
	assert_true(p->has_question);
	expect_ede(p, EDE_PROHIBITED, NULL);
	done(p);
	ask.from = "192.0.2.1";
	p = ask_with(&w, &ask);
	expect_rcode(p, RCODE_NOERROR);
	done(p);
	/* A client allowed to transfer the zone may ask for its SOA, and no
	 * more. */
	ask.from = "192.0.2.2";
	p = ask_with(&w, &ask);
	expect_rcode(p, RCODE_REFUSED);
	done(p);
	ask.type = TYPE_SOA;
	p = ask_with(&w, &ask);
	expect_rcode(p, RCODE_NOERROR);
	done(p);
	ask.qname = "ns1.example.";
	p = ask_with(&w, &ask);
	expect_rcode(p, RCODE_REFUSED);
	done(p);
	world_fini(&w);
}

/* A list's verdict on a proxy comes first, also for the SOA. */
static void
proxies_are_refused_by_the_zones_list(void **state)
{
	struct acl_element query[] = {
		element("192.0.2.1", ACL_SINGLE, NULL),
		element("198.51.100.1", ACL_SINGLE, NULL),
	};
	struct acl_element provide[] = {
		element("192.0.2.2", ACL_SINGLE, NULL),
		element("198.51.100.2", ACL_SINGLE, NULL),
	};
	static const struct {
		const char *from, *proxy;
		uint16_t rcode;
	} cases[] = {
		{"192.0.2.1", "198.51.100.3", RCODE_NOERROR},
		{"192.0.2.1", "198.51.100.1", RCODE_REFUSED},
		{"192.0.2.1", "198.51.100.2", RCODE_NOERROR},
		/* A client of provide-xfr only. */
		{"192.0.2.2", "198.51.100.3", RCODE_NOERROR},
		{"192.0.2.2", "198.51.100.1", RCODE_REFUSED},
		{"192.0.2.2", "198.51.100.2", RCODE_REFUSED},
	};
	struct ask ask = { .qname = "example.", .type = TYPE_SOA };
	struct world_zone *zone;
	struct world w;
	struct reply_parts *p;

	query[1].blocked = 1;
	provide[1].blocked = 1;
	world_init(&w);
	zone = world_add_zone(&w, "example.", raw_zone_text);
	zone->query_acl = query;
	zone->query_acl_count = 2;
	zone->provide_acl = provide;
	zone->provide_acl_count = 2;
	world_start(&w);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		ask.from = cases[i].from;
		ask.proxy = cases[i].proxy;
		p = ask_with(&w, &ask);
		expect_rcode(p, cases[i].rcode);
		done(p);
	}
	world_fini(&w);
}

/* The line of the log about a refusal costs no walk of a long list, unless the
 * index says that an element blocks: one that the index does not know to block
 * is not looked at. */
static void
blocks_are_looked_for_where_the_index_has_some(void **state)
{
	struct acl_element elements[] = {
		element("192.0.2.1", ACL_SINGLE, NULL),
		element("192.0.2.2", ACL_SINGLE, NULL),
	};
	struct sockaddr_storage peer = {.ss_family = AF_INET};
	const struct acl_client client = {.peer = &peer};
	struct acl_element *changed;
	struct acl_block block;
	struct acl_list list;

	assert_int_equal(inet_pton(AF_INET, "192.0.2.2",
		&((struct sockaddr_in *)&peer)->sin_addr), 1);
	for (unsigned i = 0; i < 2; i++) {
		/* The other element blocks. */
		elements[0].blocked = i == 1;
		assert_int_equal(acl_list_make(elements, 2, &list), NSD_OK);
		changed = (struct acl_element *)(uintptr_t)list.elements;
		changed[1].blocked = 1;
		assert_false(acl_list_find_block(&list, &client, &block));
		acl_list_free(&list);
	}
	elements[1].blocked = 1;
	assert_int_equal(acl_list_make(elements, 2, &list), NSD_OK);
	assert_true(acl_list_find_block(&list, &client, &block));
	assert_false(block.of_proxy);
	assert_memory_equal(&block.element, &elements[1], sizeof(elements[1]));
	acl_list_free(&list);
}

/* A CNAME does not show what the other zone's list hides. */
static void
lists_hold_for_what_is_followed(void **state)
{
	const struct acl_element query = element("192.0.2.1", ACL_SINGLE,
		NULL);
	struct ask ask = { .qname = "a.z.", .type = TYPE_A };
	struct world_zone *zone;
	struct world w;
	struct reply_parts *p;

	world_init(&w);
	zone = world_add_zone(&w, "example.", raw_zone_text);
	zone->query_acl = &query;
	zone->query_acl_count = 1;
	world_add_zone(&w, "z.", "z. 60 SOA z. z. 1 2 3 4 5\n"
		"z. 60 NS ns1.example.\na.z. 60 CNAME ns1.example.\n");
	world_start(&w);
	p = ask_with(&w, &ask);
	expect_counts(p, 1, 0, 0);
	done(p);
	ask.from = "192.0.2.1";
	p = ask_with(&w, &ask);
	assert_int_equal(p->section[AN].count, 2);
	done(p);
	world_fini(&w);
}

/* RFC 9103: a client that may have a zone learns why it is refused; others do
 * not. Queries other than transfers are answered. */
static void
dated_connections_get_no_zone(void **state)
{
	static const char reason[] = "Zone transfers over TLS need TLS 1.3";
	static const uint16_t types[] = {TYPE_AXFR, TYPE_IXFR};
	const struct acl_element provide = element("192.0.2.2", ACL_SINGLE,
		NULL);
	struct ask ask = { .qname = "example.", .edns = true,
		.transport = TRANSPORT_TLS, .is_dated = true };
	struct world_zone *zone;
	struct world w;
	struct reply_parts *p;

	world_init(&w);
	zone = world_add_zone(&w, "example.", raw_zone_text);
	zone->provide_acl = &provide;
	zone->provide_acl_count = 1;
	world_start(&w);
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		ask.type = types[i];
		ask.from = "192.0.2.2";
		p = ask_with(&w, &ask);
		expect_rcode(p, RCODE_REFUSED);
		expect_counts(p, 0, 0, 0);
		expect_ede(p, EDE_PROHIBITED, reason);
		done(p);
		ask.from = "192.0.2.3";
		p = ask_with(&w, &ask);
		expect_rcode(p, RCODE_REFUSED);
		expect_ede(p, EDE_PROHIBITED, NULL);
		done(p);
	}
	ask.type = TYPE_SOA;
	p = ask_with(&w, &ask);
	expect_rcode(p, RCODE_NOERROR);
	assert_int_equal(p->section[AN].count, 1);
	done(p);
	world_fini(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queries_are_refused_by_the_zones_list),
		cmocka_unit_test(proxies_are_refused_by_the_zones_list),
		cmocka_unit_test(
			blocks_are_looked_for_where_the_index_has_some),
		cmocka_unit_test(lists_hold_for_what_is_followed),
		cmocka_unit_test(dated_connections_get_no_zone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
