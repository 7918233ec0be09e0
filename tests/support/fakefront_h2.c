/* HTTP/2 of the front: nghttp2 reads the frames; each whole request goes to the peer as
 * HTTP/1.1 on a separate connection, and what the peer sends until it closes becomes the
 * answer. Answers are passed on whole: what the peer broke off, or framed wrongly, is a
 * reset of the stream. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/fakefront_int.h"

#define READ_BYTES  16384
#define FIELDS_MAX  64
#define STREAMS_MAX 1000

/* ---- the request ---- */

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame,
                            void *user)
{
    fakefront_conn *conn = user;
    if (frame->hd.type != NGHTTP2_HEADERS) {
        return 0;
    }
    fakefront_stream *stream = fakeapi_alloc(sizeof(*stream));
    stream->conn = conn;
    stream->id = frame->hd.stream_id;
    stream->fd = -1;
    stream->next = conn->streams;
    conn->streams = stream;
    conn->streams_n++;
    _Atomic size_t *peak = &conn->front->peak_streams;
    if (conn->streams_n > atomic_load(peak)) {
        atomic_store(peak, conn->streams_n); /* this thread is the only writer */
    }
    nghttp2_session_set_stream_user_data(session, stream->id, stream);
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame,
                     const uint8_t *name, size_t name_n, const uint8_t *value,
                     size_t value_n, uint8_t flags, void *user)
{
    fakefront_stream *s =
        nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    const char *key = (const char *)name; /* NUL-terminated by nghttp2 */
    if (s == NULL || strcmp(key, ":scheme") == 0 || strcmp(key, "content-length") == 0) {
        return 0;
    }
    if (strcmp(key, ":method") == 0) {
        fakeapi_bytes_put(&s->method, value, value_n);
    } else if (strcmp(key, ":path") == 0) {
        fakeapi_bytes_put(&s->target, value, value_n);
    } else if (strcmp(key, ":authority") == 0) {
        fakeapi_bytes_put(&s->host, value, value_n);
    } else {
        fakeapi_bytes_put(&s->lines, name, name_n);
        fakeapi_bytes_puts(&s->lines, ": ");
        fakeapi_bytes_put(&s->lines, value, value_n);
        fakeapi_bytes_puts(&s->lines, "\r\n");
    }
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id,
                   const uint8_t *data, size_t n, void *user)
{
    fakefront_stream *stream = nghttp2_session_get_stream_user_data(session, id);
    if (stream != NULL) {
        fakeapi_bytes_put(&stream->body, data, n);
    }
    return 0;
}

static void ask_peer(fakefront_stream *s)
{
    const char *method = fakeapi_bytes_cstr(&s->method);
    fakeapi_bytes_printf(&s->request,
                         "%s %s HTTP/1.1\r\nhost: %s\r\nconnection: close\r\n", method,
                         fakeapi_bytes_cstr(&s->target), fakeapi_bytes_cstr(&s->host));
    fakeapi_bytes_printf(&s->request,
                         "x-front-protocol: h2\r\nx-front-connection: %zu\r\n",
                         s->conn->number);
    if (s->body.n > 0 || strcmp(method, "GET") != 0) {
        fakeapi_bytes_printf(&s->request, "content-length: %zu\r\n", s->body.n);
    }
    fakeapi_bytes_put(&s->request, s->lines.p, s->lines.n);
    fakeapi_bytes_puts(&s->request, "\r\n");
    fakeapi_bytes_put(&s->request, s->body.p, s->body.n);
    s->fd = fakefront_call_peer(s->conn->front);
}

/* What the options say about every nth request; whether it goes to the peer. */
static bool make_trouble(fakefront_stream *s)
{
    const fakefront_options *options = &s->conn->front->options;
    nghttp2_session *session = s->conn->h2;
    size_t n = ++s->conn->front->requests_n;
    if (options->kill_every != 0 && n % options->kill_every == 0) {
        (void)nghttp2_session_terminate_session2(session, 0, NGHTTP2_NO_ERROR);
        return false;
    }
    if (options->refuse_every != 0 && n % options->refuse_every == 0) {
        (void)nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, s->id,
                                        NGHTTP2_REFUSED_STREAM);
        return false;
    }
    if (options->goaway_every != 0 && n % options->goaway_every == 0) {
        (void)nghttp2_submit_goaway(session, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_NO_ERROR,
                                    NULL, 0);
    }
    return true;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    fakefront_conn *conn = user;
    bool is_request = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (!is_request || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) {
        return 0;
    }
    fakefront_stream *stream =
        nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (conn->front->options.talk == FAKEFRONT_GOAWAY) {
        (void)nghttp2_session_terminate_session(session, NGHTTP2_INTERNAL_ERROR);
    } else if (conn->front->options.talk == FAKEFRONT_HANG_UP) {
        conn->is_last = true;
    } else if (stream != NULL && make_trouble(stream)) {
        ask_peer(stream);
    }
    return 0;
}

/* The end of a stream, whichever side ended it; the loop may still hold it in its poll
 * set. */
static int on_close(nghttp2_session *session, int32_t id, uint32_t code, void *user)
{
    fakefront_conn *conn = user;
    fakefront_stream *stream = nghttp2_session_get_stream_user_data(session, id);
    if (stream != NULL && !stream->is_over) {
        stream->is_over = true;
        conn->streams_n--;
        if (stream->fd >= 0) {
            close(stream->fd);
            stream->fd = -1;
        }
    }
    return 0;
}

/* ---- the answer ---- */

typedef struct parsed {
    int status;
    nghttp2_nv fields[FIELDS_MAX];
    size_t fields_n;
    char status_text[16];
    bool is_chunked;
    bool has_length;
    size_t length;
} parsed;

static void add_field(parsed *p, char *name, char *value)
{
    if (p->fields_n < FIELDS_MAX) {
        p->fields[p->fields_n++] =
            (nghttp2_nv){(uint8_t *)(void *)name, (uint8_t *)(void *)value, strlen(name),
                         strlen(value), NGHTTP2_NV_FLAG_NONE};
    }
}

static void read_line(parsed *p, char *line)
{
    char *value = strchr(line, ':');
    if (value == NULL) {
        return;
    }
    *value++ = '\0';
    value += strspn(value, " ");
    for (char *c = line; *c != '\0'; c++) {
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c + 32 : *c);
    }
    if (strcmp(line, "transfer-encoding") == 0) {
        p->is_chunked = true;
    } else if (strcmp(line, "content-length") == 0) {
        p->has_length = true;
        p->length = strtoul(value, NULL, 10);
        add_field(p, line, value);
    } else if (strcmp(line, "connection") != 0 && strcmp(line, "keep-alive") != 0) {
        add_field(p, line, value);
    }
}

/* Cuts one head off *at; false when there is none. The answer ends in NUL. */
static bool read_head(parsed *p, char **at)
{
    char *end = strstr(*at, "\r\n\r\n");
    if (end == NULL || strncmp(*at, "HTTP/1.", 7) != 0) {
        return false;
    }
    *p = (parsed){.status = (int)strtol(*at + 9, NULL, 10)};
    (void)snprintf(p->status_text, sizeof(p->status_text), "%d", p->status);
    static char key[] = ":status";
    add_field(p, key, p->status_text);
    end[0] = '\0';
    char *line = strstr(*at, "\r\n");
    while (line != NULL) {
        line += 2;
        char *next = strstr(line, "\r\n");
        if (next != NULL) {
            *next = '\0';
        }
        read_line(p, line);
        line = next;
    }
    *at = end + 4;
    return true;
}

/* Puts a chunked body together; false when it was cut. */
static bool join_chunks(fakeapi_bytes *out, const char *p, size_t n)
{
    for (;;) {
        const char *line_end = memmem(p, n, "\r\n", 2);
        if (line_end == NULL) {
            return false;
        }
        size_t size = strtoul(p, NULL, 16);
        size_t head = (size_t)(line_end - p) + 2;
        if (size == 0) {
            return true;
        }
        if (n - head < size + 2) {
            return false;
        }
        fakeapi_bytes_put(out, p + head, size);
        p += head + size + 2;
        n -= head + size + 2;
    }
}

static ssize_t give_body(nghttp2_session *session, int32_t id, uint8_t *buffer, size_t n,
                         uint32_t *flags, nghttp2_data_source *source, void *user)
{
    fakefront_stream *s = source->ptr;
    n = TK_MIN(n, s->content_n - s->content_done);
    if (n > 0) {
        memcpy(buffer, s->content + s->content_done, n);
    }
    s->content_done += n;
    if (s->content_done == s->content_n) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    }
    return (ssize_t)n;
}

/* The peer's answer is in s->answer. False: it is not a whole answer. */
static bool submit_answer(fakefront_stream *s)
{
    parsed p;
    (void)fakeapi_bytes_cstr(&s->answer);
    char *at = s->answer.p;
    do {
        if (!read_head(&p, &at)) {
            return false;
        }
    } while (p.status < 200); /* "100 Continue" */
    s->content = at;
    s->content_n = s->answer.n - (size_t)(at - s->answer.p);
    if (p.is_chunked) {
        if (!join_chunks(&s->plain, s->content, s->content_n)) {
            return false;
        }
        s->content = s->plain.p;
        s->content_n = s->plain.n;
    } else if (p.has_length && p.length != s->content_n) {
        return false;
    }
    nghttp2_data_provider body = {.source.ptr = s, .read_callback = give_body};
    return nghttp2_submit_response(s->conn->h2, s->id, p.fields, p.fields_n, &body) == 0;
}

static void on_peer_end(fakefront_stream *s, bool is_broken)
{
    close(s->fd);
    s->fd = -1;
    if (is_broken || !submit_answer(s)) {
        (void)nghttp2_submit_rst_stream(s->conn->h2, NGHTTP2_FLAG_NONE, s->id,
                                        NGHTTP2_INTERNAL_ERROR);
    }
}

void fakefront_h2_peer_ready(fakefront_stream *s, bool readable, bool writable)
{
    char buffer[READ_BYTES];
    if (s->fd < 0) {
        return;
    }
    if (writable) {
        ssize_t n =
            send(s->fd, s->request.p + s->sent, s->request.n - s->sent, MSG_NOSIGNAL);
        if (n > 0) {
            s->sent += (size_t)n;
        } else if (errno != EAGAIN) {
            s->sent = s->request.n; /* the answer may still be there to be read */
        }
    }
    if (readable) {
        ssize_t n = recv(s->fd, buffer, sizeof(buffer), 0);
        if (n > 0) {
            fakeapi_bytes_put(&s->answer, buffer, (size_t)n);
        } else if (n == 0 || errno != EAGAIN) {
            on_peer_end(s, n < 0);
        }
    }
}

/* ---- the session ---- */

void fakefront_h2_begin(fakefront_conn *conn)
{
    nghttp2_session_callbacks *callbacks = NULL;
    if (nghttp2_session_callbacks_new(&callbacks) != 0) {
        fakeapi_die("front: nghttp2");
    }
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, STREAMS_MAX}};
    if (nghttp2_session_server_new(&conn->h2, callbacks, conn) != 0 ||
        nghttp2_submit_settings(conn->h2, NGHTTP2_FLAG_NONE, settings, 1) != 0) {
        fakeapi_die("front: nghttp2");
    }
    nghttp2_session_callbacks_del(callbacks);
}

void fakefront_h2_feed(fakefront_conn *conn, const char *p, size_t n)
{
    if (nghttp2_session_mem_recv(conn->h2, (const uint8_t *)(const void *)p, n) < 0) {
        conn->is_last = true;
    }
}

static void free_stream(fakefront_stream *s)
{
    if (s->fd >= 0) {
        close(s->fd);
    }
    fakeapi_bytes *all[] = {&s->method, &s->target,  &s->host,   &s->lines,
                            &s->body,   &s->request, &s->answer, &s->plain};
    for (size_t i = 0; i < TK_ARRAY_LEN(all); i++) {
        fakeapi_bytes_dispose(all[i]);
    }
    fakeapi_release(s);
}

static void drop_streams(fakefront_conn *conn, bool all)
{
    fakefront_stream **at = &conn->streams;
    while (*at != NULL) {
        fakefront_stream *stream = *at;
        if (all || stream->is_over) {
            *at = stream->next;
            free_stream(stream);
        } else {
            at = &stream->next;
        }
    }
}

void fakefront_h2_pump(fakefront_conn *conn)
{
    if (conn->is_closed || conn->h2 == NULL) {
        return;
    }
    const uint8_t *p = NULL;
    ssize_t n;
    while ((n = nghttp2_session_mem_send(conn->h2, &p)) > 0) {
        fakeapi_bytes_put(&conn->out, p, (size_t)n);
    }
    if (n < 0 || (nghttp2_session_want_read(conn->h2) == 0 &&
                  nghttp2_session_want_write(conn->h2) == 0)) {
        conn->is_last = true;
    }
    drop_streams(conn, false);
}

void fakefront_h2_dispose(fakefront_conn *conn)
{
    if (conn->h2 != NULL) {
        nghttp2_session_del(conn->h2);
        conn->h2 = NULL;
    }
    drop_streams(conn, true);
}
