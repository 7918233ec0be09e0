/* JSON files that hold keys: the credentials file and the profiles. They are refused when
 * their mode lets others use them, and their content is hostile input like any other.
 * Blocking. Thread: any. */
#ifndef CLIENT_OWNER_FILE_H
#define CLIENT_OWNER_FILE_H

#include "base/err.h"
#include "base/json.h"
#include "base/tk.h"

typedef struct tk_owner_file {
    const tk_json *json; /* NULL: there is no such file */
    char *text;          /* what the JSON was read from */
    size_t n;
    tk_arena arena; /* of the JSON */
} tk_owner_file;

/* Reads the file. *out needs tk_owner_file_dispose afterwards, also after a failure.
 * TINKC_E_CONFIG when others than the owner can use the file, or when it is not JSON;
 * TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code tk_owner_file_read(tk_owner_file *out, const char *path,
                                           tk_err *err);

/* Wipes and frees it. */
void tk_owner_file_dispose(tk_owner_file *file);

#endif
