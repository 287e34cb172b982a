/* histogram.c - see histogram.h. */
#include "config.h"

#include "histogram.h"

#define SUB_BITS 6
#define SUB_COUNT (1u << SUB_BITS)

/* The power of two that a number from 64 on is not below. */
static unsigned
power_of(uint64_t value)
{
	return 63u - (unsigned)__builtin_clzll(value);
}

static size_t
cell_of(uint64_t ns)
{
	unsigned power;
	size_t cell;

	if (ns < 2 * SUB_COUNT)
		return (size_t)ns;
	power = power_of(ns);
	cell = (size_t)(power - SUB_BITS) * SUB_COUNT
		+ (size_t)(ns >> (power - SUB_BITS));
	return cell < HISTOGRAM_CELLS ? cell : HISTOGRAM_CELLS - 1;
}

/* The largest number of a cell. */
static uint64_t
cell_end_ns(size_t cell)
{
	unsigned shift;

	if (cell < 2 * SUB_COUNT)
		return cell;
	shift = (unsigned)(cell / SUB_COUNT) - 1;
	return ((uint64_t)(cell % SUB_COUNT + SUB_COUNT + 1) << shift) - 1;
}

void
histogram_add(struct histogram *h, uint64_t ns)
{
	h->count++;
	h->sum_ns += ns;
	h->cells[cell_of(ns)]++;
	if (ns > h->max_ns)
		h->max_ns = ns;
}

uint64_t
histogram_quantile_ns(const struct histogram *h, double share)
{
	double wanted = share * (double)h->count;
	uint64_t seen = 0, end;

	for (size_t i = 0; i < HISTOGRAM_CELLS; i++) {
		seen += h->cells[i];
		if (seen == 0 || (double)seen < wanted)
			continue;
		end = cell_end_ns(i);
		return end < h->max_ns && i + 1 < HISTOGRAM_CELLS ? end
			: h->max_ns;
	}
	return h->max_ns;
}

void
histogram_print(const struct histogram *h, FILE *f)
{
	static const struct { const char *name; double share; } rows[] = {
		{ "p50", 0.5 }, { "p90", 0.9 }, { "p99", 0.99 },
		{ "p999", 0.999 } };

	fprintf(f, "{\"count\":%llu,\"mean\":%.1f",
		(unsigned long long)h->count, h->count == 0 ? 0
		: (double)h->sum_ns / (double)h->count / 1e3);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		fprintf(f, ",\"%s\":%.1f", rows[i].name, (double)
			histogram_quantile_ns(h, rows[i].share) / 1e3);
	fprintf(f, ",\"max\":%.1f}", (double)h->max_ns / 1e3);
}
