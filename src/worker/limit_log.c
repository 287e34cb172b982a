/* limit_log.c - reports of rate limits and of access lists, as lines of the
 * log. */
#include "config.h"

#include <arpa/inet.h>
#include <endian.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "dns/answer_kind.h"
#include "dns/name.h"
#include "dns/rrtype.h"
#include "worker/limit_log.h"

/* Lines in a second: an attacker decides how many there would be. */
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

/* True if another line may be written; reports before it how many were left
 * out. */
static bool
log_begin_line(struct limit_log *log, uint64_t now_sec, const char *what)
{
	if (log->sec != now_sec) {
		log->sec = now_sec;
		log->lines = 0;
	}
	ASSERT_HOT(log->lines <= LINES_MAX);
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

static void
write_blocks(struct limit_log *log, const struct query_block *blocks,
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

/* An element of a list: two addresses, a mask between them, and a port. */
#define ELEMENT_TEXT_MAX (2 * INET6_ADDRSTRLEN + sizeof("@65535"))

/* Counts the bits of a mask that are set, from the first on; -1: later ones are
 * set, too. */
static int
mask_bits(const uint8_t *mask, unsigned octets)
{
	unsigned bits = 0;

	while (bits < octets * 8 && (mask[bits / 8] & (0x80 >> bits % 8)))
		bits++;
	for (unsigned i = bits; i < octets * 8; i++)
		if (mask[i / 8] & (0x80 >> i % 8))
			return -1;
	return (int)bits;
}

/* Prints an element of an access list as in nsd.conf. */
static void
element_print(const struct acl_element *e, char text[ELEMENT_TEXT_MAX])
{
	int family = e->family == 6 ? AF_INET6 : AF_INET;
	char address[INET6_ADDRSTRLEN], other[INET6_ADDRSTRLEN] = "";
	char port[sizeof("@65535")] = "";
	int bits = mask_bits(e->other, e->family == 6 ? 16 : 4);
	const char *mark = "";

	inet_ntop(family, e->address, address, sizeof(address));
	if (e->kind != ACL_SINGLE) {
		mark = e->kind == ACL_RANGE ? "-" : "&";
		inet_ntop(family, e->other, other, sizeof(other));
	}
	if (e->kind == ACL_MASK && bits >= 0) {
		mark = "/";
		snprintf(other, sizeof(other), "%d", bits);
	}
	if (e->port != 0)
		snprintf(port, sizeof(port), "@%u", (unsigned)e->port);
	snprintf(text, ELEMENT_TEXT_MAX, "%s%s%s%s", address, mark, other,
		port);
}

/* Prints the end of a line, which NSD has different for each kind. */
static void
access_print_end(const struct query_access *access, char *text, size_t size)
{
	char element[ELEMENT_TEXT_MAX];

	if (access->blocked)
		element_print(&access->block.element, element);
	if (!access->blocked)
		snprintf(text, size, "no acl matches%s",
			access->kind == QUERY_ACCESS_NOTIFY ? "." : "");
	else if (access->kind == QUERY_ACCESS_QUERY
		|| access->kind >= QUERY_ACCESS_UPDATE)
		snprintf(text, size, "BLOCKED %s", element);
	else if (access->kind == QUERY_ACCESS_NOTIFY)
		snprintf(text, size, "%s BLOCKED", element);
	else
		snprintf(text, size, "blocked");
}

/* "192.0.2.1 key K." */
#define SOURCE_TEXT_MAX (INET6_ADDRSTRLEN + sizeof(" key ") + NAME_TEXT_MAX)

/* Prints who has sent a request: an address, and a key that was checked. */
static void
requester_print(const struct query_access *access, char text[SOURCE_TEXT_MAX])
{
	char address[INET6_ADDRSTRLEN], key[NAME_TEXT_MAX] = "";

	address_print(&access->client, address);
	if (access->key[0] != 0)
		(void)name_print_text(access->key, key);
	snprintf(text, SOURCE_TEXT_MAX, "%s%s%s", address,
		key[0] != '\0' ? " key " : "", key);
}

/* Prints the fault of an UPDATE. */
static void
update_fault_print(const struct query_access *access, const char *zone,
	const char *source)
{
	char of[NAME_TEXT_MAX], type[RRTYPE_TEXT_MAX];

	(void)name_print_text(access->of, of);
	switch (access->fault) {
	case QUERY_FAULT_NONE:
		break;
	case QUERY_FAULT_ZONE:
		log_info("update for %s from %s refused: no such zone here",
			zone, source);
		break;
	case QUERY_FAULT_POLICY:
		(void)rrtype_print(access->type, type);
		log_info("update for %s from %s refused: update-policy does"
			 " not allow %s of %s", zone, source, type, of);
		break;
	case QUERY_FAULT_KEY:
		log_info("update for %s from %s refused: key %s is not known",
			zone, source, of);
		break;
	case QUERY_FAULT_SIGNATURE:
		log_info("update for %s from %s refused: wrong signature of"
			 " key %s", zone, source, of);
		break;
	case QUERY_FAULT_TIME:
		log_info("update for %s from %s refused: clocks differ: key %s"
			 " has signed at %llu, and it is %llu here", zone,
			source, of, (unsigned long long)access->signed_sec,
			(unsigned long long)access->now_sec);
		break;
	case QUERY_FAULT_UNSIGNED:
		log_info("update for %s from %s refused: it is not signed, and"
			 " update-policy needs a key", zone, source);
		break;
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
		[QUERY_ACCESS_UPDATE] = "update for",
		[QUERY_ACCESS_FORWARD] = "update for",
	};
	char source[SOURCE_TEXT_MAX], name[NAME_TEXT_MAX];
	char proxy[INET6_ADDRSTRLEN], end[ELEMENT_TEXT_MAX + 16];
	const char *kind = kinds[access->kind];

	requester_print(access, source);
	(void)name_print_text(access->name, name);
	if (access->allowed) {
		log_info("%s %s from %s", kind, name, source);
		return;
	}
	if (access->fault != QUERY_FAULT_NONE) {
		update_fault_print(access, name, source);
		return;
	}
	access_print_end(access, end, sizeof(end));
	if (access->blocked && access->block.of_proxy) {
		address_print(&access->proxy, proxy);
		log_info("%s %s from %s via proxy %s refused because of proxy,"
			 " %s", kind, name, source, proxy, end);
		return;
	}
	log_info("%s %s from %s refused, %s", kind, name, source, end);
}

static void
write_accesses(struct limit_log *log, const struct query_access *accesses,
	size_t count, uint64_t now_sec)
{
	for (size_t i = 0; i < count; i++)
		if (log_verbosity() >= query_access_verbosity(&accesses[i])
			&& log_begin_line(log, now_sec, "access"))
			access_print(&accesses[i]);
}

void
limit_log_write_batch(struct limit_log *limits, struct limit_log *access,
	const struct query_ctx *query, uint64_t now_sec)
{
	size_t count;
	const struct query_block *blocks = query_blocks(query, &count);
	const struct query_access *accesses;

	if (__builtin_expect(count > 0, 0))
		write_blocks(limits, blocks, count, now_sec);
	accesses = query_accesses(query, &count);
	if (__builtin_expect(count > 0, 0))
		write_accesses(access, accesses, count, now_sec);
}

void
limit_log_write_proxy(struct limit_log *log,
	const struct sockaddr_storage *proxy, uint64_t now_sec)
{
	char source[INET6_ADDRSTRLEN];

	if (log_verbosity() < 2 || !log_begin_line(log, now_sec, "access"))
		return;
	address_print(proxy, source);
	log_info("proxy-protocol: %s is not in allow-proxy list", source);
}

/* Writes the line of NSD. */
void
limit_log_write_unsent(struct limit_log *log,
	const struct query_unsent *unsent, uint64_t now_sec)
{
	char owner[NAME_TEXT_MAX], zone[NAME_TEXT_MAX];

	if (log_verbosity() < 2 || !log_begin_line(log, now_sec, "access"))
		return;
	(void)name_print_text(unsent->owner, owner);
	(void)name_print_text(unsent->zone, zone);
	log_info("%s: RR at %s in zone %s too large for any DNS message (wire"
		 " encoding exceeds 65535 bytes), aborting %stransfer",
		unsent->of_difference ? "ixfr_out" : "axfr", owner, zone,
		unsent->of_difference ? "IXFR " : "");
}

void
limit_log_write_ended(struct limit_log *log, const uint8_t *apex,
	const struct sockaddr_storage *client, uint64_t now_sec)
{
	char zone[NAME_TEXT_MAX], address[INET6_ADDRSTRLEN];

	if (!log_begin_line(log, now_sec, "access"))
		return;
	(void)name_print_text(apex, zone);
	address_print(client, address);
	log_warning("transfer of %s to %s ended: it has kept too much of old"
		    " versions, or for too long", zone, address);
}
