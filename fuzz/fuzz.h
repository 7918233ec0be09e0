/* What a fuzz target defines. It returns 0, and calls fuzz_fail when a promise is broken:
 * that, a sanitizer report, a hang or a leak is a finding. Thread: one. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_fail(const char *what)
{
    fprintf(stderr, "finding: %s\n", what);
    abort();
}

#endif
