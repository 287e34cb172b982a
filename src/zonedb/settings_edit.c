/* settings_edit.c - makes and publishes settings. */
#include <stdlib.h>
#include <string.h>

#include "dns/name.h"
#include "settings/acl_index.h"
#include "store/writer.h"
#include "zonedb/release.h"
#include "zonedb/settings_edit.h"
#include "zonedb/share.h"

#define SLOTS_MIN 64u
/* Keys, options and patterns begin with the count of their holders: their
 * contents are what is behind it. */
#define REFS_LEN sizeof(uint32_t)

enum edit_kind { EDIT_KEY, EDIT_OPTIONS, EDIT_PATTERN };

/* An object of this edit, which is one of its holders. */
struct edit_slot {
	uint64_t hash;
	store_ref ref; /* none: a free slot */
	uint32_t len;
	enum edit_kind kind;
};

struct settings_edit {
	struct store_writer *writer;
	struct store_heap *heap;
	const struct store_view *view;
	struct edit_slot *slots;
	size_t room;   /* a power of two */
	size_t count;
	uint8_t *draft; /* of an object */
	size_t draft_room;
};

static void
edit_hold(const struct settings_edit *edit, store_ref ref)
{
	if (ref != STORE_NONE)
		*(uint32_t *)store_edit(edit->heap, ref) += 1;
}

/* ---- present objects --------------------------------------------------- */

static void
slots_put(struct edit_slot *slots, size_t room, const struct edit_slot *slot)
{
	size_t at = slot->hash & (room - 1);

	while (slots[at].ref != STORE_NONE)
		at = (at + 1) & (room - 1);
	slots[at] = *slot;
}

static enum nsd_err
slots_grow(struct settings_edit *edit)
{
	size_t room = edit->room > 0 ? edit->room * 2 : SLOTS_MIN;
	struct edit_slot *slots = calloc(room, sizeof(*slots));

	if (slots == NULL)
		return NSD_E_MEMORY;
	for (size_t i = 0; i < edit->room; i++)
		if (edit->slots[i].ref != STORE_NONE)
			slots_put(slots, room, &edit->slots[i]);
	free(edit->slots);
	edit->slots = slots;
	edit->room = room;
	return NSD_OK;
}

static uint64_t
edit_hash(enum edit_kind kind, const void *object, size_t len)
{
	return share_hash_octets(kind, (const uint8_t *)object + REFS_LEN,
		len - REFS_LEN);
}

/* The object with these contents, or none. */
static store_ref
edit_find(const struct settings_edit *edit, const struct edit_slot *wanted,
	const void *object)
{
	size_t at = wanted->hash & (edit->room - 1);
	const struct edit_slot *slot;

	for (; edit->room > 0; at = (at + 1) & (edit->room - 1)) {
		slot = &edit->slots[at];
		if (slot->ref == STORE_NONE)
			break;
		if (slot->hash == wanted->hash && slot->kind == wanted->kind
			&& slot->len == wanted->len
			&& memcmp((const uint8_t *)store_get(edit->view,
					  slot->ref) + REFS_LEN,
				   (const uint8_t *)object + REFS_LEN,
				   slot->len - REFS_LEN) == 0)
			return slot->ref;
	}
	return STORE_NONE;
}

/* Takes a published object into the edit, unless its contents are there. */
static enum nsd_err
edit_take(struct settings_edit *edit, enum edit_kind kind, store_ref ref,
	size_t len)
{
	const void *object = store_get(edit->view, ref);
	struct edit_slot slot = {edit_hash(kind, object, len), ref,
		(uint32_t)len, kind};

	if (edit_find(edit, &slot, object) != STORE_NONE)
		return NSD_OK;
	if (edit->count >= edit->room / 2 && slots_grow(edit) != NSD_OK)
		return NSD_E_MEMORY;
	slots_put(edit->slots, edit->room, &slot);
	edit->count++;
	edit_hold(edit, ref);
	return NSD_OK;
}

/* Takes options, and the identities that they alone lead to. */
static enum nsd_err
edit_take_options(struct settings_edit *edit, store_ref ref)
{
	const struct settings_options *options = store_get(edit->view, ref);
	uint32_t count = options->ends[SETTINGS_LIST_COUNT - 1];
	enum nsd_err err = edit_take(edit, EDIT_OPTIONS, ref,
		settings_options_size(options));

	for (uint32_t i = 0; i < count && err == NSD_OK; i++) {
		store_ref identity = options->acl[i].identity;

		if (identity != STORE_NONE)
			err = edit_take(edit, EDIT_KEY, identity,
				settings_key_size(store_get(edit->view,
					identity)));
	}
	return err;
}

/* Takes a pattern and its options. */
static enum nsd_err
edit_take_pattern(struct settings_edit *edit, store_ref ref)
{
	const struct settings_pattern *pattern = store_get(edit->view, ref);
	enum nsd_err err = edit_take(edit, EDIT_PATTERN, ref, pattern->len);

	if (err == NSD_OK && pattern->options != STORE_NONE)
		err = edit_take_options(edit, pattern->options);
	return err;
}

/* ---- an edit ----------------------------------------------------------- */

enum nsd_err
settings_edit_begin(struct store_writer *writer, struct settings_edit **out)
{
	const struct settings *old = settings_get(store_writer_view(writer));
	struct settings_edit *edit = calloc(1, sizeof(*edit));
	const store_ref *refs = settings_keys(old);
	enum nsd_err err = NSD_OK;

	if (edit == NULL)
		return NSD_E_MEMORY;
	edit->writer = writer;
	edit->heap = store_writer_long_lived(writer);
	edit->view = store_writer_view(writer);
	for (uint32_t i = 0; i < old->key_count && err == NSD_OK; i++)
		err = edit_take(edit, EDIT_KEY, refs[i],
			settings_key_size(store_get(edit->view, refs[i])));
	refs = settings_patterns(old);
	for (uint32_t i = 0; i < old->pattern_count && err == NSD_OK; i++)
		err = edit_take_pattern(edit, refs[i]);
	if (err != NSD_OK) {
		settings_edit_end(edit);
		return err;
	}
	*out = edit;
	return NSD_OK;
}

void
settings_edit_end(struct settings_edit *edit)
{
	struct releaser r;

	if (edit == NULL)
		return;
	r = (struct releaser){edit->view, edit->heap, edit->writer, NULL};
	for (size_t i = 0; i < edit->room; i++) {
		const struct edit_slot *slot = &edit->slots[i];

		if (slot->ref == STORE_NONE)
			continue;
		if (slot->kind == EDIT_KEY)
			release_key(&r, slot->ref);
		else if (slot->kind == EDIT_OPTIONS)
			release_options(&r, slot->ref);
		else
			release_pattern(&r, slot->ref);
	}
	free(edit->slots);
	free(edit->draft);
	free(edit);
}

/* Makes the draft of an object, all zero; NULL without memory. */
static void *
edit_draft(struct settings_edit *edit, size_t len)
{
	if (len > edit->draft_room) {
		uint8_t *draft = realloc(edit->draft, len);

		if (draft == NULL)
			return NULL;
		edit->draft = draft;
		edit->draft_room = len;
	}
	memset(edit->draft, 0, len);
	return edit->draft;
}

/* The object with the contents of the draft. *made: there was none. */
static enum nsd_err
edit_keep(struct settings_edit *edit, enum edit_kind kind, size_t len,
	store_ref *ref, bool *made)
{
	struct edit_slot slot = {edit_hash(kind, edit->draft, len), STORE_NONE,
		(uint32_t)len, kind};
	void *object;

	*made = false;
	slot.ref = edit_find(edit, &slot, edit->draft);
	if (slot.ref == STORE_NONE) {
		if (edit->count >= edit->room / 2
			&& slots_grow(edit) != NSD_OK)
			return NSD_E_MEMORY;
		object = store_alloc(edit->heap, len, &slot.ref);
		if (object == NULL)
			return NSD_E_MEMORY;
		memcpy(object, edit->draft, len);
		slots_put(edit->slots, edit->room, &slot);
		edit->count++;
		edit_hold(edit, slot.ref);
		*made = true;
	}
	*ref = slot.ref;
	return NSD_OK;
}

/* ---- keys and options -------------------------------------------------- */

enum nsd_err
settings_edit_key(struct settings_edit *edit, const uint8_t *name,
	enum mac_kind algorithm, store_ref *ref)
{
	size_t len = sizeof(struct settings_key) + name_len(name);
	struct settings_key *key = edit_draft(edit, len);
	bool made;

	if (key == NULL)
		return NSD_E_MEMORY;
	key->algorithm = (uint8_t)algorithm;
	key->name_len = (uint8_t)name_len(name);
	memcpy(key->name, name, key->name_len);
	name_lower(key->name);
	return edit_keep(edit, EDIT_KEY, len, ref, &made);
}

enum nsd_err
settings_edit_identity(struct settings_edit *edit, const char *domain,
	store_ref *ref)
{
	size_t size = strlen(domain) + 1;
	struct settings_key *key;
	bool made;

	if (size > UINT8_MAX)
		return NSD_E_LIMIT;
	key = edit_draft(edit, sizeof(*key) + size);
	if (key == NULL)
		return NSD_E_MEMORY;
	key->algorithm = SETTINGS_IDENTITY;
	key->name_len = (uint8_t)size;
	memcpy(key->name, domain, size);
	return edit_keep(edit, EDIT_KEY, sizeof(*key) + size, ref, &made);
}

static bool
list_wants_index(const struct settings_lists *lists, unsigned list)
{
	return lists->counts[list] > ACL_WALK_MAX
		&& list < SETTINGS_CLIENT_LISTS;
}

/* The most octets of options with these lists. */
static uint64_t
lists_size_max(const struct settings_lists *lists)
{
	uint64_t size = sizeof(struct settings_options)
		+ sizeof(struct settings_xfr);

	for (unsigned i = 0; i < SETTINGS_LIST_COUNT; i++) {
		size += (uint64_t)lists->counts[i]
			* sizeof(struct acl_element);
		if (list_wants_index(lists, i))
			size += ACL_INDEX_ALIGN
				+ acl_index_size_max(lists->counts[i]);
	}
	if (lists->policy_count > 0)
		size += UPDATE_POLICY_ALIGN + update_policy_size_max(
			lists->policies, lists->policy_count);
	return size;
}

static struct acl_element *
list_copy(const struct settings_lists *lists, unsigned list,
	struct acl_element *to)
{
	const struct acl_element *from = lists->lists[list];
	uint32_t count = lists->counts[list];

	if (list_wants_index(lists, list))
		return acl_index_copy(from, count, to);
	if (count > 0)
		memcpy(to, from, count * sizeof(*to));
	return to + count;
}

/* Adds the index of a list behind what the options have so far. */
static enum nsd_err
options_add_index(struct settings_options *options, enum settings_list list)
{
	uint32_t at = (options->len + ACL_INDEX_ALIGN - 1)
		& ~(ACL_INDEX_ALIGN - 1), count;
	struct acl_index *index = (struct acl_index *)
		((uint8_t *)options + at);
	const struct acl_element *elements = settings_options_list(options,
		list, &count);
	enum nsd_err err = acl_index_make(elements, count, index);

	options->index_at[list] = at;
	options->len = at + index->len;
	return err;
}

/* Adds the update-policy behind what the options have so far. */
static enum nsd_err
options_add_policy(struct settings_options *options,
	const struct settings_lists *lists)
{
	uint32_t at = (options->len + UPDATE_POLICY_ALIGN - 1)
		& ~(UPDATE_POLICY_ALIGN - 1);
	struct update_policy *policy = (struct update_policy *)
		((uint8_t *)options + at);
	enum nsd_err err = update_policy_make(lists->policies,
		lists->policy_count, policy);

	options->policy_at = at;
	options->len = at + policy->len;
	return err;
}

/* Fills options that are all zero; *count: elements. */
static enum nsd_err
options_fill(struct settings_options *options,
	const struct settings_lists *lists, uint32_t *count)
{
	struct acl_element *end = options->acl;
	enum nsd_err err = NSD_OK;

	for (unsigned i = 0; i < SETTINGS_LIST_COUNT; i++) {
		end = list_copy(lists, i, end);
		options->ends[i] = (uint32_t)(end - options->acl);
	}
	*count = (uint32_t)(end - options->acl);
	options->len = (uint32_t)((uint8_t *)end - (uint8_t *)options);
	if (lists->xfr != NULL) {
		options->xfr_at = options->len;
		memcpy(end, lists->xfr, sizeof(*lists->xfr));
		options->len += (uint32_t)sizeof(*lists->xfr);
	}
	for (unsigned i = 0; err == NSD_OK && i < SETTINGS_LIST_COUNT; i++)
		if (list_wants_index(lists, i))
			err = options_add_index(options,
				(enum settings_list)i);
	if (err == NSD_OK && lists->policy_count > 0)
		err = options_add_policy(options, lists);
	return err;
}

/* Holds the keys and identities of new options. */
static void
options_hold(const struct settings_edit *edit,
	const struct settings_options *options, uint32_t count)
{
	const struct update_policy *policy = update_policy_get(options);

	for (uint32_t i = 0; i < count; i++) {
		edit_hold(edit, options->acl[i].key);
		edit_hold(edit, options->acl[i].identity);
	}
	for (uint32_t i = 0; policy != NULL && i < policy->count; i++)
		edit_hold(edit, policy->entries[i].key);
}

enum nsd_err
settings_edit_options(struct settings_edit *edit,
	const struct settings_lists *lists, store_ref *ref)
{
	static const struct settings_numbers none;
	struct settings_options *options;
	uint64_t size = lists_size_max(lists);
	uint32_t count;
	bool made;
	enum nsd_err err;

	*ref = STORE_NONE;
	if (size > STORE_OBJECT_MAX)
		return NSD_E_LIMIT;
	options = edit_draft(edit, size);
	if (options == NULL)
		return NSD_E_MEMORY;
	err = options_fill(options, lists, &count);
	if (err != NSD_OK)
		return err;
	options->numbers = lists->numbers;
	if (count == 0 && options->policy_at == 0
		&& memcmp(&lists->numbers, &none, sizeof(none)) == 0)
		return NSD_OK;
	err = edit_keep(edit, EDIT_OPTIONS, options->len, ref, &made);
	if (err == NSD_OK && made)
		options_hold(edit, options, count);
	return err;
}

/* ---- patterns ---------------------------------------------------------- */

static size_t
text_size(const char *text)
{
	return text != NULL ? strlen(text) + 1 : 1;
}

/* Octets of names in wire form that stand one behind the other. */
static size_t
names_size(const uint8_t *names, uint32_t count)
{
	size_t size = 0;

	for (uint32_t i = 0; names != NULL && i < count; i++)
		size += name_len(names + size);
	return size;
}

static uint64_t
pattern_size(const struct settings_pattern_setup *setup, uint32_t count)
{
	const struct settings_catalog_setup *catalog = &setup->catalog;
	uint64_t size = sizeof(struct settings_pattern)
		+ text_size(setup->name) + text_size(setup->file)
		+ text_size(catalog->member_pattern)
		+ text_size(catalog->folder)
		+ names_size(catalog->producer, 1)
		+ names_size(catalog->suffixes, catalog->suffix_count);

	for (uint32_t i = 0; i < catalog->group_count; i++)
		size += text_size(catalog->groups[i]);
	for (uint32_t i = 0; i < count; i++)
		size += text_size(setup->texts[i].spec)
			+ text_size(setup->texts[i].key_name)
			+ text_size(setup->texts[i].tls_auth);
	return size;
}

/* Adds a text with its NUL. */
static void
pattern_add(struct settings_pattern *pattern, const char *text)
{
	size_t size = text_size(text);

	memcpy((char *)pattern + pattern->len, text != NULL ? text : "", size);
	pattern->len += (uint32_t)size;
}

static uint32_t
pattern_add_name(struct settings_pattern *pattern, const char *text)
{
	uint32_t at = pattern->len;

	if (text == NULL)
		return 0;
	pattern_add(pattern, text);
	return at;
}

/* Adds names; returns their place, 0 if there are none. */
static uint32_t
pattern_add_names(struct settings_pattern *pattern, const uint8_t *names,
	uint32_t count)
{
	size_t size = names_size(names, count);
	uint32_t at = pattern->len;

	if (size == 0)
		return 0;
	memcpy((char *)pattern + at, names, size);
	pattern->len += (uint32_t)size;
	return at;
}

static void
pattern_add_catalog(struct settings_pattern *pattern,
	const struct settings_catalog_setup *setup)
{
	struct settings_catalog *catalog = &pattern->catalog;

	catalog->role = setup->role;
	catalog->empty_deletes = setup->empty_deletes;
	catalog->max = setup->max;
	catalog->member_pattern_at = pattern_add_name(pattern,
		setup->member_pattern);
	catalog->groups_at = setup->group_count > 0 ? pattern->len : 0;
	catalog->group_count = setup->group_count;
	for (uint32_t i = 0; i < setup->group_count; i++)
		pattern_add(pattern, setup->groups[i]);
	catalog->folder_at = pattern_add_name(pattern, setup->folder);
	catalog->producer_at = pattern_add_names(pattern, setup->producer, 1);
	catalog->suffixes_at = pattern_add_names(pattern, setup->suffixes,
		setup->suffix_count);
	catalog->suffix_count = setup->suffix_count;
}

enum nsd_err
settings_edit_pattern(struct settings_edit *edit,
	const struct settings_pattern_setup *setup, store_ref *ref)
{
	struct settings_pattern *pattern;
	uint32_t count = 0;
	uint64_t size;
	bool made;
	enum nsd_err err;

	for (size_t i = 0; i < sizeof(setup->counts) / sizeof(uint32_t); i++)
		count += setup->counts[i];
	size = pattern_size(setup, count);
	if (size > STORE_OBJECT_MAX)
		return NSD_E_LIMIT;
	pattern = edit_draft(edit, size);
	if (pattern == NULL)
		return NSD_E_MEMORY;
	pattern->len = (uint32_t)offsetof(struct settings_pattern, octets);
	pattern->options = setup->options;
	pattern->storing = setup->storing;
	memcpy(pattern->counts, setup->counts, sizeof(pattern->counts));
	pattern->name_at = pattern_add_name(pattern, setup->name);
	pattern->file_at = pattern_add_name(pattern, setup->file);
	pattern_add_catalog(pattern, &setup->catalog);
	pattern->texts_at = pattern->len;
	for (uint32_t i = 0; i < count; i++) {
		pattern_add(pattern, setup->texts[i].spec);
		pattern_add(pattern, setup->texts[i].key_name);
		pattern_add(pattern, setup->texts[i].tls_auth);
	}
	err = edit_keep(edit, EDIT_PATTERN, pattern->len, ref, &made);
	if (err == NSD_OK && made)
		edit_hold(edit, setup->options);
	return err;
}

/* ---- publishing -------------------------------------------------------- */

/* Adds a text behind what the object has so far. NULL: there is none. */
static struct settings_text
text_add(struct settings *settings, const void *text, size_t len)
{
	struct settings_text place = {0, (uint32_t)len};

	if (text == NULL)
		return (struct settings_text){0, 0};
	place.at = settings->len;
	memcpy((uint8_t *)settings + place.at, text, len);
	settings->len += (uint32_t)len;
	return place;
}

static size_t
text_len(const char *text)
{
	return text != NULL ? strlen(text) : 0;
}

static size_t
report_len(const struct settings_setup *setup)
{
	return setup->report_channel != NULL
		? name_len(setup->report_channel) : 0;
}

static size_t
elements_len(uint32_t count)
{
	return count * sizeof(struct acl_element);
}

static void
settings_fill(const struct settings_edit *edit, struct settings *settings,
	const struct settings_setup *setup)
{
	store_ref *refs = settings->refs;
	size_t secrets_len = setup->key_count * sizeof(*setup->secrets);

	*settings = (struct settings){
		.udp4_size = setup->udp4_size,
		.udp6_size = setup->udp6_size,
		.minimal_responses = setup->minimal_responses,
		.round_robin = setup->round_robin,
		.refuse_any = setup->refuse_any,
		.tls_auth_xfr_only = setup->tls_auth_xfr_only,
		.confine_to_zone = setup->confine_to_zone,
		.drop_updates = setup->drop_updates,
		.takes_updates = setup->takes_updates,
		.tcp_reject_overflow = setup->tcp_reject_overflow,
		.tcp_count = setup->tcp_count,
		.tcp_query_count = setup->tcp_query_count,
		.tcp_timeout_sec = setup->tcp_timeout_sec,
		.rrl_ratelimit = setup->rrl_ratelimit,
		.rrl_whitelist_ratelimit = setup->rrl_whitelist_ratelimit,
		.rrl_slip = setup->rrl_slip,
		.rrl_ip4 = setup->rrl_ip4,
		.rrl_ip6 = setup->rrl_ip6,
		.answer_cookie = setup->answer_cookie,
		.rssac002 = setup->rssac002,
		.tcp_cpu_limit = setup->tcp_cpu_limit,
		.rrl_size = setup->rrl_size,
		.key_count = setup->key_count,
		.pattern_count = setup->pattern_count,
	};
	for (uint32_t i = 0; i < setup->key_count; i++) {
		edit_hold(edit, setup->keys[i]);
		*refs++ = setup->keys[i];
	}
	for (uint32_t i = 0; i < setup->pattern_count; i++) {
		edit_hold(edit, setup->patterns[i]);
		*refs++ = setup->patterns[i];
	}
	if (setup->secrets != NULL && secrets_len > 0)
		memcpy(refs, setup->secrets, secrets_len);
	else
		memset(refs, 0, secrets_len);
	settings->len = (uint32_t)settings_head_size(settings);
	settings->identity = text_add(settings, setup->identity,
		text_len(setup->identity));
	settings->version = text_add(settings, setup->version,
		text_len(setup->version));
	settings->nsid = text_add(settings, setup->nsid, setup->nsid_len);
	settings->key_names = text_add(settings, setup->key_names,
		setup->key_names_len);
	settings->report_channel = text_add(settings, setup->report_channel,
		report_len(setup));
	settings->tcp_cpu_whitelist = text_add(settings,
		setup->tcp_cpu_whitelist,
		elements_len(setup->tcp_cpu_whitelist_count));
	settings->allow_proxy = text_add(settings, setup->allow_proxy,
		elements_len(setup->allow_proxy_count));
}

enum nsd_err
settings_edit_publish(struct settings_edit *edit,
	const struct settings_setup *setup)
{
	struct releaser r = {edit->view, edit->heap, edit->writer, NULL};
	store_ref old = store_root(edit->view, STORE_ROOT_SETTINGS), ref;
	size_t len = sizeof(struct settings)
		+ ((size_t)setup->key_count + setup->pattern_count)
			* sizeof(store_ref)
		+ (size_t)setup->key_count * sizeof(*setup->secrets)
		+ text_len(setup->identity) + text_len(setup->version)
		+ setup->nsid_len + setup->key_names_len + report_len(setup)
		+ elements_len(setup->tcp_cpu_whitelist_count)
		+ elements_len(setup->allow_proxy_count);
	struct settings *settings;

	if (len > STORE_OBJECT_MAX)
		return NSD_E_LIMIT;
	settings = store_alloc(edit->heap, len, &ref);
	if (settings == NULL)
		return NSD_E_MEMORY;
	settings_fill(edit, settings, setup);
	store_publish(edit->writer, STORE_ROOT_SETTINGS, ref);
	if (old != STORE_NONE)
		release_settings(&r, old);
	return NSD_OK;
}
