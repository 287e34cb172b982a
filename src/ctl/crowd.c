/* crowd.c - counts connections by network, and chooses the one that makes
 * room. */
#include "config.h"

#include <netinet/in.h>
#include <string.h>

#include "crowd.h"

uint64_t
crowd_find_net(const struct sockaddr_storage *peer)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	uint8_t octets[8] = {0};
	uint64_t net;

	switch (peer->ss_family) {
	case AF_INET:
		memcpy(&v4, peer, sizeof(v4));
		memcpy(octets, &v4.sin_addr, 3);
		octets[7] = 4;
		break;
	case AF_INET6:
		memcpy(&v6, peer, sizeof(v6));
		memcpy(octets, &v6.sin6_addr, 7);
		octets[7] = 6;
		break;
	default:
		break;
	}
	memcpy(&net, octets, sizeof(net));
	return net;
}

bool
crowd_is_loopback(const struct sockaddr_storage *peer)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;

	switch (peer->ss_family) {
	case AF_INET:
		memcpy(&v4, peer, sizeof(v4));
		return ntohl(v4.sin_addr.s_addr) >> 8 == INADDR_LOOPBACK >> 8;
	case AF_INET6:
		memcpy(&v6, peer, sizeof(v6));
		return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
	default:
		return false;
	}
}

static unsigned
crowd_count(struct cds_list_head *all, uint64_t net)
{
	const struct crowd_one *one;
	unsigned count = 0;

	cds_list_for_each_entry(one, all, node)
		count += one->net == net;
	return count;
}

struct crowd_one *
crowd_pick(struct cds_list_head *all, crowd_weigh *weigh, void *arg)
{
	struct crowd_one *one, *picked = NULL;
	unsigned most = 0;

	cds_list_for_each_entry(one, all, node) {
		unsigned weight = weigh(one, crowd_count(all, one->net), arg);

		if (weight > most) {
			most = weight;
			picked = one;
		}
	}
	return picked;
}
