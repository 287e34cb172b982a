/* settings.c - finds the settings that are published. */
#include "settings/settings.h"

static const struct settings settings_none = {
	.len = sizeof(settings_none),
	.udp4_size = 1232,
	.udp6_size = 1232,
	.tcp_count = 100,
	.tcp_timeout_sec = 120,
};

const struct settings *
settings_get(const struct store_view *view)
{
	store_ref ref = store_root(view, STORE_ROOT_SETTINGS);

	return ref == STORE_NONE ? &settings_none : store_get(view, ref);
}
