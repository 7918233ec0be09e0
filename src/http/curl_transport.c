/* Shards of connections on one epoll. Loop thread only, except for creation.
 *
 * libcurl reports through two callbacks which sockets and which timeout each multi waits
 * for; curl_multi_socket_action reports back what happened. `done` is called while no
 * libcurl function is on the stack, so that it may submit and cancel. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/thread.h"
#include "http/curl_int.h"

#define EVENTS_PER_TURN   64
#define STREAMS_PER_CONN  50L
#define SOCKET_WAIT_MS    100 /* how long to wait before asking for a descriptor again */
#define IDLE_BODY_BYTES   (16 * TK_KIB) /* kept with an idle transfer */
#define HTTP2_WORKS       (-1)
#define HTTP2_TROUBLE_MAX 2

static tk_curl *self(tk_transport *transport)
{
    return TK_CONTAINER_OF(transport, tk_curl, base);
}

/* ---- shards ---- */

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *user, void *known)
{
    tk_curl_shard *shard = user;
    (void)easy;
    (void)known;
    if (what == CURL_POLL_REMOVE) {
        tk_curl_watch_end(shard->owner, fd);
        return 0;
    }
    uint32_t events =
        (what & CURL_POLL_IN ? EPOLLIN : 0U) | (what & CURL_POLL_OUT ? EPOLLOUT : 0U);
    tk_curl_watch_set(shard->owner, fd, shard->index, events);
    return 0;
}

static int on_timer(CURLM *multi, long timeout_ms, void *user)
{
    tk_curl_shard *shard = user;
    (void)multi;
    shard->timer_ms =
        timeout_ms < 0
            ? INT64_MAX
            : tk_clock_after(tk_clock_mono_ms(shard->owner->clock), timeout_ms);
    return 0;
}

static bool set_shard_options(tk_curl_shard *shard)
{
    size_t connections = shard->owner->options.max_connections[shard->group];
    long multiplex =
        shard->group == TK_HTTP_TRAIN ? CURLPIPE_NOTHING : CURLPIPE_MULTIPLEX;
    CURLM *multi = shard->multi;
    return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket) == CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, shard) == CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer) == CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_TIMERDATA, shard) == CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_PIPELINING, multiplex) == CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, STREAMS_PER_CONN) ==
               CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS,
                             (long)TK_CURL_SHARD_TRANSFERS) == CURLM_OK &&
           curl_multi_setopt(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, (long)connections) ==
               CURLM_OK;
}

static void free_shard(tk_curl_shard *shard)
{
    if (shard->multi != NULL) {
        curl_multi_cleanup(shard->multi);
    }
    tk_free(shard);
}

static tk_curl_shard *add_shard(tk_curl *curl, tk_http_group group)
{
    if (curl->shards_n == curl->shards_capacity) {
        size_t capacity = TK_MAX(curl->shards_capacity * 2, 8);
        tk_curl_shard **shards =
            tk_realloc_array(curl->shards, capacity, sizeof(*curl->shards));
        if (shards == NULL) {
            return NULL;
        }
        curl->shards = shards;
        curl->shards_capacity = capacity;
    }
    tk_curl_shard *shard = tk_zalloc(sizeof(*shard));
    if (shard == NULL) {
        return NULL;
    }
    shard->owner = curl;
    shard->group = group;
    shard->index = (uint32_t)curl->shards_n;
    shard->timer_ms = INT64_MAX;
    tk_list_init(&shard->transfers);
    shard->multi = curl_multi_init();
    if (shard->multi == NULL || !set_shard_options(shard)) {
        free_shard(shard);
        return NULL;
    }
    curl->shards[curl->shards_n++] = shard;
    return shard;
}

/* The group whose connections a request uses. Over plain HTTP a poll takes one that a sample
 * has left: a connection carries one request at a time there, so neither can hold up the
 * other, and hundreds of samples at once need half the connections. */
static tk_http_group home_of(const tk_curl *curl, tk_http_group group, bool is_tls)
{
    const size_t *most = curl->options.max_connections;
    bool joins = group == TK_HTTP_FUTURES && !is_tls && most[TK_HTTP_FUTURES] == 0 &&
                 most[TK_HTTP_SAMPLE] == 0;
    return joins ? TK_HTTP_SAMPLE : group;
}

/* A limit on the connections of a group only holds inside one multi, so such a group
 * stays on one shard. With TLS a shard holds what one HTTP/2 connection carries: with
 * more, libcurl opens a connection for each request that no longer fits on the first. */
static tk_curl_shard *pick_shard(tk_curl *curl, const tk_http_request *request)
{
    bool is_tls = strncmp(request->url, "https:", 6) == 0;
    tk_http_group group = home_of(curl, request->group, is_tls);
    bool single = curl->options.max_connections[group] != 0;
    size_t most = is_tls ? (size_t)STREAMS_PER_CONN : TK_CURL_SHARD_TRANSFERS;
    for (size_t i = 0; i < curl->shards_n; i++) {
        tk_curl_shard *shard = curl->shards[i];
        if (shard->group == group && (single || shard->active < most)) {
            return shard;
        }
    }
    return add_shard(curl, group);
}

/* ---- transfers ---- */

static void free_transfer(tk_curl_transfer *transfer)
{
    if (transfer->easy != NULL) {
        curl_easy_cleanup(transfer->easy);
    }
    tk_free(transfer->lines);
    tk_buf_dispose(&transfer->header_text);
    tk_buf_dispose(&transfer->body);
    tk_free(transfer);
}

/* Setting up an easy handle costs as much as a small request, so handles are kept; the
 * memory of a large answer is freed. */
static void put_away(tk_curl_transfer *transfer)
{
    tk_curl *curl = transfer->owner;
    if (curl->closing || curl->idle_n == TK_CURL_IDLE_TRANSFERS) {
        free_transfer(transfer);
        return;
    }
    if (transfer->body.capacity > IDLE_BODY_BYTES) {
        tk_buf_dispose(&transfer->body);
    }
    tk_buf_clear(&transfer->body);
    tk_buf_clear(&transfer->header_text);
    transfer->request = NULL;
    transfer->why = TK_HTTP_OK;
    transfer->is_absent = false;
    transfer->head_is_whole = false;
    transfer->head_was_told = false;
    transfer->sent = 0;
    transfer->out_of_sockets = false;
    transfer->error_text[0] = '\0';
    tk_list_push_front(&curl->idle, &transfer->node);
    curl->idle_n++;
}

static tk_curl_transfer *open_transfer(tk_curl *curl)
{
    tk_list *idle = tk_list_pop_front(&curl->idle);
    if (idle != NULL) {
        curl->idle_n--;
        return TK_CONTAINER_OF(idle, tk_curl_transfer, node);
    }
    tk_curl_transfer *transfer = tk_zalloc(sizeof(*transfer));
    if (transfer == NULL) {
        return NULL;
    }
    transfer->owner = curl;
    tk_list_init(&transfer->node);
    if (tk_curl_easy_open(transfer, NULL) != TINKC_OK) {
        free_transfer(transfer);
        return NULL;
    }
    return transfer;
}

static tk_curl_transfer *new_transfer(tk_curl *curl, tk_http_request *request)
{
    tk_curl_transfer *transfer = open_transfer(curl);
    if (transfer != NULL) {
        int64_t now = tk_clock_mono_ms(curl->clock);
        transfer->request = request;
        transfer->deadline_ms = request->timeout_ms >= 0
                                    ? tk_clock_after(now, request->timeout_ms)
                                    : TK_FOREVER;
    }
    return transfer;
}

/* Puts a set-up transfer on a shard. */
static tinkc_code start(tk_curl_transfer *transfer, tk_err *err)
{
    tk_curl_shard *shard = pick_shard(transfer->owner, transfer->request);
    if (shard == NULL ||
        curl_multi_add_handle(shard->multi, transfer->easy) != CURLM_OK) {
        return tk_err_nomem(err);
    }
    transfer->shard = shard;
    shard->active++;
    tk_list_remove(&transfer->node);
    tk_list_push_back(&shard->transfers, &transfer->node);
    return TINKC_OK;
}

/* Takes it off its shard, or off the waiting list. */
static void stop(tk_curl_transfer *transfer)
{
    if (transfer->shard != NULL) {
        curl_multi_remove_handle(transfer->shard->multi, transfer->easy);
        transfer->shard->active--;
        transfer->shard = NULL;
    }
    tk_list_remove(&transfer->node);
}

static tinkc_code curl_submit(tk_transport *transport, tk_http_request *request,
                              tk_err *err)
{
    tk_curl *curl = self(transport);
    if (curl->closing) {
        return tk_err_set(err, TINKC_E_CANCELLED, "the service is being closed");
    }
    tk_curl_transfer *transfer = new_transfer(curl, request);
    if (transfer == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = tk_curl_easy_setup(transfer, err);
    if (code == TINKC_OK) {
        code = start(transfer, err);
    }
    if (code != TINKC_OK) {
        free_transfer(transfer);
        return code;
    }
    request->impl = transfer;
    return TINKC_OK;
}

/* Notifies the owner, then puts the transfer away. No libcurl function is on the
 * stack. */
static void finish(tk_curl_transfer *transfer, tk_http_failure failure)
{
    tk_http_field fields[TK_CURL_FIELDS];
    tk_http_response response = {.failure = failure, .err = TK_ERR_INIT};
    tk_http_request *request = transfer->request;
    if (failure == TK_HTTP_OK) {
        tk_curl_easy_head(transfer, &response, fields, TK_CURL_FIELDS);
        response.body = tk_buf_str(&transfer->body);
    } else {
        const char *detail = transfer->error_text[0] != '\0' ? transfer->error_text : "";
        response.is_absent = transfer->is_absent;
        tk_err_set(&response.err, tk_http_failure_code(failure), "%s%s%s",
                   tk_http_failure_name(failure), detail[0] != '\0' ? ": " : "", detail);
    }
    request->impl = NULL;
    request->done(request, &response);
    put_away(transfer);
}

static void curl_cancel(tk_transport *transport, tk_http_request *request)
{
    (void)transport;
    tk_curl_transfer *transfer = request->impl;
    if (transfer != NULL) {
        stop(transfer);
        finish(transfer, TK_HTTP_CANCELLED);
    }
}

/* libcurl may hand over what it kept right here; the end is only noticed in `process`,
 * which its timer asks for. */
static void curl_resume(tk_transport *transport, tk_http_request *request)
{
    (void)transport;
    tk_curl_transfer *transfer = request->impl;
    if (transfer != NULL && transfer->shard != NULL) {
        (void)curl_easy_pause(transfer->easy, CURLPAUSE_CONT);
    }
}

/* ---- waiting for descriptors ---- */

/* Back to the waiting list: the file table was full. It starts afresh later. */
static void wait_for_socket(tk_curl *curl, tk_curl_transfer *transfer)
{
    transfer->out_of_sockets = false;
    transfer->why = TK_HTTP_OK;
    transfer->sent = 0;
    tk_buf_clear(&transfer->header_text);
    tk_buf_clear(&transfer->body);
    tk_list_push_back(&curl->waiting, &transfer->node);
    curl->waiting_until_ms =
        tk_clock_after(tk_clock_mono_ms(curl->clock), SOCKET_WAIT_MS);
}

static void retry_waiting(tk_curl *curl)
{
    int64_t now = tk_clock_mono_ms(curl->clock);
    curl->waiting_until_ms = INT64_MAX;
    tk_list again;
    tk_list_init(&again);
    tk_list_splice_back(&again, &curl->waiting);
    tk_list *node;
    while ((node = tk_list_pop_front(&again)) != NULL) {
        tk_curl_transfer *transfer = TK_CONTAINER_OF(node, tk_curl_transfer, node);
        if (now >= transfer->deadline_ms) {
            finish(transfer, TK_HTTP_TIMEOUT);
        } else if (!tk_curl_easy_set_timeouts(transfer) ||
                   start(transfer, NULL) != TINKC_OK) {
            finish(transfer, TK_HTTP_NOMEM);
        }
    }
}

/* ---- events ---- */

/* A group in which HTTP/2 never worked goes on over HTTP/1.1 after one framing error, or
 * two lost requests, which may have had another reason. Where it has worked, a failure is
 * one of the server or of the network, not of the protocol. */
static void judge_http2(tk_curl *curl, const tk_curl_transfer *transfer, CURLcode code)
{
    tk_http_group group = transfer->request->group;
    int *trouble = &curl->http2_trouble[group];
    long version = 0;
    if (*trouble == HTTP2_WORKS) {
        return;
    }
    switch ((int)code) {
    case CURLE_OK:
        curl_easy_getinfo(transfer->easy, CURLINFO_HTTP_VERSION, &version);
        *trouble = version == CURL_HTTP_VERSION_2_0 ? HTTP2_WORKS : 0;
        break;
    case CURLE_HTTP2:
        *trouble = HTTP2_TROUBLE_MAX;
        break;
    case CURLE_HTTP2_STREAM:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
        ++*trouble;
        break;
    default:
        break;
    }
    curl->http1_only[group] |= *trouble >= HTTP2_TROUBLE_MAX;
}

static void collect(tk_curl *curl, tk_curl_shard *shard)
{
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(shard->multi, &left)) != NULL) {
        if (message->msg != CURLMSG_DONE) {
            continue;
        }
        char *owner = NULL;
        CURLcode code = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &owner);
        tk_curl_transfer *transfer = (tk_curl_transfer *)(void *)owner;
        stop(transfer);
        if (code != CURLE_OK && transfer->out_of_sockets) {
            wait_for_socket(curl, transfer);
            continue;
        }
        judge_http2(curl, transfer, code);
        transfer->is_absent = tk_curl_easy_is_absent(transfer, code);
        finish(transfer, tk_curl_easy_failure(transfer, code));
    }
}

static void act(tk_curl *curl, tk_curl_shard *shard, curl_socket_t fd, int events)
{
    int running;
    if (fd == CURL_SOCKET_TIMEOUT) {
        shard->timer_ms = INT64_MAX; /* libcurl sets it again if it wants one */
    }
    (void)curl_multi_socket_action(shard->multi, fd, events, &running);
    collect(curl, shard);
}

static void curl_process(tk_transport *transport)
{
    tk_curl *curl = self(transport);
    struct epoll_event events[EVENTS_PER_TURN];
    int n = epoll_wait(curl->epoll_fd, events, EVENTS_PER_TURN, 0);
    curl->turn++;
    for (int i = 0; i < n; i++) {
        uint32_t index = (uint32_t)(events[i].data.u64 >> 32);
        int fd = (int)(uint32_t)events[i].data.u64;
        if (events[i].data.u64 == TK_HTTP_NOT_MINE ||
            !tk_curl_watch_is_wanted(curl, fd)) {
            continue;
        }
        int what = (events[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                   (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                   (events[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
        act(curl, curl->shards[index], fd, what);
    }
    int64_t now = tk_clock_mono_ms(curl->clock);
    for (size_t i = 0; i < curl->shards_n; i++) {
        if (curl->shards[i]->timer_ms <= now) {
            act(curl, curl->shards[i], CURL_SOCKET_TIMEOUT, 0);
        }
    }
    if (now >= curl->waiting_until_ms) {
        retry_waiting(curl);
    }
}

static int curl_fd(tk_transport *transport)
{
    return self(transport)->epoll_fd;
}

static int64_t curl_deadline(tk_transport *transport)
{
    tk_curl *curl = self(transport);
    int64_t deadline = curl->waiting_until_ms;
    for (size_t i = 0; i < curl->shards_n; i++) {
        deadline = TK_MIN(deadline, curl->shards[i]->timer_ms);
    }
    return deadline;
}

/* ---- life ---- */

static void free_options(tk_curl_options *options)
{
    const char **texts[] = {&options->ca_file,     &options->ca_dir,
                            &options->client_cert, &options->client_key,
                            &options->client_url,  &options->proxy,
                            &options->no_proxy};
    for (size_t i = 0; i < TK_ARRAY_LEN(texts); i++) {
        tk_free((void *)(uintptr_t)*texts[i]);
        *texts[i] = NULL;
    }
}

static bool copy_options(tk_curl_options *out, const tk_curl_options *options)
{
    *out = *options;
    const char **texts[] = {&out->ca_file,    &out->ca_dir,     &out->client_cert,
                            &out->client_key, &out->client_url, &out->proxy,
                            &out->no_proxy};
    bool ok = true;
    for (size_t i = 0; i < TK_ARRAY_LEN(texts); i++) {
        if (*texts[i] != NULL) {
            *texts[i] = ok ? tk_strdup(*texts[i]) : NULL;
            ok = ok && *texts[i] != NULL;
        }
    }
    return ok;
}

static void cancel_all(tk_curl *curl, tk_list *transfers)
{
    while (!tk_list_is_empty(transfers)) {
        tk_curl_transfer *transfer =
            TK_CONTAINER_OF(transfers->next, tk_curl_transfer, node);
        curl_cancel(&curl->base, transfer->request);
    }
}

static void curl_close(tk_transport *transport)
{
    tk_curl *curl = self(transport);
    curl->closing = true;
    cancel_all(curl, &curl->waiting);
    for (size_t i = 0; i < curl->shards_n; i++) {
        cancel_all(curl, &curl->shards[i]->transfers);
    }
    tk_list *idle;
    while ((idle = tk_list_pop_front(&curl->idle)) != NULL) {
        free_transfer(TK_CONTAINER_OF(idle, tk_curl_transfer, node));
    }
    for (size_t i = 0; i < curl->shards_n; i++) {
        free_shard(curl->shards[i]);
    }
    tk_free(curl->shards);
    tk_free(curl->watches);
    tk_lookup_free(&curl->lookup);
    close(curl->epoll_fd);
    free_options(&curl->options);
    tk_free(curl);
}

static CURLcode global_code;

static void global_init(void)
{
    global_code = curl_global_init(CURL_GLOBAL_DEFAULT);
}

static const tk_transport_ops curl_ops = {curl_submit, curl_cancel,   curl_resume,
                                          curl_fd,     curl_deadline, curl_process,
                                          curl_close};

tinkc_code tk_curl_transport_new(tk_transport **out, const tk_curl_options *options,
                                 tk_err *err)
{
    static tk_once once = TK_ONCE_INIT;
    tk_once_run(&once, global_init);
    if (global_code != CURLE_OK) {
        return tk_err_set(err, TINKC_E_INTERNAL, "cannot initialise libcurl: %s",
                          curl_easy_strerror(global_code));
    }
    tk_curl *curl = tk_zalloc(sizeof(*curl));
    if (curl == NULL || !copy_options(&curl->options, options)) {
        if (curl != NULL) {
            free_options(&curl->options);
        }
        tk_free(curl);
        return tk_err_nomem(err);
    }
    curl->base.ops = &curl_ops;
    curl->clock = options->clock != NULL ? options->clock : &tk_clock_real;
    curl->waiting_until_ms = INT64_MAX;
    tk_list_init(&curl->waiting);
    tk_list_init(&curl->idle);
    curl->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (curl->epoll_fd < 0) {
        free_options(&curl->options);
        tk_free(curl);
        return tk_err_set(err, TINKC_E_IO, "epoll_create1: error %d", errno);
    }
    *out = &curl->base;
    return TINKC_OK;
}
