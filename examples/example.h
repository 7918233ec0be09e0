/* Shared by the examples but the first and the last: the model that they use, and what
 * they do about errors. An example ends at the first one; 01_hello.c shows the way of a
 * program that must go on. Nothing else is hidden here. Thread: the main one. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <stdio.h>
#include <stdlib.h>

#include <tinkc/tinkc.h>

#define MODEL "tinkc/pebble-llama-2m"

/* Where every call of an example writes its error. */
static tinkc_error *err;

/* Ends the program with the text of the error unless `code` is TINKC_OK. */
static inline void check(tinkc_code code)
{
    if (code != TINKC_OK) {
        fprintf(stderr, "%s: %s\n", tinkc_code_name(code), tinkc_error_message(err));
        tinkc_error_free(&err);
        exit(1);
    }
}

/* Ends the program unless the condition holds. */
static inline void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "expected: %s\n", what);
        exit(1);
    }
}

#endif
