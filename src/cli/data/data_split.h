/* Cuts the bytes of a file of training data into records: the lines of JSONL, the items of
 * a JSON array, the rows of CSV, or pieces of plain text. Takes the bytes in pieces of any
 * size and keeps no more than one record. Knows where a record ends, and nothing of what is
 * in it. Thread: one. */
#ifndef CLI_DATA_SPLIT_H
#define CLI_DATA_SPLIT_H

#include "base/buf.h"

/* How a file is divided into records. */
typedef enum data_layout {
    DATA_LINES,  /* a JSON value per line */
    DATA_VALUES, /* JSON values after one another, laid out over several lines */
    DATA_ARRAY,  /* one JSON array, whose items are the records */
    DATA_CSV,
    DATA_PLAIN /* text, in pieces that end with a line where they can */
} data_layout;

typedef struct data_split {
    data_layout layout;
    char separator;   /* of CSV cells */
    size_t line;      /* of the next byte, from 1 */
    size_t begin;     /* line on which the record begins; 0: it has not begun */
    tk_buf record;    /* owned: bytes of the record so far */
    bool is_too_long; /* the rest of the record is discarded */
    bool is_starved;  /* memory ran out; what follows is not to be trusted */
    bool is_ended;    /* the end was given */
    size_t bytes;     /* of the record, before the next byte */
    int state;        /* of the layout's scanner */
    size_t depth;     /* of brackets inside an item */
    bool in_string, is_escaped;
    char last; /* byte before the next one */
} data_split;

/* A record. `problem` is NULL, or what is wrong with it; then it has no text. */
typedef struct data_piece {
    size_t line;         /* on which it begins */
    tk_str text;         /* borrowed until the next call */
    const char *problem; /* static */
} data_piece;

/* The separator matters for CSV only. The caller disposes of the splitter. */
void data_split_init(data_split *split, data_layout layout, char separator);
void data_split_dispose(data_split *split);

/* Takes bytes from the front of *rest until a record is complete. Returns whether *out
 * has one; false: *rest is used up. Empty records are skipped. The
 * caller looks at is_starved after each call. */
bool data_split_next(data_split *split, tk_str *rest, data_piece *out);

/* Gives the record that the end of the file completes, or a problem, such as an array
 * without an end; once. Returns false when there is neither. */
bool data_split_end(data_split *split, data_piece *out);

#endif
