/* heap_report.h - how much a process of a server that is tested has taken of
 * the C library and not given back. */
#ifndef TESTS_HEAP_REPORT_H
#define TESTS_HEAP_REPORT_H

/*
 * From now on this process, and each that it forks, answers SIGRTMIN + 1 with
 * the file DIR/heap.PID: octets in use, those free in pages that are kept.
 * DIR is NSD_HEAP_REPORTS of the environment; without it nothing is changed.
 * For processes at rest: one that was within malloc would wait for itself.
 */
void heap_report_init(void);

#endif
