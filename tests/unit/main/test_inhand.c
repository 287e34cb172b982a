/* test_inhand.c - the message that a process had in hand: main's reading of
 * it, whatever it holds, and how often it is logged. */
#include "config.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "main/inhand.h"
#include "process/child_page.h"

static struct child_page *
make(void)
{
	struct child_page *page = aligned_alloc(NET_ROOM_LINE, sizeof(*page));

	assert_non_null(page);
	memset(page, 0, sizeof(*page));
	return page;
}

/* A datagram of one octet lies in the room, for each. */
static void
fill(struct child_page *page, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct sockaddr_in *peer
			= (struct sockaddr_in *)&page->udp.peer[i];

		peer->sin_family = AF_INET;
		peer->sin_port = htons((uint16_t)i);
		page->udp.requests[i][0] = (uint8_t)i;
		page->udp.exchanges[i] = (struct exchange){
			.request = page->udp.requests[i],
			.request_len = 1,
			.transport = TRANSPORT_UDP,
			.peer = &page->udp.peer[i],
		};
	}
	child_page_set_requests(page, page->udp.exchanges, count);
}

static void
nothing_in_hand_is_nothing(void **state)
{
	struct child_page_message messages[CHILD_PAGE_MESSAGES_MAX];
	struct child_page *page = make();

	assert_int_equal(child_page_read(page, messages), 0);
	fill(page, 3);
	child_page_set_requests(page, NULL, 0);
	child_page_take(page, CHILD_PAGE_COMMAND, NULL, "status", 6);
	child_page_drop(page);
	assert_int_equal(child_page_read(page, messages), 0);
	free(page);
}

static void
all_of_a_batch_is_in_hand(void **state)
{
	struct child_page_message messages[CHILD_PAGE_MESSAGES_MAX];
	struct child_page *page = make();

	fill(page, EXCHANGE_BATCH_MAX);
	assert_int_equal(child_page_read(page, messages), EXCHANGE_BATCH_MAX);
	for (unsigned i = 0; i < EXCHANGE_BATCH_MAX; i++) {
		const struct sockaddr_in *peer
			= (const struct sockaddr_in *)&messages[i].peer;

		assert_int_equal(messages[i].kind, CHILD_PAGE_REQUEST_UDP);
		assert_int_equal(messages[i].len, 1);
		assert_int_equal(messages[i].octets[0], i);
		assert_int_equal(ntohs(peer->sin_port), i);
	}
	free(page);
}

static void
a_message_is_copied_up_to_its_longest(void **state)
{
	struct child_page_message messages[CHILD_PAGE_MESSAGES_MAX];
	uint8_t *octets = calloc(1, CHILD_PAGE_OCTETS_MAX + 1);
	struct child_page *page = make();

	assert_non_null(octets);
	octets[CHILD_PAGE_OCTETS_MAX - 1] = 7;
	child_page_take(page, CHILD_PAGE_REPLY, NULL, octets,
		CHILD_PAGE_OCTETS_MAX + 1);
	assert_int_equal(child_page_read(page, messages), 1);
	assert_int_equal(messages[0].len, CHILD_PAGE_OCTETS_MAX);
	assert_int_equal(messages[0].octets[CHILD_PAGE_OCTETS_MAX - 1], 7);
	assert_int_equal(messages[0].peer.ss_family, AF_UNSPEC);
	assert_int_equal(page->udp.peer[0].ss_family, 0);
	free(page);
	free(octets);
}

/* A process that was taken over may write any pointer. */
static void
what_lies_elsewhere_is_left_out(void **state)
{
	struct child_page_message messages[CHILD_PAGE_MESSAGES_MAX];
	struct child_page *page = make();
	const uint8_t *end = (const uint8_t *)(page + 1);
	const struct exchange *elsewhere[] = {NULL,
		(const struct exchange *)(uintptr_t)64,
		(const struct exchange *)UINTPTR_MAX,
		(const struct exchange *)(page + 1),
		(const struct exchange *)((uintptr_t)(page + 1)
			- sizeof(struct exchange) + 1)};

	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(*elsewhere); i++) {
		child_page_set_requests(page, elsewhere[i], 1);
		assert_int_equal(child_page_read(page, messages), 0);
	}
	fill(page, 7);
	page->udp.exchanges[0].request = (const uint8_t *)state;
	page->udp.exchanges[1].request = end;
	page->udp.exchanges[2].request = end - 1; /* the octet is there */
	page->udp.exchanges[3].request_len = CHILD_PAGE_OCTETS_MAX + 1;
	page->udp.exchanges[4].request = NULL;
	page->udp.exchanges[5].peer = (struct sockaddr_storage *)UINTPTR_MAX;
	page->udp.peer[6].ss_family = 4711;
	assert_int_equal(child_page_read(page, messages), 3);
	assert_ptr_equal(messages[0].octets, end - 1);
	assert_int_equal(messages[1].octets[0], 5);
	assert_int_equal(messages[1].peer.ss_family, AF_UNSPEC);
	assert_int_equal(messages[2].octets[0], 6);
	assert_int_equal(messages[2].peer.ss_family, AF_UNSPEC);
	free(page);
}

static void
numbers_that_cannot_be_are_left_out(void **state)
{
	struct child_page_message messages[CHILD_PAGE_MESSAGES_MAX];
	struct child_page *page = make();

	fill(page, 1);
	page->request_count = EXCHANGE_BATCH_MAX + 1;
	assert_int_equal(child_page_read(page, messages), 0);
	page->request_count = UINT64_MAX;
	assert_int_equal(child_page_read(page, messages), 0);
	page->request_count = 0;
	page->kind = CHILD_PAGE_KIND_COUNT;
	assert_int_equal(child_page_read(page, messages), 0);
	page->kind = CHILD_PAGE_REPLY;
	page->len = CHILD_PAGE_OCTETS_MAX + 1;
	assert_int_equal(child_page_read(page, messages), 0);
	free(page);
}

/* Random contents: no octet outside is read (a sanitized build would show it),
 * and the messages found lie within. */
static void
noise_harms_nobody(void **state)
{
	struct child_page_message messages[CHILD_PAGE_MESSAGES_MAX];
	struct child_page *page = make();
	uint64_t chance = 1;

	for (unsigned round = 0; round < 200; round++) {
		size_t whole = offsetof(struct child_page, udp.requests), found;
		uint8_t *at = (uint8_t *)page;

		for (size_t i = 0; i < whole; i++) {
			chance = chance * UINT64_C(6364136223846793005) + 1;
			at[i] = (uint8_t)(chance >> 56);
		}
		page->request_count &= 63;
		if (round % 2 == 0)
			page->requests = (const struct exchange *)(at
				+ chance % sizeof(*page));
		found = child_page_read(page, messages);
		for (size_t i = 0; i < found; i++) {
			assert_true(messages[i].octets >= at);
			assert_true(messages[i].octets + messages[i].len
				<= at + sizeof(*page));
			assert_true(messages[i].kind < CHILD_PAGE_KIND_COUNT);
		}
	}
	free(page);
}

/* 200 deaths a second for ten hours. */
static void
floods_are_told_ever_more_seldom(void **state)
{
	struct inhand_pace pace = {.told = 0};
	uint64_t left_out, told = 0, all_left_out = 0, in_first_hour = 0;
	int64_t msec;

	for (msec = 1; msec < 10 * 3600 * 1000; msec += 5) {
		if (!inhand_may_tell(&pace, msec, &left_out))
			continue;
		told++;
		all_left_out += left_out;
		if (msec < 3600 * 1000)
			in_first_hour++;
		if (told <= 3)
			assert_int_equal(msec, 1 + 5 * (told - 1));
	}
	assert_in_range(in_first_hour, 10, INHAND_FILES);
	assert_in_range(told, in_first_hour + 7, in_first_hour + 10);
	assert_int_equal(told + all_left_out + pace.left_out,
		10 * 3600 * 1000 / 5);
	/* An hour of peace. */
	msec += 3600 * 1000;
	for (unsigned i = 0; i < 3; i++)
		assert_true(inhand_may_tell(&pace, msec, &left_out));
	assert_false(inhand_may_tell(&pace, msec, &left_out));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_in_hand_is_nothing),
		cmocka_unit_test(all_of_a_batch_is_in_hand),
		cmocka_unit_test(a_message_is_copied_up_to_its_longest),
		cmocka_unit_test(what_lies_elsewhere_is_left_out),
		cmocka_unit_test(numbers_that_cannot_be_are_left_out),
		cmocka_unit_test(noise_harms_nobody),
		cmocka_unit_test(floods_are_told_ever_more_seldom),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
