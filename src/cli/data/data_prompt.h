/* Prompts: what a model is asked, and the answer that is expected, if the record has one.
 * Reads every format that data_shape.h reads, and records without an answer. Thread: one. */
#ifndef CLI_DATA_PROMPT_H
#define CLI_DATA_PROMPT_H

#include "cli/data/data_shape.h"

/* Reads a prompt: `out` becomes a conversation that ends before the answer (`given` is all of
 * it), or a text in out->prompt. *answer is the text that is expected; {NULL, 0}: none.
 * A record that ends with a message of the assistant, or has a completion, an output, a
 * response or an answer, expects that. `problem` is "" or says why the record cannot be used.
 * TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code data_prompt_read(data_example *out, tk_str *answer,
                                         char problem[DATA_PROBLEM_BYTES],
                                         const tk_json *record, tk_arena *arena);

/* Makes a prompt of a line of text: a message of the user, or the text itself.
 * TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code data_prompt_line(data_example *out, tk_str line, bool is_message,
                                         tk_arena *arena);

#endif
