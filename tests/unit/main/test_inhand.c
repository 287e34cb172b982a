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
#include "process/hand.h"

static struct hand *
make(void)
{
	struct hand *hand = aligned_alloc(NET_ROOM_LINE, sizeof(*hand));

	assert_non_null(hand);
	memset(hand, 0, sizeof(*hand));
	return hand;
}

/* A datagram of one octet lies in the room, for each. */
static void
fill(struct hand *hand, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct sockaddr_in *peer
			= (struct sockaddr_in *)&hand->udp.peer[i];

		peer->sin_family = AF_INET;
		peer->sin_port = htons((uint16_t)i);
		hand->udp.requests[i][0] = (uint8_t)i;
		hand->udp.exchanges[i] = (struct exchange){
			.request = hand->udp.requests[i],
			.request_len = 1,
			.transport = TRANSPORT_UDP,
			.peer = &hand->udp.peer[i],
		};
	}
	hand_set_requests(hand, hand->udp.exchanges, count);
}

static void
nothing_in_hand_is_nothing(void **state)
{
	struct hand_message messages[HAND_MESSAGES_MAX];
	struct hand *hand = make();

	assert_int_equal(hand_read(hand, messages), 0);
	fill(hand, 3);
	hand_set_requests(hand, NULL, 0);
	hand_take(hand, HAND_COMMAND, NULL, "status", 6);
	hand_drop(hand);
	assert_int_equal(hand_read(hand, messages), 0);
	free(hand);
}

static void
all_of_a_batch_is_in_hand(void **state)
{
	struct hand_message messages[HAND_MESSAGES_MAX];
	struct hand *hand = make();

	fill(hand, EXCHANGE_BATCH_MAX);
	assert_int_equal(hand_read(hand, messages), EXCHANGE_BATCH_MAX);
	for (unsigned i = 0; i < EXCHANGE_BATCH_MAX; i++) {
		const struct sockaddr_in *peer
			= (const struct sockaddr_in *)&messages[i].peer;

		assert_int_equal(messages[i].kind, HAND_REQUEST_UDP);
		assert_int_equal(messages[i].len, 1);
		assert_int_equal(messages[i].octets[0], i);
		assert_int_equal(ntohs(peer->sin_port), i);
	}
	free(hand);
}

static void
a_message_is_copied_up_to_its_longest(void **state)
{
	struct hand_message messages[HAND_MESSAGES_MAX];
	uint8_t *octets = calloc(1, HAND_OCTETS_MAX + 1);
	struct hand *hand = make();

	assert_non_null(octets);
	octets[HAND_OCTETS_MAX - 1] = 7;
	hand_take(hand, HAND_REPLY, NULL, octets, HAND_OCTETS_MAX + 1);
	assert_int_equal(hand_read(hand, messages), 1);
	assert_int_equal(messages[0].len, HAND_OCTETS_MAX);
	assert_int_equal(messages[0].octets[HAND_OCTETS_MAX - 1], 7);
	assert_int_equal(messages[0].peer.ss_family, AF_UNSPEC);
	assert_int_equal(hand->udp.peer[0].ss_family, 0);
	free(hand);
	free(octets);
}

/* A process that was taken over may write any pointer. */
static void
what_lies_elsewhere_is_left_out(void **state)
{
	struct hand_message messages[HAND_MESSAGES_MAX];
	struct hand *hand = make();
	const uint8_t *end = (const uint8_t *)(hand + 1);
	const struct exchange *elsewhere[] = {NULL,
		(const struct exchange *)(uintptr_t)64,
		(const struct exchange *)UINTPTR_MAX,
		(const struct exchange *)(hand + 1),
		(const struct exchange *)((uintptr_t)(hand + 1)
			- sizeof(struct exchange) + 1)};

	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(*elsewhere); i++) {
		hand_set_requests(hand, elsewhere[i], 1);
		assert_int_equal(hand_read(hand, messages), 0);
	}
	fill(hand, 7);
	hand->udp.exchanges[0].request = (const uint8_t *)state;
	hand->udp.exchanges[1].request = end;
	hand->udp.exchanges[2].request = end - 1; /* the octet is there */
	hand->udp.exchanges[3].request_len = HAND_OCTETS_MAX + 1;
	hand->udp.exchanges[4].request = NULL;
	hand->udp.exchanges[5].peer = (struct sockaddr_storage *)UINTPTR_MAX;
	hand->udp.peer[6].ss_family = 4711;
	assert_int_equal(hand_read(hand, messages), 3);
	assert_ptr_equal(messages[0].octets, end - 1);
	assert_int_equal(messages[1].octets[0], 5);
	assert_int_equal(messages[1].peer.ss_family, AF_UNSPEC);
	assert_int_equal(messages[2].octets[0], 6);
	assert_int_equal(messages[2].peer.ss_family, AF_UNSPEC);
	free(hand);
}

static void
numbers_that_cannot_be_are_left_out(void **state)
{
	struct hand_message messages[HAND_MESSAGES_MAX];
	struct hand *hand = make();

	fill(hand, 1);
	hand->request_count = EXCHANGE_BATCH_MAX + 1;
	assert_int_equal(hand_read(hand, messages), 0);
	hand->request_count = UINT64_MAX;
	assert_int_equal(hand_read(hand, messages), 0);
	hand->request_count = 0;
	hand->kind = HAND_KIND_COUNT;
	assert_int_equal(hand_read(hand, messages), 0);
	hand->kind = HAND_REPLY;
	hand->len = HAND_OCTETS_MAX + 1;
	assert_int_equal(hand_read(hand, messages), 0);
	free(hand);
}

/* Random contents: no octet outside is read (a sanitized build would show it),
 * and the messages found lie within. */
static void
noise_harms_nobody(void **state)
{
	struct hand_message messages[HAND_MESSAGES_MAX];
	struct hand *hand = make();
	uint64_t chance = 1;

	for (unsigned round = 0; round < 200; round++) {
		size_t whole = offsetof(struct hand, udp.requests), found;
		uint8_t *at = (uint8_t *)hand;

		for (size_t i = 0; i < whole; i++) {
			chance = chance * UINT64_C(6364136223846793005) + 1;
			at[i] = (uint8_t)(chance >> 56);
		}
		hand->request_count &= 63;
		if (round % 2 == 0)
			hand->requests = (const struct exchange *)(at
				+ chance % sizeof(*hand));
		found = hand_read(hand, messages);
		for (size_t i = 0; i < found; i++) {
			assert_true(messages[i].octets >= at);
			assert_true(messages[i].octets + messages[i].len
				<= at + sizeof(*hand));
			assert_true(messages[i].kind < HAND_KIND_COUNT);
		}
	}
	free(hand);
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
