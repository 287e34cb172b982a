/* test_cpu_limit.c - how much time a netblock may have, and who is exempt. */
#include "config.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "guard/rrl.h"
#include "worker/cpu_limit.h"
#include "worker/limit_log.h"

#define USEC INT64_C(1000)
#define WHITELISTED 20u

static const uint8_t key[RRL_KEY_LEN] = "two and thirty octets of a key:";

struct fixture {
	struct rrl table;
	struct cpu_limit limit;
	/* Settings with a list that is not aligned. */
	struct {
		struct settings settings;
		uint8_t text[1 + WHITELISTED * sizeof(struct acl_element)];
	} s;
	struct cpu_limit_block blocks[SETTINGS_NETBLOCKS_MAX];
};

static void
set(struct fixture *f)
{
	assert_int_equal(cpu_limit_set(&f->limit, &f->s.settings), NSD_OK);
}

/* 1000 microseconds a second for a /24 or /64. */
static void
begin(struct fixture *f)
{
	void *memory = aligned_alloc(64, rrl_octets(1000));

	assert_non_null(memory);
	memset(f, 0, sizeof(*f));
	memset(memory, 0, rrl_octets(1000));
	rrl_init(&f->table, memory, 1000, key);
	cpu_limit_init(&f->limit, &f->table);
	f->s.settings.tcp_cpu_limit = 1000;
	f->s.settings.rrl_ip4 = (struct settings_netblocks){1, {{24, 1}}};
	f->s.settings.rrl_ip6 = (struct settings_netblocks){1, {{64, 1}}};
	set(f);
}

static void
end(struct fixture *f)
{
	acl_list_free(&f->limit.whitelist);
	free(f->table.lines);
}

static struct sockaddr_storage
address(const char *text)
{
	struct sockaddr_storage a;

	memset(&a, 0, sizeof(a));
	a.ss_family = strchr(text, ':') != NULL ? AF_INET6 : AF_INET;
	assert_int_equal(inet_pton(a.ss_family, text,
		a.ss_family == AF_INET6
			? (void *)&((struct sockaddr_in6 *)&a)->sin6_addr
			: (void *)&((struct sockaddr_in *)&a)->sin_addr), 1);
	return a;
}

/* How many netblocks begin or end to be throttled. */
static unsigned
spend(struct fixture *f, const char *client, int64_t nsec, uint64_t now_msec)
{
	struct sockaddr_storage a = address(client);

	return cpu_limit_spend(&f->limit, &a, nsec, now_msec, f->blocks);
}

static bool
throttles(const struct fixture *f, const char *client, uint64_t now_msec)
{
	struct sockaddr_storage a = address(client);

	return cpu_limit_bars(&f->limit, &a, now_msec);
}

static void
twice_the_limit_may_be_had_at_once(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	assert_false(throttles(&f, "192.0.2.1", 0));
	assert_int_equal(spend(&f, "192.0.2.1", 1999 * USEC, 0), 0);
	assert_false(throttles(&f, "192.0.2.1", 0));
	assert_int_equal(spend(&f, "192.0.2.9", 2 * USEC, 0), 1);
	assert_true(f.blocks[0].begins);
	assert_int_equal(f.blocks[0].bits, 24);
	assert_true(throttles(&f, "192.0.2.1", 0));
	assert_int_equal(spend(&f, "192.0.2.9", 2 * USEC, 0), 0);
	/* Other netblocks are not throttled. */
	assert_false(throttles(&f, "192.0.3.1", 0));
	assert_false(throttles(&f, "2001:db8::1", 0));
	/* A second later half of it is left, and that is told then. */
	assert_false(throttles(&f, "192.0.2.1", 1000));
	assert_int_equal(spend(&f, "192.0.2.1", 1, 1500), 1);
	assert_false(f.blocks[0].begins);
	end(&f);
}

/* A worker knows its table only with its settings; and counts where others do
 * that have been there for longer. */
static void
table_may_be_filled_in_later(void **state)
{
	struct fixture f;
	struct cpu_limit later;
	struct rrl table = {.line_count = 0};
	struct sockaddr_storage client = address("192.0.2.1");

	(void)state;
	begin(&f);
	cpu_limit_init(&later, &table);
	table = f.table;
	assert_int_equal(cpu_limit_set(&later, &f.s.settings), NSD_OK);
	assert_int_equal(spend(&f, "192.0.2.1", 2001 * USEC, 0), 1);
	assert_true(cpu_limit_bars(&later, &client, 0));
	acl_list_free(&later.whitelist);
	end(&f);
}

/* Nanoseconds do not get lost: so many small amounts as one large one. */
static void
small_amounts_add_up(void **state)
{
	struct fixture f;
	unsigned count = 0;

	(void)state;
	begin(&f);
	for (; !throttles(&f, "2001:db8::1", 0); count++)
		(void)spend(&f, "2001:db8::2", 1250, 0);
	assert_int_equal(count, 1601);
	assert_false(throttles(&f, "2001:db8:0:1::1", 0));
	end(&f);
}

/* The largest amount, and the highest limit. */
static void
there_is_a_most(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	(void)spend(&f, "192.0.2.1", INT64_MAX, 0);
	assert_true(throttles(&f, "192.0.2.1", 2000));
	assert_false(throttles(&f, "192.0.2.1", 4000));
	f.s.settings.tcp_cpu_limit = INT32_MAX;
	set(&f);
	(void)spend(&f, "192.0.3.1", 60000000 * USEC, 0);
	(void)spend(&f, "192.0.3.1", 60000000 * USEC, 0);
	assert_false(throttles(&f, "192.0.3.1", 0));
	(void)spend(&f, "192.0.3.1", USEC, 0);
	assert_true(throttles(&f, "192.0.3.1", 0));
	end(&f);
}

static void
wider_netblocks_have_a_factor(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	f.s.settings.rrl_ip4 = (struct settings_netblocks){2,
		{{32, 1}, {16, 3}}};
	set(&f);
	assert_int_equal(spend(&f, "10.1.0.1", 2001 * USEC, 0), 1);
	assert_int_equal(f.blocks[0].bits, 32);
	assert_false(throttles(&f, "10.1.0.2", 0));
	/* Time spent by any host counts for the wider block, too. */
	assert_int_equal(spend(&f, "10.1.0.1", 3998 * USEC, 0), 0);
	assert_false(throttles(&f, "10.1.0.2", 0));
	assert_int_equal(spend(&f, "10.1.0.2", 2 * USEC, 0), 1);
	assert_int_equal(f.blocks[0].bits, 16);
	assert_true(throttles(&f, "10.1.7.7", 0));
	assert_false(throttles(&f, "10.2.0.1", 0));
	end(&f);
}

static void
without_a_limit_nobody_is_barred(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	(void)spend(&f, "192.0.2.1", 9999 * USEC, 0);
	assert_true(throttles(&f, "192.0.2.1", 0));
	f.s.settings.tcp_cpu_limit = 0;
	set(&f);
	assert_false(throttles(&f, "192.0.2.1", 0));
	assert_int_equal(spend(&f, "192.0.3.1", 9999 * USEC, 0), 0);
	end(&f);
}

/* Whitelisted clients are neither throttled nor charged; their neighbours
 * are. */
static void
the_whitelist_is_exempt(void **state)
{
	struct settings_text *text;
	struct fixture f;

	(void)state;
	begin(&f);
	text = &f.s.settings.tcp_cpu_whitelist;
	text->at = (uint32_t)(offsetof(typeof(f.s), text) + 1);
	text->len = sizeof(f.s.text) - 1;
	for (unsigned i = 0; i < WHITELISTED; i++) {
		struct acl_element e = {.family = 4, .kind = ACL_SINGLE,
			.address = {192, 0, 2, (uint8_t)(100 - i)}};

		memcpy(f.s.text + 1 + i * sizeof(e), &e, sizeof(e));
	}
	set(&f);
	assert_int_equal(spend(&f, "192.0.2.100", 9999 * USEC, 0), 0);
	assert_false(throttles(&f, "192.0.2.80", 0));
	assert_int_equal(spend(&f, "192.0.2.80", 9999 * USEC, 0), 1);
	assert_true(throttles(&f, "192.0.2.80", 0));
	assert_true(throttles(&f, "192.0.2.101", 0));
	assert_false(throttles(&f, "192.0.2.81", 0));
	assert_false(throttles(&f, "192.0.2.100", 0));
	text->at = 0;
	text->len = 0;
	set(&f);
	assert_true(throttles(&f, "192.0.2.81", 0));
	end(&f);
}

/* Counts the lines of a log that contain a text. */
static unsigned
count_lines(const char *path, const char *text)
{
	char line[200];
	unsigned count = 0;
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL)
		count += strstr(line, text) != NULL;
	fclose(file);
	return count;
}

static void
lines_that_are_left_out_are_told_by_their_name(void **state)
{
	char path[] = "/tmp/nsd-test-limit-XXXXXX";
	const struct log_options options = {.program = "test", .file = path,
		.verbosity = 1};
	struct limit_log cpu = {.lines = 0};
	struct cpu_limit_block blocks[23];
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	for (unsigned i = 0; i < 23; i++)
		blocks[i] = (struct cpu_limit_block){
			.client = address("192.0.2.1"),
			.bits = 24,
			.begins = true,
		};
	assert_int_equal(log_open(&options), NSD_OK);
	limit_log_write_cpu(&cpu, blocks, 23, 1);
	assert_int_equal(count_lines(path, "tcp-cpu-limit block target"), 20);
	limit_log_write_cpu(&cpu, blocks, 1, 2);
	log_close();
	assert_int_equal(count_lines(path, "tcp-cpu-limit block target"), 21);
	assert_int_equal(count_lines(path,
		": tcp-cpu-limit: 3 lines were left out"), 1);
	assert_int_equal(count_lines(path, "ratelimit"), 0);
	unlink(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(twice_the_limit_may_be_had_at_once),
		cmocka_unit_test(table_may_be_filled_in_later),
		cmocka_unit_test(small_amounts_add_up),
		cmocka_unit_test(there_is_a_most),
		cmocka_unit_test(wider_netblocks_have_a_factor),
		cmocka_unit_test(without_a_limit_nobody_is_barred),
		cmocka_unit_test(the_whitelist_is_exempt),
		cmocka_unit_test(
			lines_that_are_left_out_are_told_by_their_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
