/*
 * verbs.h - the one table of nsd-control's commands.
 *
 * A row says: name in C, word, least and most arguments, flags, arguments as
 * the help shows them, help. The server refuses a command that does not fit its
 * row before a handler sees it. nsd-control's help, the completion of shells
 * and the server's handlers (xfrd/control.h) are made of this table: a verb
 * without a handler does not compile.
 */
#ifndef CTL_VERBS_H
#define CTL_VERBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ctl_verb_flag {
	/* nsd-control carries it out; the server does not know it. */
	CTL_LOCAL = 1,
	/* Lines follow, until one of the octet 0x04 alone (ctl/call.h,
	 * on_line). */
	CTL_LINES = 2,
	/* A whole answer ends in a line that begins with "ok" or "error": an
	 * answer that does not was cut short. */
	CTL_SAYS_OK = 4,
	/* The log has it at any verbosity. Other verbs are in it from verbosity
	 * 2 on: they are regular, or the log has their effects. */
	CTL_LOUD = 8,
	/* With CTL_SAYS_OK: a whole answer may also end in a line that begins
	 * with "warning". */
	CTL_WARNS = 16,
	/* An answer that has begun otherwise may still end in a line that
	 * begins with "error"; none of its other lines does. */
	CTL_LATE_ERROR = 32,
	/* The verb waits for nothing that can be slow, so it is taken even when
	 * too many calls wait. */
	CTL_QUICK = 64,
	/* The arguments have a secret: the log shows no argument. */
	CTL_SECRET = 128,
	/* A whole answer may have no octet: there may be nothing to list. Any
	 * other answer without one was cut short. */
	CTL_MAY_BE_EMPTY = 256,
	/* With CTL_LATE_ERROR: the answer is a zone file. Its last line begins
	 * with "; end"; without that it was cut short. */
	CTL_ENDS_IN_COMMENT = 512,
};

#define CTL_ZONE "[ZONE]"

/*   name, word, arguments least, most, flags, arguments, help */
#define CTL_VERBS(X)                                                         \
	X(START, "start", 0, 0, CTL_LOCAL, "",                               \
		"start the server, by running nsd")                          \
	X(STOP, "stop", 0, 0, CTL_SAYS_OK | CTL_QUICK, "",                   \
		"stop the server")                                           \
	X(RELOAD, "reload", 0, 1, CTL_SAYS_OK, CTL_ZONE,                     \
		"read zone files that have changed")                         \
	X(WRITE, "write", 0, 1, CTL_SAYS_OK, CTL_ZONE,                       \
		"write changed zones to their zone files")                   \
	X(FREEZE, "freeze", 0, 1, CTL_SAYS_OK, CTL_ZONE,                     \
		"refuse UPDATEs, and write the zone to its file")            \
	X(THAW, "thaw", 0, 1, CTL_SAYS_OK, CTL_ZONE,                         \
		"read the zone's file, and take UPDATEs again")              \
	X(LOG_REOPEN, "log_reopen", 0, 0, CTL_SAYS_OK, "",                   \
		"open the log file anew, after it was rotated")              \
	X(DNSTAP_ON, "dnstap_on", 0, 0, CTL_SAYS_OK | CTL_LOUD, "",          \
		"send and log queries, also with dnstap-enable: no")         \
	X(DNSTAP_OFF, "dnstap_off", 0, 0, CTL_SAYS_OK | CTL_LOUD, "",        \
		"send no messages to dnstap, and log no queries")            \
	X(STATUS, "status", 0, 0, CTL_QUICK, "",                             \
		"show the version and what matters of the server")           \
	X(NOTIFY, "notify", 0, 1, CTL_SAYS_OK, CTL_ZONE,                     \
		"send NOTIFY to those that the zone notifies")               \
	X(TRANSFER, "transfer", 0, 1, CTL_SAYS_OK, CTL_ZONE,                 \
		"ask the primaries for a newer version")                     \
	X(FORCE_TRANSFER, "force_transfer", 0, 1, CTL_SAYS_OK, CTL_ZONE,     \
		"have the whole zone transferred, whatever its serial")      \
	X(ACCEPT, "accept", 1, 1, CTL_SAYS_OK | CTL_LOUD, "ZONE",            \
		"serve the version that was refused, this once")             \
	X(ZONESTATUS, "zonestatus", 0, 1, CTL_MAY_BE_EMPTY, CTL_ZONE,        \
		"show the state, serials and activity of zones")             \
	X(LISTZONES, "listzones", 0, 0, CTL_MAY_BE_EMPTY, "",                \
		"show the names of all zones, and their patterns")           \
	X(CATALOGS, "catalogs", 0, 1, CTL_MAY_BE_EMPTY, CTL_ZONE,            \
		"show catalogs; of one, its member zones, too")              \
	X(DUMPZONE, "dumpzone", 1, 1, CTL_LATE_ERROR | CTL_ENDS_IN_COMMENT,  \
		"ZONE", "show a zone as it is in memory, as a zone file")    \
	X(PROGRESS, "progress", 0, 0, CTL_QUICK | CTL_MAY_BE_EMPTY, "",      \
		"show how far commands are that take long")                  \
	X(SERVERPID, "serverpid", 0, 0, CTL_QUICK, "",                       \
		"show the pid of the process that forks the others")         \
	X(VERBOSITY, "verbosity", 0, 1, CTL_LOUD, "[NUMBER]",                \
		"show how much is logged, or change it")                     \
	X(RECONFIG, "reconfig", 0, 0, CTL_SAYS_OK, "",                       \
		"read nsd.conf anew, and run with what it says")             \
	X(REPATTERN, "repattern", 0, 0, CTL_SAYS_OK, "",                     \
		"the same as reconfig")                                      \
	X(ADDZONE, "addzone", 0, 2, CTL_SAYS_OK, "ZONE PATTERN",             \
		"serve a zone with the options of a pattern")                \
	X(DELZONE, "delzone", 0, 1, CTL_SAYS_OK | CTL_WARNS, "ZONE",         \
		"serve a zone no more that was added so")                    \
	X(CHANGEZONE, "changezone", 0, 2, CTL_SAYS_OK, "ZONE PATTERN",       \
		"give a zone another pattern, or add it")                    \
	X(ADDZONES, "addzones", 0, 0, CTL_LINES, "",                         \
		"add the zones of the lines ZONE PATTERN on the input")      \
	X(DELZONES, "delzones", 0, 0, CTL_LINES, "",                         \
		"serve the zones no more that the lines of the input name")  \
	X(PRINT_TSIG, "print_tsig", 0, 1,                                    \
		CTL_LATE_ERROR | CTL_MAY_BE_EMPTY, "[KEY]",                  \
		"show TSIG keys, with their secrets")                        \
	X(UPDATE_TSIG, "update_tsig", 0, 2, CTL_SAYS_OK | CTL_SECRET,       \
		"KEY SECRET",                                                \
		"give a TSIG key another secret, in base64")                 \
	X(ADD_TSIG, "add_tsig", 0, 3, CTL_SAYS_OK | CTL_SECRET,             \
		"KEY SECRET [ALGORITHM]",                                    \
		"add a TSIG key, of hmac-sha256 if not said")                \
	X(ASSOC_TSIG, "assoc_tsig", 0, 2, CTL_SAYS_OK, "ZONE KEY",           \
		"use a TSIG key with all servers of a zone")                 \
	X(DEL_TSIG, "del_tsig", 0, 1, CTL_SAYS_OK, "KEY",                    \
		"remove a TSIG key that no zone uses")                       \
	X(ADD_COOKIE_SECRET, "add_cookie_secret", 0, 1,                      \
		CTL_SAYS_OK | CTL_SECRET, "SECRET",                          \
		"stage a secret of cookies, or replace the staged one")      \
	X(ACTIVATE_COOKIE_SECRET, "activate_cookie_secret", 0, 0,            \
		CTL_SAYS_OK, "",                                             \
		"make cookies with the staged secret, and stage the other")  \
	X(DROP_COOKIE_SECRET, "drop_cookie_secret", 0, 0, CTL_SAYS_OK, "",   \
		"forget the staged secret")                                  \
	X(PRINT_COOKIE_SECRETS, "print_cookie_secrets", 0, 0,                \
		CTL_LATE_ERROR, "", "show the secrets of cookies")           \
	X(STATS, "stats", 0, 0, CTL_LATE_ERROR, "",                          \
		"show what was counted, and count from 0 on")                \
	X(STATS_NORESET, "stats_noreset", 0, 0, CTL_LATE_ERROR, "",          \
		"show what was counted")                                     \
	X(STATS_MORE, "stats_more", 0, 0, 0, "",                             \
		"show figures of the store and of each process")

#define CTL_ENUM(name, word, least, most, flags, arguments, help)            \
	CTL_##name,
enum ctl_verb { CTL_VERBS(CTL_ENUM) CTL_VERB_COUNT };
#undef CTL_ENUM

struct ctl_verb_row {
	const char *word;
	const char *arguments;
	const char *help;
	uint8_t least;
	uint8_t most;
	uint16_t flags;
};

extern const struct ctl_verb_row ctl_verb_rows[CTL_VERB_COUNT];

/* The verb of a word, without those that are CTL_LOCAL unless local is true.
 * CTL_VERB_COUNT: there is none. */
enum ctl_verb ctl_verbs_find(const char *word, bool local);

/* ---- handlers ------------------------------------------------------------ */

/* For xfrd: a list of verbs with their handlers becomes a table, and has every
 * verb that is the server's, as ipc/handlers.h does for messages. */
#define CTL_HANDLER(name, handler) [CTL_##name] = handler,
#define CTL_TAKES(name, handler) | UINT64_C(1) << CTL_##name
#define CTL_OF_SERVER(name, word, least, most, flags, arguments, help)       \
	| (uint64_t)(((flags) & CTL_LOCAL) == 0) << CTL_##name
#define CTL_CHECK_HANDLERS(list)                                             \
	_Static_assert((0 list(CTL_TAKES)) == (0 CTL_VERBS(CTL_OF_SERVER)),  \
		"a verb of include/ctl/verbs.h has no handler")

_Static_assert(CTL_VERB_COUNT <= 64, "a set of verbs has 64 bits");

#endif
