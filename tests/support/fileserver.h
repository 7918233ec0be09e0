/* A server of one file on the loopback, with ranges, made for being interrupted: the test
 * decides for each request what is sent and where it breaks off. One thread, one
 * connection at a time, closed after its answer. Content comes from a function, so that
 * gigabytes cost no memory. */
#ifndef SUPPORT_FILESERVER_H
#define SUPPORT_FILESERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fileserver fileserver;

/* The answer to one request; filled with the default, then changed by `decide`. */
typedef struct fileserver_reply {
    int status;           /* 200; 206 follows from a range */
    const char *etag;     /* NULL: none */
    const char *headers;  /* more lines, each ending in CRLF; may be NULL */
    uint64_t cut;         /* the connection ends before this offset of the file */
    bool reset;           /* with RST instead of FIN */
    bool ignore_range;    /* the whole file, whatever was asked */
    bool no_length;       /* the end of the connection ends the body */
    uint64_t wrong_range; /* added to the first byte named in Content-Range */
    const char *text;     /* this instead of the file; static */
} fileserver_reply;

#define FILESERVER_NO_CUT UINT64_MAX

typedef struct fileserver_options {
    uint64_t size;
    void (*read)(void *user, uint64_t offset, char *p, size_t n);
    /* Called with each request, numbered from 0, and its head; may be NULL. */
    void (*decide)(void *user, size_t index, const char *head, fileserver_reply *reply);
    void *user;
} fileserver_options;

fileserver *fileserver_start(const fileserver_options *options);
void fileserver_stop(fileserver **server);            /* accepts NULL */
const char *fileserver_url(const fileserver *server); /* "http://127.0.0.1:PORT/file" */
size_t fileserver_requests(fileserver *server);
size_t fileserver_ranges(fileserver *server); /* of them, with a Range header */
uint64_t fileserver_sent(fileserver *server); /* bytes of bodies */

#endif
