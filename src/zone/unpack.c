/* unpack.c - turns RDATA of the store back into uncompressed form: the exact
 * inverse of pack_rrset.c and pack_sigs.c. */
#include <string.h>

#include "dns/name.h"
#include "zone/unpack.h"

const uint8_t *
unpack_find_sent(const struct rrset *rrset, const uint8_t *rr, size_t rr_sent,
	size_t sent)
{
	size_t head = rrset_rr_head(rrset);
	size_t at = rr_sent + head; /* sent offset of the RDLENGTH */

	for (;;) {
		size_t len = 2u + octets_get_u16(rr);

		if (sent < at + len)
			return rr + (sent - at);
		at += len + head;
		rr += len;
	}
}

/* Copies a name, following cells. Returns how many octets the store has of
 * it. */
static size_t
unpack_name(const struct rrset *rrset, const uint8_t *name,
	const uint8_t *apex, uint8_t **out)
{
	const uint8_t *at = name;
	size_t stored = 0;

	for (;;) {
		unsigned cell;

		while (at[0] != 0 && !rrset_octet_is_cell(at[0])) {
			memcpy(*out, at, at[0] + 1u);
			*out += at[0] + 1u;
			at += at[0] + 1u;
		}
		if (stored == 0)
			stored = (size_t)(at - name) + (at[0] == 0 ? 1 : 2);
		if (at[0] == 0)
			break;
		cell = octets_get_u16(at);
		if ((cell & RRSET_CELL_INNER) == 0)
			at = apex + (cell & RRSET_CELL_OFFSET);
		else
			at = unpack_find_sent(rrset, rrset->data, 0,
				cell & RRSET_CELL_OFFSET);
	}
	*(*out)++ = 0;
	return stored;
}

unsigned
unpack_field_len(uint8_t field)
{
	switch (field) {
	case FIELD_U8:
		return 1;
	case FIELD_U16:
		return 2;
	case FIELD_U32:
	case FIELD_PERIOD:
		return 4;
	default:
		return 0;
	}
}

unsigned
unpack_name_fields(const struct rrtype *row)
{
	unsigned count = 0;

	for (unsigned i = 0; i < RDATA_FIELDS_MAX
		&& row->fields[i] != FIELD_END; i++)
		if (row->fields[i] == FIELD_NAME_COMPRESSED)
			count = i + 1;
	return count;
}

size_t
unpack_rdata(const struct rrset *rrset, const uint8_t *rr,
	const uint8_t *apex, uint8_t *out)
{
	size_t left = octets_get_u16(rr);
	const struct rrtype *row = rrtype_get(rrset->type);
	unsigned fields = unpack_name_fields(row);
	uint8_t *at = out;

	rr += 2;
	for (unsigned i = 0; i < fields; i++) {
		size_t len = unpack_field_len(row->fields[i]);

		if (row->fields[i] == FIELD_NAME_COMPRESSED) {
			len = unpack_name(rrset, rr, apex, &at);
		} else {
			memcpy(at, rr, len);
			at += len;
		}
		rr += len;
		left -= len;
	}
	memcpy(at, rr, left);
	return (size_t)(at - out) + left;
}

size_t
unpack_sig_rdata(const struct store_view *view, const struct sig *sig,
	uint8_t *out)
{
	const struct sig_template *t = store_get(view, sig->template_ref);

	octets_put_u16(out, t->covered);
	out[2] = t->algorithm;
	out[3] = sig->labels;
	octets_put_u32(out + 4, t->original_ttl_sec);
	octets_put_u32(out + 8, sig->expiration);
	octets_put_u32(out + 12, sig->inception);
	octets_put_u16(out + 16, t->key_tag);
	memcpy(out + 18, t->signer, t->signer_len);
	memcpy(out + 18 + t->signer_len, sig->signature, sig->len);
	return 18u + t->signer_len + sig->len;
}
