/* Reads files of training data into a set: unpacks them, recognises their formats, cuts
 * them into records, and encodes and checks each. Nothing is kept but the tokens.
 *
 * A record that cannot be trained on is a problem: it is reported with its line, and
 * reading continues, so that one run shows all problems. Thread: one. */
#ifndef CLI_DATA_LOAD_H
#define CLI_DATA_LOAD_H

#include "base/sha256.h"
#include "cli/data/data_detect.h"
#include "cli/data/data_set.h"

/* Takes a problem or, with is_problem false, a warning about an example that is still
 * used. */
typedef void (*data_report_fn)(void *user, const char *path, size_t line, bool is_problem,
                               const char *text);

/* Takes the part of a file that was read, 0 to 1, or a negative number, and the number of
 * records so far. */
typedef void (*data_progress_fn)(void *user, const char *path, double done,
                                 size_t records);

/* What the records are read as. */
typedef enum data_want {
    DATA_EXAMPLES = 0, /* to train on */
    DATA_PREFERENCES,  /* each becomes two rows: the chosen answer, the rejected one */
    DATA_PROMPTS       /* to answer; of a plain text each line is one */
} data_want;

typedef struct data_source {
    data_want want;
    const tinkc_tokenizer *tokenizer; /* NULL: only the formats are checked */
    const tinkc_chat_template *tpl;   /* NULL: conversations are problems */
    size_t max_tokens;                /* longer examples are problems; 0: no limit */
    tinkc_loss_on loss_on;            /* of conversations */
    data_kind kind;                   /* the only one accepted, or DATA_ANY */
    data_file_kind file_kind;
    tk_sha256 *digest; /* of all unpacked bytes; or NULL */
    data_report_fn report;
    data_progress_fn progress; /* or NULL */
    void *user;
} data_source;

/* What was found in one file. */
typedef struct data_file {
    const char *path; /* borrowed */
    data_layout layout;
    size_t kinds[DATA_KINDS]; /* records of each kind that can be used */
    size_t problems;
} data_file;

/* Reads one file ("-": standard input) and appends its rows to the set; `index` is the
 * number of the file, for the rows. Problems are reported and counted; they are not a
 * failure. TINKC_E_IO, TINKC_E_PARSE, TINKC_E_UNSUPPORTED: not a file of training data;
 * TINKC_E_LIMIT, TINKC_E_NOMEM; the text names the file. */
TK_NODISCARD tinkc_code data_load(data_set *set, data_file *out,
                                  const data_source *source, const char *path,
                                  size_t index, tk_err *err);

/* Opens a file, recognises it and closes it: what can be said before anything else is
 * done. Standard input is left alone. Errors as data_load. */
TK_NODISCARD tinkc_code data_load_probe(const char *path, data_file_kind kind,
                                        tk_err *err);

#endif
