/*
 * rdata_tool.c - for tests: reads lines "TYPE RDATA-TEXT" and answers each
 * with "ok WIRE-IN-HEX PRINTED-TEXT", "doubt WIRE-IN-HEX PRINTED-TEXT", "value
 * TOKEN ..." (a rule is broken) or "error TOKEN TEXT". Names are completed with
 * example.com.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dns/rdata.h"
#include "lib/words.h"

#define WORDS_MAX 32768

static const uint8_t origin[] = "\7example\3com";
static struct token tokens[WORDS_MAX];
static uint8_t rdata[RDATA_MAX_LEN];
static char text[4 * RDATA_MAX_LEN + 1024];

static void
answer(const char *line, size_t len)
{
	size_t count = words_split(line, len, tokens, WORDS_MAX);
	struct rdata_error error;
	enum nsd_err err;
	uint16_t type;
	size_t i, size;

	if (count == 0 || count > WORDS_MAX
		|| rrtype_parse(tokens[0].text, tokens[0].len, &type)
		!= NSD_OK) {
		puts("error 0 no type");
		return;
	}
	err = rdata_parse(type, tokens + 1, count - 1, origin, rdata, &size,
		&error);
	if (err != NSD_OK && (err != NSD_E_ZONE || !error.is_doubt)) {
		printf("%s %zu %s\n", err == NSD_E_ZONE ? "value" : "error",
			error.token, error.text);
		return;
	}
	printf(err == NSD_OK ? "ok " : "doubt ");
	for (i = 0; i < size; i++)
		printf("%02x", rdata[i]);
	rdata_print(type, rdata, size, text, sizeof(text));
	printf("%s %s\n", size == 0 ? "-" : "", text);
}

int
main(void)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t len;

	while ((len = getline(&line, &room, stdin)) > 0) {
		if (line[len - 1] == '\n')
			len--;
		answer(line, (size_t)len);
		fflush(stdout);
	}
	free(line);
	return 0;
}
