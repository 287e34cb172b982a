/*
 * directive.c - the control entries $ORIGIN, $TTL and $INCLUDE (RFC 1035
 * section 5.1, RFC 2308 section 4); $GENERATE is in generate.c.
 */
#include "zonefile/reader.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void
directive_origin(struct reader *r)
{
	uint8_t name[NAME_MAX_LEN], size;

	if (r->token_count < 2) {
		reader_error(r, r->tokens[0].text,
			"Missing name in $ORIGIN");
		return;
	}
	if (!record_parse_name(r, &r->tokens[1], "name", "$ORIGIN", name,
			&size))
		return;
	memcpy(r->state.origin, name, size);
	r->state.origin_len = size;
	r->set |= PART_ORIGIN;
	r->owner_text = NULL;
	if (r->token_count > 2)
		reader_error_word(r, &r->tokens[2], NULL,
			"Trailing data in $ORIGIN");
}

static void
directive_ttl(struct reader *r)
{
	uint32_t ttl_sec;

	if (r->token_count < 2) {
		reader_error(r, r->tokens[0].text, "Missing ttl in $TTL");
		return;
	}
	if (!record_parse_ttl(r, &r->tokens[1], "$TTL", &ttl_sec))
		return;
	r->state.ttl_default = ttl_sec;
	r->state.has_ttl_default = true;
	r->set |= PART_TTL_DEFAULT;
	if (r->token_count > 2)
		reader_error_word(r, &r->tokens[2], NULL,
			"Trailing data in $TTL");
}

/* The file name without its escapes. The caller frees it. NULL: no memory. */
static char *
unescape_name(const struct token *t)
{
	char *out = malloc((size_t)t->len + 1);
	size_t i, n = 0;

	if (out == NULL)
		return NULL;
	for (i = 0; i < t->len; i++) {
		if (t->text[i] == '\\' && i + 1 < t->len)
			i++;
		out[n++] = t->text[i];
	}
	out[n] = '\0';
	return out;
}

static enum reader_stop
directive_include(struct reader *r)
{
	struct reader_include *include = &r->include;

	if (r->hooks->is_assumed)
		return READER_INCLUDE;
	if (r->token_count < 2 || r->tokens[1].len == 0) {
		reader_error(r, r->tokens[0].text,
			"Missing file name in $INCLUDE");
		return READER_END;
	}
	if (r->token_count > 3) {
		reader_error_word(r, &r->tokens[3], NULL,
			"Trailing data in $INCLUDE");
		return READER_END;
	}
	include->origin_len = 0;
	if (r->token_count == 3 && !record_parse_name(r, &r->tokens[2],
			"origin", "$INCLUDE", include->origin,
			&include->origin_len))
		return READER_END;
	assert(include->path == NULL);
	include->path = unescape_name(&r->tokens[1]);
	if (include->path == NULL) {
		r->err = NSD_E_MEMORY;
		return READER_FAILED;
	}
	return READER_INCLUDE;
}

bool
directive_is(const struct reader *r, const char *name)
{
	const struct token *t = &r->tokens[0];

	return t->len == strlen(name)
		&& strncasecmp(t->text, name, t->len) == 0;
}

enum reader_stop
directive_parse(struct reader *r)
{
	const struct token *t = &r->tokens[0];

	if (directive_is(r, "$ORIGIN"))
		directive_origin(r);
	else if (directive_is(r, "$TTL"))
		directive_ttl(r);
	else if (directive_is(r, "$INCLUDE"))
		return directive_include(r);
	else
		reader_error_word(r, t, NULL, "Unknown directive");
	return READER_END;
}
