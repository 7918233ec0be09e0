/* What `tinkc doctor` finds out about the network without the library, so that it can say
 * which part of the path is broken. */
#ifndef CLI_CMD_DOCTOR_NET_H
#define CLI_CMD_DOCTOR_NET_H

#include "base/tk.h"

#define DOCTOR_TEXT_BYTES 300
#define DOCTOR_HOST_BYTES 256

typedef struct doctor_url {
    bool is_https;
    char host[DOCTOR_HOST_BYTES]; /* without brackets */
    char port[8];
} doctor_url;

/* Parses "http[s]://[user@]host[:port][/...]"; returns false for anything else. */
bool doctor_url_parse(doctor_url *out, const char *text);

bool doctor_url_is_loopback(const doctor_url *url);

/* Finds the proxy for a URL: the library's option if it is set, else the environment as
 * libcurl reads it. Returns false if there is none. *from is set to the source;
 * static. */
bool doctor_proxy(doctor_url *out, const char **from, const doctor_url *url,
                  const char *proxy, const char *no_proxy);

/* Writes the addresses of a host into `text`; returns false, with the reason in `text`,
 * when there are none. */
bool doctor_resolve(char text[DOCTOR_TEXT_BYTES], const doctor_url *url);

/* Returns whether one of its addresses accepts a connection within `timeout_ms`; `text`
 * says which, or why not. */
bool doctor_connect(char text[DOCTOR_TEXT_BYTES], const doctor_url *url, int timeout_ms);

#endif
