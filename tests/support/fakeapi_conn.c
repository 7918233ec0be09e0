/* One connection of the scripted peer: feeds the parser, asks the script or the handler
 * for an answer, and plays it with its pauses and faults. Each connection is a state
 * machine (`phase`); run() moves it until it has to wait for bytes, room, a permit or the
 * clock. Loop thread only, with the lock held. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/fakeapi_int.h"

#define READ_BYTES        ((size_t)64 * 1024)
#define READS_PER_TURN    16
#define PENDING_MAX_BYTES ((size_t)1024 * 1024) /* pipelined after a parked request */

void fakeapi_waiters_add(fakeapi_waiters *list, fakeapi_conn *conn)
{
    conn->waits_in = list;
    conn->wait_prev = list->last;
    conn->wait_next = NULL;
    if (list->last != NULL) {
        list->last->wait_next = conn;
    } else {
        list->first = conn;
    }
    list->last = conn;
    list->n++;
}

void fakeapi_waiters_remove(fakeapi_conn *conn)
{
    fakeapi_waiters *list = conn->waits_in;
    if (list == NULL) {
        return;
    }
    fakeapi_conn *prev = conn->wait_prev, *next = conn->wait_next;
    *(prev != NULL ? &prev->wait_next : &list->first) = next;
    *(next != NULL ? &next->wait_prev : &list->last) = prev;
    list->n--;
    conn->waits_in = NULL;
}

void fakeapi_conn_close(fakeapi_conn *conn, bool with_reset)
{
    fakeapi *api = conn->api;
    if (conn->phase == FAKEAPI_CLOSED) {
        return;
    }
    if (with_reset) {
        struct linger now = {.l_onoff = 1, .l_linger = 0};
        setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    }
    /* closing alone keeps it in the set while a child of fork has it open */
    (void)epoll_ctl(api->epoll_fd, EPOLL_CTL_DEL, conn->fd, NULL);
    close(conn->fd);
    conn->phase = FAKEAPI_CLOSED;
    conn->deadline_ns = 0;
    fakeapi_waiters_remove(conn);
    if (conn->entry != NULL) {
        fakeapi_record_end(api, conn->entry);
        conn->entry = NULL;
    }
    *(conn->prev != NULL ? &conn->prev->next : &api->conns) = conn->next;
    if (conn->next != NULL) {
        conn->next->prev = conn->prev;
    }
    conn->next = api->dead;
    api->dead = conn;
    api->open_n--;
    pthread_cond_broadcast(&api->changed);
}

void fakeapi_conn_free(fakeapi_conn *conn)
{
    fakeapi_http_dispose(&conn->http);
    fakeapi_bytes_dispose(&conn->pending);
    fakeapi_bytes_dispose(&conn->content);
    fakeapi_bytes_dispose(&conn->out);
    fakeapi_release(conn);
}

/* The client went away or broke; an answer under way is lost to it. */
static void client_left(fakeapi_conn *conn)
{
    conn->api->abandoned_n += conn->entry != NULL;
    fakeapi_conn_close(conn, false);
}

/* Sends what is due; false when it has to wait for room, or the connection is gone. */
static bool flush(fakeapi_conn *conn)
{
    while (conn->out_done < conn->out.n) {
        ssize_t n = send(conn->fd, conn->out.p + conn->out_done,
                         conn->out.n - conn->out_done, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN) {
            fakeapi_conn_watch(conn, conn->events | EPOLLOUT);
            return false;
        }
        if (n < 0 && errno != EINTR) {
            client_left(conn);
            return false;
        }
        conn->out_done += n > 0 ? (size_t)n : 0;
    }
    conn->out.n = conn->out_done = 0;
    if ((conn->events & EPOLLOUT) != 0) {
        fakeapi_conn_watch(conn, conn->events & ~(unsigned)EPOLLOUT);
    }
    return true;
}

/* ---- the request ---- */

static void begin_answer(fakeapi_conn *conn)
{
    conn->body_done = 0;
    conn->phase = FAKEAPI_AT_GATE;
}

static void set_content(fakeapi_conn *conn, fakeapi_answer *answer)
{
    fakeapi_bytes_dispose(&conn->content);
    conn->content = answer->body;
    conn->step.status = answer->status;
    conn->step.content_type = answer->content_type;
    conn->step.body = conn->content.p;
    conn->step.body_n = conn->content.n;
}

static void answer_not_found(const fakeapi_request *request, fakeapi_answer *out)
{
    out->status = 404;
    fakeapi_bytes_printf(&out->body, "{\"detail\":\"nothing scripted for %s %s\"}",
                         request->method, request->path);
}

static void on_request(fakeapi_conn *conn, bool is_whole)
{
    conn->keep_alive = conn->http.keep_alive && is_whole;
    conn->is_head_method = strcmp(conn->http.method, "HEAD") == 0;
    conn->entry = fakeapi_record_add(conn, is_whole);
    const fakeapi_request *request = fakeapi_record_request(conn->entry);
    if (!fakeapi_script_take(conn->api, request, &conn->step)) {
        const fakeapi_handler *handler = &conn->api->handler;
        fakeapi_answer answer = {.status = 200};
        conn->phase = FAKEAPI_AT_HANDLER;
        if (handler->answer == NULL) {
            answer_not_found(request, &answer);
        } else if (!handler->answer(handler->user, conn, request, &answer)) {
            return;
        }
        set_content(conn, &answer);
    }
    begin_answer(conn);
}

void fakeapi_conn_answer(fakeapi_conn *conn, fakeapi_answer *answer)
{
    fakeapi_waiters_remove(conn);
    conn->deadline_ns = 0;
    set_content(conn, answer);
    begin_answer(conn);
    fakeapi_conn_resume(conn);
}

/* Faults that strike before the body, and "100 Continue". */
static void on_head(fakeapi_conn *conn)
{
    const char *target = conn->http.target;
    char *path = fakeapi_dup(target, strcspn(target, "?"));
    fakeapi_http_unescape(path);
    fakeapi_step step;
    fakeapi_script_peek(conn->api, conn->http.method, path, &step);
    fakeapi_release(path);
    if (step.early || step.fault == FAKEAPI_RESET_EARLY) {
        on_request(conn, false);
    } else if (conn->http.expects_continue && !step.no_continue) {
        fakeapi_bytes_puts(&conn->out, "HTTP/1.1 100 Continue\r\n\r\n");
    }
}

static void on_bad_request(fakeapi_conn *conn)
{
    fakeapi_answer answer = {.status = conn->http.bad_status};
    fakeapi_bytes_printf(&answer.body, "{\"detail\":\"%s\"}", conn->http.bad_detail);
    conn->step = (fakeapi_step){.close = true, .early = true};
    conn->is_head_method = false;
    set_content(conn, &answer);
    begin_answer(conn);
}

/* False when more bytes are needed. */
static bool read_request(fakeapi_conn *conn)
{
    size_t used = 0;
    fakeapi_http_event event =
        fakeapi_http_feed(&conn->http, conn->pending.p, conn->pending.n, &used);
    fakeapi_bytes_drop_front(&conn->pending, used);
    switch (event) {
    case FAKEAPI_HTTP_MORE:
        return false;
    case FAKEAPI_HTTP_HEAD:
        on_head(conn);
        break;
    case FAKEAPI_HTTP_DONE:
        on_request(conn, true);
        break;
    case FAKEAPI_HTTP_BAD:
        on_bad_request(conn);
        break;
    }
    return true;
}

/* ---- the answer ---- */

static bool has_no_body(const fakeapi_conn *conn)
{
    return conn->is_head_method || conn->step.status == 204 || conn->step.status == 304;
}

static bool must_close(const fakeapi_conn *conn)
{
    const fakeapi_step *step = &conn->step;
    return step->close || step->http10 || step->early || !conn->keep_alive ||
           step->framing == FAKEAPI_UNTIL_CLOSE || step->framing == FAKEAPI_WRONG_LENGTH;
}

static void put_framing(fakeapi_conn *conn)
{
    const fakeapi_step *step = &conn->step;
    uint64_t length = step->body_n;
    switch (step->framing) {
    case FAKEAPI_WRONG_LENGTH:
        length = step->declared_length;
        /* fall through */
    case FAKEAPI_LENGTH:
        if (step->status != 204 && step->status != 304) {
            fakeapi_bytes_printf(&conn->out, "content-length: %llu\r\n",
                                 (unsigned long long)length);
        }
        break;
    case FAKEAPI_CHUNKED:
        fakeapi_bytes_puts(&conn->out, "transfer-encoding: chunked\r\n");
        break;
    case FAKEAPI_UNTIL_CLOSE:
        break;
    }
}

static void put_head(fakeapi_conn *conn)
{
    const fakeapi_step *step = &conn->step;
    int status = step->status != 0 ? step->status : 200;
    const char *type =
        step->content_type != NULL ? step->content_type : "application/json";
    if (step->send_100) {
        fakeapi_bytes_puts(&conn->out, "HTTP/1.1 100 Continue\r\n\r\n");
    }
    size_t start = conn->out.n;
    fakeapi_bytes_printf(&conn->out, "HTTP/1.%d %d %s\r\n", step->http10 ? 0 : 1, status,
                         fakeapi_http_reason(status));
    if (*type != '\0') {
        fakeapi_bytes_printf(&conn->out, "content-type: %s\r\n", type);
    }
    put_framing(conn);
    if (must_close(conn)) {
        fakeapi_bytes_puts(&conn->out, "connection: close\r\n");
    }
    if (step->headers != NULL) {
        fakeapi_bytes_puts(&conn->out, step->headers);
    }
    fakeapi_bytes_puts(&conn->out, "\r\n");
    if (step->fault == FAKEAPI_CUT_HEAD) {
        conn->out.n = start + (conn->out.n - start) / 2;
    }
}

/* How many body bytes leave before the end, good or bad. */
static size_t body_limit(const fakeapi_conn *conn)
{
    const fakeapi_step *step = &conn->step;
    if (has_no_body(conn) || step->fault == FAKEAPI_CUT_HEAD) {
        return 0;
    }
    bool is_cut = step->fault == FAKEAPI_CUT_BODY || step->fault == FAKEAPI_RESET_BODY ||
                  step->fault == FAKEAPI_STALL_BODY;
    return is_cut ? TK_MIN(step->cut, step->body_n) : step->body_n;
}

static void start_head(fakeapi_conn *conn)
{
    switch (conn->step.fault) {
    case FAKEAPI_RESET_EARLY:
    case FAKEAPI_RESET:
        fakeapi_conn_close(conn, true);
        return;
    case FAKEAPI_DROP:
        fakeapi_conn_close(conn, false);
        return;
    case FAKEAPI_NEVER:
        conn->phase = FAKEAPI_SILENT;
        return;
    case FAKEAPI_NONE:
    case FAKEAPI_CUT_HEAD:
    case FAKEAPI_CUT_BODY:
    case FAKEAPI_RESET_BODY:
    case FAKEAPI_STALL_BODY:
        put_head(conn);
        conn->phase = body_limit(conn) > 0 ? FAKEAPI_AT_DRIP : FAKEAPI_AT_END;
    }
}

/* Waits for the permit or the pause of the next piece. */
static void wait_for_piece(fakeapi_conn *conn)
{
    const fakeapi_step *step = &conn->step;
    conn->phase = FAKEAPI_AT_BODY;
    if (step->drip_gate != NULL) {
        (void)fakeapi_gate_pass(step->drip_gate, conn);
    } else if (step->drip > 0 && step->drip_ms > 0) {
        fakeapi_conn_alarm(conn, step->drip_ms);
    }
}

static void put_piece(fakeapi_conn *conn)
{
    const fakeapi_step *step = &conn->step;
    size_t limit = body_limit(conn);
    size_t n = limit - conn->body_done;
    n = step->drip > 0 ? TK_MIN(step->drip, n) : n;
    bool is_chunked = step->framing == FAKEAPI_CHUNKED;
    if (is_chunked) {
        fakeapi_bytes_printf(&conn->out, "%zx\r\n", n);
    }
    fakeapi_bytes_put(&conn->out, step->body + conn->body_done, n);
    if (is_chunked) {
        fakeapi_bytes_puts(&conn->out, "\r\n");
    }
    conn->body_done += n;
    conn->phase = conn->body_done < limit ? FAKEAPI_AT_DRIP : FAKEAPI_AT_END;
}

/* A polite close must not turn into a reset, which unread input would cause. */
static void close_politely(fakeapi_conn *conn)
{
    if (!conn->step.early && conn->pending.n == 0) {
        fakeapi_conn_close(conn, false);
        return;
    }
    shutdown(conn->fd, SHUT_WR);
    conn->phase = FAKEAPI_DRAINING;
}

static void finish(fakeapi_conn *conn)
{
    fakeapi_fault fault = conn->step.fault;
    if (fault == FAKEAPI_STALL_BODY) {
        conn->phase = FAKEAPI_SILENT;
        return;
    }
    if (fault != FAKEAPI_NONE) {
        fakeapi_conn_close(conn, fault == FAKEAPI_RESET_BODY);
        return;
    }
    if (conn->entry != NULL) {
        fakeapi_record_end(conn->api, conn->entry);
        conn->entry = NULL;
    }
    fakeapi_bytes_dispose(&conn->content);
    if (must_close(conn)) {
        close_politely(conn);
        return;
    }
    fakeapi_http_reset(&conn->http);
    conn->phase = FAKEAPI_READING;
    fakeapi_conn_watch(conn, EPOLLIN | EPOLLRDHUP);
}

/* The last chunk, which a cut body must not have. */
static void put_end(fakeapi_conn *conn)
{
    const fakeapi_step *step = &conn->step;
    bool is_chunked = step->framing == FAKEAPI_CHUNKED && step->fault == FAKEAPI_NONE;
    if (is_chunked && !has_no_body(conn)) {
        fakeapi_bytes_puts(&conn->out, "0\r\n\r\n");
    }
    conn->phase = FAKEAPI_AT_FINISH;
}

/* One move; false when the connection has to wait. */
static bool move(fakeapi_conn *conn)
{
    switch (conn->phase) {
    case FAKEAPI_READING:
        return read_request(conn);
    case FAKEAPI_AT_GATE:
        conn->phase = FAKEAPI_AT_DELAY;
        return conn->step.gate == NULL || fakeapi_gate_pass(conn->step.gate, conn);
    case FAKEAPI_AT_DELAY:
        conn->phase = FAKEAPI_AT_HEAD;
        if (conn->step.delay_ms > 0) {
            fakeapi_conn_alarm(conn, conn->step.delay_ms);
        }
        return true;
    case FAKEAPI_AT_HEAD:
        start_head(conn);
        return true;
    case FAKEAPI_AT_DRIP:
        wait_for_piece(conn);
        return true;
    case FAKEAPI_AT_BODY:
        put_piece(conn);
        return true;
    case FAKEAPI_AT_END:
        put_end(conn);
        return true;
    case FAKEAPI_AT_FINISH:
        finish(conn);
        return true;
    case FAKEAPI_AT_HANDLER:
    case FAKEAPI_SILENT:
    case FAKEAPI_DRAINING:
    case FAKEAPI_CLOSED:
        return false;
    }
    return false;
}

/* Everything queued so far is sent before the next move: a fault after a piece must not
 * overtake it. */
static void run(fakeapi_conn *conn)
{
    bool can_move = true;
    while (can_move && conn->phase != FAKEAPI_CLOSED) {
        can_move =
            flush(conn) && conn->waits_in == NULL && conn->deadline_ns == 0 && move(conn);
    }
}

void fakeapi_conn_resume(fakeapi_conn *conn)
{
    run(conn);
}

void fakeapi_conn_writable(fakeapi_conn *conn)
{
    run(conn);
}

/* Takes what has come; false when the connection is gone. */
static bool receive(fakeapi_conn *conn)
{
    char block[READ_BYTES];
    for (int turn = 0; turn < READS_PER_TURN; turn++) {
        ssize_t n = recv(conn->fd, block, sizeof(block), 0);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno != EAGAIN) {
            client_left(conn);
            return false;
        }
        if (n <= 0) {
            conn->has_eof = n == 0;
            return true;
        }
        if (conn->phase != FAKEAPI_DRAINING && conn->phase != FAKEAPI_SILENT) {
            fakeapi_bytes_put(&conn->pending, block, (size_t)n);
        }
        run(conn);
        if (conn->phase == FAKEAPI_CLOSED) {
            return false;
        }
        if (conn->pending.n > PENDING_MAX_BYTES) {
            fakeapi_conn_watch(conn, conn->events & ~(unsigned)EPOLLIN);
            return true;
        }
    }
    return true;
}

void fakeapi_conn_readable(fakeapi_conn *conn)
{
    if (receive(conn) && conn->has_eof) {
        client_left(conn);
    }
}
