/* Means of the last steps, and the lowest of them.
 * Needs: text */
#include "cli/train/train_watch.h"

bool train_watch_add(train_watch *watch, double loss)
{
    double sum = 0;
    watch->last[watch->n++ % TRAIN_WATCH_STEPS] = loss;
    size_t n = TK_MIN(watch->n, TRAIN_WATCH_STEPS);
    for (size_t i = 0; i < n; i++) {
        sum += watch->last[i];
    }
    watch->mean = sum / (double)n;
    if (watch->n == 1 || watch->mean < watch->lowest) {
        watch->lowest = watch->mean;
    }
    bool explodes = watch->mean > 2 * watch->lowest + 1;
    bool is_first = explodes && !watch->has_alarmed;
    watch->has_alarmed = watch->has_alarmed || explodes;
    return is_first;
}
