/* Writes a conversation for a chat template in the form that the template may want, and
 * looks for what a template left out. Thread: any. */
#ifndef CLI_DATA_FORM_H
#define CLI_DATA_FORM_H

#include "cli/data/data_shape.h"

/* Flags. The usual form has content as one text and the arguments of tool calls as
 * objects, as transformers recommends. */
typedef enum data_form {
    DATA_FORM_USUAL = 0,
    DATA_FORM_TEXT_ARGS = 1, /* arguments as text, as OpenAI writes them */
    DATA_FORM_PARTS = 2,     /* content in parts, where the data has parts */
    DATA_FORMS = 4
} data_form;

typedef struct data_features {
    bool has_tools; /* definitions, calls or results of tools */
    bool has_parts; /* content in parts */
} data_features;

void data_form_features(data_features *out, const data_example *example);

/* Appends {"messages": [...], variables}. TINKC_E_NOMEM, TINKC_E_LIMIT. */
TK_NODISCARD tinkc_code data_form_write(tk_buf *out, const data_example *example,
                                        data_form form);

/* Returns whether the rendered text has the text of every content part. A template that
 * expects parts and gets a text may leave it out without an error. */
bool data_form_has_parts(const data_example *example, tk_str text);

/* Returns what the rendered text does not mention: "the tools" or "the tool calls"
 * (static), or NULL. Tools and calls are looked for by the names of their functions. */
const char *data_form_missing(const data_example *example, tk_str text);

#endif
