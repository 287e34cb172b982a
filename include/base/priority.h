/* priority.h - answering comes before reading and changing zones, where these
 * share a processor. */
#ifndef BASE_PRIORITY_H
#define BASE_PRIORITY_H

/* Of a worker, and of main: it comes to its turn soon after it is woken,
 * whatever the loader is at (Linux 6.12; before that, as all processes do).
 * Takes nothing from the share of others. */
void priority_answer(void);

/* Of a loader beside workers that serve: its share is the smaller one and it
 * interrupts no worker, but it comes to its turn soon after it is woken. */
void priority_publish(void);

/* Of a thread that reads zones beside workers that serve, and of those it makes
 * later: it interrupts nobody, and has the smaller share. */
void priority_load(void);

#endif
