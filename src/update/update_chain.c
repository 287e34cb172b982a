/* update_chain.c - changes the NSEC3 records of the chain in an update. */
#include <string.h>

#include "update/update_pass.h"
#include "zonedb/release.h"

static enum nsd_err
dirty_edit_chain(struct zone_update *u, struct dirty_name *t)
{
	struct packer *p = &u->packer;
	struct releaser r = {u->view, u->heap, NULL, &u->zone.share};
	store_ref record;
	enum nsd_err err;

	if (t->chain_item_count == 0)
		return nsec3_edit_remove(&u->chain_edit, t->hash);
	err = nsec3_pack_items(p, &t->owner, store_get(u->view, u->old->chain),
		t->chain_items, t->chain_item_count, &record);
	if (err != NSD_OK)
		return err;
	err = nsec3_edit_put(&u->chain_edit, t->hash, record);
	if (err != NSD_OK) {
		pack_sigs_flush(p);
		release_nsec3_record(&r, record);
	}
	return err;
}

/* Names are hashed for the chain as it will be. */
static void
chain_hash_for(struct zone_update *u)
{
	const struct nsec3_chain *chain = store_get(u->view, u->chain);

	u->zone.chain = u->chain;
	u->zone.params.iterations = chain->iterations;
	u->zone.params.salt_len = chain->salt_len;
	u->zone.params.salt = chain->salt;
}

enum nsd_err
update_chain(struct zone_update *u)
{
	enum nsd_err err = packer_prepare(&u->packer);

	u->chain = u->old->chain;
	if (u->chain == STORE_NONE || err != NSD_OK)
		return err;
	nsec3_edit_begin(&u->chain_edit, u->heap, &u->arena, u->chain);
	u->chain_begun = true;
	for (size_t i = 0; i < u->dirty_count && err == NSD_OK; i++)
		if (u->dirty[i].chain_changed)
			err = dirty_edit_chain(u, &u->dirty[i]);
	if (err == NSD_OK)
		err = nsec3_edit_end(&u->chain_edit, &u->chain);
	if (err == NSD_OK)
		chain_hash_for(u);
	return err;
}
