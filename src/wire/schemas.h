/* Every message of the API in one list, for code that walks over all of them: tests,
 * fuzzers, the schema document. */
#ifndef WIRE_SCHEMAS_H
#define WIRE_SCHEMAS_H

#include "wire/schema.h"

typedef enum tk_direction {
    TK_DIR_REQUEST,  /* body of a call */
    TK_DIR_RESPONSE, /* 2xx body of a call */
    TK_DIR_RESULT,   /* what a future resolves to, or an answer of retrieve_future */
    TK_DIR_PART      /* only inside other messages */
} tk_direction;

typedef struct tk_schemas_row {
    const tk_schema *schema;
    tk_direction direction;
    const char *call; /* "POST /api/v1/create_session"; "" for parts */
} tk_schemas_row;

extern const tk_schemas_row tk_schemas[];
extern const size_t tk_schemas_n;

#endif
