/* The credentials file of the official program (`tinker auth login`, `tinkc auth login`):
 * named API keys, one of them the default. Read only; docs/protocol.md §1.3 has its form.
 * Blocking. Thread: any. */
#ifndef CLIENT_CREDENTIALS_H
#define CLIENT_CREDENTIALS_H

#include "base/err.h"
#include "base/tk.h"

/* Where the file is in a home directory. */
#define TK_CREDENTIALS_NAME ".tinker/credentials.json"

/* Reads the default key of the file. *out is NULL when there is no file, or none of its
 * keys is the default; else the caller wipes and frees it. TINKC_E_CONFIG when others
 * than the owner can read the file, or when it is not such a file; TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code tk_credentials_read(char **out, const char *path, tk_err *err);

#endif
