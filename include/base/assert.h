/*
 * assert.h - states what cannot happen.
 *
 * assert() of the C library is for everything off the hot path and is on in
 * every build. ASSERT_HOT is for the path of a query, of a record of a load and
 * of a look-up in a trie. It is on with --enable-hot-asserts or a sanitizer, as
 * in every build that tests or fuzzes, and costs nothing otherwise.
 *
 * Input from outside never reaches either: bad input is an error, told to its
 * sender. No expression has a side effect.
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

/*
 * POISON_HOT fills a place that is used again, as a slot of a batch is, with
 * octets that make no sense, before it is set anew for the next message. So a
 * read of an octet that was not set shows, be it left from the message before
 * or never set. MemorySanitizer is told that the octets are unset. It does so
 * where ASSERT_HOT is on, and costs nothing otherwise.
 */
#if defined(HOT_ASSERTS) && defined(__has_feature)
#if __has_feature(memory_sanitizer)
#define POISON_MSAN
#endif
#endif
#ifdef POISON_MSAN
#include <sanitizer/msan_interface.h>
#define POISON_HOT(at, len) __msan_poison(at, len)
#elif defined(HOT_ASSERTS)
#include <string.h>
#define POISON_HOT(at, len) ((void)memset(at, 0xa5, len))
#else
#define POISON_HOT(at, len) ((void)sizeof(at), (void)sizeof(len))
#endif

#endif
