/* Preferences: a prompt with an answer that is chosen and one that is rejected, in the forms
 * that collections of them have. Each becomes two records with a prompt and a completion, which
 * data_shape.h reads. Thread: one. */
#ifndef CLI_DATA_PREFER_H
#define CLI_DATA_PREFER_H

#include "cli/data/data_shape.h"

/* Makes two records {"prompt", "completion"} of a preference: out[0] has the chosen answer,
 * out[1] the rejected one. Forms:
 *
 *   {"prompt": TEXT, "chosen": TEXT, "rejected": TEXT}          texts
 *   {"prompt": TEXT | MESSAGES, "chosen": MESSAGES, "rejected": MESSAGES}
 *   {"chosen": MESSAGES, "rejected": MESSAGES}                  whole conversations
 *   {"chosen": TEXT, "rejected": TEXT}                          "\n\nHuman: ...\n\nAssistant: ..."
 *   {"question" | "instruction": TEXT, ...}                     a message of the user
 *   {"messages" | "conversations": TURNS, ...}
 *
 * MESSAGES may also be one message, or turns with "from" and "value". `problem` is "" or says
 * why the record cannot be used. The values are in the arena or in the record.
 * TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code data_prefer_read(tk_json out[2], char problem[DATA_PROBLEM_BYTES],
                                         const tk_json *record, tk_arena *arena);

#endif
