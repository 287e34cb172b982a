/* rrtype.c - the table of RR types; types and classes as text. */
#include <string.h>

#include "dns/rrtype.h"
#include "dns/rrtype_list.h"
#include "dns/scan.h"
#include "dns/swar.h"

enum row {
	ROW_UNKNOWN,
#define ROW(number, id, name, flags, rule, ...) ROW_##id,
	RRTYPE_LIST(ROW)
#undef ROW
	ROW_COUNT
};

static const struct rrtype rows[ROW_COUNT + 1] = {
	[ROW_UNKNOWN] = { 0, 0, NULL, F1(UNKNOWN), RULE_NONE },
#define ROW(number, id, name, flags, rule, ...) \
	[ROW_##id] = { number, flags, name, __VA_ARGS__, RULE_##rule },
	RRTYPE_LIST(ROW)
#undef ROW
};

/* The place of a type's row in row_of. Types 32768 and 32769 go to 500 and 501,
 * which the registry has not assigned. */
#define SLOTS 512u
#define SLOT(number) (((number) + ((number) >> 15) * 500u) & (SLOTS - 1))

static const uint8_t row_of[SLOTS] = {
#define ROW(number, id, name, flags, rule, ...) [SLOT(number##u)] = ROW_##id,
	RRTYPE_LIST(ROW)
#undef ROW
};

_Static_assert(ROW_COUNT < 256, "a row's index fits an octet");

const struct rrtype *
rrtype_get(uint16_t type)
{
	const struct rrtype *row = &rows[row_of[SLOT((unsigned)type)]];

	return row->number == type ? row : &rows[ROW_UNKNOWN];
}

const struct rrtype *
rrtype_at(size_t n)
{
	return n < ROW_COUNT - 1 ? &rows[n + 1] : NULL;
}

/*
 * A hash table of mnemonics. The key is the first and the last eight octets in
 * upper case, which is the whole name up to 16 octets. It is filled from the
 * table of types before main and only read from then on, so a new type is one
 * row and nothing else.
 */
struct mnemonic {
	uint64_t head;
	uint64_t tail;
	uint16_t type;
	uint8_t len;
};

#define MNEMONIC_BITS 9
#define MNEMONIC_SLOTS (1u << MNEMONIC_BITS)
#define MNEMONIC_MAX 16u

static struct mnemonic mnemonics[MNEMONIC_SLOTS];

static inline struct mnemonic
mnemonic_key(const char *text, size_t len)
{
	struct mnemonic key = { 0, 0, 0, (uint8_t)len };

	if (len < 8) {
		key.head = swar_upper(swar_load_part(text, len));
	} else {
		key.head = swar_upper(swar_load(text));
		key.tail = swar_upper(swar_load(text + len - 8));
	}
	return key;
}

static inline unsigned
mnemonic_slot(const struct mnemonic *key)
{
	uint64_t mixed = (key->head ^ key->tail >> 3 ^ key->len)
		* UINT64_C(0x9e3779b97f4a7c15);

	return (unsigned)(mixed >> (64 - MNEMONIC_BITS));
}

__attribute__((constructor)) static void
fill_mnemonics(void)
{
	size_t i;

	for (i = 1; i < ROW_COUNT; i++) {
		struct mnemonic key = mnemonic_key(rows[i].name,
			strlen(rows[i].name));
		unsigned slot = mnemonic_slot(&key);

		key.type = rows[i].number;
		while (mnemonics[slot].len != 0)
			slot = (slot + 1) % MNEMONIC_SLOTS;
		mnemonics[slot] = key;
	}
}

/* Reads the number behind "TYPE" or "CLASS". */
static enum nsd_err
parse_suffix(const char *text, size_t len, uint16_t *number)
{
	uint32_t value;

	if (len > 5 || !scan_number(text, len, UINT16_MAX, &value))
		return NSD_E_SYNTAX;
	*number = (uint16_t)value;
	return NSD_OK;
}

/* "TYPE" as the lower half of a key. */
#define KEY_TYPE UINT64_C(0x45505954)

enum nsd_err
rrtype_parse(const char *text, size_t len, uint16_t *type)
{
	struct mnemonic key;
	unsigned slot;

	if (len == 0 || len > MNEMONIC_MAX)
		return NSD_E_SYNTAX;
	key = mnemonic_key(text, len);
	for (slot = mnemonic_slot(&key); mnemonics[slot].len != 0;
		slot = (slot + 1) % MNEMONIC_SLOTS) {
		const struct mnemonic *m = &mnemonics[slot];

		if (m->head == key.head && m->tail == key.tail
			&& m->len == key.len) {
			*type = m->type;
			return NSD_OK;
		}
	}
	if (len > 4 && (uint32_t)key.head == KEY_TYPE)
		return parse_suffix(text + 4, len - 4, type);
	return NSD_E_SYNTAX;
}

/* Prints prefix and number. */
static size_t
print_number(const char *prefix, uint16_t number, char *out)
{
	size_t len = strlen(prefix);
	char *end;

	memcpy(out, prefix, len);
	end = scan_print_number(number, out + len);
	*end = '\0';
	return (size_t)(end - out);
}

size_t
rrtype_print(uint16_t type, char out[RRTYPE_TEXT_MAX])
{
	const struct rrtype *row = rrtype_get(type);
	size_t len;

	if (row->name == NULL)
		return print_number("TYPE", type, out);
	len = strlen(row->name);
	memcpy(out, row->name, len + 1);
	return len;
}

static const struct rrclass {
	uint16_t number;
	const char *name;
} classes[] = {
	{ CLASS_IN, "IN" },
	{ CLASS_CH, "CH" },
	{ CLASS_HS, "HS" },
	{ CLASS_NONE, "NONE" },
	{ CLASS_ANY, "ANY" },
};

#define CLASS_COUNT (sizeof(classes) / sizeof(classes[0]))
#define KEY_CLASS UINT64_C(0x5353414c43)

enum nsd_err
rrtype_parse_class(const char *text, size_t len, uint16_t *rrclass)
{
	uint64_t key;
	size_t i;

	if (len == 0 || len > 10)
		return NSD_E_SYNTAX;
	key = swar_upper(len < 8 ? swar_load_part(text, len)
		: swar_load(text));
	for (i = 0; i < CLASS_COUNT; i++) {
		size_t name_len = strlen(classes[i].name);

		if (len == name_len && key == swar_load_part(
			classes[i].name, name_len)) {
			*rrclass = classes[i].number;
			return NSD_OK;
		}
	}
	if (len > 5 && (key & UINT64_C(0xffffffffff)) == KEY_CLASS)
		return parse_suffix(text + 5, len - 5, rrclass);
	return NSD_E_SYNTAX;
}
