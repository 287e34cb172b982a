/* order_compare.h - compares names as they stand in zone files. */
#ifndef ZONEFILE_ORDER_COMPARE_H
#define ZONEFILE_ORDER_COMPARE_H

#include <stddef.h>

/* Less than 0, 0 or more than 0 as a name stands before another one, both as
 * text without backslashes and without a dot at the end. */
int order_compare(const char *a, size_t a_len, const char *b, size_t b_len);

#endif
