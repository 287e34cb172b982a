/* address.c - an IP address and its @port. */
#include <arpa/inet.h>
#include <string.h>

#include "conf/parser.h"

bool
address_cut_port(struct conf_parser *p, const struct conf_word *word,
	char *text, uint16_t *port)
{
	char *at = strchr(text, '@');
	uint64_t number;

	*port = 0;
	if (at == NULL)
		return true;
	if (!decode_number(at + 1, &number) || number == 0) {
		error_at(p, word->file, word->line,
			"expected port number after '@', got '%.200s'",
			at + 1);
		return false;
	}
	if (number > 65535) {
		error_at(p, word->file, word->line,
			"port number %s is out of range [1..65535]", at + 1);
		return false;
	}
	*at = '\0';
	*port = (uint16_t)number;
	return true;
}

bool
address_parse(uint8_t family, const char *text, uint8_t address[16])
{
	return inet_pton(family == 4 ? AF_INET : AF_INET6, text, address) == 1;
}
