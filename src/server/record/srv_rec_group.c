/* Bytes of a member, little-endian: number, stopped, n, ids_at, text_n, text_at (4 each), then
 * the mean (8). Ids and logprobs are as the machine has them. */
#include "server/record/srv_rec_group.h"

#include <string.h>

#define ROW_BYTES 200 /* what a row has besides its blobs */

static char *put(char *out, uint64_t v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = (char)(unsigned char)(v >> (8 * i));
    }
    return out + n;
}

void srv_rec_member_put(tk_buf *out, const srv_rec_member *member)
{
    uint64_t mean;
    char *at = tk_buf_reserve(out, SRV_REC_MEMBER_BYTES);
    if (at == NULL) {
        return;
    }
    memcpy(&mean, &member->mean, sizeof(mean));
    at = put(at, member->number, 4);
    at = put(at, member->stopped, 4);
    at = put(at, member->n, 4);
    at = put(at, member->ids_at, 4);
    at = put(at, member->text_n, 4);
    at = put(at, member->text_at, 4);
    (void)put(at, mean, 8);
    tk_buf_advance(out, SRV_REC_MEMBER_BYTES);
}

static uint64_t take(const unsigned char **from, size_t n)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++) {
        v |= (uint64_t)(*from)[i] << (8 * i);
    }
    *from += n;
    return v;
}

size_t srv_rec_group_count(const srv_rec_group *group)
{
    return group->members.n / SRV_REC_MEMBER_BYTES;
}

void srv_rec_group_at(srv_rec_member *out, const srv_rec_group *group, size_t i)
{
    const unsigned char *at =
        (const unsigned char *)group->members.p + i * SRV_REC_MEMBER_BYTES;
    out->number = (uint32_t)take(&at, 4);
    out->stopped = take(&at, 4) != 0;
    out->n = (uint32_t)take(&at, 4);
    out->ids_at = (uint32_t)take(&at, 4);
    out->text_n = (uint32_t)take(&at, 4);
    out->text_at = (uint32_t)take(&at, 4);
    uint64_t mean = take(&at, 8);
    memcpy(&out->mean, &mean, sizeof(mean));
}

size_t srv_rec_group_find(const srv_rec_group *group, int64_t number)
{
    srv_rec_member member;
    for (size_t i = 0; i < srv_rec_group_count(group); i++) {
        srv_rec_group_at(&member, group, i);
        if ((int64_t)member.number == number) {
            return i;
        }
    }
    return SIZE_MAX;
}

static tk_str part(tk_str bytes, uint64_t at, uint64_t n)
{
    return n <= bytes.n && at <= bytes.n - n ? (tk_str){bytes.p + at, (size_t)n}
                                             : (tk_str){"", 0};
}

tk_str srv_rec_group_text(const srv_rec_group *group, const srv_rec_member *member)
{
    return part(group->texts, member->text_at, member->text_n);
}

tk_str srv_rec_group_ids(const srv_rec_group *group, const srv_rec_member *member)
{
    return part(group->ids, (uint64_t)member->ids_at * 4, (uint64_t)member->n * 4);
}

tk_str srv_rec_group_logprobs(const srv_rec_group *group, const srv_rec_member *member)
{
    return part(group->logprobs, (uint64_t)member->ids_at * 4, (uint64_t)member->n * 4);
}

/* ---- putting together ---- */

void srv_rec_group_init(srv_rec_group_bufs *bufs, size_t max_bytes, tk_quota *quota)
{
    tk_buf_init_quota(&bufs->members, max_bytes, quota);
    tk_buf_init_quota(&bufs->texts, max_bytes, quota);
    tk_buf_init_quota(&bufs->ids, max_bytes, quota);
    tk_buf_init_quota(&bufs->logprobs, max_bytes, quota);
}

void srv_rec_group_dispose(srv_rec_group_bufs *bufs)
{
    tk_buf_dispose(&bufs->members);
    tk_buf_dispose(&bufs->texts);
    tk_buf_dispose(&bufs->ids);
    tk_buf_dispose(&bufs->logprobs);
}

void srv_rec_group_clear(srv_rec_group_bufs *bufs)
{
    tk_buf_clear(&bufs->members);
    tk_buf_clear(&bufs->texts);
    tk_buf_clear(&bufs->ids);
    tk_buf_clear(&bufs->logprobs);
}

srv_rec_group srv_rec_group_of(const srv_rec_group_bufs *bufs)
{
    return (srv_rec_group){tk_buf_str(&bufs->members), tk_buf_str(&bufs->texts),
                           tk_buf_str(&bufs->ids), tk_buf_str(&bufs->logprobs)};
}

tinkc_code srv_rec_group_status(const srv_rec_group_bufs *bufs, tk_err *err)
{
    const tk_buf *const all[] = {&bufs->members, &bufs->texts, &bufs->ids,
                                 &bufs->logprobs};
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; code == TINKC_OK && i < TK_ARRAY_LEN(all); i++) {
        code = tk_buf_status(all[i], err);
    }
    return code;
}

void srv_rec_group_add(srv_rec_group_bufs *bufs, const srv_rec_group *from,
                       const srv_rec_member *member, uint32_t number)
{
    static const unsigned char no_number[4] = {0, 0, 0xC0, 0x7F}; /* NAN */
    tk_str text = srv_rec_group_text(from, member);
    tk_str ids = srv_rec_group_ids(from, member);
    tk_str logprobs = srv_rec_group_logprobs(from, member);
    srv_rec_member out = *member;
    out.number = number;
    out.n = (uint32_t)(ids.n / 4);
    out.ids_at = (uint32_t)(bufs->ids.n / 4);
    out.text_n = (uint32_t)text.n;
    out.text_at = (uint32_t)bufs->texts.n;
    srv_rec_member_put(&bufs->members, &out);
    tk_buf_put(&bufs->texts, text.p, text.n);
    tk_buf_put(&bufs->ids, ids.p, ids.n);
    tk_buf_put(&bufs->logprobs, logprobs.p, logprobs.n);
    for (size_t i = logprobs.n; i < ids.n; i += 4) {
        tk_buf_put(&bufs->logprobs, no_number, 4);
    }
}

int64_t srv_rec_group_bytes(const srv_rec_group *group, size_t prompt_bytes)
{
    return (int64_t)(ROW_BYTES + group->members.n + group->texts.n + group->ids.n +
                     group->logprobs.n + prompt_bytes);
}
