/* Shared by the files of `tinkc doctor`: what it finds out about the network without the
 * library, so that it can say which part of the way is broken. */
#ifndef CLI_CMD_DOCTOR_H
#define CLI_CMD_DOCTOR_H

#include "base/tk.h"

#define DOCTOR_TEXT_BYTES 300
#define DOCTOR_HOST_BYTES 256

typedef struct doctor_url {
    bool is_https;
    char host[DOCTOR_HOST_BYTES]; /* without brackets */
    char port[8];
} doctor_url;

/* "http[s]://[user@]host[:port][/...]"; false for anything else. */
bool doctor_url_parse(doctor_url *out, const char *text);

bool doctor_url_is_loopback(const doctor_url *url);

/* The proxy for a URL: the library's option when it is set, else by the environment as
 * libcurl reads it; false for none. *from says where it came from; static. */
bool doctor_proxy(doctor_url *out, const char **from, const doctor_url *url,
                  const char *proxy, const char *no_proxy);

/* Addresses of a host into `text`; false, with the reason there, when there are none. */
bool doctor_resolve(char text[DOCTOR_TEXT_BYTES], const doctor_url *url);

/* Whether one of its addresses accepts a connection within `timeout_ms`. */
bool doctor_connect(char text[DOCTOR_TEXT_BYTES], const doctor_url *url, int timeout_ms);

#endif
