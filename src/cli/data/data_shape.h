/* Recognises what a record of training data is and turns it into a conversation or a text:
 * OpenAI chat, prompt and completion as texts or as lists of messages (TRL), Alpaca,
 * ShareGPT, question and answer, plain text. Thread: one. */
#ifndef CLI_DATA_SHAPE_H
#define CLI_DATA_SHAPE_H

#include "base/json.h"

typedef enum data_kind {
    DATA_CHAT,       /* {"messages": [...]}, or the array itself */
    DATA_TURNS,      /* {"prompt": [messages], "completion": [messages]} */
    DATA_PAIR,       /* {"prompt": text, "completion": text} */
    DATA_ALPACA,     /* {"instruction", "input", "output"} */
    DATA_SHAREGPT,   /* {"conversations": [{"from", "value"}]} */
    DATA_QA,         /* {"question", "answer"} */
    DATA_TEXT,       /* {"text"} */
    DATA_PREFERENCE, /* {"prompt", "chosen", "rejected"}: data_prefer.h */
    DATA_PROMPT,     /* what a model is asked: data_prompt.h */
    DATA_KINDS,
    DATA_ANY = DATA_KINDS
} data_kind;

#define DATA_PROBLEM_BYTES 400

typedef struct data_example {
    data_kind kind;
    /* a conversation; or NULL */
    const tk_json *messages; /* each an object with a role */
    const tk_json *vars;     /* object: variables of the template, "tools"; or NULL */
    size_t given;            /* messages at the front that are never trained on */
    /* a text */
    tk_str prompt, completion; /* trained on is the completion */
} data_example;

/* Reads a record. `wanted` is the only kind that is accepted, or DATA_ANY. `problem` is ""
 * or says why the record cannot be used. Everything in *out is in the arena or in the
 * record. TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code data_shape_read(data_example *out,
                                        char problem[DATA_PROBLEM_BYTES],
                                        const tk_json *record, data_kind wanted,
                                        tk_arena *arena);

/* Returns whether a CSV file with these columns can be read. */
bool data_shape_knows(const tk_str *columns, size_t n);

/* Returns what examples of the kind are called ("conversation", "text"), and the name of
 * the format ("OpenAI chat"). Static. */
const char *data_shape_noun(data_kind kind);
const char *data_shape_name(data_kind kind);

/* Gives the kind of a word of --input-format ("alpaca"); false: there is none. */
bool data_shape_of_word(data_kind *out, const char *word);

#endif
