/* What the demo shows: a progress line, a curve, a table. On a terminal the progress line
 * is written over itself; elsewhere some lines are printed. Thread: one. */
#ifndef DEMO_SCREEN_H
#define DEMO_SCREEN_H

#include <stddef.h>

/* Step `done` of `total` has ended. */
void screen_progress(size_t done, size_t total, double loss);

/* The loss of every step, as a curve of characters. */
void screen_curve(const double *losses, size_t n);

/* One item of the test before and after training; answers are cut to fit. */
void screen_row(const char *question, const char *before, const char *after);

#endif
