/* test_channel.c - messages between processes: the table holds. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "ipc/channel.h"
#include "lib/failing_socket.h"

static const enum ipc_role roles[] = {ROLE_MAIN, ROLE_LOADER, ROLE_WORKER,
	ROLE_XFRD, ROLE_WRITER, ROLE_VERIFIER, ROLE_COLLECTOR};

static void
message_arrives_whole_with_its_payload(void **state)
{
	struct ipc_channel main_end, loader_end;
	struct ipc_load_result sent = {.zones = 5, .read = 4, .failed = 1};
	struct ipc_message m;

	assert_int_equal(ipc_channel_open_pair(ROLE_MAIN, ROLE_LOADER,
				 &main_end, &loader_end),
		NSD_OK);
	assert_int_equal(ipc_receive(&main_end, &m), NSD_E_AGAIN);
	assert_int_equal(ipc_send(&loader_end, IPC_RELOADED, &sent,
				 sizeof(sent), NULL, 0),
		NSD_OK);
	assert_int_equal(ipc_receive(&main_end, &m), NSD_OK);
	assert_int_equal(m.type, IPC_RELOADED);
	assert_int_equal(m.len, sizeof(sent));
	assert_memory_equal(m.payload, &sent, sizeof(sent));
	assert_int_equal(m.fd_count, 0);
	ipc_channel_close(&main_end);
	assert_int_equal(ipc_receive(&loader_end, &m), NSD_E_NOT_FOUND);
	assert_int_equal(ipc_send(&loader_end, IPC_LISTED, NULL, 0, NULL, 0),
		NSD_E_PEER);
	ipc_channel_close(&loader_end);
}

/* A killed process often leaves messages unread. */
static void
what_was_said_before_the_end_is_heard(void **state)
{
	struct ipc_channel main_end, loader_end;
	struct ipc_message m;

	assert_int_equal(ipc_channel_open_pair(ROLE_MAIN, ROLE_LOADER,
				 &main_end, &loader_end),
		NSD_OK);
	assert_int_equal(ipc_send(&loader_end, IPC_LISTED, NULL, 0, NULL, 0),
		NSD_OK);
	assert_int_equal(send(main_end.fd, "unread", 6, 0), 6);
	ipc_channel_close(&loader_end);
	assert_int_equal(ipc_receive(&main_end, &m), NSD_OK);
	assert_int_equal(m.type, IPC_LISTED);
	assert_int_equal(ipc_receive(&main_end, &m), NSD_E_NOT_FOUND);
	ipc_channel_close(&main_end);
}

/* Every message, from every role to every role: only the table's rows pass,
 * at the sender, and at a receiver whose sender did not care. */
static void
only_rows_of_the_table_pass(void **state)
{
	uint8_t payload[IPC_PAYLOAD_MAX] = {0};

	for (unsigned i = 0; i < 25; i++) {
		enum ipc_role from = roles[i / 5], to = roles[i % 5];
		struct ipc_channel a, b;

		assert_int_equal(ipc_channel_open_pair(from, to, &a, &b),
			NSD_OK);
		for (uint32_t type = 0; type < IPC_TYPE_COUNT + 2u; type++) {
			const struct ipc_row *row = type < IPC_TYPE_COUNT
				? &ipc_rows[type]
				: NULL;
			bool allowed = row != NULL && (row->sender & from)
				&& (row->receiver & to);
			size_t len = row != NULL ? row->payload_min : 0;
			uint8_t raw[4 + IPC_PAYLOAD_MAX] = {0};
			struct ipc_message m;

			assert_int_equal(ipc_send(&a, (enum ipc_type)type,
						 payload, len, NULL, 0),
				allowed ? NSD_OK : NSD_E_BUG);
			if (allowed)
				assert_int_equal(ipc_receive(&b, &m), NSD_OK);
			memcpy(raw, &type, sizeof(type));
			assert_int_equal(send(a.fd, raw, 4 + len, 0), 4 + len);
			assert_int_equal(ipc_receive(&b, &m),
				allowed ? NSD_OK : NSD_E_DENIED);
		}
		ipc_channel_close(&a);
		ipc_channel_close(&b);
	}
}

/* The compiler may pad a struct behind a text, for which alone receivers have
 * room. */
static void
payload_ends_with_its_text(void **state)
{
#define END(type, field)                                                     \
	(offsetof(struct type, field) + sizeof(((struct type *)0)->field))
	static const struct {
		enum ipc_type type;
		size_t end;
	} texts[] = {
		{IPC_LOADED, END(ipc_loaded, reasons)},
		{IPC_CHANGE_ZONE, END(ipc_zone, text)},
		{IPC_ZONE_CHANGED, END(ipc_zone, text)},
		{IPC_READ, END(ipc_read, apex)},
		{IPC_READ_DONE, END(ipc_read_done, reasons)},
		{IPC_EXPIRY, END(ipc_expiry, apex)},
		{IPC_WRITE_ZONE, END(ipc_write, received)},
		{IPC_FIND_FILES, END(ipc_find_files, apexes)},
		{IPC_NOTIFY, END(ipc_notify, message)},
		{IPC_RECONFIGURED, END(ipc_reconfigured, text)},
		{IPC_KEY, END(ipc_key, text)},
		{IPC_KEY_DONE, END(ipc_key, text)},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_int_equal(ipc_rows[texts[i].type].payload_max,
			texts[i].end);
}

/* The receivers of a request may send its answer, and the senders may receive
 * it. Answers have the ticket. */
static void
answers_go_back_to_who_asks(void **state)
{
	unsigned count = 0;

	for (unsigned type = 0; type < IPC_TYPE_COUNT; type++) {
		const struct ipc_row *row = &ipc_rows[type];
		const struct ipc_row *answer = &ipc_rows[row->answer];

		if (row->answer == IPC_NO_ANSWER)
			continue;
		assert_int_equal(row->receiver & ~answer->sender, 0);
		assert_int_equal(row->sender & ~answer->receiver, 0);
		assert_true(row->payload_min >= sizeof(uint64_t));
		assert_true(answer->payload_min >= sizeof(uint64_t));
		assert_int_equal(answer->answer, IPC_NO_ANSWER);
		count++;
	}
	assert_true(count >= 5);
}

static void
message_cut_at_each_length_is_refused(void **state)
{
	struct ipc_channel main_end, loader_end;
	uint8_t raw[4 + IPC_PAYLOAD_MAX + 1] = {0};
	uint32_t type = IPC_RELOADED;
	size_t full = 4 + sizeof(struct ipc_load_result);
	struct ipc_message m;

	assert_int_equal(ipc_channel_open_pair(ROLE_MAIN, ROLE_LOADER,
				 &main_end, &loader_end),
		NSD_OK);
	memcpy(raw, &type, sizeof(type));
	for (size_t len = 1; len <= sizeof(raw); len++) {
		assert_int_equal(send(loader_end.fd, raw, len, 0), len);
		assert_int_equal(ipc_receive(&main_end, &m),
			len == full ? NSD_OK : NSD_E_DENIED);
	}
	ipc_channel_close(&main_end);
	ipc_channel_close(&loader_end);
}

static unsigned
count_fds(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) != -1;
	return count;
}

static void
descriptors_travel_unasked_ones_are_closed(void **state)
{
	struct ipc_channel main_end, worker_end;
	struct ipc_adopt adopt = {.server = 1, .tcp_map = 2};
	struct ipc_message m;
	int fds[IPC_FDS_MAX + 1];
	unsigned before;

	assert_int_equal(ipc_channel_open_pair(ROLE_MAIN, ROLE_WORKER,
				 &main_end, &worker_end),
		NSD_OK);
	for (int i = 0; i <= IPC_FDS_MAX; i++)
		fds[i] = dup(2);
	before = count_fds();
	assert_int_equal(ipc_send(&main_end, IPC_ADOPT, &adopt, sizeof(adopt),
				 fds, IPC_FDS_MAX),
		NSD_OK);
	assert_int_equal(ipc_receive(&worker_end, &m), NSD_OK);
	assert_int_equal(m.fd_count, IPC_FDS_MAX);
	assert_int_equal(count_fds(), before + IPC_FDS_MAX);
	for (unsigned i = 0; i < m.fd_count; i++) {
		assert_true(fcntl(m.fds[i], F_GETFD) & FD_CLOEXEC);
		close(m.fds[i]);
	}
	assert_int_equal(ipc_send(&main_end, IPC_ADOPT, &adopt, sizeof(adopt),
				 fds, IPC_FDS_MAX + 1),
		NSD_E_BUG);
	assert_int_equal(ipc_send(&main_end, IPC_RELEASE, &adopt,
				 sizeof(adopt), fds, 1),
		NSD_E_BUG);

	/* The row is that of the sender: forge main's end as a worker would
	 * have to, and see the descriptors refused. */
	main_end.self = ROLE_MAIN;
	worker_end.peer = ROLE_XFRD;
	assert_int_equal(ipc_send(&main_end, IPC_ADOPT, &adopt, sizeof(adopt),
				 fds, 3),
		NSD_OK);
	assert_int_equal(ipc_receive(&worker_end, &m), NSD_E_DENIED);
	assert_int_equal(count_fds(), before);
	for (int i = 0; i <= IPC_FDS_MAX; i++)
		close(fds[i]);
	ipc_channel_close(&main_end);
	ipc_channel_close(&worker_end);
}

/* Fault 42: of several that come with a message there is room for one. None is
 * kept, and the channel can be used on. */
static void
descriptors_without_room_are_lost(void **state)
{
	struct ipc_channel main_end, worker_end;
	struct ipc_adopt adopt = {.server = 1, .tcp_map = 2};
	const int fds[] = {1, 2, 1};
	struct rlimit old, small;
	struct ipc_message m;
	unsigned before;
	int lowest;

	assert_int_equal(ipc_channel_open_pair(ROLE_MAIN, ROLE_WORKER,
				 &main_end, &worker_end),
		NSD_OK);
	before = count_fds();
	lowest = dup(2);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	small = old;
	small.rlim_cur = (rlim_t)lowest + 1;
	close(lowest);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(ipc_send(&main_end, IPC_ADOPT, &adopt,
					 sizeof(adopt), fds, 3),
			NSD_OK);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &small), 0);
	assert_int_equal(ipc_receive(&worker_end, &m), NSD_E_LIMIT);
	assert_int_equal(count_fds(), before);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(ipc_receive(&worker_end, &m), NSD_OK);
	assert_int_equal(m.fd_count, 3);
	for (unsigned i = 0; i < m.fd_count; i++)
		close(m.fds[i]);
	ipc_channel_close(&main_end);
	ipc_channel_close(&worker_end);
}

/* faults 72: a receiver that is stuck holds nobody up. */
static void
full_channel_does_not_block(void **state)
{
	struct ipc_channel main_end, loader_end;
	enum nsd_err err = NSD_OK;

	assert_int_equal(ipc_channel_open_pair(ROLE_MAIN, ROLE_LOADER,
				 &main_end, &loader_end),
		NSD_OK);
	for (int i = 0; i < 100000 && err == NSD_OK; i++)
		err = ipc_send(&main_end, IPC_RELOAD, NULL, 0, NULL, 0);
	assert_int_equal(err, NSD_E_AGAIN);
	ipc_channel_close(&main_end);
	ipc_channel_close(&loader_end);
}

/* ENOBUFS and the like do not mean that the peer is dead. */
static void
shortage_is_not_the_peers_death(void **state)
{
	static const int errors[] = {ENOBUFS, ENOMEM, ETOOMANYREFS};
	struct ipc_channel main_end, loader_end;
	struct ipc_message m;

	assert_int_equal(ipc_channel_open_pair(ROLE_MAIN, ROLE_LOADER,
				 &main_end, &loader_end),
		NSD_OK);
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		failing_sendmsg = failing_recvmsg = errors[i];
		assert_int_equal(ipc_send(&main_end, IPC_RELOAD, NULL, 0, NULL,
					 0),
			NSD_E_MEMORY);
		failing_sendmsg = 0;
		assert_int_equal(ipc_send(&main_end, IPC_RELOAD, NULL, 0, NULL,
					 0),
			NSD_OK);
		assert_int_equal(ipc_receive(&loader_end, &m), NSD_E_MEMORY);
		failing_recvmsg = 0;
		assert_int_equal(ipc_receive(&loader_end, &m), NSD_OK);
	}
	ipc_channel_close(&main_end);
	ipc_channel_close(&loader_end);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(message_arrives_whole_with_its_payload),
		cmocka_unit_test(what_was_said_before_the_end_is_heard),
		cmocka_unit_test(only_rows_of_the_table_pass),
		cmocka_unit_test(payload_ends_with_its_text),
		cmocka_unit_test(answers_go_back_to_who_asks),
		cmocka_unit_test(message_cut_at_each_length_is_refused),
		cmocka_unit_test(descriptors_travel_unasked_ones_are_closed),
		cmocka_unit_test(descriptors_without_room_are_lost),
		cmocka_unit_test(full_channel_does_not_block),
		cmocka_unit_test(shortage_is_not_the_peers_death),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
