/* fuzz_message.c - parts of messages and OPT records from any octets. */
#include <stdlib.h>

#include "dns/edns.h"
#include "dns/message.h"
#include "dns/rrtype.h"
#include "fuzz/mutate_dns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(bool condition)
{
	if (!condition)
		abort();
}

static void
check_name(const struct message_name *name)
{
	check(name->len >= 1 && name->count <= NAME_MAX_LABELS);
	check(name->len == name_len(name->name));
	check(name->count == name_count_labels(name->name));
	check(name->label_at[name->count] == name->len - 1);
	for (unsigned i = 0; i < name->len; i++)
		check(name->name[i] == name_lower_octet(name->name[i]));
}

static void
read_records(struct cursor *c)
{
	struct message_rr rr;
	struct message_name name;
	struct edns edns;

	while (cursor_left(c) > 0 && message_read_rr(c, &rr) == NSD_OK) {
		check(rr.rdata + rr.rdlen == c->at);
		if (rr.type == TYPE_OPT && edns_read(&rr, &edns) == NSD_OK)
			check(edns.cookie_len <= 40);
		if (message_expand_name(c->start,
			(size_t)(c->end - c->start), rr.owner_at, &name)
			== NSD_OK)
			check_name(&name);
	}
	check(c->at <= c->end);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct message_question question;
	struct message_name name;
	struct cursor c;

	for (size_t at = 0; at < size && at < 64; at++)
		if (message_expand_name(data, size, at, &name) == NSD_OK)
			check_name(&name);
	if (size < MESSAGE_HEADER_LEN)
		return 0;
	cursor_init(&c, data, size);
	c.at += MESSAGE_HEADER_LEN;
	if (message_read_question(&c, &question) == NSD_OK) {
		check_name(&question.name);
		read_records(&c);
	}
	cursor_init(&c, data, size);
	c.at += MESSAGE_HEADER_LEN;
	read_records(&c);
	return 0;
}

/* ---- for the fuzzer ------------------------------------------------------ */

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	uint64_t chance = seed;

	return mutate_dns_message(&mutate_dns_plain, data, size, max, &chance);
}
