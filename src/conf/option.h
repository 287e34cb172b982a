/*
 * option.h - the table of options of nsd.conf: one row says all about one.
 */
#ifndef CONF_OPTION_H
#define CONF_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"
#include "dns/answer_kind.h"

/* A zone has the rows of a pattern. */
enum conf_clause { CLAUSE_SERVER, CLAUSE_DNSTAP, CLAUSE_REMOTE_CONTROL,
	CLAUSE_VERIFY, CLAUSE_KEY, CLAUSE_TLS_AUTH, CLAUSE_PATTERN,
	CLAUSE_ZONE, CLAUSE_COUNT };

/* The form of the words behind an option's name, and of the field that keeps
 * it. */
enum conf_type {
	TYPE_IGNORED,     /* one word, dropped */
	TYPE_BOOL,        /* bool: yes or no */
	TYPE_INHERIT,     /* uint8_t: as TYPE_BOOL, or CONF_INHERIT */
	TYPE_ONLY,        /* bool of the other family: yes turns it off */
	TYPE_U32,         /* uint32_t */
	TYPE_I32,         /* int32_t, may be negative if min is */
	TYPE_U64,         /* uint64_t */
	TYPE_STRING,      /* const char * */
	TYPE_STRINGS,     /* struct conf_strings, one list: replaced */
	TYPE_TEXT_EACH,   /* struct conf_strings, recurs */
	TYPE_SUFFIX,      /* struct conf_strings: a domain name, recurs */
	TYPE_NUMBERS,     /* struct conf_numbers, all on one line: replaced */
	TYPE_NUMBER_EACH, /* struct conf_numbers, recurs */
	TYPE_NETBLOCK,    /* struct conf_netblocks: BITS FACTOR, recurs */
	TYPE_SERVER_CPU,  /* struct conf_server_cpus; N is in the name */
	TYPE_LISTEN,      /* struct conf_interfaces with servers= and so on */
	TYPE_INTERFACE,   /* struct conf_interfaces */
	TYPE_ACL,         /* struct conf_acls: SPEC KEY|NOKEY|BLOCKED */
	TYPE_ACL_PROVIDE, /* the same with a tls-auth */
	TYPE_ACL_REQUEST, /* [AXFR|UDP] ADDR KEY|NOKEY [tls-auth] */
	TYPE_ACL_NOTIFY,  /* ADDR KEY|NOKEY */
	TYPE_ACL_ADDRESS, /* ADDR */
	TYPE_ACL_UPDATE,  /* as TYPE_ACL, of who may change a zone */
	TYPE_ACL_SPEC,    /* SPEC */
	TYPE_POLICY,      /* struct conf_policies: KEY NAME [TYPE...], recurs */
	TYPE_NSID,        /* const char *, and nsid_data, nsid_len */
	TYPE_COOKIE,      /* const char *: 32 hex digits */
	TYPE_LOG_FORMAT,  /* const char *: fields (dns/log_field.h) */
	TYPE_DOMAIN,      /* const char *, and the name in wire form */
	TYPE_ALGORITHM,   /* const char *: of TSIG */
	TYPE_BASE64,      /* const char *: secret of a key */
	TYPE_NAME,        /* const char *: what a later clause refers to */
	TYPE_RRL,         /* uint16_t of enum answer_kind */
	TYPE_EXPIRE,      /* uint32_t or CONF_EXPIRE_FROM_SOA */
	TYPE_CATALOG,     /* uint8_t: enum conf_catalog */
	TYPE_EMPTY,       /* bool: keep or delete, which is true */
	TYPE_SERIAL,      /* uint8_t: enum conf_serial */
	TYPE_DNSSEC,      /* uint8_t: enum conf_dnssec_verify */
	TYPE_UNCHECKED,   /* bool: check or no-check, which is true */
	TYPE_INCLUDE,     /* include-pattern */
	TYPE_COUNT
};

/* Flags of a row. */
#define OPTION_ALIAS 0x01u       /* another name of the row before it */
#define OPTION_NO_EFFECT 0x02u   /* checked, but the feature isn't there */
#define OPTION_QUOTED 0x04u      /* a number that is printed in quotes */
#define OPTION_NOT_PRINTED 0x08u /* not part of nsd-checkconf -v */
#define OPTION_PATTERN_ONLY 0x10u/* not in a zone: clause */
#define OPTION_PATH 0x20u        /* a path: the chroot applies */
#define OPTION_DIRECTORY 0x40u   /* printed with a final / if chrooted */
#define OPTION_PRINT_IF_SET 0x80u/* -v shows it only if it is given */
#define OPTION_NOT_INCLUDED 0x400u/* a pattern that includes another one does
				* not take it */
#define OPTION_OURS 0x800u       /* no NSD 4 knows it */
/* The event by which a change has effect while the server runs; one of
 * these. */
#define OPTION_AT_ONCE 0x100u    /* a reconfig */
#define OPTION_RESTART 0x200u    /* the next start */

struct conf_option {
	const char *name;    /* without the colon */
	uint8_t clause;      /* enum conf_clause, never CLAUSE_ZONE */
	uint8_t type;        /* enum conf_type */
	uint16_t flags;
	uint16_t offset;     /* of the field in the clause's struct */
	const char *initial; /* default as it would be written, or NULL */
	int64_t min, max;    /* of numbers */
};

extern const struct conf_option conf_options[];
extern const size_t conf_option_count;

struct conf_clause_info {
	const char *name; /* without the colon */
	size_t size;      /* of its struct */
	size_t offset;    /* in struct conf, if there is just one of it */
	bool single;
};

extern const struct conf_clause_info conf_clauses[CLAUSE_COUNT];

/* The row of a name in a clause, or NULL. */
const struct conf_option *option_find(enum conf_clause clause,
	const char *name);

/* The first row of a clause. *count: its rows, which stand together. */
const struct conf_option *option_rows(enum conf_clause clause, size_t *count);

/* The number of a row within its clause. An alias has that of its original. */
unsigned option_index(const struct conf_option *option);

/* Tell whether an object of the clause has the option set, and set it. */
bool option_is_set(const struct conf_option *option, const void *object);
void option_mark_set(const struct conf_option *option, void *object);

/* The bits of rrl-whitelist, ended by a NULL name. */
struct conf_rrl_name {
	const char *name;
	uint16_t bits;
};

extern const struct conf_rrl_name conf_rrl_names[];

/* The words of a type whose field has the number of one of them, in an octet;
 * then NULL. NULL: it is not such a type. */
const char *const *option_words(enum conf_type type);

/* Octets of the field of a type. */
size_t option_field_size(enum conf_type type);

/* True if the type is kept as const char *. */
static inline bool
option_is_text(enum conf_type type)
{
	switch (type) {
	case TYPE_STRING:
	case TYPE_NSID:
	case TYPE_COOKIE:
	case TYPE_LOG_FORMAT:
	case TYPE_DOMAIN:
	case TYPE_ALGORITHM:
	case TYPE_BASE64:
	case TYPE_NAME:
		return true;
	default:
		return false;
	}
}

static inline bool
option_is_acl(enum conf_type type)
{
	return type >= TYPE_ACL && type <= TYPE_ACL_SPEC;
}

/* True if the elements of a list come behind those of an included pattern. */
static inline bool
option_is_appended(enum conf_type type)
{
	return option_is_acl(type) || type == TYPE_SUFFIX
		|| type == TYPE_TEXT_EACH || type == TYPE_POLICY;
}

/* The layout of every list. */
struct conf_list {
	void *items;
	uint32_t count;
	uint32_t capacity; /* 0: the items are another object's */
} __attribute__((may_alias));

/* Octets of an item of a list type; 0: not a list. */
size_t option_item_size(enum conf_type type);

#endif
