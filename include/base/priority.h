/*
 * priority.h - answering queries comes before reading and changing zones, where
 * both share a processor. Each function is for the thread that calls it, does
 * what the system lets it do, and reports no failure.
 */
#ifndef BASE_PRIORITY_H
#define BASE_PRIORITY_H

/* In main, before it has threads and children, which inherit the answer: finds
 * out whether we may ask for a priority at all. The filter of a service manager
 * may kill whoever does. A child tries it; if that dies, the functions below do
 * nothing. */
void priority_probe(void);

/* For a worker, and for main: it runs soon after it is woken, whatever the
 * loader does (from Linux 6.12 on; before that, as any process does). The share
 * of others stays as large. */
void priority_answer(void);

/* For a loader beside workers that serve: it runs soon after it is woken, but
 * has the smaller share and interrupts no worker. */
void priority_publish(void);

/* For a thread that reads zones beside workers that serve, and for the threads
 * that it starts later: it has the smaller share and interrupts nobody. */
void priority_load(void);

/* For a process that writes files which nobody waits for: it has the smallest
 * share of processor and disk. */
void priority_write(void);

#endif
