/* vet_sigs.c - signatures: that their lists end, and the templates that they
 * refer to. */
#include "vet/vet_part.h"
#include "zone/objects.h"

bool
vet_sig_list(struct vet_part *p, enum vet_kind kind, store_ref ref,
	size_t offset, size_t *end)
{
	size_t at = offset + sizeof(struct rrset_sigs);
	const uint8_t *base = vet_get(p, kind, ref, at);
	unsigned count;

	if (base == NULL)
		return false;
	count = ((const struct rrset_sigs *)(base + offset))->count;
	for (unsigned i = 0; i < count; i++) {
		if (vet_get(p, kind, ref, at + sizeof(struct sig)) == NULL)
			return false;
		at += sig_size((const struct sig *)(base + at));
	}
	*end = at;
	return true;
}

/* True if the octets are one name with its root label. */
static bool
is_wire_name(const uint8_t *name, unsigned len)
{
	unsigned at = 0;

	while (at < len && name[at] != 0) {
		if (name[at] > 63)
			return false;
		at += name[at] + 1u;
	}
	return at + 1 == len;
}

/* A template, which many signatures may refer to. */
static bool
vet_template(struct vet_part *p, store_ref ref, uint16_t covered)
{
	const struct sig_template *t = vet_get(p, VET_TEMPLATE, ref,
		sizeof(*t));
	enum store_claim claim;

	if (t == NULL)
		return false;
	claim = store_claim(p->vet->claims, ref, sig_template_size(t),
		VET_TEMPLATE);
	if (claim == CLAIM_WRONG)
		return vet_fail(p, VET_TEMPLATE, ref,
			"is not in use, or used twice");
	if (t->covered != covered)
		return vet_fail(p, VET_TEMPLATE, ref,
			"is of another type");
	vet_hold(p, ref);
	if (claim == CLAIM_SAME)
		return true;
	vet_held(p, ref, t->refs);
	vet_index_template(p, ref);
	return is_wire_name(t->signer, t->signer_len)
		|| vet_fail(p, VET_TEMPLATE, ref, "has no name of a signer");
}

bool
vet_templates(struct vet_part *p, const struct rrset_sigs *sigs,
	uint16_t covered)
{
	const uint8_t *at = sigs->data;

	for (unsigned i = 0; i < sigs->count; i++) {
		const struct sig *sig = (const struct sig *)at;
		const struct sig_template *t;

		if (!vet_template(p, sig->template_ref, covered))
			return false;
		t = store_get(p->vet->view, sig->template_ref);
		if (18u + t->signer_len + sig->len > 65535
			|| sig->labels > NAME_MAX_LABELS)
			return vet_fail(p, VET_TEMPLATE, sig->template_ref,
				"has a signature that cannot be");
		at += sig_size(sig);
	}
	return true;
}

bool
vet_sigs(struct vet_part *p, store_ref ref, uint16_t covered)
{
	const struct rrset_sigs *sigs;
	size_t end;

	if (!vet_sig_list(p, VET_SIGS, ref, 0, &end)
		|| !vet_claim(p, VET_SIGS, ref, end))
		return false;
	sigs = store_get(p->vet->view, ref);
	if (sigs->count == 0)
		return vet_fail(p, VET_SIGS, ref, "are none");
	p->rrs += sigs->count;
	return vet_templates(p, sigs, covered);
}
