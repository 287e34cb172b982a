/*
 * directive.c - the control entries $ORIGIN, $TTL and $INCLUDE (RFC 1035
 * section 5.1, RFC 2308 section 4); $GENERATE is in generate.c.
 */
#include "zonefile/reader.h"

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
	if (!reader_name(r, &r->tokens[1], "name", "$ORIGIN", name, &size))
		return;
	memcpy(r->state.origin, name, size);
	r->state.origin_len = size;
	r->set |= PART_ORIGIN;
	r->owner_text = NULL;
	if (r->token_count > 2)
		reader_error(r, r->tokens[2].text,
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
	if (!reader_ttl(r, &r->tokens[1], "$TTL", &ttl_sec))
		return;
	r->state.ttl_default = ttl_sec;
	r->state.has_ttl_default = true;
	r->set |= PART_TTL_DEFAULT;
	if (r->token_count > 2)
		reader_error(r, r->tokens[2].text,
			"Trailing data in $TTL");
}

/* The file name without its escapes; free it. NULL without memory. */
static char *
unescape(const struct token *t)
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
	struct reader_include include = { NULL, NULL, 0 };
	uint8_t origin[NAME_MAX_LEN];
	enum reader_stop stop;
	char *path;

	if (r->hooks->on_include == NULL)
		return READER_INCLUDE;
	if (r->token_count < 2 || r->tokens[1].len == 0) {
		reader_error(r, r->tokens[0].text,
			"Missing file name in $INCLUDE");
		return READER_END;
	}
	if (r->token_count > 3) {
		reader_error(r, r->tokens[3].text,
			"Trailing data in $INCLUDE");
		return READER_END;
	}
	if (r->token_count == 3) {
		if (!reader_name(r, &r->tokens[2], "origin", "$INCLUDE",
				origin, &include.origin_len))
			return READER_END;
		include.origin = origin;
	}
	path = unescape(&r->tokens[1]);
	if (path == NULL) {
		r->err = NSD_E_MEMORY;
		return READER_FAILED;
	}
	include.path = path;
	stop = r->hooks->on_include(r->hooks->ctx, r, &include);
	free(path);
	return stop;
}

static bool
is_directive(const struct token *t, const char *name)
{
	return t->len == strlen(name) && strncasecmp(t->text, name, t->len)
		== 0;
}

enum reader_stop
reader_directive(struct reader *r)
{
	const struct token *t = &r->tokens[0];

	if (is_directive(t, "$ORIGIN")) {
		directive_origin(r);
	} else if (is_directive(t, "$TTL")) {
		directive_ttl(r);
	} else if (is_directive(t, "$INCLUDE")) {
		return directive_include(r);
	} else if (is_directive(t, "$GENERATE")) {
		return reader_generate(r);
	} else {
		reader_error(r, t->text, "Unknown directive %.*s",
			(int)(t->len < 64 ? t->len : 64), t->text);
	}
	return READER_END;
}
