/*
 * reference.h - finds the answer that RFC 1034 section 4.3.2 asks for by
 * searching lists of records. It is slow and plain, to compare with.
 */
#ifndef TESTS_QUERY_REFERENCE_H
#define TESTS_QUERY_REFERENCE_H

#include "world.h"

struct reference {
	uint16_t rcode;
	bool authoritative;
	bool refused_to_follow; /* the chain left what is served */
	struct world_rrs section[3];
	struct world_rrs glue; /* records of section[2] that are required */
};

void reference_answer(const struct world *w, const uint8_t *qname,
	uint16_t qtype, bool dnssec, struct reference *out);
void reference_fini(struct reference *r);

#endif
