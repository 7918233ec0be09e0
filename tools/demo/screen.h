/* The output of the demo: a progress line, a curve and a table. On a terminal the progress
 * line is overwritten; elsewhere it appears eight times. Thread: one. */
#ifndef DEMO_SCREEN_H
#define DEMO_SCREEN_H

#include <stddef.h>

/* Shows that step `done` of `total` has ended. */
void screen_progress(size_t done, size_t total, double loss);

/* Draws the loss of every step. */
void screen_curve(const double *losses, size_t n);

/* Shows a test item and its answers before and after training, cut to fit. */
void screen_row(const char *question, const char *before, const char *after);

#endif
