/* The files of the log at the start: every record is checked; what is damaged is skipped,
 * up to the next record whose checks are right. The checks are keyed with random bytes of
 * the file, so that no text inside a record can pass for one. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "gateway/gw_log_int.h"

uint64_t gw_log_get(const char *p, size_t n)
{
    uint64_t value = 0;
    for (size_t i = n; i > 0; i--) {
        value = value << 8 | (unsigned char)p[i - 1];
    }
    return value;
}

void gw_log_put(char *p, uint64_t value, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        p[i] = (char)(unsigned char)(value >> (8 * i));
    }
}

void gw_log_make_head(char *out, tk_hash_key key)
{
    memcpy(out, GW_LOG_TITLE, 16);
    gw_log_put(out + 16, key.k0, 8);
    gw_log_put(out + 24, key.k1, 8);
    gw_log_put(out + 32, tk_hash_bytes(key, out, 32), 8);
}

static bool read_head(tk_hash_key *key, const char *p, size_t n)
{
    if (n < GW_LOG_HEAD || memcmp(p, GW_LOG_TITLE, 16) != 0) {
        return false;
    }
    key->k0 = gw_log_get(p + 16, 8);
    key->k1 = gw_log_get(p + 24, 8);
    return gw_log_get(p + 32, 8) == tk_hash_bytes(*key, p, 32);
}

size_t gw_log_check(gw_entry *entry, tk_str *body, tk_hash_key key, const char *p,
                    size_t n)
{
    if (n < GW_RECORD_HEAD + GW_RECORD_MIN || gw_log_get(p, 4) != GW_LOG_MAGIC ||
        gw_log_get(p + 16, 8) != tk_hash_bytes(key, p, 16)) {
        return 0;
    }
    size_t length = (size_t)gw_log_get(p + 4, 4);
    const char *at = p + GW_RECORD_HEAD;
    if (length < GW_RECORD_MIN || length > n - GW_RECORD_HEAD ||
        gw_log_get(p + 8, 8) != tk_hash_bytes(key, at, length)) {
        return 0;
    }
    size_t id_n = (size_t)gw_log_get(at + 2, 2);
    if (id_n > length - GW_RECORD_MIN) {
        return 0;
    }
    entry->kind = (gw_kind)(unsigned char)at[0];
    entry->seq = (uint32_t)gw_log_get(at + 4, 4);
    entry->birth = gw_log_get(at + 8, 8);
    entry->id = (tk_str){at + GW_RECORD_MIN, id_n};
    *body = (tk_str){at + GW_RECORD_MIN + id_n, length - GW_RECORD_MIN - id_n};
    return GW_RECORD_HEAD + length;
}

/* ---- one file ---- */

typedef struct scan {
    gw_log *log;
    gw_segment *segment;
    const gw_log_config *config;
    const char *p;
    size_t n;    /* of the file */
    size_t good; /* end of the last good record */
} scan;

static void report(scan *s, size_t from, size_t to)
{
    s->log->stats.damaged++;
    s->log->stats.damaged_bytes += to - from;
    tk_log_write(s->log->log, TINKC_LOG_WARN, "gateway",
                 "%s/episodes-%08u.log: bytes %zu to %zu are damaged and skipped",
                 s->log->dir, (unsigned)s->segment->number, from, to);
}

static tinkc_code walk(scan *s, tk_err *err)
{
    size_t at = GW_LOG_HEAD;
    s->good = at;
    while (at < s->n) {
        gw_entry entry;
        tk_str body;
        size_t n = gw_log_check(&entry, &body, s->segment->key, s->p + at, s->n - at);
        if (n == 0) {
            const char *next = memchr(s->p + at + 1, 'g', s->n - at - 1);
            at = next != NULL ? (size_t)(next - s->p) : s->n;
            continue;
        }
        if (at > s->good) {
            report(s, s->good, at);
        }
        gw_place place = {at, s->segment->number, (uint32_t)n};
        tinkc_code code = s->config->on_entry(s->config->user, &entry, place, err);
        if (code != TINKC_OK) {
            return code;
        }
        at += n;
        s->good = at;
    }
    return TINKC_OK;
}

/* What comes after the last good record. */
static tinkc_code end_file(scan *s, int fd, bool is_last, tk_err *err)
{
    s->segment->bytes = s->n;
    if (s->good == s->n) {
        return TINKC_OK;
    }
    if (!is_last) {
        report(s, s->good, s->n);
        return TINKC_OK;
    }
    if (ftruncate(fd, (off_t)s->good) != 0) {
        return tk_err_sys(err, errno, "%s: cannot cut off a torn record", s->log->dir);
    }
    s->log->stats.torn_bytes += s->n - s->good;
    s->segment->bytes = s->good;
    tk_log_write(s->log->log, TINKC_LOG_INFO, "gateway",
                 "%s/episodes-%08u.log: cut off %zu bytes of a record that was not "
                 "completed",
                 s->log->dir, (unsigned)s->segment->number, s->n - s->good);
    return TINKC_OK;
}

static tinkc_code scan_bytes(scan *s, int fd, bool is_last, tk_err *err)
{
    if (s->n < GW_LOG_HEAD || !read_head(&s->segment->key, s->p, s->n)) {
        s->segment->is_foreign = true;
        s->segment->bytes = s->n;
        if (s->n >= GW_LOG_HEAD || !is_last) { /* else torn: nothing was in it */
            report(s, 0, s->n);
        }
        return TINKC_OK;
    }
    tinkc_code code = walk(s, err);
    return code == TINKC_OK ? end_file(s, fd, is_last, err) : code;
}

tinkc_code gw_log_scan(gw_log *log, gw_segment *segment, bool is_last,
                       const gw_log_config *config, tk_err *err)
{
    struct stat st;
    char *path = gw_log_path(log, segment->number);
    if (path == NULL) {
        return tk_err_nomem(err);
    }
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    scan s = {.log = log, .segment = segment, .config = config};
    tinkc_code code = TINKC_OK;
    if (fd < 0 || fstat(fd, &st) != 0) {
        code = tk_err_sys(err, errno, "%s", path);
        goto out;
    }
    s.n = (size_t)st.st_size;
    void *map = s.n > 0 ? mmap(NULL, s.n, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
    if (map == MAP_FAILED) {
        code = tk_err_sys(err, errno, "%s", path);
        goto out;
    }
    s.p = map;
    code = scan_bytes(&s, fd, is_last, err);
    if (map != NULL) {
        (void)munmap(map, s.n);
    }
out:
    if (fd >= 0) {
        (void)close(fd);
    }
    tk_free(path);
    return code;
}
