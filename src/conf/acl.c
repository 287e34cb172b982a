/* acl.c - ACL elements, primaries, notify targets and source addresses. */
#include <assert.h>
#include <string.h>
#include <strings.h>

#include "conf/parser.h"

#define ACL_TEXT_MAX 128u

static void
acl_refuse(struct conf_parser *p, const struct conf_word *word,
	uint8_t family, const char *text)
{
	error_at(p, word->file, word->line,
		"Bad ip%u address '%.200s', expected an IPv4 or IPv6 address",
		family, text);
}

/* Reads the length of "A/len", and makes the mask: len ones. */
static bool
acl_parse_subnet(struct conf_parser *p, const struct conf_word *word,
	const char *text, struct conf_acl *acl)
{
	unsigned most = acl->family == 4 ? 32 : 128, i;
	uint64_t bits;

	if (!decode_number(text, &bits)) {
		error_at(p, word->file, word->line,
			"bad subnet range '%s', expected a number in [0..%u]",
			text, most);
		return false;
	}
	if (bits > most) {
		error_at(p, word->file, word->line,
			"subnet of %s bits out of range [0..%u]", text, most);
		return false;
	}
	for (i = 0; i < bits; i++)
		acl->other[i / 8] |= (uint8_t)(0x80u >> (i % 8));
	return true;
}

static bool
acl_parse_other(struct conf_parser *p, const struct conf_word *word,
	const char *text, struct conf_acl *acl)
{
	unsigned i;

	if (acl->kind == CONF_ACL_SUBNET) {
		if (!acl_parse_subnet(p, word, text, acl))
			return false;
	} else if (!address_parse(acl->family, text, acl->other)) {
		error_at(p, word->file, word->line,
			"Bad ip%u address mask '%s', expected an IPv%u "
			"address", acl->family, text, acl->family);
		return false;
	}
	if (acl->kind != CONF_ACL_RANGE) {
		for (i = 0; i < 16; i++)
			acl->address[i] &= acl->other[i];
	} else if (memcmp(acl->address, acl->other, 16) > 0) {
		diag_emit(p->sink, DIAG_WARNING, word->file, word->line, 0,
			"address range '%s' matches nothing: it ends before "
			"it starts", word->text);
	}
	return true;
}

/* "A", "A/len", "A&mask" or "A-B", with or without "@port" behind it. */
static bool
acl_parse_spec(struct conf_parser *p, const struct conf_word *word,
	struct conf_acl *acl)
{
	char text[ACL_TEXT_MAX], *other;

	acl->family = strchr(word->text, ':') != NULL ? 6 : 4;
	if (word->len >= sizeof(text)) {
		acl_refuse(p, word, acl->family, word->text);
		return false;
	}
	memcpy(text, word->text, word->len + 1);
	if (!address_cut_port(p, word, text, &acl->port))
		return false;
	other = strpbrk(text, "&/-");
	acl->kind = CONF_ACL_SINGLE;
	if (other != NULL) {
		acl->kind = *other == '&' ? CONF_ACL_MASK
			: *other == '/' ? CONF_ACL_SUBNET : CONF_ACL_RANGE;
		*other++ = '\0';
	}
	if (!address_parse(acl->family, text, acl->address)) {
		acl_refuse(p, word, acl->family, text);
		return false;
	}
	return other == NULL || acl_parse_other(p, word, other, acl);
}

/* [AXFR|UDP] SPEC [KEY|NOKEY|BLOCKED [TLS-AUTH]]; count says how many of them
 * there are. */
static bool
acl_parse_words(struct conf_parser *p, const struct conf_option *option,
	struct conf_acl *acl, const struct conf_word *word, uint32_t count)
{
	struct arena *arena = p->arena;

	if (option->type == TYPE_ACL_REQUEST && count > 2
		&& (strcasecmp(word->text, "AXFR") == 0
			|| strcasecmp(word->text, "UDP") == 0)) {
		acl->axfr_only = word->text[0] == 'A';
		acl->allow_udp = word->text[0] == 'U';
		word = word->next;
		count--;
	}
	if (!acl_parse_spec(p, word, acl))
		return false;
	acl->spec = arena_copy_text(arena, word->text, word->len);
	acl->file = word->file;
	acl->line = word->line;
	if (count > 1) {
		word = word->next;
		acl->nokey = strcmp(word->text, "NOKEY") == 0;
		acl->blocked = strcmp(word->text, "BLOCKED") == 0;
		if (!acl->nokey && !acl->blocked) {
			acl->key_name = arena_copy_text(arena, word->text,
				word->len);
			if (acl->key_name == NULL)
				acl->spec = NULL;
		}
	}
	if (count > 2) {
		word = word->next;
		acl->tls_auth_name = arena_copy_text(arena, word->text,
			word->len);
		if (acl->tls_auth_name == NULL)
			acl->spec = NULL;
	}
	if (acl->spec == NULL)
		error_memory(p);
	return acl->spec != NULL;
}

bool
acl_set(struct conf_parser *p, const struct conf_option *option,
	struct conf_acls *list, const struct conf_word *words, uint32_t count)
{
	bool single = option->type == TYPE_ACL_REQUEST
		|| option->type == TYPE_ACL_NOTIFY
		|| option->type == TYPE_ACL_ADDRESS;
	struct conf_acl acl, *item;

	memset(&acl, 0, sizeof(acl));
	if (!acl_parse_words(p, option, &acl, words, count))
		return false;
	if (single && acl.kind != CONF_ACL_SINGLE) {
		error_at(p, acl.file, acl.line,
			"address range used for %s, expected one address, got "
			"'%.200s'", option->name, acl.spec);
		return false;
	}
	if (single && acl.blocked) {
		error_at(p, acl.file, acl.line,
			"blocked address used for %s, expected a key or NOKEY "
			"behind '%.200s'", option->name, acl.spec);
		return false;
	}
	assert(acl.family == 4 || acl.family == 6);
	item = list_add_item(p, (struct conf_list *)list, sizeof(acl));
	if (item != NULL)
		*item = acl;
	return item != NULL;
}
