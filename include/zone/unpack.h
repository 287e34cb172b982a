/*
 * unpack.h - turns RDATA of the store back into uncompressed form.
 */
#ifndef ZONE_UNPACK_H
#define ZONE_UNPACK_H

#include "zone/zone.h"

/*
 * Unpacks one RDATA of an RRset.
 * in: rr, at its RDLENGTH in rrset->data; apex, the zone's whole name.
 * out: has room for 65535 octets.
 * returns the length, at most 65535. Cannot fail: only RDATA is ever packed.
 * Readers and writer.
 */
size_t unpack_rdata(const struct rrset *rrset, const uint8_t *rr,
	const uint8_t *apex, uint8_t *out);

/*
 * Finds the octet of an RRset's data that has a sent offset. The walk begins at
 * a record that is not behind it: rr is its RDLENGTH, rr_sent the sent offset
 * of the record. Inner cells lead to the first RRSET_CELL_REACH sent octets, so
 * from the first record it takes 1343 steps at most.
 */
const uint8_t *unpack_find_sent(const struct rrset *rrset, const uint8_t *rr,
	size_t rr_sent, size_t sent);

/* As unpack_rdata, for the RDATA of an RRSIG. */
size_t unpack_sig_rdata(const struct store_view *view, const struct sig *sig,
	uint8_t *out);

/* The count of fields in a type's RDATA up to and with the last name that may
 * be compressed; 0 if it has no such name. */
unsigned unpack_name_fields(const struct rrtype *row);

/* The octets of a field (FIELD_U8 and the like); 0 if its length is not
 * fixed. */
unsigned unpack_field_len(uint8_t field);

#endif
