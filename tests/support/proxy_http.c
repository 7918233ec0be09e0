/* Heads are read once they are complete; bodies byte by byte only where they are chunked.
 * Odd input never fails here: what cannot be a head is PROXY_HEAD_BAD, and the proxy
 * forwards it unread. */
#include "support/proxy_http.h"

#include <string.h>
#include <strings.h>

#include "base/str.h"

static size_t head_bytes(const char *p, size_t n)
{
    for (size_t i = 0; i + 4 <= n; i++) {
        if (memcmp(p + i, "\r\n\r\n", 4) == 0) {
            return i + 4;
        }
    }
    return 0;
}

/* A field line: "Name: value". */
static void read_field(proxy_head *out, tk_str line)
{
    tk_str value = line;
    tk_str name = tk_str_cut(&value, ':');
    int64_t length = 0;
    value = tk_str_trim(value);
    if (tk_str_is_nocase(name, "content-length") && tk_str_to_i64(value, &length) &&
        length >= 0) {
        out->has_length = true;
        out->length = (uint64_t)length;
    } else if (tk_str_is_nocase(name, "transfer-encoding") && value.n >= 7 &&
               strncasecmp(value.p + value.n - 7, "chunked", 7) == 0) {
        out->is_chunked = true;
    }
}

static bool read_first_line(proxy_head *out, tk_str line, bool is_response)
{
    if (is_response) {
        int64_t status = 0;
        bool ok = line.n >= 12 && memcmp(line.p, "HTTP/1.", 7) == 0 &&
                  tk_str_to_i64((tk_str){line.p + 9, 3}, &status);
        out->status = (int)status;
        return ok && status >= 100;
    }
    out->is_head = line.n > 5 && memcmp(line.p, "HEAD ", 5) == 0;
    return line.n > 9 && memcmp(line.p + line.n - 9, " HTTP/1.", 8) == 0;
}

proxy_found proxy_head_read(proxy_head *out, const char *p, size_t n, bool is_response,
                            bool no_body)
{
    *out = (proxy_head){.n = head_bytes(p, n)};
    if (out->n == 0) {
        return n > PROXY_HEAD_MAX ? PROXY_HEAD_BAD : PROXY_HEAD_NOT_YET;
    }
    tk_str rest = {p, out->n - 2};
    for (bool first = true; rest.n > 0; first = false) {
        tk_str line = tk_str_cut(&rest, '\n');
        line.n -= line.n > 0 && line.p[line.n - 1] == '\r';
        if (!first) {
            read_field(out, line);
        } else if (!read_first_line(out, line, is_response)) {
            return PROXY_HEAD_BAD;
        }
    }
    bool empty = is_response && (no_body || out->status < 200 || out->status == 204 ||
                                 out->status == 304);
    if (empty) {
        out->is_chunked = false;
        out->has_length = false;
    }
    out->until_close = is_response && !empty && !out->is_chunked && !out->has_length;
    if (out->is_chunked || !out->has_length) {
        out->has_length = !out->is_chunked && !out->until_close;
        out->length = 0;
    }
    return PROXY_HEAD_OK;
}

/* ---- bodies ---- */

void proxy_frame_begin(proxy_frame *frame, const proxy_head *head)
{
    *frame = (proxy_frame){.left = head->length};
    if (head->is_chunked) {
        frame->part = PROXY_PART_CHUNK_SIZE;
    } else if (head->until_close) {
        frame->part = PROXY_PART_CLOSE;
    } else if (head->length > 0) {
        frame->part = PROXY_PART_LENGTH;
    }
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One byte of a line: the size of a chunk, the end of one, or a trailer. */
static void feed_line(proxy_frame *frame, char c)
{
    if (c == '\r') {
        return;
    }
    if (c != '\n') {
        int digit = frame->part == PROXY_PART_CHUNK_SIZE ? hex_digit(c) : -1;
        if (digit >= 0 && !frame->is_sized && frame->left < UINT64_MAX >> 5) {
            frame->left = frame->left * 16 + (uint64_t)digit;
        } else {
            frame->is_sized = true;
        }
        frame->line_n++;
        return;
    }
    if (frame->part == PROXY_PART_CHUNK_SIZE) {
        frame->part = frame->left > 0 ? PROXY_PART_CHUNK_DATA : PROXY_PART_TRAILER;
    } else if (frame->part == PROXY_PART_CHUNK_LINE) {
        frame->part = PROXY_PART_CHUNK_SIZE;
    } else if (frame->line_n == 0) {
        frame->part = PROXY_PART_END;
    }
    frame->line_n = 0;
    frame->is_sized = false;
}

size_t proxy_frame_feed(proxy_frame *frame, const char *p, size_t n)
{
    size_t at = 0;
    while (at < n && frame->part != PROXY_PART_END) {
        if (frame->part == PROXY_PART_CLOSE) {
            return n;
        }
        if (frame->part == PROXY_PART_LENGTH || frame->part == PROXY_PART_CHUNK_DATA) {
            uint64_t take = TK_MIN((uint64_t)(n - at), frame->left);
            at += (size_t)take;
            frame->left -= take;
            if (frame->left == 0) {
                frame->part = frame->part == PROXY_PART_LENGTH ? PROXY_PART_END
                                                               : PROXY_PART_CHUNK_LINE;
            }
        } else {
            feed_line(frame, p[at++]);
        }
    }
    return at;
}
