/*
 * rcu.h - the memory ordering for read-copy-update across processes. With
 * list.h the one place that includes liburcu.
 *
 * Loads and stores are the compiler's C11 atomics: ThreadSanitizer follows
 * these, but not liburcu's volatile accesses. The full barrier is liburcu's,
 * which knows the cheapest one of each architecture.
 */
#ifndef BASE_RCU_H
#define BASE_RCU_H

#include <urcu/arch.h>

/* A full fence: loads and stores before it happen before loads and stores after
 * it. */
#define rcu_full_barrier() cmm_smp_mb()

#define rcu_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define rcu_load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define rcu_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define rcu_store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)

#endif
