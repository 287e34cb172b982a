/* mutate_draft.h - a message that is being changed, by its parts. */
#ifndef TESTS_FUZZ_MUTATE_DRAFT_H
#define TESTS_FUZZ_MUTATE_DRAFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dns/message.h"
#include "fuzz/mutate_dns.h"
#include "lib/chance.h"

#define PARTS_MAX 64u
#define SECTIONS 4u

/* A question or a record. */
struct part {
	size_t at, len;
	size_t name_len; /* of its owner, as it stands */
	unsigned section;
};

struct draft {
	const struct mutate_dns *dns;
	uint64_t *chance;
	uint8_t octets[MESSAGE_MAX_LEN];
	size_t len, max;
	struct part parts[PARTS_MAX];
	size_t count;
};

/* A random element of a table. */
#define PICK(d, table) \
	table[chance_below((d)->chance, sizeof(table) / sizeof(*(table)))]

static inline uint32_t
below(struct draft *d, uint32_t number)
{
	return chance_below(d->chance, number);
}

/* Puts octets in the place of others. False: there is no room. */
bool draft_replace(struct draft *d, size_t at, size_t old_len,
	const uint8_t *octets, size_t len);
/* Finds the parts, as far as the counts and the octets have them. */
void draft_read_parts(struct draft *d);
/* Adds to the count of a section, or, seldom, does not. */
void draft_count(struct draft *d, unsigned section, int number);
/* Where a section ends. */
size_t draft_section_end(const struct draft *d, unsigned section);
/* A part by chance, and a record of a type, 0: of any. NULL: there is none. */
struct part *draft_pick_part(struct draft *d);
struct part *draft_pick_record(struct draft *d, uint16_t type);

#endif
