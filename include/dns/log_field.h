/*
 * log_field.h - the one table of the fields of a line of the query log, and the
 * text that chooses them: query-log-format of nsd.conf.
 */
#ifndef DNS_LOG_FIELD_H
#define DNS_LOG_FIELD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/*   name in C, name. doc/dnstap.md says what each one holds. */
#define LOG_FIELDS(X)                                                        \
	X(TIME, "time")                                                      \
	X(EPOCH, "epoch")                                                    \
	X(CLIENT, "client")                                                  \
	X(PORT, "port")                                                      \
	X(LOCAL, "local")                                                    \
	X(LOCAL_PORT, "localport")                                           \
	X(PROTOCOL, "protocol")                                              \
	X(ID, "id")                                                          \
	X(OPCODE, "opcode")                                                  \
	X(ZONE, "zone")                                                      \
	X(QNAME, "qname")                                                    \
	X(QTYPE, "qtype")                                                    \
	X(QCLASS, "qclass")                                                  \
	X(FLAGS, "flags")                                                    \
	X(EDNS, "edns")                                                      \
	X(DO, "do")                                                          \
	X(COOKIE, "cookie")                                                  \
	X(QUERY_SIZE, "querysize")                                           \
	X(RCODE, "rcode")                                                    \
	X(ANSWER_FLAGS, "answerflags")                                       \
	X(ANSWERS, "answers")                                                \
	X(SIZE, "size")                                                      \
	X(EDE, "ede")                                                        \
	X(LATENCY, "latency")

#define LOG_FIELD_ENUM(code, name) LOG_FIELD_##code,
enum log_field { LOG_FIELDS(LOG_FIELD_ENUM) LOG_FIELD_COUNT };
#undef LOG_FIELD_ENUM

/* Fields of a format without any. */
#define LOG_FIELD_DEFAULT \
	"time client port protocol zone qname qclass qtype flags edns do" \
	" rcode size latency"

/* Fields in the order of a line, no field twice. */
struct log_format {
	bool json;     /* a JSON object a line; else words */
	uint8_t count; /* 1..LOG_FIELD_COUNT */
	uint8_t fields[LOG_FIELD_COUNT]; /* enum log_field */
};

/* The name of a field, for a format and for a key of JSON. */
const char *log_field_name(enum log_field field);

/*
 * Reads a format: names of fields with blanks or tabs between them, in lower
 * case; the word `json` may stand before them. Without a name, the fields of
 * LOG_FIELD_DEFAULT.
 * returns NSD_OK and sets *format; NSD_E_SYNTAX: a word is no name of a field,
 *     or is there twice. *format is set only on success.
 * Cost: linear in the text, at most LOG_FIELD_COUNT + 1 words of it.
 */
enum nsd_err log_field_parse(const char *text, struct log_format *format)
	MUST_USE;

#endif
