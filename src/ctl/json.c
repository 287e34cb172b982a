/* json.c - answers in JSON. */
#include "config.h"

#include "ctl/json.h"

static void
json_print_text(struct ctl_call *call, const char *text)
{
	ctl_write(call, "\"", 1);
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			ctl_printf(call, "\\%c", c);
		else if (c < ' ' || c >= 0x7f)
			ctl_printf(call, "\\u%04x", c);
		else
			ctl_write(call, text, 1);
	}
	ctl_write(call, "\"", 1);
}

/* Prints the comma and name before a value. */
static void
json_begin(struct ctl_json *json, const char *name)
{
	if (json->comma)
		ctl_write(json->call, ",", 1);
	json->comma = true;
	if (name == NULL)
		return;
	json_print_text(json->call, name);
	ctl_write(json->call, ":", 1);
}

void
ctl_json_open(struct ctl_json *json, const char *name, char bracket)
{
	json_begin(json, name);
	ctl_write(json->call, &bracket, 1);
	json->comma = false;
}

void
ctl_json_close(struct ctl_json *json, char bracket)
{
	ctl_write(json->call, &bracket, 1);
	json->comma = true;
}

void
ctl_json_text(struct ctl_json *json, const char *name, const char *text)
{
	json_begin(json, name);
	if (text != NULL)
		json_print_text(json->call, text);
	else
		ctl_write(json->call, "null", 4);
}

void
ctl_json_number(struct ctl_json *json, const char *name, long long number)
{
	json_begin(json, name);
	ctl_printf(json->call, "%lld", number);
}

void
ctl_json_digits(struct ctl_json *json, const char *name, const char *digits)
{
	json_begin(json, name);
	ctl_printf(json->call, "%s", digits);
}
