/* err.c - texts of the error codes. */
#include "base/err.h"

const char *
err_text(enum nsd_err err)
{
	switch (err) {
#define NSD_ERR_CASE(code, text) \
	case code:               \
		return text;
		NSD_ERR_LIST(NSD_ERR_CASE)
#undef NSD_ERR_CASE
	}
	return "unknown error";
}
