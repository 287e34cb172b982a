/* err.c - texts of the error codes. */
#include <errno.h>
#include <string.h>

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

const char *
err_reason(enum nsd_err err)
{
	return err == NSD_E_SYSTEM ? strerror(errno) : err_text(err);
}
