/* The files of the page (src/console/page), linked into the program, and their answers with
 * the headers that keep everything else out of it. Thread: any; nothing here waits. */
#ifndef CONSOLE_CON_PAGE_H
#define CONSOLE_CON_PAGE_H

#include "httpd/hd_request.h"

#define CON_PAGE_ETAG_BYTES 20

typedef struct con_page_file {
    const char *name; /* "index.html" */
    const char *type;
    tk_str bytes; /* static */
    char etag[CON_PAGE_ETAG_BYTES];
} con_page_file;

/* Returns the files, *n of them; the first one is the page itself. */
const con_page_file *con_page_files(size_t *n);

/* Answers with the page itself. */
hd_verdict con_page_index(hd_request *request);

/* Answers with the file that the first parameter of the path names; 404. */
hd_verdict con_page_file_get(hd_request *request);

/* Returns whether the client is a browser that asks for a page (Accept: text/html). */
bool con_page_is_wanted(const hd_request *request);

#endif
