/* log_field.c - reads which fields a line of the query log has. */
#include <string.h>

#include "base/assert.h"
#include "dns/log_field.h"

#define LOG_FIELD_NAME(code, name) [LOG_FIELD_##code] = name,
static const char *const log_field_names[LOG_FIELD_COUNT] = {
	LOG_FIELDS(LOG_FIELD_NAME)
};
#undef LOG_FIELD_NAME

#define LOG_FIELD_BLANKS " \t\r\n"

const char *
log_field_name(enum log_field field)
{
	assert(field < LOG_FIELD_COUNT);
	return log_field_names[field];
}

static bool
text_is_word(const char *word, size_t len, const char *name)
{
	return strlen(name) == len && memcmp(word, name, len) == 0;
}

static bool
format_add_word(struct log_format *format, const char *word, size_t len)
{
	unsigned field = 0;

	while (field < LOG_FIELD_COUNT
		&& !text_is_word(word, len, log_field_names[field]))
		field++;
	if (field == LOG_FIELD_COUNT
		|| memchr(format->fields, (int)field, format->count) != NULL)
		return false;
	format->fields[format->count++] = (uint8_t)field;
	return true;
}

static bool
format_add_words(struct log_format *format, const char *text)
{
	size_t len;

	for (;;) {
		text += strspn(text, LOG_FIELD_BLANKS);
		len = strcspn(text, LOG_FIELD_BLANKS);
		if (len == 0)
			return true;
		if (format->count == 0 && !format->json
			&& text_is_word(text, len, "json"))
			format->json = true;
		else if (!format_add_word(format, text, len))
			return false;
		text += len;
	}
}

enum nsd_err
log_field_parse(const char *text, struct log_format *format)
{
	struct log_format made = {.count = 0};

	if (!format_add_words(&made, text))
		return NSD_E_SYNTAX;
	if (made.count == 0 && !format_add_words(&made, LOG_FIELD_DEFAULT))
		return NSD_E_SYNTAX;
	*format = made;
	return NSD_OK;
}
