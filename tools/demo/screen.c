/* Draws the progress line, the curve and the table of the demo with plain characters. */
#include "screen.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#define BAR     30
#define COLUMNS 60
#define ROWS    10

void screen_progress(size_t done, size_t total, double loss)
{
    size_t full = BAR * done / total;
    bool terminal = isatty(STDOUT_FILENO) == 1;
    if (!terminal && done % (total / 8) != 0 && done != total) {
        return;
    }
    printf("%s  step %3zu/%zu  [", terminal ? "\r" : "", done, total);
    for (size_t i = 0; i < BAR; i++) {
        (void)putchar(i < full ? '#' : '.');
    }
    printf("]  loss %.3f%s", loss, terminal && done < total ? " " : "\n");
    (void)fflush(stdout);
}

/* Returns the mean of the losses that share column `c`. */
static double column_mean(const double *losses, size_t n, size_t c, size_t columns)
{
    size_t begin = n * c / columns, end = n * (c + 1) / columns;
    double sum = 0;
    for (size_t i = begin; i < end; i++) {
        sum += losses[i];
    }
    return sum / (double)(end - begin);
}

void screen_curve(const double *losses, size_t n)
{
    size_t columns = n < COLUMNS ? n : COLUMNS;
    double means[COLUMNS], top = 0;
    for (size_t c = 0; c < columns; c++) {
        means[c] = column_mean(losses, n, c, columns);
        top = means[c] > top ? means[c] : top;
    }
    for (size_t r = ROWS; r > 0; r--) {
        double low = top * ((double)r - 1) / ROWS;
        printf("  %5.2f |", top * (double)r / ROWS);
        for (size_t c = 0; c < columns; c++) {
            bool here = means[c] > low && means[c] <= top * (double)r / ROWS;
            (void)putchar(here ? '*' : ' ');
        }
        (void)putchar('\n');
    }
    printf("   0.00 +");
    for (size_t c = 0; c < columns; c++) {
        (void)putchar('-');
    }
    printf(" step %zu\n", n);
}

void screen_row(const char *question, const char *before, const char *after)
{
    printf("  %-44.44s  %-20.20s  %.26s\n", question, before, after);
}
