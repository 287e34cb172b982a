/*
 * parser.h - the state of one reading of nsd.conf, and what the files of this
 * layer do for it. Private to the layer.
 *
 * From below to above: error, option, map, decode, list, address, acl and
 * interface, value, compare, pack, image, effect, line, stray; then clause and
 * source; lexer above source; grammar above lexer and clause; check; parser;
 * migrate on top.
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
#include "conf/option.h"

/* A place in a file. file NULL: not in the configuration. */
struct conf_place {
	const char *file;
	uint32_t line;
};

/* A row of the table that has no effect, set in clauses that may recur. */
struct conf_vain {
	struct conf_place first; /* where it is set first */
	const char *name;        /* of the clause of first */
	uint8_t clause;          /* enum conf_clause */
	uint32_t more;           /* clauses that set it too */
};

/* Options of zones that were given a key (conf/key_edit.h). */
struct conf_assoc {
	struct conf_assoc *next;
	const struct conf_pattern *from; /* of the zones before */
	const struct conf_key *key;
	char *key_name;                  /* a copy: keys go before it */
	size_t name_room;
	struct conf_pattern options;
};

/* A line of an option, as it was read. */
struct conf_line {
	struct conf_place place;
	const struct conf_option *option;
	const char *word; /* the first one behind the name; arena of the
			   * configuration */
	uint32_t clause;  /* a number of its own; 0: a clause that is there
			   * once */
	bool replaced;    /* a later line of the clause has the value */
};

/* The lines of some options, in the order in which they were read. */
struct conf_lines {
	const bool *wanted;      /* by row of the table */
	size_t *last;            /* the same: the last line, from 1; all 0 */
	struct conf_line *items; /* malloc */
	size_t count, room;
	uint32_t clauses;        /* begun by now, of those that may recur */
};

/* The whole of a configuration. The public struct conf is its first field. */
struct conf_owner {
	struct conf conf;
	struct arena arena;
	struct arena zone_arena;   /* objects that zones alone point at: see
				    * conf_drop_zones */
	struct conf_map zones;     /* struct conf_zone by wire, lower case */
	struct conf_map patterns;  /* by name */
	struct conf_map keys;
	struct conf_map tls_auths;
	const struct conf_pattern *defaults; /* all options at their default */
	/* Arrays by row of the table. places: of clauses that are there
	 * once. */
	struct conf_place *places;
	struct conf_vain *vain;
	struct conf_assoc *assocs; /* in zone_arena */
	struct conf_assoc *spare_assocs; /* options whose keys have gone: to be
					  * used again */
	size_t zone_room;          /* items of conf.zones */
	size_t zone_peak;          /* zones, since half of them went */
	size_t added_size;         /* octets of the zones of conf_add_zone */
};

/* A word as the lexer found it. It lives in the scratch arena until the
 * grammar is done with its option. */
struct conf_word {
	const char *text;
	size_t len;
	const char *file;
	uint32_t line;
	bool quoted;
	struct conf_word *next;
};

/* A name of options and clauses, with all the rows that bear it. */
struct conf_name {
	const char *name;
	size_t len;
	int16_t row[CLAUSE_COUNT]; /* index into conf_options; -1: none */
	int8_t clause;             /* the clause that the name opens; -1: no
				    * clause */
};

/* The value of a token, from the lexer. */
struct conf_token {
	struct conf_word *word;       /* of a WORD; the last of WORDs: list */
	struct conf_word *first;      /* of a list of words */
	const struct conf_name *name; /* of an OPTION or CLAUSE */
	struct conf_place place;
	uint32_t number;              /* N of server-N-cpu-affinity */
	uint32_t count;               /* words of a list */
};

/* A file that is being read, and the files that its last include: still
 * waits for. */
struct conf_source {
	struct conf_source *outer;
	const char *file;    /* arena */
	uint32_t line;
	char *text;          /* malloc; two NULs at its end */
	size_t len;          /* of the text, without the NULs */
	void *buffer;        /* the lexer's; NULL: not begun */
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
/* Files that are included from this depth on are counted apart. */
#define CONF_INCLUDE_DEEP 3u
#define CONF_FILE_SIZE_MAX ((size_t)1 << 30)
/* Rows of a clause: the bits of struct conf_set. */
#define CONF_CLAUSE_ROWS_MAX 128u

/*
 * Limits of what is included. Files that each include another twice grow
 * exponentially with their depth, and so do the lists of such patterns. A
 * million zones may have a file each, in a folder that an included file names,
 * and several elements of a list that they inherit and add to.
 */
struct conf_limits {
	uint32_t includes;
	uint32_t deep;        /* includes at CONF_INCLUDE_DEEP or deeper */
	uint64_t octets;      /* of all files together */
	uint32_t list;        /* elements that a list may inherit */
	uint64_t inherited;   /* elements that are copied, in all lists */
};

/* A pattern with a catalog-producer-zone of its own. */
struct conf_producer {
	struct conf_producer *next;
	const struct conf_pattern *pattern;
	struct conf_place place;
};

struct conf_parser {
	struct conf_owner *owner;
	struct conf *conf;      /* of owner */
	struct arena *arena;    /* of owner, for the clause at hand */
	struct diag_sink *sink;
	struct conf_origin origin;
	bool files;             /* include: may read files */
	struct conf_limits limits;
	struct conf_lines *lines; /* filled; NULL: no lines are wanted */
	uint64_t octets;        /* of files, read by now */
	uint32_t includes;      /* read by now */
	uint32_t deep;          /* includes at CONF_INCLUDE_DEEP or deeper */
	bool too_many;          /* includes: no more are read */
	uint64_t inherited;     /* elements copied from other lists by now */
	unsigned errors;
	enum nsd_err failed;    /* NSD_E_MEMORY stops it all */
	jmp_buf fatal;          /* where the lexer goes without memory */

	/* lexer */
	void *scanner;
	struct conf_source *source; /* being read; NULL at the end */
	struct arena scratch;       /* words of the option at hand */
	struct conf_map names;      /* struct conf_name */
	struct conf_name *name_items;
	bool want_include;          /* include: was the last word */

	/* the clause at hand */
	int clause;                 /* enum conf_clause; -1: none yet */
	size_t clause_row;          /* the first row of the clause, in
				     * conf_options */
	struct conf_place clause_place;
	struct conf_place option_place; /* of the clause's last option */
	unsigned clause_errors;     /* by the time it began */
	struct conf_set here;       /* rows that stand in the clause */
	struct conf_place places[CONF_CLAUSE_ROWS_MAX]; /* of rows in `here` */
	bool stray;                 /* the last word was an unknown one */
	unsigned compared;          /* unknown words that were compared with all
				     * names */
	void *object;               /* where its values go */
	struct conf_key key;
	struct conf_tls_auth tls_auth;
	struct conf_pattern pattern;
	/* A zone refers to the pattern that it includes as long as it sets
	 * only what struct conf_zone holds. From then on own is true and its
	 * options are in pattern. */
	bool own;
	const struct conf_pattern *shared;
	const char *zone_name;
	const char *zonefile;
	size_t pattern_room;        /* of the arrays in conf, items */
	size_t key_room;
	size_t tls_auth_room;
	struct conf_producer *producers, **producers_end;
};

/* ---- errors (error.c) */

/* Tells the sink of an error at a line of a file and counts it. */
void error_at(struct conf_parser *p, const char *file, uint32_t line,
	const char *format, ...) __attribute__((format(printf, 4, 5)));
void error_at_place(struct conf_parser *p, const struct conf_place *place,
	const char *format, ...) __attribute__((format(printf, 3, 4)));
/* A syntax error at a token; the format says what was expected there. */
void error_syntax(struct conf_parser *p, const struct conf_place *place,
	const char *token, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Without memory: says so once, and stops the reading. */
void error_memory(struct conf_parser *p);

/* ---- words to values that know no option (decode.c) */

/* Decimal digits only. False: there are none, or something else is there. A
 * number over 64 bits is given as UINT64_MAX. */
bool decode_number(const char *text, uint64_t *number);
/* 0 to 15; -1: no hexadecimal digit. */
int decode_hex_digit(char c);
/* The octets of base64 text in the arena. NULL: the text is no base64, or
 * there is no memory. */
const uint8_t *decode_base64(struct arena *arena, const char *text,
	uint32_t *len);
/* The full name of a TSIG algorithm, a static text; NULL if unknown. */
const char *decode_algorithm(const char *text);

/* ---- lists (list.c) */

/* Room for one more item, cleared. It is valid until the next one is added to
 * this list. NULL: no memory, or too much is inherited, which was said. */
void *list_add_item(struct conf_parser *p, struct conf_list *list,
	size_t item_size);
/* Appends the items of another list. False: as NULL above. */
bool list_add_list(struct conf_parser *p, struct conf_list *list,
	const struct conf_list *more, size_t item_size);

/* Counts the items in the array of a list, of all lists that share it. Not of a
 * list of struct conf_server that a flag has given. */
uint32_t list_count_used(const struct conf_list *list);
/* Makes an array for `count` items, all zero, in which lists can go on as in
 * that of list_add_item. NULL: no memory. */
void *list_restore(struct arena *arena, uint32_t count, size_t item_size);

/* ---- addresses (address.c, acl.c, interface.c)
 * Each returns false if the words are wrong or without memory; that was said.
 */

/* Cuts "@port" off text; *port 0: there is none. */
bool address_cut_port(struct conf_parser *p, const struct conf_word *word,
	char *text, uint16_t *port);
/* family is 4 or 6. False: no such address; nothing is said. */
bool address_parse(uint8_t family, const char *text, uint8_t address[16]);

bool acl_set(struct conf_parser *p, const struct conf_option *option,
	struct conf_acls *list, const struct conf_word *words, uint32_t count);

/* ---- lines of update-policy (policy.c) */

bool policy_set(struct conf_parser *p, const struct conf_option *option,
	struct conf_policies *list, const struct conf_word *words,
	uint32_t count);
/* Warns of an element of allow-update that lets anybody in. */
void policy_warn_open(struct conf_parser *p, const struct conf_acl *acl);
/* At the end of the file: finds the keys of the lines, and says what a pattern
 * that takes updates cannot have. */
void policy_check(struct conf_parser *p, const struct conf_pattern *pattern);

/* Warns of lines and elements that match nothing in any zone that has them: a
 * name that is in none of the zones, self with such a key, a type that is not
 * known, addresses that are BLOCKED (policy_match.c). Patterns without a zone
 * are not looked at. Without memory no warning is given. Cost: linear in zones,
 * and in lines by the labels of their names. */
void policy_match_check(const struct conf *conf, struct diag_sink *sink);

bool interface_set(struct conf_parser *p, const struct conf_option *option,
	struct conf_interfaces *list, const struct conf_word *words,
	uint32_t count);
/* True if the word is a sub-option of ip-address; *words: it takes 1 or 2. */
bool interface_is_suboption(const struct conf_word *word, uint32_t *words);

/* ---- values (value.c) */

/* Stores the words of an option in its field of object. n is the number in
 * the option's name. False: they were wrong, which was said. */
bool value_set(struct conf_parser *p, const struct conf_option *option,
	void *object, const struct conf_word *words, uint32_t count,
	uint32_t n);
/* Fills a clause's object with the defaults of the table. */
void value_set_initial(enum conf_clause clause, void *object);
/* Describes the words that the option takes, such as "a number". Static
 * text. */
const char *value_expects(const struct conf_option *option);
/* Finds the least and most words that the option takes; they may depend on the
 * words that are there. */
void value_word_count(const struct conf_option *option,
	const struct conf_word *words, uint32_t *least, uint32_t *most);

/* ---- differences (compare.c) */

/* True if an option has the same value in both. a, b: structs of its clause. */
bool compare_option(const struct conf_option *option, const void *a,
	const void *b);

/* ---- options without effect (effect.c) */

/* At the end of a clause that may recur: notes the rows without effect that
 * stand in it. object: its struct; name: the clause's. */
void effect_note_clause(struct conf_parser *p, const void *object,
	const char *name);

/* ---- lines of options (line.c) */

/* Counts a clause that begins. */
void line_begin_clause(struct conf_parser *p);
/* Notes a line of an option, if it is wanted, and that the line before it has
 * the value no more. */
void line_note(struct conf_parser *p, const struct conf_option *option,
	const struct conf_place *place, const struct conf_word *word);
/* The same of the lines of a clause that includes a pattern behind them. */
void line_note_included(struct conf_parser *p,
	const struct conf_pattern *from);

/* ---- words where they should not be (stray.c) */

/* A word where an option should stand. */
void stray_word(struct conf_parser *p, const struct conf_word *word);
/* count words (not 0) behind the last one that an option takes. */
void stray_surplus_words(struct conf_parser *p,
	const struct conf_option *option, const struct conf_word *word,
	uint32_t count);
/* An option of another clause. */
void stray_option(struct conf_parser *p, const struct conf_token *token);

/* ---- structure (clause.c), called by the grammar */

void clause_begin(struct conf_parser *p, const struct conf_token *token);
void clause_end(struct conf_parser *p);
void clause_option(struct conf_parser *p, const struct conf_token *option,
	const struct conf_token *words);

/* ---- files (source.c) and lexer (lexer.l)
 * source.c says which file is read: p->source. The lexer follows it.
 */

/* Opens the first file and makes it the parser's source. NSD_E_MEMORY; from
 * source_open also NSD_E_SYSTEM: the file cannot be read, which was said. */
enum nsd_err source_open(struct conf_parser *p, const char *path) MUST_USE;
enum nsd_err source_open_text(struct conf_parser *p, const char *name,
	const char *text, size_t len) MUST_USE;
/* An include: directive. The first file it names becomes the parser's source,
 * if it can be read; else what is wrong was said. */
void source_include(struct conf_parser *p, const char *pattern);
/* The text of the source is at its end: frees it and makes the next file the
 * parser's source. False: that was all. */
bool source_end(struct conf_parser *p);
void source_close_all(struct conf_parser *p);

/* NSD_E_MEMORY. */
enum nsd_err lexer_open(struct conf_parser *p) MUST_USE;
void lexer_close(struct conf_parser *p);
/* Reads the parser's source from now on, a new one from its start. Goes to
 * p->fatal without memory. */
void lexer_switch(struct conf_parser *p);
/* The next token and its value; 0: the end of all text. */
int lexer_next(struct conf_parser *p, struct conf_token *value);

/* ---- after parsing (check.c) */

/* Finds the keys and tls-auths that ACL elements name, and the other objects
 * that must be there. Says which are not. */
void check_references(struct conf_parser *p);

/* ---- the top (parser.c) */

/* As conf_load with limits of its own. */
enum nsd_err parser_load_limited(const char *path,
	const struct conf_origin *origin,
	const struct conf_limits *limits, struct diag_sink *sink,
	struct conf **conf) MUST_USE;
/* As conf_load, and fills lines. With NSD_E_SYNTAX the configuration is given,
 * too: what is wrong of it is as if it did not stand there. */
enum nsd_err parser_load_lines(const char *path, struct conf_lines *lines,
	struct diag_sink *sink, struct conf **conf) MUST_USE;

/* ---- differences from NSD 4 (migrate_rows.c below migrate.c) */

/* An option whose line is worth a word to who comes from NSD 4. */
struct migrate_row {
	uint8_t clause; /* enum conf_clause */
	uint8_t kind;   /* enum conf_migrate_kind */
	const char *name;
	/* True if the line is one; NULL: each is. */
	bool (*applies)(const struct conf_line *line, const struct conf *conf);
	const char *text;
};

extern const struct migrate_row migrate_rows[];
extern const size_t migrate_row_count;

/* ---- shared bits of conf.c */

/* NSD_E_MEMORY. Release it with conf_destroy. */
enum nsd_err conf_owner_create(struct conf_owner **owner) MUST_USE;

/* Lower-case wire form of a zone's name in the arena. NULL: *why says what was
 * expected, or is NULL without memory. */
const uint8_t *conf_zone_wire(struct arena *arena, const char *name,
	const char **why);
/* Adds a zone whose name is not there yet, and keeps it. NSD_E_MEMORY: nothing
 * changed. */
enum nsd_err conf_append_zone(struct conf_owner *owner,
	struct conf_zone *zone) MUST_USE;

#endif
