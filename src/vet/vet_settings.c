/* vet_settings.c - settings that are being read: options of zones, keys, and
 * the object at the root. */
#include <string.h>

#include "base/mac.h"
#include "settings/acl_index.h"
#include "vet/vet_part.h"

/* Claims an object that counts its holders. *first: nobody has come upon it
 * before. */
static bool
vet_claim_held(struct vet_part *p, enum vet_kind kind, store_ref ref,
	size_t len, uint32_t refs, bool *first)
{
	enum store_claim claim = store_claim(p->vet->claims, ref, len,
		(uint8_t)kind);

	if (claim == CLAIM_WRONG)
		return vet_fail(p, kind, ref,
			"is not in use, or used twice");
	*first = claim == CLAIM_NEW;
	vet_hold(p, ref);
	if (*first)
		vet_held(p, ref, refs);
	return true;
}

static bool
vet_key(struct vet_part *p, store_ref ref, bool is_identity)
{
	const struct settings_key *key = vet_get(p, VET_KEY, ref,
		sizeof(*key));
	uint8_t name[NAME_MAX_LEN];
	struct cursor c;
	size_t len;
	bool first;

	if (key == NULL
		|| !vet_claim_held(p, VET_KEY, ref, settings_key_size(key),
			key->refs, &first))
		return false;
	if (is_identity != (key->algorithm == SETTINGS_IDENTITY))
		return vet_fail(p, VET_KEY, ref, "is of another kind");
	if (!first)
		return true;
	if (is_identity)
		return (key->name_len > 0
			&& memchr(key->name, '\0', key->name_len)
				== key->name + key->name_len - 1)
			|| vet_fail(p, VET_KEY, ref, "has no domain name");
	cursor_init(&c, key->name, key->name_len);
	if (name_read_uncompressed(&c, name, &len) != NSD_OK
		|| cursor_left(&c) > 0)
		return vet_fail(p, VET_KEY, ref, "has no name");
	return key->algorithm < MAC_KIND_COUNT
		|| vet_fail(p, VET_KEY, ref, "has no algorithm");
}

static bool
vet_element(struct vet_part *p, const struct acl_element *e, store_ref ref)
{
	if ((e->family != 4 && e->family != 6) || e->kind > ACL_RANGE
		|| e->blocked > 1 || e->needs_key > 1)
		return vet_fail(p, VET_OPTIONS, ref,
			"has an unknown kind of element");
	return (e->key == STORE_NONE || vet_key(p, e->key, false))
		&& (e->identity == STORE_NONE
			|| vet_key(p, e->identity, true));
}

/* An index, if the list has one, lies behind the elements, and ends with the
 * object at the latest. */
static bool
vet_index(const struct settings_options *o, unsigned list, size_t elements_end)
{
	size_t at = o->index_at[list];
	uint32_t count;

	(void)settings_options_list(o, (enum settings_list)list, &count);
	return at == 0 || (at % 8 == 0 && at >= elements_end && at <= o->len
		&& acl_index_is_sound((const struct acl_index *)
			((const uint8_t *)o + at), o->len - at, count));
}

bool
vet_options(struct vet_part *p, store_ref ref)
{
	const struct settings_options *o = vet_get(p, VET_OPTIONS, ref,
		sizeof(*o));
	uint32_t before = 0;
	size_t end;
	bool first;

	if (o == NULL)
		return false;
	if (o->len < sizeof(*o))
		return vet_fail(p, VET_OPTIONS, ref,
			"end before they begin");
	if (!vet_claim_held(p, VET_OPTIONS, ref,
			settings_options_size(o), o->refs, &first))
		return false;
	if (!first)
		return true;
	for (unsigned i = 0; i < SETTINGS_LIST_COUNT; i++) {
		if (o->ends[i] < before)
			return vet_fail(p, VET_OPTIONS, ref,
				"has lists that end before they begin");
		before = o->ends[i];
	}
	end = sizeof(*o) + (size_t)before * sizeof(o->acl[0]);
	if (o->xfr_at != 0) {
		if (o->xfr_at != end)
			return vet_fail(p, VET_OPTIONS, ref,
				"say within what they hold how to transfer");
		end += sizeof(struct settings_xfr);
	}
	if (end > o->len)
		return vet_fail(p, VET_OPTIONS, ref,
			"end within what they hold");
	for (unsigned i = 0; i < SETTINGS_LIST_COUNT; i++)
		if (!vet_index(o, i, end))
			return vet_fail(p, VET_OPTIONS, ref,
				"have an index that is not theirs");
	for (uint32_t i = 0; i < before; i++)
		if (!vet_element(p, &o->acl[i], ref))
			return false;
	return true;
}

/* A text lies behind the references, and ends with the object. */
static bool
vet_text(const struct settings *settings, const struct settings_text *text)
{
	return text->at == 0
		|| (text->at >= settings_head_size(settings)
			&& text->at <= settings->len
			&& text->len <= settings->len - text->at);
}

/* Names are compared with it. */
static bool
vet_report_channel(const struct settings *settings)
{
	const struct settings_text *text = &settings->report_channel;
	uint8_t name[NAME_MAX_LEN];
	struct cursor c;
	size_t len;

	if (!vet_text(settings, text))
		return false;
	if (text->at == 0)
		return true;
	cursor_init(&c, settings_read_text(settings, text), text->len);
	return name_read_uncompressed(&c, name, &len) == NSD_OK
		&& cursor_left(&c) == 0;
}

bool
vet_settings(struct vet_part *p)
{
	store_ref ref = store_root(p->vet->view, STORE_ROOT_SETTINGS);
	const struct settings *s;
	const store_ref *patterns;

	if (ref == STORE_NONE)
		return true;
	s = vet_get(p, VET_SETTINGS, ref, sizeof(*s));
	if (s == NULL)
		return false;
	if (settings_head_size(s) > s->len || !vet_text(s, &s->identity)
		|| !vet_text(s, &s->version) || !vet_text(s, &s->nsid)
		|| !vet_text(s, &s->tcp_cpu_whitelist)
		|| !vet_text(s, &s->allow_proxy)
		|| !vet_report_channel(s))
		return vet_fail(p, VET_SETTINGS, ref,
			"end within what they hold");
	if (!vet_claim(p, VET_SETTINGS, ref, s->len))
		return false;
	for (uint32_t i = 0; i < s->key_count; i++)
		if (!vet_key(p, settings_keys(s)[i], false))
			return false;
	patterns = settings_patterns(s);
	for (uint32_t i = 0; i < s->pattern_count; i++)
		if (patterns[i] != STORE_NONE && !vet_options(p, patterns[i]))
			return false;
	return true;
}
