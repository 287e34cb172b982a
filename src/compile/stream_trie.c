/* stream_trie.c - joins the trie of a part to that of the parts before it. */
#include <string.h>

#include "compile/stream_pass.h"
#include "names/trie_edit.h"
#include "store/writer.h"
#include "zonedb/release.h"

enum nsd_err
stream_add_trie(struct zone_stream *s, struct trie *trie,
	const store_ref *objects, size_t count)
{
	struct store_heap *heap = build_packer(&s->build)->heap;
	struct releaser r = {store_heap_view(heap), heap, NULL, NULL};
	struct trie_edit edit = {heap, release_branch, &r, NULL};
	struct trie part;

	memset(&part, 0, sizeof(part));
	if (count == 0)
		return NSD_OK;
	if (trie_build(heap, objects, count, &part) != NSD_OK)
		return NSD_E_MEMORY;
	if (trie_join(heap, trie, &part) == NSD_OK)
		return NSD_OK;
	trie_clear(&edit, &part);
	return NSD_E_MEMORY;
}
