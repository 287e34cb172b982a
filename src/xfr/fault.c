/* fault.c - texts of faults of messages from primaries. */
#include "xfr/fault.h"

const char *
xfr_fault_text(enum xfr_fault fault)
{
#define FAULT_TEXT(name, text) [XFR_FAULT_##name] = text,
	static const char *const texts[] = {XFR_FAULT_LIST(FAULT_TEXT)};
#undef FAULT_TEXT

	return (unsigned)fault < XFR_FAULT_COUNT ? texts[fault]
						 : "an unknown fault";
}
