/* Files as symbols of the program, as srv_embed.c has them: one row of FILES for each.
 * CON_PAGE_DIR comes from CMake. */
#include "console/con_page.h"

#include <stdio.h>
#include <string.h>

#include "base/sha256.h"
#include "base/thread.h"
#include "httpd/hd_reply.h"

#define TYPE_HTML "text/html; charset=utf-8"
#define TYPE_CSS  "text/css; charset=utf-8"
#define TYPE_JS   "text/javascript; charset=utf-8"
#define TYPE_SVG  "image/svg+xml"

/* Symbol, file, type. The page itself is the first one. */
#define FILES(X)                                                                         \
    X(index, "index.html", TYPE_HTML)                                                    \
    X(style, "style.css", TYPE_CSS)                                                      \
    X(icon, "icon.svg", TYPE_SVG)                                                        \
    X(main, "main.js", TYPE_JS)                                                          \
    X(api, "api.js", TYPE_JS)                                                            \
    X(dom, "dom.js", TYPE_JS)                                                            \
    X(chart, "chart.js", TYPE_JS)                                                        \
    X(series, "series.js", TYPE_JS)                                                      \
    X(tokens, "tokens.js", TYPE_JS)                                                      \
    X(runs, "runs.js", TYPE_JS)                                                          \
    X(run, "run.js", TYPE_JS)                                                            \
    X(rollouts, "rollouts.js", TYPE_JS)                                                  \
    X(playground, "playground.js", TYPE_JS)                                              \
    X(server, "server.js", TYPE_JS)

#define EMBED(symbol, file, type)                                                        \
    __asm__(".section .rodata\n"                                                         \
            "con_file_" #symbol ":\n"                                                    \
            ".incbin \"" CON_PAGE_DIR "/" file "\"\n"                                    \
            "con_file_" #symbol "_end:\n"                                                \
            ".byte 0\n"                                                                  \
            ".previous\n");                                                              \
    extern const char con_file_##symbol[], con_file_##symbol##_end[];
FILES(EMBED)

#define COUNT(symbol, file, type) +1
#define N_FILES                   (0 FILES(COUNT))

#define POLICY                                                                           \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "      \
    "img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"

static con_page_file files[N_FILES];
static tk_once prepared = TK_ONCE_INIT;

static void set_file(con_page_file *file)
{
    char digest[TK_SHA256_HEX_BYTES];
    tk_err err = TK_ERR_INIT;
    if (tk_sha256_hex(digest, file->bytes.p, file->bytes.n, &err) == TINKC_OK) {
        (void)snprintf(file->etag, sizeof(file->etag), "\"%.16s\"", digest);
    }
}

static void prepare(void)
{
    size_t n = 0;
#define FILL(symbol, file, kind)                                                         \
    files[n++] = (con_page_file){                                                        \
        .name = file,                                                                    \
        .type = kind,                                                                    \
        .bytes = {con_file_##symbol,                                                     \
                  (size_t)(con_file_##symbol##_end - con_file_##symbol)},                \
    };
    FILES(FILL)
#undef FILL
    for (size_t i = 0; i < n; i++) {
        set_file(&files[i]);
    }
}

const con_page_file *con_page_files(size_t *n)
{
    tk_once_run(&prepared, prepare);
    *n = N_FILES;
    return files;
}

/* Whether If-None-Match names the tag; a list and "W/" are found, too. */
static bool is_known(const hd_request *request, const con_page_file *file)
{
    tk_str tags = hd_request_header(request, "If-None-Match");
    return tags.p != NULL && file->etag[0] != '\0' && strstr(tags.p, file->etag) != NULL;
}

static hd_verdict reply(hd_request *request, const con_page_file *file)
{
    bool known = is_known(request, file);
    (void)hd_reply_header(request, "Content-Security-Policy", POLICY);
    (void)hd_reply_header(request, "X-Content-Type-Options", "nosniff");
    (void)hd_reply_header(request, "Referrer-Policy", "no-referrer");
    (void)hd_reply_header(request, "Cache-Control", "no-cache");
    if (file->etag[0] != '\0') {
        (void)hd_reply_header(request, "ETag", file->etag);
    }
    return known ? hd_reply_empty(request, 304)
                 : hd_reply_fixed(request, 200, file->type, file->bytes);
}

hd_verdict con_page_index(hd_request *request)
{
    size_t n = 0;
    return reply(request, con_page_files(&n));
}

hd_verdict con_page_file_get(hd_request *request)
{
    size_t n = 0;
    const con_page_file *all = con_page_files(&n);
    for (size_t i = 1; i < n; i++) {
        if (tk_str_is(request->params[0], all[i].name)) {
            return reply(request, &all[i]);
        }
    }
    return hd_reply_fail(request, 404, "the console has no such file");
}

bool con_page_is_wanted(const hd_request *request)
{
    tk_str accept = hd_request_header(request, "Accept");
    return accept.p != NULL && strstr(accept.p, "text/html") != NULL;
}
