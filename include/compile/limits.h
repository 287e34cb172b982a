/*
 * limits.h - how much one name of a zone may have.
 *
 * An answer is one message: a name with more records of a type than fit into it
 * helps nobody, and each change of it takes the longer. So there are limits for
 * what other servers send. What is in zone files is the operator's own.
 */
#ifndef COMPILE_LIMITS_H
#define COMPILE_LIMITS_H

#include <stdint.h>

/* 0: any number. */
struct zone_limits {
	uint32_t records_per_type; /* of an RRset, or of its signatures */
	uint32_t types_per_name;   /* with records or signatures */
};

#endif
