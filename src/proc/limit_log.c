/* limit_log.c - what rate limits hold back, as lines of the log. */
#include "config.h"

#include <arpa/inet.h>
#include <endian.h>
#include <netinet/in.h>
#include <string.h>

#include "base/log.h"
#include "dns/answer_kind.h"
#include "dns/name.h"
#include "dns/rrtype.h"
#include "proc/limit_log.h"

/* An attacker decides how many there would be. */
#define LINES_MAX 20

static const char *
kind_name(unsigned kind)
{
	switch ((enum answer_kind)kind) {
#define LIMIT_NAME(code, bit, name)                                          \
	case ANSWER_##code:                                                  \
		return name;
	ANSWER_KINDS(LIMIT_NAME)
#undef LIMIT_NAME
	default:
		return "?";
	}
}

static void
address_print(const struct sockaddr_storage *client,
	char text[INET6_ADDRSTRLEN])
{
	const struct sockaddr_in *ip4 = (const struct sockaddr_in *)client;
	const struct sockaddr_in6 *ip6 = (const struct sockaddr_in6 *)client;
	const void *address = client->ss_family == AF_INET6
		? (const void *)&ip6->sin6_addr
		: (const void *)&ip4->sin_addr;

	inet_ntop(client->ss_family, address, text, INET6_ADDRSTRLEN);
}

static void
block_print(const struct query_block *block)
{
	char netblock[INET6_ADDRSTRLEN], source[INET6_ADDRSTRLEN];
	char name[NAME_TEXT_MAX] = "", type[RRTYPE_TEXT_MAX];

	inet_ntop(block->client.ss_family, block->netblock, netblock,
		sizeof(netblock));
	address_print(&block->client, source);
	if (block->named)
		(void)name_print_text(block->name, name);
	(void)rrtype_print(block->qtype, type);
	log_info("ratelimit %s %s type %s%s target %s/%u query %s %s",
		block->begins ? "block" : "unblock", name,
		kind_name(block->kind),
		block->whitelisted ? "(whitelisted)" : "", netblock,
		block->netblock_bits, source, type);
}

/* True if there is to be another line; says before it how many there were not.
 */
static bool
log_begin_line(struct limit_log *log, uint64_t now_sec, const char *what)
{
	if (log->sec != now_sec) {
		log->sec = now_sec;
		log->lines = 0;
	}
	if (log->lines == LINES_MAX) {
		log->missed++;
		return false;
	}
	log->lines++;
	if (log->missed > 0)
		log_info("%s: %u lines were left out", what, log->missed);
	log->missed = 0;
	return true;
}

void
limit_log_write(struct limit_log *log, const struct query_block *blocks,
	size_t count, uint64_t now_sec)
{
	if (log_verbosity() < 1)
		return;
	for (size_t i = 0; i < count; i++)
		if (log_begin_line(log, now_sec, "ratelimit"))
			block_print(&blocks[i]);
}

static void
cpu_block_print(const struct cpu_limit_block *block)
{
	uint64_t number = htobe64(rrl_netblock(rrl_address(&block->client),
		block->bits));
	uint8_t octets[16] = {0};
	char netblock[INET6_ADDRSTRLEN], source[INET6_ADDRSTRLEN];

	memcpy(octets, &number, sizeof(number));
	inet_ntop(block->client.ss_family, octets, netblock, sizeof(netblock));
	address_print(&block->client, source);
	log_info("tcp-cpu-limit %s target %s/%u client %s",
		block->begins ? "block" : "unblock", netblock, block->bits,
		source);
}

void
limit_log_write_cpu(struct limit_log *log,
	const struct cpu_limit_block *blocks, size_t count, uint64_t now_sec)
{
	if (log_verbosity() < 1)
		return;
	for (size_t i = 0; i < count; i++)
		if (log_begin_line(log, now_sec, "tcp-cpu-limit"))
			cpu_block_print(&blocks[i]);
}

/* As NSD ends the line of each kind, but for the element of the list. */
static const char *
access_print_end(const struct query_access *access)
{
	if (access->allowed)
		return "";
	switch (access->kind) {
	case QUERY_ACCESS_QUERY:
		return access->blocked ? " refused, BLOCKED"
				       : " refused, no acl matches";
	case QUERY_ACCESS_NOTIFY:
		return access->blocked ? " refused, BLOCKED"
				       : " refused, no acl matches.";
	default:
		return access->blocked ? " refused, blocked"
				       : " refused, no acl matches";
	}
}

static void
access_print(const struct query_access *access)
{
	static const char *const kinds[] = {
		[QUERY_ACCESS_QUERY] = "query",
		[QUERY_ACCESS_NOTIFY] = "notify for",
		[QUERY_ACCESS_AXFR] = "axfr for",
		[QUERY_ACCESS_IXFR] = "ixfr for",
	};
	char source[INET6_ADDRSTRLEN], name[NAME_TEXT_MAX];

	address_print(&access->client, source);
	(void)name_print_text(access->name, name);
	log_info("%s %s from %s%s", kinds[access->kind], name, source,
		access_print_end(access));
}

void
limit_log_write_access(struct limit_log *log,
	const struct query_access *accesses, size_t count, uint64_t now_sec)
{
	for (size_t i = 0; i < count; i++)
		if (log_verbosity() >= (accesses[i].allowed ? 1 : 2)
			&& log_begin_line(log, now_sec, "access"))
			access_print(&accesses[i]);
}
