/* test_xfrd_client_update_answer.c - answers to workers about UPDATEs of
 * clients: a worker whose answer cannot be sent would wait for it for ever. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "xfrd/xfrd.h"
#include "xfrd/xfrd_client_updates.h"

#define CHANNEL 7

enum nsd_err __wrap_link_send(struct link *link,
	const struct link_message *message);
void __wrap_link_return(struct link *link, enum ipc_type type);

static struct xfrd xfrd;
static struct peer worker;
static enum nsd_err sends; /* the result of sending */
static unsigned sent, credits;

enum nsd_err
__wrap_link_send(struct link *link, const struct link_message *message)
{
	assert_ptr_equal(link, &worker.link);
	assert_int_equal(message->type, IPC_CLIENT_UPDATED);
	sent++;
	assert_int_equal(credits, sent);
	return sends;
}

void
__wrap_link_return(struct link *link, enum ipc_type type)
{
	assert_ptr_equal(link, &worker.link);
	assert_int_equal(type, IPC_CLIENT_UPDATE);
	credits++;
}

/* The outcome of a request. */
static void
answer_one(void)
{
	const struct client_update_end end = {.rcode = RCODE_NOERROR};
	struct client_update *update = calloc(1, sizeof(*update));

	assert_non_null(update);
	update->channel = CHANNEL;
	CDS_INIT_LIST_HEAD(&update->id_node);
	xfrd_client_update_answer(&xfrd, update, &end);
}

/* A message that is no request. */
static void
refuse_one(void)
{
	static const struct ipc_message m = {
		.channel = CHANNEL,
		.type = IPC_CLIENT_UPDATE,
		.len = IPC_CLIENT_UPDATE_MIN,
	};

	xfrd_client_update_take(&xfrd, &m);
}

/* Returns how a process ends that answers a worker. */
static int
end_of(void (*answers)(void), enum nsd_err err)
{
	pid_t pid = fork();
	int status;

	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		sends = err;
		answers();
		_exit(sent == 1 ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void
process_that_cannot_answer_ends(void **state)
{
	void (*const ways[])(void) = {answer_one, refuse_one};

	worker.link.channel.id = CHANNEL;
	worker.link.channel.peer = ROLE_WORKER;
	xfrd.role.peers.first = &worker;
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		assert_int_equal(end_of(ways[i], NSD_OK), 0);
		/* The worker has died: nobody waits. */
		assert_int_equal(end_of(ways[i], NSD_E_PEER), 0);
		assert_int_equal(end_of(ways[i], NSD_E_MEMORY), 1);
		assert_int_equal(end_of(ways[i], NSD_E_SYSTEM), 1);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(process_that_cannot_answer_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
