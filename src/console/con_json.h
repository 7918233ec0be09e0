/* Members of the console's answers: hostile texts become UTF-8, what is not known becomes
 * null. Failures are those of the writer's buffer. Thread: any. */
#ifndef CONSOLE_CON_JSON_H
#define CONSOLE_CON_JSON_H

#include "base/json.h"
#include "console/con_data.h"
#include "httpd/hd_request.h"

#define CON_ANSWER_BYTES (256 * TK_MIB)

/* An answer that is being written: an object that is open. */
typedef struct con_answer {
    hd_request *request;
    tk_buf buf;
    tk_json_writer w;
} con_answer;

void con_json_begin(con_answer *answer, hd_request *request);
/* Closes the object and answers 200. */
hd_verdict con_json_reply(con_answer *answer);
/* Answers with an error instead. */
hd_verdict con_json_fail(con_answer *answer, const tk_err *err);

/* A string; bytes that are not UTF-8 become U+FFFD. */
void con_json_text(tk_json_writer *w, tk_str text);

/* Members. */
void con_json_str(tk_json_writer *w, const char *key, tk_str text); /* NULL gives null */
void con_json_int(tk_json_writer *w, const char *key, int64_t value); /* CON_UNKNOWN */
void con_json_uint(tk_json_writer *w, const char *key, uint64_t value);
void con_json_num(tk_json_writer *w, const char *key, double value); /* not finite */
void con_json_bool(tk_json_writer *w, const char *key, bool value);
/* A JSON object of another source: what does not parse gives null. */
void con_json_object(tk_json_writer *w, const char *key, tk_str json, tk_arena *arena);
void con_json_key(tk_json_writer *w, const char *key);

/* An element: the number, or null when it is not finite. */
void con_json_put_num(tk_json_writer *w, double value);

/* Reads an integer of the query in [min, max] into *out, which keeps its value when there is
 * none. Answers and returns false for another one. */
bool con_json_query_int(hd_request *request, const char *name, int64_t min, int64_t max,
                        int64_t *out);
/* The same for a number. */
bool con_json_query_num(hd_request *request, const char *name, double *out);

#endif
