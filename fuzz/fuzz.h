/* What a fuzz target defines, and what it calls. Thread: one. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Between the records of an input. */
#define FUZZ_SEPARATOR "\n\x1e\x1e\n"

/* Defined by each target: runs one record and returns 0. Calls fuzz_fail when a promise is
 * broken: that, a sanitizer report, a hang or a leak is a finding. */
int fuzz_record(const uint8_t *data, size_t size);

/* How many records were run (records.c). */
extern size_t fuzz_records;

static inline void fuzz_fail(const char *what)
{
    fprintf(stderr, "finding: %s\n", what);
    abort();
}

#endif
