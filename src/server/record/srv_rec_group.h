/* The sequences of one request, as the database has them: one row, in which each sequence is a
 * member of fixed size that says where its text, ids and logprobs are in the row's blobs. So a
 * request costs one INSERT, however many sequences it has. Pure. */
#ifndef SERVER_SRV_REC_GROUP_H
#define SERVER_SRV_REC_GROUP_H

#include "base/buf.h"
#include "base/str.h"

#define SRV_REC_MEMBER_BYTES 32
#define SRV_REC_TEXT_BYTES   (16 * TK_KIB) /* of a member that are kept as text */

typedef struct srv_rec_member {
    uint32_t number; /* its id is that of the group and this */
    bool stopped;
    uint32_t n;       /* ids; as many logprobs */
    uint32_t ids_at;  /* the first one, counted in ids */
    uint32_t text_n;  /* bytes */
    uint32_t text_at; /* in bytes */
    double mean;      /* of the logprobs; NAN = none */
} srv_rec_member;

typedef struct srv_rec_group { /* the blobs of a row; borrowed */
    tk_str members, texts, ids, logprobs;
} srv_rec_group;

void srv_rec_member_put(tk_buf *out, const srv_rec_member *member);

/* Returns the number of members. */
size_t srv_rec_group_count(const srv_rec_group *group);

/* Reads member `i`, below that number. What does not lie within the blobs is left out: the
 * bytes may be damaged. */
void srv_rec_group_at(srv_rec_member *out, const srv_rec_group *group, size_t i);

/* Finds the member of a number; returns its place, or SIZE_MAX. */
size_t srv_rec_group_find(const srv_rec_group *group, int64_t number);

tk_str srv_rec_group_text(const srv_rec_group *group, const srv_rec_member *member);
/* The bytes of its ids; those of its logprobs, empty when they are not there. */
tk_str srv_rec_group_ids(const srv_rec_group *group, const srv_rec_member *member);
tk_str srv_rec_group_logprobs(const srv_rec_group *group, const srv_rec_member *member);

typedef struct srv_rec_group_bufs { /* in which a row is put together */
    tk_buf members, texts, ids, logprobs;
} srv_rec_group_bufs;

/* `max_bytes` is that of each; `quota` counts them, or is NULL. */
void srv_rec_group_init(srv_rec_group_bufs *bufs, size_t max_bytes, tk_quota *quota);
void srv_rec_group_dispose(srv_rec_group_bufs *bufs);
void srv_rec_group_clear(srv_rec_group_bufs *bufs);
srv_rec_group srv_rec_group_of(const srv_rec_group_bufs *bufs); /* borrowed */
tinkc_code srv_rec_group_status(const srv_rec_group_bufs *bufs, tk_err *err);

/* Appends a member of another group, under this number. */
void srv_rec_group_add(srv_rec_group_bufs *bufs, const srv_rec_group *from,
                       const srv_rec_member *member, uint32_t number);

/* Returns about how many bytes of the database a row takes: samples are limited by it. */
int64_t srv_rec_group_bytes(const srv_rec_group *group, size_t prompt_bytes);

#endif
