/* policy.c - lines of update-policy: KEY NAME [TYPE...]; and what options of
 * updates cannot stand together. */
#include <string.h>
#include <strings.h>

#include "conf/parser.h"
#include "dns/name.h"
#include "dns/rrtype.h"

#define NAME_EXPECTED "a domain name, *.NAME, LABELS.*, * or self"

/* ---- names --------------------------------------------------------------- */

/* True if some label of the text is a star that is not escaped. */
static bool
text_has_star(const char *text, size_t len)
{
	bool begins = true;

	for (size_t i = 0; i < len; i++) {
		if (begins && text[i] == '*'
			&& (i + 1 == len || text[i + 1] == '.'))
			return true;
		begins = text[i] == '.';
		i += text[i] == '\\';
	}
	return false;
}

/* Cuts the star of a form off; *text and *len: the rest. */
static enum conf_policy_kind
policy_cut_star(const char **text, size_t *len)
{
	size_t n = *len;

	if (n == 1 && **text == '*') {
		*text = ".";
		return CONF_POLICY_ANY;
	}
	if (n == 4 && strncasecmp(*text, "self", n) == 0) {
		*text = ".";
		*len = 1;
		return CONF_POLICY_SELF;
	}
	if (n > 1 && strncmp(*text, "*.", 2) == 0) {
		/* "*." is below the root. */
		*text += n > 2 ? 2 : 1;
		*len -= n > 2 ? 2 : 1;
		return CONF_POLICY_BELOW;
	}
	if (n > 2 && strcmp(*text + n - 2, ".*") == 0
		&& (*text)[n - 3] != '\\') {
		*len -= 2;
		return CONF_POLICY_LABELS;
	}
	return CONF_POLICY_NAME;
}

static bool
policy_set_name(struct conf_parser *p, const struct conf_option *option,
	struct conf_policy *policy, const struct conf_word *word)
{
	static const uint8_t root[] = "";
	uint8_t wire[NAME_MAX_LEN];
	const char *text = word->text, *why = NULL;
	size_t len = word->len;

	policy->kind = policy_cut_star(&text, &len);
	if (text_has_star(text, len)
		|| name_parse_text(text, len, root, wire, &len, &why)
			!= NSD_OK
		|| (policy->kind == CONF_POLICY_LABELS && len == 1)) {
		error_at(p, word->file, word->line,
			"%s: bad name '%.200s': expected %s", option->name,
			word->text, why != NULL ? why : NAME_EXPECTED);
		return false;
	}
	name_lower(wire);
	policy->name = arena_copy(p->arena, wire, len);
	policy->text = arena_copy_text(p->arena, word->text, word->len);
	if (policy->name == NULL || policy->text == NULL)
		error_memory(p);
	return policy->name != NULL && policy->text != NULL;
}

/* ---- types --------------------------------------------------------------- */

/* True for types that records of a zone have, and ANY. */
static bool
type_may_be_allowed(uint16_t type)
{
	return type == TYPE_ANY || (type != 0 && !rrtype_is_meta(type)
		&& (type < 128 || type > 255));
}

static bool
policy_set_types(struct conf_parser *p, const struct conf_option *option,
	struct conf_policy *policy, const struct conf_word *word,
	uint32_t count)
{
	uint16_t *types;

	if (count == 0)
		return true;
	types = arena_alloc(p->arena, count * sizeof(*types));
	if (types == NULL) {
		error_memory(p);
		return false;
	}
	for (uint32_t i = 0; i < count; i++, word = word->next)
		if (rrtype_parse(word->text, word->len, &types[i]) != NSD_OK
			|| !type_may_be_allowed(types[i])) {
			error_at(p, word->file, word->line,
				"%s: unknown type '%.200s': expected types of "
				"records, or ANY", option->name, word->text);
			return false;
		}
	policy->types = types;
	policy->type_count = count;
	return true;
}

/* ---- lines --------------------------------------------------------------- */

bool
policy_set(struct conf_parser *p, const struct conf_option *option,
	struct conf_policies *list, const struct conf_word *words,
	uint32_t count)
{
	struct conf_policy policy, *item;

	memset(&policy, 0, sizeof(policy));
	policy.file = words->file;
	policy.line = words->line;
	if (strcmp(words->text, "NOKEY") == 0
		|| strcmp(words->text, "BLOCKED") == 0) {
		error_at(p, words->file, words->line,
			"%s: expected the name of a key, got '%s'",
			option->name, words->text);
		return false;
	}
	policy.key_name = arena_copy_text(p->arena, words->text, words->len);
	if (policy.key_name == NULL) {
		error_memory(p);
		return false;
	}
	if (!policy_set_name(p, option, &policy, words->next)
		|| !policy_set_types(p, option, &policy, words->next->next,
			count - 2))
		return false;
	item = list_add_item(p, (struct conf_list *)list, sizeof(policy));
	if (item != NULL)
		*item = policy;
	return item != NULL;
}

/* True if an element matches each address of its family. */
static bool
acl_is_any_address(const struct conf_acl *acl)
{
	static const uint8_t zeros[16];

	return (acl->kind == CONF_ACL_MASK || acl->kind == CONF_ACL_SUBNET)
		&& memcmp(acl->other, zeros, sizeof(zeros)) == 0;
}

void
policy_warn_open(struct conf_parser *p, const struct conf_acl *acl)
{
	if (acl->nokey && acl_is_any_address(acl))
		diag_emit(p->sink, DIAG_WARNING, acl->file, acl->line, 0,
			"allow-update %.200s NOKEY: anybody may change the "
			"zone, without a key", acl->spec);
}

/* ---- the whole ----------------------------------------------------------- */

/* A key that has nothing set: lines refer to it if theirs is missing. */
static const struct conf_key policy_no_key;

static void
policy_find_key(struct conf_parser *p, const struct conf_pattern *pattern,
	struct conf_policy *policy)
{
	if (policy->key != NULL)
		return;
	policy->key = conf_find_key(p->conf, policy->key_name);
	if (policy->key != NULL)
		return;
	if (!policy->inherited)
		error_at(p, policy->file, policy->line,
			"key %s in pattern %s could not be found",
			policy->key_name, pattern->name);
	policy->key = &policy_no_key;
}

/* Says that a pattern, or a zone, which takes updates cannot have something
 * else beside. */
static void
policy_refuse(struct conf_parser *p, const struct conf_pattern *pattern,
	const char *beside)
{
	const struct conf_acls *allow = &pattern->allow_update;
	const struct conf_policies *list = &pattern->update_policy;
	const char *name = pattern->implicit
		? pattern->name + strlen("_implicit_") : pattern->name;
	const char *what = pattern->implicit ? "zone" : "pattern";

	if (allow->count > 0)
		error_at(p, allow->items->file, allow->items->line,
			"%s %.300s has allow-update and %s", what, name,
			beside);
	else
		error_at(p, list->items->file, list->items->line,
			"%s %.300s has update-policy and %s", what, name,
			beside);
}

void
policy_check(struct conf_parser *p, const struct conf_pattern *pattern)
{
	const struct conf_policies *list = &pattern->update_policy;

	for (uint32_t i = 0; i < list->count; i++)
		policy_find_key(p, pattern, &list->items[i]);
	if (!conf_takes_updates(pattern))
		return;
	if (pattern->request_xfr.count > 0)
		policy_refuse(p, pattern, "request-xfr: a secondary takes no "
			"updates, expected update-forward");
	if (pattern->catalog != CONF_CATALOG_NONE)
		policy_refuse(p, pattern, "catalog: a catalog takes no "
			"updates");
}
