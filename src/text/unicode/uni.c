/* Expands the property table from its ranges, once per process, and searches the ranges
 * for the planes that are not expanded. */
#include "text/unicode/uni.h"

#include <string.h>

#include "base/thread.h"

uint8_t tk_uni_flat[TK_UNI_FLAT];

static void expand(void)
{
    for (size_t i = 0; i < tk_uni_n_starts; i++) {
        uint32_t begin = tk_uni_starts[i] >> 8;
        uint32_t end = i + 1 < tk_uni_n_starts ? tk_uni_starts[i + 1] >> 8 : TK_UNI_FLAT;
        if (begin >= TK_UNI_FLAT) {
            return;
        }
        memset(tk_uni_flat + begin, (int)(tk_uni_starts[i] & 0xFF),
               TK_MIN(end, TK_UNI_FLAT) - begin);
    }
}

void tk_uni_ready(void)
{
    static tk_once once = TK_ONCE_INIT;
    tk_once_run(&once, expand);
}

uint8_t tk_uni_search(uint32_t c)
{
    size_t low = 0, high = tk_uni_n_starts; /* looks for the last start <= c */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (tk_uni_starts[middle] >> 8 <= c) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return (uint8_t)(tk_uni_starts[low] & 0xFF);
}

bool tk_uni_in(const uint32_t *ranges, size_t n, uint32_t c)
{
    size_t low = 0, high = n; /* how many of the numbers are <= c */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges[middle] <= c) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low % 2 == 1;
}
