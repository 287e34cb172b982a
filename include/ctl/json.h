/*
 * json.h - answers in JSON (RFC 8259), printed as they are made.
 *
 *	struct ctl_json json = {.call = call};
 *
 *	ctl_json_open(&json, NULL, '{');
 *	ctl_json_text(&json, "state", "ok");
 *	ctl_json_open(&json, "serials", '[');
 *	ctl_json_number(&json, NULL, 1);
 *	ctl_json_close(&json, ']');
 *	ctl_json_close(&json, '}');    {"state":"ok","serials":[1]}
 *
 * Octets that are no ASCII text are escaped as the code points of their values,
 * so what is printed is ASCII whatever a name holds.
 */
#ifndef CTL_JSON_H
#define CTL_JSON_H

#include <stdbool.h>

#include "ctl/call.h"

struct ctl_json {
	struct ctl_call *call;
	bool comma; /* the next item needs a comma, at this depth */
};

/* Opens an object or an array. name: of a member of an object; NULL: of an
 * array, or the whole. */
void ctl_json_open(struct ctl_json *json, const char *name, char bracket);
void ctl_json_close(struct ctl_json *json, char bracket);
/* A value; text NULL: null. */
void ctl_json_text(struct ctl_json *json, const char *name, const char *text);
void ctl_json_number(struct ctl_json *json, const char *name, long long number);
/* A number in digits, which may have a point in it. */
void ctl_json_digits(struct ctl_json *json, const char *name,
	const char *digits);

#endif
