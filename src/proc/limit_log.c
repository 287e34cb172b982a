/* limit_log.c - what rate limits hold back, as lines of the log. */
#include "config.h"

#include <arpa/inet.h>
#include <netinet/in.h>

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
block_print(const struct query_block *block)
{
	const struct sockaddr_storage *client = &block->client;
	const struct sockaddr_in *ip4 = (const struct sockaddr_in *)client;
	const struct sockaddr_in6 *ip6 = (const struct sockaddr_in6 *)client;
	char netblock[INET6_ADDRSTRLEN], source[INET6_ADDRSTRLEN];
	char name[NAME_TEXT_MAX] = "", type[RRTYPE_TEXT_MAX];
	const void *address = client->ss_family == AF_INET6
		? (const void *)&ip6->sin6_addr
		: (const void *)&ip4->sin_addr;

	inet_ntop(client->ss_family, block->netblock, netblock,
		sizeof(netblock));
	inet_ntop(client->ss_family, address, source, sizeof(source));
	if (block->named)
		(void)name_print_text(block->name, name);
	(void)rrtype_print(block->qtype, type);
	log_info("ratelimit %s %s type %s%s target %s/%u query %s %s",
		block->begins ? "block" : "unblock", name,
		kind_name(block->kind),
		block->whitelisted ? "(whitelisted)" : "", netblock,
		block->netblock_bits, source, type);
}

void
limit_log_write(struct limit_log *log, const struct query_block *blocks,
	size_t count, uint64_t now_sec)
{
	if (log_verbosity() < 1)
		return;
	if (log->sec != now_sec) {
		log->sec = now_sec;
		log->lines = 0;
	}
	for (size_t i = 0; i < count; i++) {
		if (log->lines == LINES_MAX) {
			log->missed++;
			continue;
		}
		log->lines++;
		if (log->missed > 0)
			log_info("ratelimit: %u lines were left out",
				log->missed);
		log->missed = 0;
		block_print(&blocks[i]);
	}
}
