/*
 * scan_x86.h - common parts of the vector scanners: the lookup tables, and bits
 * to offsets with BMI.
 *
 * The members of each class differ in their low nibbles. So a byte shuffle by
 * the octet itself gives the only member that it could be, and one comparison
 * says whether it is. 0x80 stands for a nibble without a member: a shuffle
 * gives 0 for octets from 0x80 on, and 0x80 equals no octet below.
 */
#ifndef ZONEFILE_SCAN_X86_H
#define ZONEFILE_SCAN_X86_H

#include <immintrin.h>

#define N ((char)0x80)
/* space 0x20, tab 0x09, newline 0x0a */
#define SCAN_WHITE_TABLE \
	' ', N, N, N, N, N, N, N, N, '\t', '\n', N, N, N, N, N
/* NUL 0x00, " 0x22, ( 0x28, ) 0x29, ; 0x3b, \ 0x5c, carriage return 0x0d */
#define SCAN_SPECIAL_TABLE \
	0, N, '"', N, N, N, N, N, '(', ')', N, ';', '\\', '\r', N, N

TARGET static inline size_t
scan_write(uint32_t *out, uint32_t at, uint64_t bits)
{
	size_t n = (size_t)_mm_popcnt_u64(bits);
	size_t i = 0;

	/* Eight at a time. Later words overwrite the entries past the n-th. */
	do {
		out[i] = at + (uint32_t)_tzcnt_u64(bits);
		bits = _blsr_u64(bits);
		out[i + 1] = at + (uint32_t)_tzcnt_u64(bits);
		bits = _blsr_u64(bits);
		out[i + 2] = at + (uint32_t)_tzcnt_u64(bits);
		bits = _blsr_u64(bits);
		out[i + 3] = at + (uint32_t)_tzcnt_u64(bits);
		bits = _blsr_u64(bits);
		out[i + 4] = at + (uint32_t)_tzcnt_u64(bits);
		bits = _blsr_u64(bits);
		out[i + 5] = at + (uint32_t)_tzcnt_u64(bits);
		bits = _blsr_u64(bits);
		out[i + 6] = at + (uint32_t)_tzcnt_u64(bits);
		bits = _blsr_u64(bits);
		out[i + 7] = at + (uint32_t)_tzcnt_u64(bits);
		bits = _blsr_u64(bits);
		i += 8;
	} while (i < n);
	return n;
}

#endif
