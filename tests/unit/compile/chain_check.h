/* chain_check.h - checks what is true of the chain and the kept hashes of any
 * zone. */
#ifndef TESTS_UNIT_BUILD_CHAIN_CHECK_H
#define TESTS_UNIT_BUILD_CHAIN_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "dns/name.h"
#include "zone/nsec3_page.h"

/* RFC 5155 section 7.1: names have their hash if there is a chain. */
static inline void
check_hash(const uint8_t *apex, const struct nsec3_chain *chain,
	const struct node *node)
{
	const struct nsec3_params params = {chain->salt, chain->salt_len,
		chain->iterations};
	uint8_t name[NAME_MAX_LEN + 2] = "\1*";
	struct nsec3_job jobs[2] = {{.name = name + 2}, {.name = name}};
	struct nsec3_job *list[2] = {&jobs[0], &jobs[1]};

	if ((node->flags & NODE_OCCLUDED) != 0) {
		assert_null(nsec3_node_hash(node));
		assert_null(nsec3_node_wildcard_hash(node));
		return;
	}
	memcpy(name + 2, node->name, node->leaf.name_len);
	memcpy(name + 2 + node->leaf.name_len, apex, name_len(apex));
	nsec3_hash_batch(&params, list, name_len(name + 2) + 2u
		<= NAME_MAX_LEN ? 2 : 1);
	assert_memory_equal(nsec3_node_hash(node), jobs[0].hash,
		NSEC3_PREFIX_LEN);
	if ((node->flags & (NODE_CUT | NODE_DNAME)) != 0
		|| name_len(name + 2) + 2u > NAME_MAX_LEN)
		assert_null(nsec3_node_wildcard_hash(node));
	else
		assert_memory_equal(nsec3_node_wildcard_hash(node),
			jobs[1].hash, NSEC3_PREFIX_LEN);
}

static inline void
check_chain(const struct store_view *view, const uint8_t *apex,
	const struct zone *zone)
{
	const struct nsec3_chain *chain = zone->chain == STORE_NONE ? NULL
		: store_get(view, zone->chain);
	struct nsec3_iter records;
	struct trie_iter names;
	const uint8_t *last = NULL;
	store_ref ref;
	size_t n = 0;

	assert_int_equal((zone->flags & ZONE_NSEC3) != 0, chain != NULL);
	nsec3_iter_init(&records, view, chain);
	for (; nsec3_iter_next(&records); n++) {
		assert_true(last == NULL || memcmp(last, records.hash,
			NSEC3_HASH_LEN) < 0);
		last = records.hash;
	}
	if (chain == NULL)
		return;
	assert_int_equal(n, chain->count);
	trie_iter_init(&names, view, &zone->names.root);
	while ((ref = trie_iter_next(&names)) != STORE_NONE)
		check_hash(apex, chain, store_get(view, ref));
}

#endif
