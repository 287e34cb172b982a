/* test_rrtype.c - the table of RR types, and batches of records. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "dns/rrbatch.h"
#include "dns/rrtype.h"

static void
rrtype_table_ascends_and_names_parse_back(void **state)
{
	const struct rrtype *row;
	char text[RRTYPE_TEXT_MAX];
	uint16_t last = 0, type;
	size_t n, i;

	for (n = 0; (row = rrtype_at(n)) != NULL; n++) {
		assert_true(row->number > last);
		last = row->number;
		assert_ptr_equal(rrtype_get(row->number), row);
		assert_true(rrtype_print(row->number, text)
			== strlen(row->name));
		assert_int_equal(rrtype_parse(text, strlen(text), &type),
			NSD_OK);
		assert_int_equal(type, row->number);
		for (i = 0; text[i] != '\0'; i++)
			if (text[i] >= 'A' && text[i] <= 'Z')
				text[i] |= 0x20;
		assert_int_equal(rrtype_parse(text, i, &type), NSD_OK);
		assert_int_equal(type, row->number);
		/* One letter more is another word. */
		text[i] = 'q';
		assert_int_equal(rrtype_parse(text, i + 1, &type),
			NSD_E_SYNTAX);
	}
	assert_true(n > 90);
}

/* RFC 3597 section 5 */
static void
rrtype_every_number_prints_and_parses(void **state)
{
	char text[RRTYPE_TEXT_MAX], number[16];
	uint32_t n;
	uint16_t type;
	size_t len;

	for (n = 0; n <= UINT16_MAX; n++) {
		len = rrtype_print((uint16_t)n, text);
		assert_int_equal(rrtype_parse(text, len, &type), NSD_OK);
		assert_int_equal(type, n);
		len = (size_t)sprintf(number, "type%u", n);
		assert_int_equal(rrtype_parse(number, len, &type), NSD_OK);
		assert_int_equal(type, n);
		if (rrtype_get((uint16_t)n)->name == NULL)
			assert_int_equal(rrtype_get((uint16_t)n)->fields[0],
				FIELD_UNKNOWN);
	}
}

static void
rrtype_refuses_what_is_no_type(void **state)
{
	static const char *const texts[] = { "", "TYPE", "TYPE65536",
		"TYPE99999", "TYPE000001", "TYPE-1", "TYPE1x", "TYP1", "AA",
		"NSEC3PARAMX", "XNSEC3PARAM", "NSEC4PARAM", "IN",
		"ABCDEFGHIJKLMNOPQ", "A\x80", "0", "1" };
	uint16_t type;
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(rrtype_parse(texts[i], strlen(texts[i]),
			&type), NSD_E_SYNTAX);
	assert_int_equal(rrtype_parse("A\0", 2, &type), NSD_E_SYNTAX);
}

static void
rrtype_meta_types_are_flagged(void **state)
{
	static const uint16_t meta[] = { TYPE_OPT, 128, TYPE_TKEY, TYPE_TSIG,
		TYPE_IXFR, TYPE_AXFR, TYPE_MAILB, TYPE_MAILA, TYPE_ANY };
	size_t i, n, count = 0;

	for (i = 0; i < sizeof(meta) / sizeof(meta[0]); i++)
		assert_true(rrtype_is_meta(meta[i]));
	for (n = 0; rrtype_at(n) != NULL; n++)
		count += rrtype_is_meta(rrtype_at(n)->number);
	assert_int_equal(count, sizeof(meta) / sizeof(meta[0]));
}

static void
rrclass_text(void **state)
{
	static const struct {
		const char *text;
		int number; /* -1: refused */
	} rows[] = { { "IN", 1 }, { "in", 1 }, { "CH", 3 }, { "hs", 4 },
		{ "NONE", 254 }, { "any", 255 }, { "CLASS1", 1 },
		{ "class65535", 65535 }, { "CLASS65536", -1 },
		{ "CLASS", -1 }, { "", -1 }, { "I", -1 }, { "INN", -1 },
		{ "CLASS123456", -1 }, { "A", -1 } };
	uint16_t number;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum nsd_err err = rrtype_parse_class(rows[i].text,
			strlen(rows[i].text), &number);

		assert_int_equal(err,
			rows[i].number < 0 ? NSD_E_SYNTAX : NSD_OK);
		if (err == NSD_OK)
			assert_int_equal(number, rows[i].number);
	}
}

static void
pool_gives_the_same_memory_again(void **state)
{
	struct rrbatch_pool *pool = rrbatch_pool_create();
	struct rrbatch *batches[20], *first;

	assert_non_null(pool);
	for (unsigned i = 0; i < 20; i++) {
		batches[i] = rrbatch_pool_take(pool, 300000);
		assert_non_null(batches[i]);
		assert_true(batches[i]->capacity >= 300000);
		batches[i]->len = 8;
		batches[i]->count = 1;
		batches[i]->next = i > 0 ? batches[i - 1] : NULL;
	}
	first = batches[0];
	rrbatch_destroy_all(batches[19]);
	batches[0] = rrbatch_pool_take(pool, 1 << 20);
	assert_true(batches[0]->capacity >= 1 << 20);
	batches[1] = rrbatch_pool_take(pool, 200000);
	assert_true(batches[1] != first && batches[1]->capacity >= 300000);
	assert_int_equal(batches[1]->len, 0);
	assert_int_equal(batches[1]->count, 0);
	assert_null(batches[1]->next);
	first = batches[1];
	rrbatch_destroy(batches[1]);
	batches[1] = rrbatch_pool_take(pool, 100);
	assert_ptr_equal(batches[1], first);
	rrbatch_destroy(batches[0]);
	rrbatch_destroy(batches[1]);
	rrbatch_pool_destroy(pool);
	rrbatch_destroy(rrbatch_pool_take(NULL, 100));
	assert_null(rrbatch_pool_take(NULL, SIZE_MAX));
}

static void
pool_gives_memory_back_when_trimmed(void **state)
{
	struct rrbatch_pool *pool = rrbatch_pool_create();
	struct rrbatch *kept, *taken;
	unsigned char page;

	assert_non_null(pool);
	kept = rrbatch_pool_take(pool, 300000);
	taken = rrbatch_pool_take(pool, 300000);
	assert_true(kept != NULL && taken != NULL);
	rrbatch_destroy(kept);
	assert_int_equal(mincore(kept, 1, &page), 0);
	rrbatch_pool_trim(pool);
	assert_int_equal(mincore(kept, 1, &page), -1);
	assert_int_equal(mincore(taken, 1, &page), 0);
	rrbatch_destroy(taken);
	rrbatch_destroy(rrbatch_pool_take(pool, 300000));
	rrbatch_pool_destroy(pool);
}

static void
rrbatch_keeps_records_in_order(void **state)
{
	static const uint8_t owner[] = "\3WWW\7Example\3com";
	static const uint8_t rdata[] = { 192, 0, 2, 1, 9 };
	struct rrbatch_rr head = { .line = 7, .ttl_sec = 300, .type = 1,
		.rdlen = 4, .file = 2 };
	struct rrbatch *batch = rrbatch_create(100);
	const struct rrbatch_rr *rr;

	assert_non_null(batch);
	assert_int_equal(rrbatch_append(batch, &head, NULL, rdata),
		NSD_E_BUG);
	assert_int_equal(rrbatch_append(batch, &head, owner, rdata), NSD_OK);
	head.rdlen = 5;
	head.line = 8;
	assert_int_equal(rrbatch_append(batch, &head, NULL, rdata), NSD_OK);
	head.rdlen = 0;
	assert_int_equal(rrbatch_append(batch, &head, NULL, NULL), NSD_OK);
	assert_int_equal(batch->count, 3);
	rr = rrbatch_first(batch);
	assert_int_equal(rr->line, 7);
	assert_int_equal(rr->ttl_sec, 300);
	assert_int_equal(rr->file, 2);
	assert_int_equal(rr->owner_len, 17);
	assert_memory_equal(rr->data, "\3www\7example\3com", 17);
	assert_memory_equal(rrbatch_rr_rdata(rr), rdata, 4);
	rr = rrbatch_next(rr);
	assert_int_equal((uintptr_t)rr % 4, 0);
	assert_int_equal(rr->owner_len, 0);
	assert_int_equal(rr->rdlen, 5);
	assert_memory_equal(rrbatch_rr_rdata(rr), rdata, 5);
	rr = rrbatch_next(rr);
	assert_int_equal(rr->rdlen, 0);
	assert_ptr_equal(rrbatch_next(rr), batch->data + batch->len);
	/* 16 + 4 + 17 -> 40, 16 + 5 -> 24, 16: 20 octets of room are left. */
	assert_int_equal(batch->len, 80);
	head.rdlen = 5;
	assert_int_equal(rrbatch_append(batch, &head, NULL, rdata),
		NSD_E_LIMIT);
	assert_int_equal(batch->len, 80);
	head.rdlen = 4;
	assert_int_equal(rrbatch_append(batch, &head, NULL, rdata), NSD_OK);
	assert_int_equal(batch->len, batch->capacity);
	rrbatch_destroy(batch);
}

static void
rrbatch_large_ones_come_and_go(void **state)
{
	struct rrbatch *first = rrbatch_create(1 << 20);

	assert_non_null(first);
	first->next = rrbatch_create(0);
	assert_non_null(first->next);
	assert_null(rrbatch_create(SIZE_MAX - 8));
	first->data[first->capacity - 1] = 1;
	rrbatch_destroy_all(first);
	rrbatch_destroy(NULL);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(rrtype_table_ascends_and_names_parse_back),
		cmocka_unit_test(rrtype_every_number_prints_and_parses),
		cmocka_unit_test(rrtype_refuses_what_is_no_type),
		cmocka_unit_test(rrtype_meta_types_are_flagged),
		cmocka_unit_test(rrclass_text),
		cmocka_unit_test(rrbatch_keeps_records_in_order),
		cmocka_unit_test(pool_gives_the_same_memory_again),
		cmocka_unit_test(pool_gives_memory_back_when_trimmed),
		cmocka_unit_test(rrbatch_large_ones_come_and_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
