/* Shared by the commands that read training data: the option --input-format, reading with
 * progress, and what people are told about files and bad lines. Thread: the main one. */
#ifndef CLI_DATA_READ_H
#define CLI_DATA_READ_H

#include <stdio.h>

#include "cli/data/data_files.h"
#include "cli/frame/cmd.h"

#define DATA_READ_WORDS 64 /* bytes of the name of a format */

/* Row for a table of options. */
#define DATA_READ_FORMAT                                                                 \
    {                                                                                    \
        "input-format", 0, CMD_CHOICE,                                                   \
            "auto|chat|completion|alpaca|sharegpt|qa|text|json|csv|plain",               \
            "Format of the records, or of the files (auto).", false                      \
    }

/* Sets the kinds that a word of --input-format (NULL: auto) asks for. */
void data_read_format(data_source *source, const char *word);

/* Adds the files that the words name, and looks at the first bytes of each. Returns CMD_OK,
 * or CMD_FAILED after an error line. */
int data_read_open(data_files *files, const char *const *words, size_t n,
                   const data_source *source);

/* Reads all files into the set, which the caller has initialised and disposes of, with
 * progress on a terminal. Shows the first bad lines as "FILE:LINE: REASON", and how many
 * more there are. Fills report, progress, user and digest of the source. `digest`, unless
 * NULL, becomes that of all unpacked bytes. Returns CMD_OK, also with bad lines, or
 * CMD_FAILED after an error line. */
int data_read(data_set *set, data_files *files, data_source *source,
              char digest[TK_SHA256_HEX_BYTES]);

/* Gives the digest of all unpacked bytes of the files, as data_read makes it. With standard
 * input among them, which can be read only once, *has is false. Returns CMD_OK, or
 * CMD_FAILED after an error line. */
int data_read_digest(char out[TK_SHA256_HEX_BYTES], bool *has, const data_files *files);

/* Shows "orders.jsonl: 104 conversations (OpenAI chat)" for each file. */
void data_read_show(FILE *to, const data_files *files);

/* Returns the number of records that can be used, in all files. */
size_t data_read_records(const data_files *files);

/* Returns the name of what was read, for a message: the file, or "the data". */
const char *data_read_name(const data_files *files);

/* Writes "OpenAI chat, JSON array" for the records of a kind in a file; returns `out`. */
const char *data_read_words(char out[DATA_READ_WORDS], const data_file *file,
                            data_kind kind);

#endif
