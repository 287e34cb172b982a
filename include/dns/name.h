/*
 * name.h - domain names (RFC 1034 section 3.1, RFC 1035 section 3.1, RFC 4034
 * section 6.1, RFC 4343).
 *
 * A name in memory is its uncompressed wire form: labels, each a length octet
 * and 1..63 octets, and the root label 0. At most 255 octets. A function that
 * takes `const uint8_t *name` relies on that form; name_read and
 * name_parse_text make it from untrusted input.
 */
#ifndef DNS_NAME_H
#define DNS_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/octets.h"

#define NAME_MAX_LEN 255u    /* octets, root label counted */
#define NAME_MAX_LABELS 127u /* root label not counted */
#define LABEL_MAX_LEN 63u
#define NAME_TEXT_MAX 1024u  /* a printed name with dot and NUL fits */

extern const uint8_t name_lower_table[256]; /* ASCII lower case, RFC 4343 */

static inline uint8_t
name_lower_octet(uint8_t c)
{
	return name_lower_table[c];
}

/* Octets of the name, its root label counted (1..255). */
size_t name_len(const uint8_t *name);

/* Labels of the name, the root label not counted. */
unsigned name_count_labels(const uint8_t *name);

/* Makes the letters of a name lower case, in place. */
void name_lower(uint8_t *name);

/* True if the names are equal, without regard to case. */
bool name_equal(const uint8_t *a, const uint8_t *b);

/* Compares names in canonical order (RFC 4034 section 6.1): <0, 0, >0. */
int name_compare(const uint8_t *a, const uint8_t *b);

/* True if name is parent or below it, without regard to case. */
bool name_is_within(const uint8_t *name, const uint8_t *parent);

/* The name without its first `count` labels; lent from name. The root if it has
 * no more than these. */
const uint8_t *name_skip_labels(const uint8_t *name, unsigned count);

static inline bool
name_is_root(const uint8_t *name)
{
	return name[0] == 0;
}

/* True if the first label is a lone asterisk (RFC 4592 section 2.1.1). */
static inline bool
name_is_wildcard(const uint8_t *name)
{
	return name[0] == 1 && name[1] == '*';
}

/*
 * Reads presentation format (RFC 1035 section 5.1: \DDD and \X escapes).
 * A text without a final dot is completed by the origin; "@" is the origin.
 * in: text of len octets, not NUL-terminated; origin, a wire name (the root, to
 *     take relative texts as absolute), or NULL if there is none.
 * out: name (255 octets of room), *name_size its octets. Case is kept.
 * returns NSD_OK; NSD_E_SYNTAX, with *why a static text that says what was
 *     expected, if the text is empty, has an empty or too long label or a
 *     malformed escape, is too long, or is relative and there is no origin.
 */
enum nsd_err name_parse_text(const char *text, size_t len,
	const uint8_t *origin, uint8_t name[NAME_MAX_LEN], size_t *name_size,
	const char **why) MUST_USE;

/*
 * Prints a name with escapes and the final dot ("." for the root),
 * NUL-terminated.
 * Returns the length without the NUL.
 */
size_t name_print_text(const uint8_t *name, char out[NAME_TEXT_MAX]);

/*
 * Reads a name from a message. Follows compression pointers
 * (RFC 1035 section 4.1.4). Moves the cursor behind the name as it stands. Case
 * is kept.
 * returns NSD_OK; NSD_E_WIRE, and the cursor has failed, if the name leaves the
 *     message, is over 255 octets, has a label type other than the two, a
 *     pointer that does not lead strictly backwards, or over 256 pointers.
 * Cost: at most 255 octets written and 256 pointers.
 */
enum nsd_err name_read(struct cursor *message, uint8_t name[NAME_MAX_LEN],
	size_t *name_size) MUST_USE;

/* As name_read, but a compression pointer is NSD_E_WIRE. */
enum nsd_err name_read_uncompressed(struct cursor *message,
	uint8_t name[NAME_MAX_LEN], size_t *name_size) MUST_USE;

#endif
