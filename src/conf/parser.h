/*
 * parser.h - the state of one reading of nsd.conf, shared by lexer, grammar,
 * values and clauses.
 */
#ifndef CONF_PARSER_H
#define CONF_PARSER_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "conf/conf.h"
#include "conf/map.h"
#include "conf/options.h"

/* What stands behind the public struct conf, which is its first field. */
struct conf_owner {
	struct conf conf;
	struct arena arena;
	struct conf_map zones;     /* struct conf_zone by wire, lower case */
	struct conf_map patterns;  /* by name */
	struct conf_map keys;
	struct conf_map tls_auths;
	const struct conf_pattern *defaults; /* all options at their default */
	size_t zone_room;          /* items of conf.zones */
	size_t added_size;         /* octets of the zones of conf_add_zone */
	size_t disk_size;          /* octets of the files read */
};

/* A word as the lexer found it; belongs to the scratch arena until the option
 * it stands behind is done with. */
struct conf_word {
	const char *text;
	size_t len;
	const char *file;
	uint32_t line;
	bool quoted;
	struct conf_word *next;
};

/* The rows that bear one name. */
struct conf_name {
	const char *name;
	size_t len;
	int16_t row[CLAUSE_COUNT]; /* index into conf_options; -1: none */
	int8_t clause;             /* it opens this clause; -1: no clause */
};

/* What the lexer gives with a token. */
struct conf_token {
	struct conf_word *word;       /* of a WORD; the last of WORDs: list */
	struct conf_word *first;      /* of a list of words */
	const struct conf_name *name; /* of an OPTION or CLAUSE */
	const char *file;
	uint32_t line;
	uint32_t number;              /* N of server-N-cpu-affinity */
	uint32_t count;               /* words of a list */
};

/* A file that is being read, and what waits behind it. */
struct conf_source {
	struct conf_source *outer;
	const char *file;    /* arena */
	uint32_t line;
	char *text;          /* malloc; two NULs at its end */
	void *buffer;        /* the lexer's */
	bool is_file;        /* dev and ino are known */
	dev_t dev;
	ino_t ino;
	unsigned depth;
	/* Files that an include: here matched and that are still to be read. */
	char **pending;      /* malloc, each malloc */
	size_t pending_count;
	size_t pending_next;
	uint32_t pending_line;
};

#define CONF_INCLUDE_DEPTH_MAX 100u
#define CONF_FILE_SIZE_MAX ((size_t)1 << 30)
#define CONF_TOKEN_TEXT_MAX 256u

/* Files that include each other twice are exponential in their depth; these
 * are some tens of what a million zones need. */
struct conf_limits {
	uint32_t includes;
	uint64_t octets;      /* of all files together */
};

struct conf_parser {
	struct conf_owner *owner;
	struct conf *conf;      /* of owner */
	struct diag_sink *sink;
	const char *chroot;     /* or NULL */
	bool files;             /* include: may read files */
	struct conf_limits limits;
	uint32_t includes;      /* read by now */
	bool too_many;          /* of them; no more are read */
	unsigned errors;
	enum nsd_err failed;    /* NSD_E_MEMORY stops it all */
	jmp_buf fatal;          /* where the lexer goes without memory */

	/* lexer */
	void *scanner;
	struct conf_source *source; /* NULL at the end */
	struct arena scratch;       /* words of the option at hand */
	struct conf_map names;      /* struct conf_name */
	struct conf_name *name_items;
	bool want_include;          /* include: was the last word */
	char token[CONF_TOKEN_TEXT_MAX]; /* text of the last one */
	const char *token_file;
	uint32_t token_line;

	/* the clause at hand */
	int clause;                 /* enum conf_clause; -1: none yet */
	const char *clause_file;
	uint32_t clause_line;
	bool stray;                 /* the last thing was an unknown word */
	void *object;               /* where its values go */
	struct conf_key key;
	struct conf_tls_auth tls_auth;
	struct conf_pattern pattern;
	/* A zone that has set nothing but what struct conf_zone holds refers
	 * to the pattern that it includes; else its options are in pattern. */
	bool own;
	const struct conf_pattern *shared;
	const char *zone_name;
	const char *zonefile;
	size_t pattern_room;        /* of the arrays in conf, items */
	size_t key_room;
	size_t tls_auth_room;
};

/* ---- errors (parser.c) */

void conf_error(struct conf_parser *p, const char *file, uint32_t line,
	const char *format, ...) __attribute__((format(printf, 4, 5)));
/* At a token; "" or NULL: at the end of the text. */
void conf_syntax_error(struct conf_parser *p, const char *file, uint32_t line,
	const char *token);
void conf_no_memory(struct conf_parser *p);

/* As conf_load with limits of its own. */
enum nsd_err conf_load_limited(const char *path, const char *chroot,
	const struct conf_limits *limits, struct diag_sink *sink,
	struct conf **conf) MUST_USE;

/* ---- lexer (lexer.l) and files (source.c) */

enum nsd_err conf_lexer_open(struct conf_parser *p) MUST_USE;
void conf_lexer_close(struct conf_parser *p);
/* Starts to read the source's text, leaving the one before it. */
void conf_lexer_push(struct conf_parser *p, struct conf_source *source);
/* Back to the source that is then the parser's, or to none. */
void conf_lexer_pop(struct conf_parser *p, struct conf_source *done);

/* The first file; says itself what is wrong. */
enum nsd_err source_open(struct conf_parser *p, const char *path) MUST_USE;
enum nsd_err source_open_text(struct conf_parser *p, const char *name,
	const char *text, size_t len) MUST_USE;
void source_include(struct conf_parser *p, const char *pattern);
/* The end of a source: goes on with the next file. False: that was all. */
bool source_end(struct conf_parser *p);
void source_close_all(struct conf_parser *p);

/* ---- structure (clause.c), called by the grammar */

void clause_begin(struct conf_parser *p, const struct conf_token *token);
void clause_end(struct conf_parser *p);
void clause_option(struct conf_parser *p, const struct conf_token *option,
	const struct conf_token *words);
void clause_stray_word(struct conf_parser *p, const struct conf_word *word);

/* ---- values (value.c, address.c) */

/* The value of an option into its field of object. False: it was wrong and
 * that was said. N is the number in the option's name. */
bool value_set(struct conf_parser *p, const struct conf_option *option,
	void *object, const struct conf_word *words, uint32_t count,
	uint32_t n);
/* Defaults of a clause, from the table. */
void value_set_initial(enum conf_clause clause, void *object);
/* How many words the option takes, of those that are there. */
void value_word_count(const struct conf_option *option,
	const struct conf_word *words, uint32_t *least, uint32_t *most);
/* Room for one more item, cleared; lent until the next one. NULL: no memory. */
void *list_add(struct conf_parser *p, struct conf_list *list,
	size_t item_size);
/* Decimal digits only. */
bool value_parse_number(const char *text, uint64_t *number);
/* The octets of base64 text in the arena; NULL if it is none. */
const uint8_t *value_decode_base64(struct arena *arena, const char *text,
	uint32_t *len);
/* The full name of a TSIG algorithm, a static text; NULL if unknown. */
const char *value_find_algorithm(const char *text);

bool acl_set(struct conf_parser *p, const struct conf_option *option,
	struct conf_acls *list, const struct conf_word *words, uint32_t count);
bool interface_set(struct conf_parser *p, const struct conf_option *option,
	struct conf_interfaces *list, const struct conf_word *words,
	uint32_t count);
/* True if the word is a sub-option of ip-address; *words: it takes 1 or 2. */
bool interface_is_suboption(const struct conf_word *word, uint32_t *words);

/* ---- after parsing (check.c) */

void check_references(struct conf_parser *p);

/* ---- shared bits of conf.c */

enum nsd_err conf_owner_create(struct conf_owner **owner) MUST_USE;

/* Lower-case wire form of a zone's name in the arena; NULL and *why. */
const uint8_t *conf_zone_wire(struct conf_owner *owner, const char *name,
	const char **why);
/* Its name must not be there. Keeps zone. NSD_E_MEMORY. */
enum nsd_err conf_append_zone(struct conf_owner *owner,
	struct conf_zone *zone) MUST_USE;

#endif
