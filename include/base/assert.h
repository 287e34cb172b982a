/*
 * assert.h - states what cannot happen.
 *
 * assert() of the C library is for everything off the hot path and is on in
 * every build. ASSERT_HOT is for the path of a query, of a record of a load and
 * of a look-up in a trie. It is on with --enable-hot-asserts or a sanitizer, as
 * in every build that tests or fuzzes, and costs nothing otherwise.
 *
 * Input from outside never reaches either: that is an error, told to whoever
 * sent it. No expression has a side effect.
 */
#ifndef BASE_ASSERT_H
#define BASE_ASSERT_H

#include <assert.h>

#ifdef HOT_ASSERTS
#define ASSERT_HOT(expression) assert(expression)
#else
/* The compiler still sees the expression, so it does not rot. */
#define ASSERT_HOT(expression) ((void)sizeof((expression) ? 1 : 0))
#endif

#endif
