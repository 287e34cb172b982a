/* statistics_names.c - the names of counters (doc/surface.md sections 4 and
 * 5). */
#include "ctl/statistics_names.h"

#include <stddef.h>
#include <stdio.h>

#include "dns/message.h"

/* Numbers from these on are not shown, as in NSD. */
#define TYPES_SHOWN 256u
#define OPCODES_SHOWN 6u
/* CH is all that has no name in NSD. */
#define CLASSES_SHOWN (COUNTER_CH + 1u)

static bool
name_of_type(unsigned item, char *name)
{
	return counters_print_type((uint16_t)item, name);
}

static bool
name_of_opcode(unsigned item, char *name)
{
	static const char *const names[OPCODES_SHOWN] = {"QUERY", "IQUERY",
		"STATUS", "OPCODE3", "NOTIFY", "UPDATE"};

	snprintf(name, STATISTICS_ITEM_MAX, "%s", names[item]);
	return item == 0;
}

static bool
name_of_class(unsigned item, char *name)
{
	static const char *const names[CLASSES_SHOWN] = {
		[COUNTER_CLASS0] = "CLASS0",
		[COUNTER_IN] = "IN",
		[COUNTER_CS] = "CS",
		[COUNTER_CH] = "CH",
	};

	snprintf(name, STATISTICS_ITEM_MAX, "%s", names[item]);
	return item == COUNTER_IN;
}

static bool
name_of_rcode(unsigned item, char *name)
{
	static const char *const names[] = {"NOERROR", "FORMERR", "SERVFAIL",
		"NXDOMAIN", "NOTIMP", "REFUSED", "YXDOMAIN", "YXRRSET",
		"NXRRSET", "NOTAUTH", "NOTZONE"};

	if (item < sizeof(names) / sizeof(*names))
		snprintf(name, STATISTICS_ITEM_MAX, "%s", names[item]);
	else if (item == RCODE_BADVERS)
		snprintf(name, STATISTICS_ITEM_MAX, "BADVERS");
	else
		snprintf(name, STATISTICS_ITEM_MAX, "RCODE%u", item);
	return item <= RCODE_YXDOMAIN;
}

/* Most servers take no UPDATEs: what was not counted is not shown. */
static bool
name_of_update(unsigned item, char *name)
{
	(void)name_of_rcode(item, name);
	return false;
}

#define AT(field) offsetof(struct counters, field)

const struct statistics_array statistics_arrays[STATISTICS_ARRAYS] = {
	[STATISTICS_TYPES] = {"type", "type", "queries_by_type_total",
		"Queries by their type.", AT(type), TYPES_SHOWN, TYPES_SHOWN,
		name_of_type},
	[STATISTICS_OPCODES] = {"opcode", "opcode", "queries_by_opcode_total",
		"Queries by their opcode.", AT(opcode), OPCODES_SHOWN,
		OPCODES_SHOWN, name_of_opcode},
	[STATISTICS_CLASSES] = {"class", "class", "queries_by_class_total",
		"Queries by their class.", AT(rrclass), CLASSES_SHOWN,
		COUNTER_CLASSES, name_of_class},
	[STATISTICS_RCODES] = {"rcode", "rcode", "queries_by_rcode_total",
		"Replies by their RCODE.", AT(rcode), COUNTER_RCODES,
		COUNTER_RCODES, name_of_rcode},
	[STATISTICS_UPDATES] = {"update", "rcode", "updates_by_rcode_total",
		"Replies to UPDATEs by their RCODE.", AT(update_rcode),
		COUNTER_RCODES, COUNTER_RCODES, name_of_update},
};

bool
statistics_array_get(const struct statistics_array *array,
	const struct counters *c, unsigned item, char *name, uint64_t *value)
{
	const uint64_t *values = (const uint64_t *)(const void *)(
		(const uint8_t *)c + array->at);

	*value = values[item];
	for (unsigned i = array->count; item == array->count - 1u
		&& i < array->size; i++)
		*value += values[i];
	return array->has_name(item, name) || *value != 0;
}

/* The place of a counter that is shown, also when it is 0. */
#define SHOWN(field) AT(field), false
#define TRANSPORT "queries_by_transport_total"
#define TRANSPORT_HELP "Queries over UDP."
#define CONNECTIONS "connections_total"
#define CONNECTIONS_HELP "Queries over TCP and TLS."
#define TRANSFERS "xfr_requests_served_total"
#define TRANSFERS_HELP "Requests for a transfer of a zone."

const struct statistics_single statistics_singles[] = {
	{"edns", "queries_with_edns_total", NULL, "Queries with EDNS.",
		SHOWN(edns)},
	{"ednserr", "queries_with_edns_failed_total", NULL,
		"Queries whose EDNS is wrong.", SHOWN(edns_err)},
	{"udp", TRANSPORT, "transport=\"udp\"", TRANSPORT_HELP, SHOWN(udp)},
	{"udp6", TRANSPORT, "transport=\"udp6\"", TRANSPORT_HELP, SHOWN(udp6)},
	{"tcp", CONNECTIONS, "transport=\"tcp\"", CONNECTIONS_HELP, SHOWN(tcp)},
	{"tcp6", CONNECTIONS, "transport=\"tcp6\"", CONNECTIONS_HELP,
		SHOWN(tcp6)},
	{"tls", CONNECTIONS, "transport=\"tls\"", CONNECTIONS_HELP, SHOWN(tls)},
	{"tls6", CONNECTIONS, "transport=\"tls6\"", CONNECTIONS_HELP,
		SHOWN(tls6)},
	{"answer_wo_aa", "answers_without_aa_total", NULL,
		"Replies NOERROR that are not authoritative.",
		SHOWN(answer_wo_aa)},
	{"rxerr", "queries_rx_failed_total", NULL,
		"Queries that could not be received.", SHOWN(rx_err)},
	{"txerr", "answers_tx_failed_total", NULL,
		"Replies that could not be sent.", SHOWN(tx_err)},
	{"raxfr", TRANSFERS, "xfrtype=\"AXFR\"", TRANSFERS_HELP, SHOWN(raxfr)},
	{"rixfr", TRANSFERS, "xfrtype=\"IXFR\"", TRANSFERS_HELP, SHOWN(rixfr)},
	{"truncated", "answers_truncated_total", NULL,
		"Replies that were truncated.", SHOWN(truncated)},
	{"dropped", "queries_dropped_total", NULL,
		"Queries that were not replied to.", SHOWN(dropped)},
	{"update.received", "updates_received_total", NULL,
		"UPDATEs of zones that take or forward them.",
		AT(update_received), true},
};

const unsigned statistics_single_count =
	sizeof(statistics_singles) / sizeof(*statistics_singles);
