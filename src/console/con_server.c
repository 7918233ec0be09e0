/* The route of the server's state. */
#include <stdio.h>
#include <tinkc/version.h>

#include "base/clock.h"
#include "console/con_int.h"
#include "console/con_json.h"
#include "httpd/hd_reply.h"

static void put_memory(tk_json_writer *w, const con_server *server)
{
    con_json_key(w, "memory");
    tk_json_begin_object(w);
    con_json_uint(w, "limit", server->memory.limit);
    con_json_uint(w, "used", server->memory.used);
    con_json_uint(w, "peak", server->memory.peak);
    con_json_key(w, "parts");
    tk_json_begin_array(w);
    for (size_t i = 0; i < server->memory.n_parts; i++) {
        tk_json_begin_object(w);
        con_json_str(w, "name", server->memory.parts[i].name);
        con_json_uint(w, "used", server->memory.parts[i].used);
        tk_json_end_object(w);
    }
    tk_json_end_array(w);
    tk_json_end_object(w);
}

static void put_engine(tk_json_writer *w, const con_server *server)
{
    con_json_key(w, "engine");
    tk_json_begin_object(w);
    con_json_num(w, "busy", server->engine.busy);
    con_json_uint(w, "jobs", server->engine.jobs);
    con_json_uint(w, "samples", server->engine.samples);
    con_json_uint(w, "trained_tokens", server->engine.trained_tokens);
    con_json_uint(w, "prompt_tokens", server->engine.prompt_tokens);
    con_json_uint(w, "sampled_tokens", server->engine.sampled_tokens);
    tk_json_end_object(w);
}

static void put_queue(tk_json_writer *w, const con_server *server)
{
    con_json_key(w, "queue");
    tk_json_begin_object(w);
    con_json_uint(w, "jobs", server->queue.jobs);
    con_json_uint(w, "samples", server->queue.samples);
    con_json_uint(w, "polls", server->queue.polls);
    con_json_key(w, "items");
    tk_json_begin_array(w);
    for (size_t i = 0; i < server->queue.n_items; i++) {
        const con_waiting *item = &server->queue.items[i];
        tk_json_begin_object(w);
        con_json_str(w, "kind", item->kind);
        con_json_str(w, "model", item->model);
        con_json_int(w, "seq", item->seq);
        con_json_str(w, "why", item->why);
        con_json_int(w, "age_ms", item->age_ms);
        tk_json_end_object(w);
    }
    tk_json_end_array(w);
    tk_json_end_object(w);
}

static void put_sessions(tk_json_writer *w, const con_server *server)
{
    con_json_key(w, "sessions");
    tk_json_begin_array(w);
    for (size_t i = 0; i < server->n_sessions; i++) {
        const con_session *session = &server->sessions[i];
        tk_json_begin_object(w);
        con_json_str(w, "id", session->id);
        con_json_str(w, "name", session->name);
        con_json_int(w, "age_ms", session->age_ms);
        con_json_int(w, "silent_ms", session->silent_ms);
        con_json_int(w, "models", session->models);
        con_json_int(w, "samplers", session->samplers);
        tk_json_end_object(w);
    }
    tk_json_end_array(w);
}

static void put_http(tk_json_writer *w, const con_server *server)
{
    con_json_key(w, "http");
    tk_json_begin_object(w);
    con_json_uint(w, "requests", server->http.requests);
    con_json_uint(w, "active", server->http.active);
    con_json_uint(w, "connections", server->http.connections);
    con_json_key(w, "answers");
    tk_json_begin_object(w);
    for (size_t i = 2; i < TK_ARRAY_LEN(server->http.answers); i++) {
        char name[8];
        (void)snprintf(name, sizeof(name), "%dxx", (int)i);
        con_json_uint(w, name, server->http.answers[i]);
    }
    tk_json_end_object(w);
    tk_json_end_object(w);
}

static void put_recording(tk_json_writer *w, const con_server *server)
{
    con_json_key(w, "recording");
    tk_json_begin_object(w);
    con_json_bool(w, "samples", server->recording.samples);
    con_json_uint(w, "dropped", server->recording.dropped);
    con_json_uint(w, "bytes", server->recording.bytes);
    con_json_uint(w, "limit_bytes", server->recording.limit_bytes);
    con_json_uint(w, "keep_days", server->recording.keep_days);
    tk_json_end_object(w);
}

static void put_errors(tk_json_writer *w, const con_server *server)
{
    con_json_key(w, "errors");
    tk_json_begin_array(w);
    for (size_t i = 0; i < server->n_errors; i++) {
        tk_json_begin_object(w);
        con_json_int(w, "time_ms", server->errors[i].time_ms);
        con_json_str(w, "text", server->errors[i].text);
        tk_json_end_object(w);
    }
    tk_json_end_array(w);
}

static void put_service(tk_json_writer *w, const con_server *server)
{
    static const char *const states[] = {
        [CON_SERVICE_OFF] = "off",
        [CON_SERVICE_ASKED] = "asked",
        [CON_SERVICE_GOOD] = "good",
        [CON_SERVICE_FAILED] = "failed",
    };
    con_json_key(w, "service");
    tk_json_begin_object(w);
    con_json_str(w, "state", tk_str_of(states[server->service.state]));
    con_json_str(w, "url", server->service.url);
    con_json_str(w, "text", server->service.text);
    con_json_int(w, "answered_ms", server->service.answered_ms);
    con_json_int(w, "runs", server->service.runs);
    con_json_int(w, "runs_listed", server->service.runs_listed);
    tk_json_end_object(w);
}

hd_verdict con_server_get(con *console, hd_request *request)
{
    con_server server = {.started_ms = CON_UNKNOWN};
    con_answer answer;
    tk_err err = TK_ERR_INIT;
    if (console->data.server != NULL &&
        console->data.server(console->data.user, &server, &request->arena, &err) !=
            TINKC_OK) {
        return hd_reply_error(request, &err);
    }
    con_json_begin(&answer, request);
    con_json_str(&answer.w, "version", TK_STR(TINKC_VERSION));
    con_json_str(&answer.w, "kind", tk_str_of(console->data.kind));
    con_json_int(&answer.w, "started_ms", server.started_ms);
    con_json_int(&answer.w, "now_ms", tk_clock_wall_us(NULL) / 1000);
    if (server.is_full) {
        put_memory(&answer.w, &server);
        put_engine(&answer.w, &server);
        put_queue(&answer.w, &server);
        put_http(&answer.w, &server);
        put_recording(&answer.w, &server);
    }
    if (server.service.state != CON_SERVICE_NONE) {
        put_service(&answer.w, &server);
    }
    if (server.is_full || server.service.state != CON_SERVICE_NONE) {
        put_sessions(&answer.w, &server);
    }
    put_errors(&answer.w, &server);
    return con_json_reply(&answer);
}
