/*
 * script.h - messages of a transfer of the zone "z." from a line of words, so
 * that a test is a row. Records:
 *
 *   S7       the apex SOA with serial 7; S7+ one with another MNAME; S7! the
 *            same with the MNAME in upper case
 *   F7       the same as S7 without compression
 *   n        NS at the apex, to ns.z.
 *   aX       A of X.z.; AX the same with its owner not compressed and in upper
 *            case
 *   tX       the same as aX with the top bit of the TTL set
 *   m        MX at the apex with a compressed name
 *   bX       SOA of X.z.
 *   oX       A of X. (not in the zone)
 *   p        behind oX of one letter: A, its owner a pointer to that one
 *   dX       A of X. with an octet too many
 *   fX       SOA of X. (not in the zone)
 *   cX       A of X.z. in class CH
 *   eX       a record of the type of number X at the apex, without RDATA
 *   rX       A of a.z. with RDATA of X octets
 *   s        the apex SOA with an octet too few; s+ with one too many
 *   l        an owner that points to itself; z to the header
 *   |        the next message
 *
 * Words of messages: TC, noAA, noQR, id, opcode, q0 (no question), q2 (two),
 * qname, qtype, qclass (another one), rcodeN, trash (octets behind it), cut
 * (the last octet is missing), opt (OPT with EXPIRE 99), opt2 (two of them).
 */
#ifndef TESTS_XFR_SCRIPT_H
#define TESTS_XFR_SCRIPT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dns/edns.h"
#include "dns/message.h"
#include "dns/rrtype.h"

#define SCRIPT_ID 0x1234u
#define SCRIPT_APEX ((const uint8_t *)"\001z")
#define SCRIPT_ROOM 8192u

struct script_message {
	uint8_t octets[SCRIPT_ROOM];
	size_t len;
};

static inline void
script_put(struct script_message *m, const void *octets, size_t len)
{
	assert_true(m->len + len <= sizeof(m->octets));
	memcpy(m->octets + m->len, octets, len);
	m->len += len;
}

static inline void
script_count(struct script_message *m, enum message_field field)
{
	octets_put_u16(m->octets + field,
		(uint16_t)(message_get_count(m->octets, field) + 1));
}

/* The owner is in the message already. */
static inline void
script_rr(struct script_message *m, uint16_t type, uint16_t rrclass,
	const void *rdata, size_t len)
{
	uint8_t fixed[10];

	octets_put_u16(fixed, type);
	octets_put_u16(fixed + 2, rrclass);
	octets_put_u32(fixed + 4, 60);
	octets_put_u16(fixed + 8, (uint16_t)len);
	script_put(m, fixed, sizeof(fixed));
	script_put(m, rdata, len);
	script_count(m, MESSAGE_ANCOUNT);
}

/* A name of one label and what follows. */
static inline void
script_label(struct script_message *m, const char *label, const void *rest,
	size_t rest_len)
{
	uint8_t len = (uint8_t)strlen(label);

	script_put(m, &len, 1);
	script_put(m, label, len);
	script_put(m, rest, rest_len);
}

/* RDATA of an SOA. */
static inline size_t
script_soa(uint8_t out[64], const char *mname, uint32_t serial)
{
	size_t len = strlen(mname) + 1;

	memcpy(out, mname, len);
	memcpy(out + len, "\004host\001z", 8);
	len += 8;
	octets_put_u32(out + len, serial);
	octets_put_u32(out + len + 4, 2);
	octets_put_u32(out + len + 8, 3);
	octets_put_u32(out + len + 12, 4);
	octets_put_u32(out + len + 16, 5);
	return len + 20;
}

static inline void
script_apex_soa(struct script_message *m, const char *word)
{
	char *end;
	uint32_t serial = (uint32_t)strtoul(word, &end, 10);
	uint8_t rdata[64];
	size_t len = script_soa(rdata, *end == '+' ? "\002n2\001z"
		: *end == '!' ? "\002NS\001Z" : "\002ns\001z", serial);

	if (word[-1] == 'F')
		script_put(m, SCRIPT_APEX, 3);
	else
		script_put(m, "\xc0\x0c", 2);
	script_rr(m, TYPE_SOA, CLASS_IN, rdata, len);
}

static inline void
script_opts(struct script_message *m, unsigned count)
{
	while (count-- > 0) {
		script_put(m, "\0\0\x29\x10\0\0\0\0\0\0\x08\0\x09\0\x04\0\0\0"
			"\x63", 19);
		script_count(m, MESSAGE_ARCOUNT);
	}
}

static inline void
script_record(struct script_message *m, const char *word)
{
	static const uint8_t zeros[256];
	uint8_t rdata[64];
	uint16_t at = (uint16_t)(0xc000u | m->len);
	size_t len, before = m->len;

	switch (*word) {
	case 'S':
	case 'F':
		script_apex_soa(m, word + 1);
		return;
	case 'n':
		script_put(m, "\xc0\x0c", 2);
		script_rr(m, TYPE_NS, CLASS_IN, "\002ns\xc0\x0c", 5);
		return;
	case 'm':
		script_put(m, "\xc0\x0c", 2);
		script_rr(m, TYPE_MX, CLASS_IN, "\0\012\xc0\x0c", 4);
		return;
	case 'a':
	case 't':
		script_label(m, word + 1, "\xc0\x0c", 2);
		script_rr(m, TYPE_A, CLASS_IN, "\xc0\0\2\1", 4);
		if (*word == 't')
			m->octets[m->len - 10] |= 0x80;
		return;
	case 'A':
		script_label(m, word + 1, "\001Z", 3);
		for (size_t i = before; i < m->len; i++)
			if (m->octets[i] >= 'a' && m->octets[i] <= 'z')
				m->octets[i] -= 0x20;
		script_rr(m, TYPE_A, CLASS_IN, "\xc0\0\2\1", 4);
		return;
	case 'b':
	case 'f':
		script_label(m, word + 1, *word == 'b' ? "\xc0\x0c" : "",
			*word == 'b' ? 2 : 1);
		len = script_soa(rdata, "\002ns\001z", 1);
		script_rr(m, TYPE_SOA, CLASS_IN, rdata, len);
		return;
	case 'o':
	case 'd':
		script_label(m, word + 1, "", 1);
		script_rr(m, TYPE_A, CLASS_IN, "\xc0\0\2\1",
			*word == 'd' ? 5 : 4);
		return;
	case 'p':
		octets_put_u16(rdata, (uint16_t)(at - 17));
		script_put(m, rdata, 2);
		script_rr(m, TYPE_A, CLASS_IN, "\xc0\0\2\1", 4);
		return;
	case 'c':
		script_label(m, word + 1, "\xc0\x0c", 2);
		script_rr(m, TYPE_A, CLASS_CH, "\xc0\0\2\1", 4);
		return;
	case 'e':
		script_put(m, "\xc0\x0c", 2);
		script_rr(m, (uint16_t)atoi(word + 1), CLASS_IN, "", 0);
		return;
	case 'r':
		script_label(m, "a", "\xc0\x0c", 2);
		script_rr(m, TYPE_A, CLASS_IN, zeros, (size_t)atoi(word + 1));
		return;
	case 's':
		script_put(m, "\xc0\x0c", 2);
		len = script_soa(rdata, "\002ns\001z", 1);
		script_rr(m, TYPE_SOA, CLASS_IN, rdata,
			word[1] == '+' ? len + 1 : len - 1);
		return;
	case 'l':
	case 'z':
		octets_put_u16(rdata, *word == 'l' ? at : 0xc000);
		script_put(m, rdata, 2);
		script_rr(m, TYPE_A, CLASS_IN, "\xc0\0\2\1", 4);
		return;
	default:
		fail_msg("no such word: %s", word);
	}
}

/* Changes the message as a whole. False: the word is a record. */
static inline bool
script_change(struct script_message *m, const char *word)
{
	uint8_t *o = m->octets;

	if (strcmp(word, "TC") == 0)
		o[2] |= MESSAGE_TC >> 8;
	else if (strcmp(word, "noAA") == 0)
		o[2] &= (uint8_t)~(MESSAGE_AA >> 8);
	else if (strcmp(word, "noQR") == 0)
		o[2] &= 0x7f;
	else if (strcmp(word, "id") == 0)
		o[1] ^= 1;
	else if (strcmp(word, "opcode") == 0)
		o[2] |= OPCODE_NOTIFY << 3;
	else if (strncmp(word, "rcode", 5) == 0)
		o[3] |= (uint8_t)atoi(word + 5);
	else if (strcmp(word, "q2") == 0)
		o[5] = 2;
	else if (strcmp(word, "qname") == 0)
		o[13] ^= 1;
	else if (strcmp(word, "qtype") == 0)
		o[16] ^= 1;
	else if (strcmp(word, "qclass") == 0)
		o[18] ^= 1;
	else if (strcmp(word, "cut") == 0)
		m->len--;
	else if (strcmp(word, "trash") == 0)
		script_put(m, "trash", 5);
	else if (strcmp(word, "opt") == 0)
		script_opts(m, 1);
	else if (strcmp(word, "opt2") == 0)
		script_opts(m, 2);
	else
		return false;
	return true;
}

/* Makes the next message of a script, and moves behind it. False: there are no
 * more. */
static inline bool
script_next(const char **script, uint16_t qtype, struct script_message *m)
{
	char word[64];
	int len;

	if (**script == '\0')
		return false;
	memset(m, 0, sizeof(*m));
	octets_put_u16(m->octets, SCRIPT_ID);
	octets_put_u16(m->octets + 2, MESSAGE_QR | MESSAGE_AA);
	m->len = MESSAGE_HEADER_LEN;
	*script += strspn(*script, " ");
	if (strncmp(*script, "q0", 2) == 0) {
		*script += 2;
	} else {
		m->octets[5] = 1;
		script_put(m, "\001z\0\0\xfc\0\1", 7);
		octets_put_u16(m->octets + 15, qtype);
	}
	while (sscanf(*script, " %63s%n", word, &len) == 1) {
		*script += len;
		if (strcmp(word, "|") == 0)
			return true;
		if (!script_change(m, word))
			script_record(m, word);
	}
	*script += strlen(*script);
	return true;
}

#endif
