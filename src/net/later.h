/* later.h - a reply that comes later, as the sockets know it. */
#ifndef SRC_NET_LATER_H
#define SRC_NET_LATER_H

#include "base/list.h"
#include "net/later.h"

/* The beginning of a struct of the socket's or connection's kind. */
struct net_later {
	struct cds_list_head by_owner; /* in a list of the owner */
	/* The way to the client; NULL: it is gone, and by_owner is in no
	 * list. Takes `later` off the list. reply: NULL if there is none. */
	void (*end)(struct net_later *later, const uint8_t *reply, size_t len,
		bool closes);
};

/* The owner of a list is gone: nothing in it leads to its client. */
void later_forget_all(struct cds_list_head *list);

#endif
