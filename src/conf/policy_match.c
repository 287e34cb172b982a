/* policy_match.c - warns of lines of update-policy, and of elements of
 * allow-update, that can match nothing. */
#include <stdlib.h>
#include <string.h>

#include "conf/parser.h"
#include "dns/name.h"
#include "dns/rrtype.h"

/* Lines *.NAME that are compared with the name of each zone. More of them,
 * which no zone at or above NAME has, are taken to match. */
#define SCANS_MAX 100u
/* Pairs of elements that are compared. */
#define PAIRS_MAX 1000000u
/* Types for private use (RFC 6895 section 3.1). */
#define PRIVATE_FIRST 65280u
#define PRIVATE_LAST 65534u

/* A line, or an element that is not BLOCKED, among the options of some zone.
 * Copies of it, which patterns hand on, share its text. */
struct policy_use {
	const struct conf_policy *line; /* NULL: an element */
	const struct conf_acl *acl;     /* NULL: a line */
	const struct conf_acl *block;   /* has all addresses of acl */
	bool matches;
};

/* One look at a configuration. */
struct policy_walk {
	const struct conf *conf;
	const struct conf_pattern **options; /* of zones that take updates; each
					      * once */
	size_t option_count;
	struct policy_use *uses;
	size_t use_count;
	unsigned scans;
	unsigned pairs;
};

/* ---- names --------------------------------------------------------------- */

/* True if a name is in a zone that has these options. */
static bool
policy_name_is_here(const struct conf *conf, const uint8_t *name,
	const struct conf_pattern *options)
{
	const struct conf_zone *zone;

	for (;; name += *name + 1) {
		zone = conf_find_zone(conf, name);
		if (zone != NULL && zone->options == options)
			return true;
		if (name_is_root(name))
			return false;
	}
}

/* True if a zone that has these options is below a name. */
static bool
policy_zone_is_below(struct policy_walk *walk, const uint8_t *name,
	const struct conf_pattern *options)
{
	const struct conf *conf = walk->conf;

	if (name_is_root(name) || walk->scans >= SCANS_MAX)
		return true;
	walk->scans++;
	for (size_t i = 0; i < conf->zone_count; i++)
		if (conf->zones[i]->options == options
			&& name_is_within(conf->zones[i]->wire, name))
			return true;
	return false;
}

static bool
policy_can_match(struct policy_walk *walk, const struct conf_policy *policy,
	const struct conf_pattern *options)
{
	uint8_t key[NAME_MAX_LEN];

	/* A key that is missing was an error. */
	if (policy->key == NULL || policy->key->name == NULL)
		return true;
	switch ((enum conf_policy_kind)policy->kind) {
	case CONF_POLICY_NAME:
		return policy_name_is_here(walk->conf, policy->name, options);
	case CONF_POLICY_BELOW:
		return policy_name_is_here(walk->conf, policy->name, options)
			|| policy_zone_is_below(walk, policy->name, options);
	case CONF_POLICY_SELF:
		return !conf_parse_zone_name(policy->key_name, key)
			|| policy_name_is_here(walk->conf, key, options);
	case CONF_POLICY_LABELS:
	case CONF_POLICY_ANY:
		break;
	}
	return true;
}

/* ---- elements ------------------------------------------------------------ */

/* Finds the highest address of an element. False: there are others between
 * that and the first which it does not have. */
static bool
policy_find_last(const struct conf_acl *acl, uint8_t last[16])
{
	unsigned size = acl->family == 6 ? 16 : 4;
	bool is_low = false; /* behind the first 0 of the mask */

	memcpy(last, acl->kind == CONF_ACL_RANGE ? acl->other : acl->address,
		16);
	if (acl->kind != CONF_ACL_MASK && acl->kind != CONF_ACL_SUBNET)
		return true;
	for (unsigned bit = 0; bit < size * 8; bit++) {
		uint8_t one = (uint8_t)(0x80 >> bit % 8);

		if ((acl->other[bit / 8] & one) == 0) {
			last[bit / 8] |= one;
			is_low = true;
		} else if (is_low) {
			return false;
		}
	}
	return true;
}

/* True if a BLOCKED element holds for all addresses of another. */
static bool
policy_blocks(const struct conf_acl *block, const struct conf_acl *acl)
{
	unsigned size = acl->family == 6 ? 16 : 4;
	uint8_t block_last[16], last[16];

	if (block->family != acl->family
		|| (block->port != 0 && block->port != acl->port)
		|| !policy_find_last(block, block_last))
		return false;
	(void)policy_find_last(acl, last);
	return memcmp(block->address, acl->address, size) <= 0
		&& memcmp(last, block_last, size) <= 0;
}

/* Finds a BLOCKED element that leaves another one nothing. NULL: none. */
static const struct conf_acl *
policy_find_block(struct policy_walk *walk, const struct conf_acls *list,
	const struct conf_acl *acl)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (list->items[i].blocked && walk->pairs++ < PAIRS_MAX
			&& policy_blocks(&list->items[i], acl))
			return &list->items[i];
	return NULL;
}

/* ---- options of zones ---------------------------------------------------- */

static int
policy_compare_options(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)*(const struct conf_pattern *const *)a;
	uintptr_t y = (uintptr_t)*(const struct conf_pattern *const *)b;

	return (x > y) - (x < y);
}

/* Finds the options of zones that take updates. False: no memory, or none. */
static bool
policy_find_options(struct policy_walk *walk)
{
	const struct conf *conf = walk->conf;
	const struct conf_pattern *o, *last = NULL;
	size_t count = 0;

	walk->options = calloc(conf->zone_count + 1, sizeof(*walk->options));
	if (walk->options == NULL)
		return false;
	for (size_t i = 0; i < conf->zone_count; i++) {
		o = conf->zones[i]->options;
		if (o != last && conf_takes_updates(o))
			walk->options[count++] = last = o;
	}
	qsort(walk->options, count, sizeof(*walk->options),
		policy_compare_options);
	for (size_t i = 0; i < count; i++)
		if (i == 0 || walk->options[i] != last)
			walk->options[walk->option_count++] = last
				= walk->options[i];
	return walk->option_count > 0;
}

static void
policy_add_lines(struct policy_walk *walk, const struct conf_pattern *options)
{
	const struct conf_policies *list = &options->update_policy;

	for (uint32_t i = 0; i < list->count; i++)
		walk->uses[walk->use_count++] = (struct policy_use){
			.line = &list->items[i],
			.matches = policy_can_match(walk, &list->items[i],
				options),
		};
}

static void
policy_add_elements(struct policy_walk *walk, const struct conf_acls *list)
{
	const struct conf_acl *block;

	for (uint32_t i = 0; i < list->count; i++) {
		if (list->items[i].blocked)
			continue;
		block = policy_find_block(walk, list, &list->items[i]);
		walk->uses[walk->use_count++] = (struct policy_use){
			.acl = &list->items[i],
			.block = block,
			.matches = block == NULL,
		};
	}
}

/* Looks at each line and element of the options. False: no memory. */
static bool
policy_find_uses(struct policy_walk *walk)
{
	size_t count = 0;

	for (size_t i = 0; i < walk->option_count; i++)
		count += (size_t)walk->options[i]->update_policy.count
			+ walk->options[i]->allow_update.count;
	walk->uses = calloc(count, sizeof(*walk->uses));
	if (walk->uses == NULL)
		return false;
	for (size_t i = 0; i < walk->option_count; i++) {
		policy_add_elements(walk, &walk->options[i]->allow_update);
		policy_add_lines(walk, walk->options[i]);
	}
	return true;
}

/* ---- warnings ------------------------------------------------------------ */

static const char *
policy_text_of(const struct policy_use *use)
{
	return use->line != NULL ? use->line->text : use->acl->spec;
}

static struct conf_place
policy_place_of(const struct policy_use *use)
{
	return use->line != NULL
		? (struct conf_place){use->line->file, use->line->line}
		: (struct conf_place){use->acl->file, use->acl->line};
}

static int
policy_compare_texts(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)policy_text_of(a);
	uintptr_t y = (uintptr_t)policy_text_of(b);

	return (x > y) - (x < y);
}

static int
policy_compare_places(const void *a, const void *b)
{
	struct conf_place x = policy_place_of(a), y = policy_place_of(b);
	int files = strcmp(x.file, y.file);

	return files != 0 ? files : (x.line > y.line) - (x.line < y.line);
}

/* Makes one use of those that are of the same line. */
static void
policy_join(struct policy_walk *walk)
{
	struct policy_use *uses = walk->uses;
	size_t kept = 0;

	qsort(uses, walk->use_count, sizeof(*uses), policy_compare_texts);
	for (size_t i = 0; i < walk->use_count; i++)
		if (kept > 0 && policy_compare_texts(&uses[kept - 1], &uses[i])
				== 0)
			uses[kept - 1].matches |= uses[i].matches;
		else
			uses[kept++] = uses[i];
	walk->use_count = kept;
	qsort(uses, kept, sizeof(*uses), policy_compare_places);
}

static void
policy_warn_types(const struct conf_policy *line, struct diag_sink *sink)
{
	for (uint32_t i = 0; i < line->type_count; i++)
		if (line->types[i] != TYPE_ANY
			&& rrtype_get(line->types[i])->name == NULL
			&& (line->types[i] < PRIVATE_FIRST
				|| line->types[i] > PRIVATE_LAST))
			diag_emit(sink, DIAG_WARNING, line->file, line->line,
				0, "update-policy %.200s %.200s: no type is "
				"known that has the number %u", line->key_name,
				line->text, (unsigned)line->types[i]);
}

static void
policy_warn(const struct policy_use *use, struct diag_sink *sink)
{
	const struct conf_policy *line = use->line;
	const struct conf_acl *acl = use->acl;

	if (line != NULL)
		policy_warn_types(line, sink);
	if (line != NULL && !use->matches)
		diag_emit(sink, DIAG_WARNING, line->file, line->line, 0,
			"update-policy %.200s %.200s matches nothing: no zone "
			"that has this line has such %s", line->key_name,
			line->text, line->kind == CONF_POLICY_SELF
				? "a name as the key" : "names");
	else if (!use->matches)
		diag_emit(sink, DIAG_WARNING, acl->file, acl->line, 0,
			"allow-update %.200s %.200s matches nothing: "
			"allow-update %.200s BLOCKED has all its addresses",
			acl->spec, acl->nokey ? "NOKEY" : acl->key_name,
			use->block->spec);
}

void
policy_match_check(const struct conf *conf, struct diag_sink *sink)
{
	struct policy_walk walk = {.conf = conf};

	if (policy_find_options(&walk) && policy_find_uses(&walk)) {
		policy_join(&walk);
		for (size_t i = 0; i < walk.use_count; i++)
			policy_warn(&walk.uses[i], sink);
	}
	free(walk.uses);
	free(walk.options);
}
