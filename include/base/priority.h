/*
 * priority.h - answering queries comes before reading and changing zones, where
 * both share a processor. Each function is for the thread that calls it, does
 * what the system lets it do, and reports no failure.
 */
#ifndef BASE_PRIORITY_H
#define BASE_PRIORITY_H

/* In main, before it has threads and children, which inherit the answer: finds
 * out whether a priority may be asked for at all, by a child: the filter of a
 * service manager may kill a process that does. If the child dies, the
 * functions below do nothing. */
void priority_probe(void);

/* For a worker, and for main: the thread runs soon after it is woken, whatever
 * the loader does (from Linux 6.12 on; before that, as any process does). The
 * shares of the other roles stay as large. */
void priority_answer(void);

/* For a loader beside workers that serve: it runs soon after it is woken, but
 * has the smaller share of the processor and interrupts no worker. */
void priority_publish(void);

/* For a thread that reads zones beside workers that serve, and for the threads
 * that it starts later: it has the smaller share of the processor and
 * interrupts no other. */
void priority_load(void);

/* For a process that writes files without haste: it has the smallest share of
 * processor and disk. */
void priority_write(void);

#endif
