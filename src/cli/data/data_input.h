/* One file of training data, or standard input, as a stream of unpacked bytes. Files
 * packed with gzip, zstd, bzip2 or xz are recognised by their first bytes, whatever they
 * are called. Unpacking is bounded by a total and by a ratio (TK_DATA_*). Thread: one. */
#ifndef CLI_DATA_INPUT_H
#define CLI_DATA_INPUT_H

#include "base/err.h"
#include "base/sha256.h"
#include "base/str.h"

typedef struct data_input data_input;

/* Opens a file, or standard input for "-". The digest, unless NULL, is updated with every
 * unpacked byte; it is borrowed until the input is closed. The caller closes *out.
 * TINKC_E_IO: the file cannot be opened or read; TINKC_E_NOMEM; TINKC_E_PARSE: packed,
 * but broken. */
TK_NODISCARD tinkc_code data_input_open(data_input **out, const char *path,
                                        tk_sha256 *digest, tk_err *err);

/* Gives the next piece, borrowed until the next call; empty at the end. The first piece
 * is as long as the file or 64 KiB. TINKC_E_IO; TINKC_E_PARSE: the packed file is broken
 * or cut off; TINKC_E_LIMIT: it unpacks to too much; TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code data_input_read(data_input *input, tk_str *piece, tk_err *err);

/* Returns the part of the file that was read, 0 to 1; negative where the size is not
 * known. */
double data_input_done(const data_input *input);

/* Accepts a pointer to NULL. */
void data_input_close(data_input **input);

#endif
