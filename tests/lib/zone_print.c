/* zone_print.c - a zone as its readers see it, as text. */
#include <stdio.h>
#include <stdlib.h>

#include "dns/name.h"
#include "lib/zone_check.h"
#include "zone/walk.h"

static void
print_octets(FILE *f, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		fprintf(f, "%02x", p[i]);
}

static enum nsd_err
print_rr(void *ctx, const struct zone_rr *rr)
{
	char text[NAME_TEXT_MAX];

	name_print_text(rr->owner, text);
	fprintf(ctx, "%s %u %u ", text, (unsigned)rr->ttl_sec, rr->type);
	print_octets(ctx, rr->rdata, rr->rdlen);
	fputc('\n', ctx);
	return NSD_OK;
}

static void
print_address(FILE *f, const struct store_view *view, store_ref ref)
{
	const struct rrset *r = store_get(view, ref);

	if (ref != STORE_NONE)
		print_octets(f, r->data, rrset_len(r));
	fputc('/', f);
}

static void
print_nodes(FILE *f, const struct store_view *view, const struct trie *trie)
{
	struct trie_iter iter;
	store_ref ref;

	trie_iter_init(&iter, view, &trie->root);
	while ((ref = trie_iter_next(&iter)) != STORE_NONE) {
		const struct node *node = store_get(view, ref);

		print_octets(f, node->name, node->leaf.name_len);
		fprintf(f, " flags %x\n", node->flags);
	}
}

char *
zone_check_print(const struct store_view *view, store_ref ref,
	const uint8_t *apex)
{
	const struct zone *zone = store_get(view, ref);
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	struct trie_iter iter;

	if (f == NULL || zone_walk(view, zone, apex, print_rr, f) != NSD_OK)
		abort();
	print_nodes(f, view, &zone->names);
	trie_iter_init(&iter, view, &zone->targets.root);
	while ((ref = trie_iter_next(&iter)) != STORE_NONE) {
		const struct glue_target *t = store_get(view, ref);
		const struct glue_cell *c = glue_cell_get(view,
			ref + GLUE_CELL_GRANULES, zone);

		print_octets(f, t->name, t->leaf.name_len);
		fprintf(f, " %d ", glue_cell_is_hidden(c));
		print_address(f, view, c->a);
		print_address(f, view, c->aaaa);
		fputc('\n', f);
	}
	fclose(f);
	return text;
}
