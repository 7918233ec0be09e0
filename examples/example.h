/* Shared by the examples but the first: the model that they use, and what they do about
 * errors. An example ends at the first one; 01_hello.c shows the way of a program that
 * must go on. Nothing else is hidden here. Thread: any. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <stdio.h>
#include <stdlib.h>

#include <tinkc/tinkc.h>

#define MODEL "tinkc/pebble-llama-2m"

/* Ends the program with the error's text unless `code` is TINKC_OK. The call that gave
 * `code` wrote its error to *err. */
static inline void check(tinkc_code code, tinkc_error **err)
{
    if (code != TINKC_OK) {
        fprintf(stderr, "%s: %s\n", tinkc_code_name(code), tinkc_error_message(*err));
        tinkc_error_free(err);
        exit(1);
    }
}

/* Ends the program unless what must be so is so. */
static inline void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "expected: %s\n", what);
        exit(1);
    }
}

#endif
