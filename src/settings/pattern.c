/* pattern.c - reads what the configuration says of zones. */
#include <assert.h>
#include <string.h>

#include "settings/pattern.h"

static const char *
skip_texts(const char *at, uint32_t count)
{
	for (; count > 0; count--)
		at += strlen(at) + 1;
	return at;
}

static const char *
text_or_none(const char *text)
{
	return *text == '\0' ? NULL : text;
}

struct settings_texts
settings_pattern_texts(const struct settings_pattern *pattern,
	enum settings_list list, uint32_t index)
{
	const char *at = settings_pattern_text(pattern, pattern->texts_at);
	unsigned row = list - SETTINGS_CLIENT_LISTS;
	uint32_t before = index;
	struct settings_texts texts;

	assert(index < pattern->counts[row]);
	for (unsigned i = 0; i < row; i++)
		before += pattern->counts[i];
	texts.spec = skip_texts(at, 3 * before);
	texts.key_name = skip_texts(texts.spec, 1);
	texts.tls_auth = text_or_none(skip_texts(texts.key_name, 1));
	texts.key_name = text_or_none(texts.key_name);
	return texts;
}

store_ref
settings_find_pattern(const struct store_view *view, const char *name)
{
	const struct settings *settings = settings_get(view);
	const store_ref *patterns = settings_patterns(settings);
	uint32_t low = 0, high = settings->pattern_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct settings_pattern *pattern = store_get(view,
			patterns[middle]);
		int order = strcmp(settings_pattern_text(pattern,
			pattern->name_at), name);

		if (order == 0)
			return patterns[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return STORE_NONE;
}
