/*
 * limits.h - limits of the records of one name.
 *
 * An answer is one message: a name with more records of a type than fit into it
 * helps no client, and each change of it takes the longer. So there are limits
 * for zones from other servers. Zone files are the operator's own, without
 * limits.
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
