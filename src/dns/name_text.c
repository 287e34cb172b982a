/* name_text.c - domain names from and to presentation format. */
#include <string.h>

#include "dns/name.h"
#include "dns/swar.h"

static const char empty_label[] = "a name without empty labels";
static const char long_label[] = "labels of at most 63 octets";
static const char long_name[] = "a name of at most 255 octets";
static const char bad_escape[] = "an escape: \\DDD up to 255 or \\ and a "
	"character";
static const char no_origin[] = "an absolute name, for there is no origin";
static const char no_text[] = "a name";

/* A name under construction. Its last label is open: its length octet, at
 * `label`, is not known yet. */
struct growing_name {
	uint8_t *name;
	size_t label;
	size_t len; /* octets so far, that length octet counted */
};

static enum nsd_err
append_origin(struct growing_name *g, const uint8_t *origin,
	size_t *name_size, const char **why)
{
	size_t len;

	if (origin == NULL) {
		*why = no_origin;
		return NSD_E_SYNTAX;
	}
	len = name_len(origin);
	if (g->len + len > NAME_MAX_LEN) {
		*why = long_name;
		return NSD_E_SYNTAX;
	}
	memcpy(g->name + g->len, origin, len);
	*name_size = g->len + len;
	return NSD_OK;
}

/* Ends the open label; false, with *why, if its length is not 1..63. */
static inline bool
close_label(struct growing_name *g, size_t end, const char **why)
{
	size_t len = end - g->label - 1;

	if (len - 1 >= LABEL_MAX_LEN) {
		*why = len == 0 ? empty_label : long_label;
		return false;
	}
	g->name[g->label] = (uint8_t)len;
	g->label = end;
	return true;
}

/*
 * The octet that the escape at text[*at] stands for, with *at moved behind the
 * escape; -1 if it is malformed.
 */
static int
read_escape(const char *text, size_t len, size_t *at)
{
	size_t i = *at + 1;
	unsigned value, k;

	if (i >= len)
		return -1;
	if (text[i] < '0' || text[i] > '9') {
		*at = i + 1;
		return (uint8_t)text[i];
	}
	if (len - i < 3)
		return -1;
	for (value = 0, k = 0; k < 3; k++) {
		unsigned digit = (unsigned)(uint8_t)text[i + k] - '0';

		if (digit > 9)
			return -1;
		value = value * 10 + digit;
	}
	*at = i + 3;
	return value <= 255 ? (int)value : -1;
}

/* Octet by octet, for texts with escapes and for those of nearly 255 octets. */
static enum nsd_err
parse_slowly(const char *text, size_t len, const uint8_t *origin,
	uint8_t *name, size_t *name_size, const char **why)
{
	struct growing_name g = { .name = name, .label = 0, .len = 1 };
	size_t at = 0;

	while (at < len) {
		int octet = (uint8_t)text[at];

		if (octet == '.') {
			if (!close_label(&g, g.len, why))
				return NSD_E_SYNTAX;
			at++;
		} else if (octet == '\\') {
			octet = read_escape(text, len, &at);
			if (octet < 0) {
				*why = bad_escape;
				return NSD_E_SYNTAX;
			}
		} else {
			at++;
		}
		if (g.len >= NAME_MAX_LEN) {
			*why = long_name;
			return NSD_E_SYNTAX;
		}
		name[g.len++] = (uint8_t)octet;
	}
	if (g.label + 1 == g.len) {
		name[g.label] = 0;
		*name_size = g.len;
		return NSD_OK;
	}
	if (!close_label(&g, g.len, why))
		return NSD_E_SYNTAX;
	return append_origin(&g, origin, name_size, why);
}

/*
 * Without escapes the text is the name, but for its dots. So copy it, eight
 * octets at a time, one octet to the right, and put lengths where the dots are.
 */
enum nsd_err
name_parse_text(const char *text, size_t len, const uint8_t *origin,
	uint8_t name[NAME_MAX_LEN], size_t *name_size, const char **why)
{
	struct growing_name g = { .name = name, .label = 0, .len = len + 1 };
	uint64_t word, dots;
	size_t at;

	if (len == 0) {
		*why = no_text;
		return NSD_E_SYNTAX;
	}
	if (len == 1 && (text[0] == '.' || text[0] == '@')) {
		g.len = 0;
		return append_origin(&g, text[0] == '.'
			? (const uint8_t *)"" : origin, name_size, why);
	}
	/* The last eight octets are stored whole and must have room. */
	if (len > NAME_MAX_LEN - 9)
		return parse_slowly(text, len, origin, name, name_size, why);
	for (at = 0; at < len; at += 8) {
		size_t left = len - at;

		if (left >= 8)
			word = swar_load(text + at);
		else if (len >= 8)
			word = swar_load(text + len - 8) >> (64 - 8 * left);
		else
			word = swar_load_part(text, len);
		if (swar_equals(word, '\\') != 0)
			return parse_slowly(text, len, origin, name,
				name_size, why);
		swar_store(name + 1 + at, word);
		for (dots = swar_equals(word, '.'); dots != 0;
			dots &= dots - 1) {
			unsigned i = (unsigned)__builtin_ctzll(dots) / 8;

			if (!close_label(&g, at + i + 1, why))
				return NSD_E_SYNTAX;
		}
	}
	if (g.label == len) {
		name[len] = 0;
		*name_size = len + 1;
		return NSD_OK;
	}
	if (!close_label(&g, len + 1, why))
		return NSD_E_SYNTAX;
	return append_origin(&g, origin, name_size, why);
}

/* Prints one octet of a label; returns the place behind it. */
static char *
print_octet(uint8_t octet, char *out)
{
	if (octet <= 0x20 || octet >= 0x7f) {
		*out++ = '\\';
		*out++ = (char)('0' + octet / 100);
		*out++ = (char)('0' + octet / 10 % 10);
		*out++ = (char)('0' + octet % 10);
		return out;
	}
	switch (octet) {
	case '.':
	case ';':
	case '(':
	case ')':
	case '"':
	case '\\':
	case '@':
	case '$':
		*out++ = '\\';
		break;
	}
	*out++ = (char)octet;
	return out;
}

size_t
name_print_text(const uint8_t *name, char out[NAME_TEXT_MAX])
{
	char *at = out;
	uint8_t i, len;

	if (*name == 0)
		*at++ = '.';
	while ((len = *name++) != 0) {
		for (i = 0; i < len; i++)
			at = print_octet(name[i], at);
		*at++ = '.';
		name += len;
	}
	*at = '\0';
	return (size_t)(at - out);
}
