/* checkzone_digest.c - a zone's ZONEMD records: reports on those that are
 * there, and prints those that are asked for (RFC 8976). */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "checkzone.h"

static const char *const hash_names[DIGEST_KIND_COUNT] = {
	[DIGEST_SHA384] = "sha384",
	[DIGEST_SHA512] = "sha512",
};

bool
checkzone_wants_digest(const struct check *c)
{
	bool wanted = false;

	for (unsigned k = 0; k < DIGEST_KIND_COUNT; k++)
		wanted |= c->zonemd[k];
	return wanted;
}

bool
checkzone_read_hashes(struct check *c, const char *value)
{
	const char *at = value != NULL ? value : hash_names[DIGEST_SHA384];
	size_t len;

	for (;; at += len + 1) {
		unsigned k = 0;

		len = strcspn(at, ",");
		while (k < DIGEST_KIND_COUNT && (len != strlen(hash_names[k])
				|| strncmp(at, hash_names[k], len) != 0))
			k++;
		if (k == DIGEST_KIND_COUNT)
			return false;
		c->zonemd[k] = true;
		if (at[len] == '\0')
			return true;
	}
}

enum nsd_err
checkzone_begin_digest(const struct check *c, struct zonemd **zonemd)
{
	struct zonemd *z;
	enum nsd_err err = zonemd_create(c->apex, &z);

	if (err != NSD_OK)
		return err;
	for (unsigned k = 0; k < DIGEST_KIND_COUNT; k++)
		if (c->zonemd[k])
			zonemd_compute(z, (enum digest_kind)k);
	*zonemd = z;
	return NSD_OK;
}

static void
digest_print(const struct check *c, const struct zonemd *zonemd,
	enum digest_kind kind)
{
	struct zonemd_record record;
	char apex[NAME_TEXT_MAX];

	if (!zonemd_get_record(zonemd, kind, &record))
		return;
	name_print_text(c->apex, apex);
	printf("%s\t%u\tIN\tZONEMD\t%u %u %u ", apex,
		(unsigned)record.ttl_sec, (unsigned)record.serial,
		ZONEMD_SIMPLE, zonemd_get_hash(kind));
	for (size_t i = 0; i < digest_len(kind); i++)
		printf("%02x", record.digest[i]);
	putchar('\n');
}

enum nsd_err
checkzone_end_digest(struct check *c, struct zonemd *zonemd)
{
	bool sound = c->sink.errors == 0;
	enum zonemd_verdict verdict;
	enum nsd_err err = zonemd_finish(zonemd, &verdict);

	if (err != NSD_OK)
		return err;
	if (zonemd_is_bad(verdict))
		diag_emit(&c->sink, c->dnssec ? DIAG_ERROR : DIAG_WARNING,
			c->file, 0, 0, "zone %s: %s", c->name,
			zonemd_text(verdict));
	c->is_other = checkzone_wants_digest(c) && zonemd_is_bad(verdict);
	for (unsigned k = 0; sound && k < DIGEST_KIND_COUNT; k++)
		if (c->zonemd[k])
			digest_print(c, zonemd, (enum digest_kind)k);
	return NSD_OK;
}
