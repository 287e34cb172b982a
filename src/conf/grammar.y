/* grammar.y - the structure of nsd.conf: clauses, options and their words. */
%code requires {
#include "conf/parser.h"
}

%code {
static int
grammar_lex(struct conf_token *value, struct conf_parser *p)
{
	return lexer_next(p, value);
}

/* The grammar takes any run of tokens; the actions find what is wrong. So this
 * is reached only without memory for the parser's stack. */
static void
grammar_error(struct conf_parser *p, const char *text)
{
	error_memory(p);
}
}

%define api.pure full
%define api.prefix {grammar_}
%define api.value.type {struct conf_token}
%param {struct conf_parser *p}

%token CLAUSE OPTION WORD

/* A word behind an option's words is one of them, not a stray word. */
%expect 1

%%

file:
	%empty
	| file item
	{
		if (p->failed != NSD_OK)
			YYABORT;
	}
	;

item:
	CLAUSE
	{
		clause_end(p);
		clause_begin(p, &$1);
	}
	| OPTION words
	{
		clause_option(p, &$1, &$2);
		arena_reset(&p->scratch);
	}
	| stray
	;

/* The words behind an option. The last of them may be the name of an unknown
 * option, so the row of the table says where they end. */
words:
	%empty
	{
		$$ = (struct conf_token){ .count = 0 };
	}
	| words WORD
	{
		$$ = $1;
		if ($$.count++ == 0)
			$$.first = $2.word;
		else
			$$.word->next = $2.word;
		$$.word = $2.word;
	}
	;

/* A word where an option should stand: at the start, or behind a clause. */
stray:
	WORD
	{
		stray_word(p, $1.word);
		arena_reset(&p->scratch);
	}
	;

%%
