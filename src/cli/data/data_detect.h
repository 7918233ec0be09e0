/* Recognises what a file of training data is by its name and its first bytes. */
#ifndef CLI_DATA_DETECT_H
#define CLI_DATA_DETECT_H

#include "base/err.h"
#include "cli/data/data_split.h"

/* What --input-format says about files. */
typedef enum data_file_kind {
    DATA_ANY_FILE,
    DATA_JSON_FILE,
    DATA_CSV_FILE,
    DATA_PLAIN_FILE
} data_file_kind;

typedef struct data_detected {
    data_layout layout;
    char separator; /* of CSV */
    size_t skip;    /* bytes before the text: a byte order mark */
} data_detected;

/* Recognises the file of this name with these first bytes, unpacked. TINKC_E_UNSUPPORTED:
 * a format that is not read, with the command that converts it. TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code data_detect(data_detected *out, const char *path, tk_str head,
                                    data_file_kind kind, tk_err *err);

#endif
