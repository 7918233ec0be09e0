/* Error bodies have FastAPI's shapes. */
#include "server/run/srv_refuse.h"

#include "base/json.h"
#include "httpd/hd_reply.h"

static const char no_memory[] = "{\"detail\":\"the server is out of memory\"}";

/* Begins {"detail": ... */
static void begin_detail(tk_json_writer *w, tk_buf *buf)
{
    tk_buf_init(buf, 8 * TK_KIB);
    tk_json_writer_init(w, buf);
    tk_json_begin_object(w);
    tk_json_key(w, TK_STR("detail"));
}

/* "data[3].weights" as ["body", "data", 3, "weights"]. */
static void put_loc(tk_json_writer *w, const char *path)
{
    tk_json_begin_array(w);
    tk_json_put_str(w, TK_STR("body"));
    tk_str rest = tk_str_of(path);
    while (rest.n > 0) {
        tk_str word = tk_str_cut(&rest, '.');
        while (word.n > 0) {
            tk_str name = tk_str_cut(&word, '[');
            int64_t index = 0;
            if (name.n > 1 && name.p[name.n - 1] == ']' &&
                tk_str_to_i64((tk_str){name.p, name.n - 1}, &index)) {
                tk_json_put_i64(w, index);
            } else if (name.n > 0) {
                tk_json_put_str(w, name);
            }
        }
    }
    tk_json_end_array(w);
}

/* About a place in the body. */
static void put_place(tk_json_writer *w, const tk_err *err)
{
    const char *type = err->code == TINKC_E_PARSE   ? "parsing_error"
                       : err->code == TINKC_E_LIMIT ? "too_large"
                                                    : "value_error";
    tk_json_begin_array(w);
    tk_json_begin_object(w);
    tk_json_key(w, TK_STR("loc"));
    put_loc(w, err->path);
    tk_json_key(w, TK_STR("msg"));
    tk_json_put_str(w, tk_str_of(err->message));
    tk_json_key(w, TK_STR("type"));
    tk_json_put_str(w, tk_str_of(type));
    tk_json_end_object(w);
    tk_json_end_array(w);
}

void srv_refuse(hd_request *request, int status, const tk_err *err)
{
    tk_buf buf;
    tk_json_writer w;
    if (err->code == TINKC_E_NOMEM) {
        (void)hd_reply_fixed(request, status, HD_TYPE_JSON, TK_STR(no_memory));
        return;
    }
    begin_detail(&w, &buf);
    if (err->code == TINKC_E_PARSE || err->code == TINKC_E_DECODE ||
        err->code == TINKC_E_LIMIT) {
        put_place(&w, err);
    } else {
        tk_json_put_str(&w, tk_str_of(err->message));
    }
    tk_json_end_object(&w);
    (void)hd_reply_buf(request, status, HD_TYPE_JSON, &buf);
}
