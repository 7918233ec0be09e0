/* Appending to the log, the thread that syncs it, reading a record again. */
#include "gateway/gw_log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/rand.h"
#include "gateway/gw_log_int.h"

static gw_segment *last_of(gw_log *log)
{
    return &log->segments[log->n - 1];
}

/* ---- writing ---- */

static tinkc_code write_all(const gw_log *log, const char *p, size_t n, off_t at,
                            tk_err *err)
{
    while (n > 0) {
        ssize_t got = log->calls.pwrite(log->fd, p, n, at);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return tk_err_sys(err, got < 0 ? errno : ENOSPC,
                              "the turn cannot be written to %s", log->dir);
        }
        p += got;
        n -= (size_t)got;
        at += got;
    }
    return TINKC_OK;
}

/* Makes a file for the records to come. With the lock held. */
static tinkc_code add_file(gw_log *log, tk_err *err)
{
    gw_segment segment = {.number = log->n > 0 ? last_of(log)->number + 1 : 1,
                          .bytes = GW_LOG_HEAD};
    char head[GW_LOG_HEAD];
    char *path = gw_log_path(log, segment.number);
    if (path == NULL) {
        return tk_err_nomem(err);
    }
    bool is_made = false;
    tinkc_code code = tk_rand_entropy(&segment.key, sizeof(segment.key), err);
    if (code != TINKC_OK) {
        goto out;
    }
    log->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    is_made = log->fd >= 0;
    if (!is_made) {
        code = tk_err_sys(err, errno, "the turn cannot be written to %s", path);
        goto out;
    }
    gw_log_make_head(head, segment.key);
    code = write_all(log, head, sizeof(head), 0, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tk_file_sync_directory(log->dir, err);
    if (code == TINKC_OK) {
        code = gw_log_add_segment(log, &segment, err);
    }
out:
    if (code != TINKC_OK && is_made) {
        (void)close(log->fd);
        log->fd = -1;
        (void)unlink(path);
    }
    tk_free(path);
    return code;
}

/* Syncs the last file, waiting for a sync that runs. With the lock held. */
static tinkc_code sync_held(gw_log *log, tk_err *err)
{
    while (log->is_syncing) {
        tk_cond_wait(&log->wake, &log->lock);
    }
    if (log->broken.code != TINKC_OK) {
        return tk_err_set(err, log->broken.code, "%s", log->broken.message);
    }
    if (!log->is_dirty || log->fd < 0) {
        return TINKC_OK;
    }
    log->is_dirty = false;
    log->is_syncing = true;
    int fd = log->fd;
    tk_mutex_unlock(&log->lock);
    int failed = log->calls.sync(fd);
    int errnum = errno;
    tk_mutex_lock(&log->lock);
    log->is_syncing = false;
    log->stats.syncs++;
    if (failed != 0) {
        (void)tk_err_sys(&log->broken, errnum,
                         "%s cannot be synced, so no more turns are accepted before a "
                         "restart",
                         log->dir);
        tk_log_write(log->log, TINKC_LOG_ERROR, "gateway", "%s", log->broken.message);
    }
    tk_cond_broadcast(&log->wake);
    return failed == 0 ? TINKC_OK
                       : tk_err_set(err, log->broken.code, "%s", log->broken.message);
}

tinkc_code gw_log_sync(gw_log *log, tk_err *err)
{
    tk_mutex_lock(&log->lock);
    tinkc_code code = sync_held(log, err);
    tk_mutex_unlock(&log->lock);
    return code;
}

/* Opens the file that the next record goes to. With the lock held. */
static tinkc_code prepare(gw_log *log, tk_err *err)
{
    if (log->broken.code != TINKC_OK) {
        return tk_err_set(err, log->broken.code, "%s", log->broken.message);
    }
    if (log->fd >= 0 && last_of(log)->bytes >= log->segment_bytes) {
        log->is_dirty = true;
        tinkc_code code = sync_held(log, err);
        if (code != TINKC_OK) {
            return code;
        }
        /* The lock was free for a moment: another thread may have made a new file. */
        if (log->fd >= 0 && last_of(log)->bytes >= log->segment_bytes) {
            (void)close(log->fd);
            log->fd = -1;
        }
    }
    return log->fd >= 0 ? TINKC_OK : add_file(log, err);
}

static void fill_head(char *head, tk_hash_key key, const char *payload, size_t n)
{
    gw_log_put(head, GW_LOG_MAGIC, 4);
    gw_log_put(head + 4, n, 4);
    gw_log_put(head + 8, tk_hash_bytes(key, payload, n), 8);
    gw_log_put(head + 16, tk_hash_bytes(key, head, 16), 8);
}

static tinkc_code fill_record(tk_buf *out, const gw_entry *entry, tk_str body,
                              tk_err *err)
{
    char head[GW_RECORD_HEAD + GW_RECORD_MIN];
    memset(head, 0, sizeof(head));
    char *fields = head + GW_RECORD_HEAD;
    fields[0] = (char)entry->kind;
    gw_log_put(fields + 2, entry->id.n, 2);
    gw_log_put(fields + 4, entry->seq, 4);
    gw_log_put(fields + 8, entry->birth, 8);
    tk_buf_put(out, head, sizeof(head));
    tk_buf_put(out, entry->id.p, entry->id.n);
    tk_buf_put(out, body.p, body.n);
    return tk_buf_status(out, err);
}

static tinkc_code append_held(gw_place *out, gw_log *log, tk_buf *record, tk_err *err)
{
    tinkc_code code = prepare(log, err);
    if (code != TINKC_OK) {
        return code;
    }
    gw_segment *segment = last_of(log);
    size_t head = GW_RECORD_HEAD;
    fill_head(record->p, segment->key, record->p + head, record->n - head);
    code = write_all(log, record->p, record->n, (off_t)segment->bytes, err);
    if (code != TINKC_OK) {
        (void)!ftruncate(log->fd, (off_t)segment->bytes);
        return code;
    }
    *out = (gw_place){segment->bytes, segment->number, (uint32_t)record->n};
    segment->bytes += record->n;
    segment->needed += record->n;
    if (!log->is_dirty) {
        log->is_dirty = true;
        tk_cond_broadcast(&log->wake);
    }
    return TINKC_OK;
}

tinkc_code gw_log_append(gw_place *out, gw_log *log, const gw_entry *entry, tk_str body,
                         tk_err *err)
{
    tk_buf record;
    tk_buf_init(&record, TK_GW_RECORD_BYTES);
    tinkc_code code = fill_record(&record, entry, body, err);
    if (code == TINKC_OK) {
        tk_mutex_lock(&log->lock);
        code = append_held(out, log, &record, err);
        tk_mutex_unlock(&log->lock);
    }
    tk_buf_dispose(&record);
    return code;
}

/* ---- the thread ---- */

static void run(void *user)
{
    gw_log *log = user;
    tk_mutex_lock(&log->lock);
    while (!log->is_closing) {
        if (!log->is_dirty || log->broken.code != TINKC_OK) {
            tk_cond_wait(&log->wake, &log->lock);
            continue;
        }
        tk_err err = TK_ERR_INIT; /* stays in log->broken */
        int64_t next = tk_clock_mono_ns(NULL) + TK_GW_SYNC_MS * TK_NS_PER_MS;
        (void)!sync_held(log, &err);
        while (!log->is_closing && tk_cond_wait_until(&log->wake, &log->lock, next)) {
            continue;
        }
    }
    tk_mutex_unlock(&log->lock);
}

/* ---- reading ---- */

static gw_segment *find_segment(gw_log *log, uint32_t number)
{
    size_t from = 0, to = log->n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (log->segments[middle].number < number) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from < log->n && log->segments[from].number == number ? &log->segments[from]
                                                                 : NULL;
}

static bool find_key(tk_hash_key *out, gw_log *log, uint32_t number)
{
    tk_mutex_lock(&log->lock);
    const gw_segment *segment = find_segment(log, number);
    if (segment != NULL) {
        *out = segment->key;
    }
    tk_mutex_unlock(&log->lock);
    return segment != NULL;
}

static tinkc_code read_bytes(tk_buf *out, const char *path, gw_place place, tk_err *err)
{
    char *room = tk_buf_reserve(out, place.n);
    if (room == NULL) {
        return tk_buf_status(out, err);
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return tk_err_sys(err, errno, "%s", path);
    }
    size_t n = 0;
    ssize_t got = 1;
    while (n < place.n && got != 0) {
        got = pread(fd, room + n, place.n - n, (off_t)(place.offset + n));
        if (got < 0 && errno != EINTR) {
            break;
        }
        n += got > 0 ? (size_t)got : 0;
    }
    int errnum = errno;
    (void)close(fd);
    if (n < place.n) {
        return got < 0 ? tk_err_sys(err, errnum, "%s", path)
                       : tk_err_set(err, TINKC_E_DECODE, "%s was cut short", path);
    }
    tk_buf_advance(out, n);
    return TINKC_OK;
}

tinkc_code gw_log_read(tk_buf *out, gw_log *log, gw_place place, tk_err *err)
{
    tk_hash_key key;
    gw_entry entry;
    tk_str body;
    tk_buf record;
    char *path = gw_log_path(log, place.segment);
    if (path == NULL) {
        return tk_err_nomem(err);
    }
    tk_buf_init(&record, TK_GW_RECORD_BYTES);
    tinkc_code code = find_key(&key, log, place.segment)
                          ? read_bytes(&record, path, place, err)
                          : tk_err_set(err, TINKC_E_IO, "%s was removed", path);
    if (code == TINKC_OK &&
        gw_log_check(&entry, &body, key, record.p, record.n) != place.n) {
        code = tk_err_set(err, TINKC_E_DECODE, "%s: the record at byte %llu is damaged",
                          path, (unsigned long long)place.offset);
    }
    if (code == TINKC_OK) {
        tk_buf_put(out, body.p, body.n);
        code = tk_buf_status(out, err);
    }
    tk_buf_dispose(&record);
    tk_free(path);
    return code;
}

/* ---- waste ---- */

static void change_needed(gw_log *log, gw_place place, bool is_needed)
{
    tk_mutex_lock(&log->lock);
    gw_segment *segment = find_segment(log, place.segment);
    if (segment != NULL && is_needed) {
        segment->needed += place.n;
    } else if (segment != NULL) {
        segment->needed -= TK_MIN(segment->needed, place.n);
    }
    tk_mutex_unlock(&log->lock);
}

void gw_log_need(gw_log *log, gw_place place)
{
    change_needed(log, place, true);
}

void gw_log_forget(gw_log *log, gw_place place)
{
    change_needed(log, place, false);
}

static void add_up(gw_log_stats *out, const gw_log *log)
{
    *out = log->stats;
    out->segments = log->n;
    for (size_t i = 0; i < log->n; i++) {
        out->bytes += (size_t)log->segments[i].bytes;
        out->needed_bytes += (size_t)log->segments[i].needed;
    }
}

/* The oldest file that can be read. Others are left alone, and hold up nothing: their
 * records are lost. *waste = bytes that are not needed in those that can be read. */
static size_t find_oldest(uint64_t *waste, const gw_log *log)
{
    size_t oldest = log->n;
    *waste = 0;
    for (size_t i = log->n; i > 0; i--) {
        const gw_segment *segment = &log->segments[i - 1];
        if (!segment->is_foreign) {
            oldest = i - 1;
            *waste += segment->bytes - TK_MIN(segment->bytes, segment->needed);
        }
    }
    return oldest;
}

bool gw_log_is_due(uint32_t *segment, gw_log *log)
{
    gw_log_stats stats;
    uint64_t waste;
    tk_mutex_lock(&log->lock);
    add_up(&stats, log);
    size_t oldest = find_oldest(&waste, log);
    bool is_due = oldest + 1 < log->n && /* the last file is being written */
                  (log->segments[oldest].needed == 0 ||
                   waste > stats.needed_bytes + 2 * log->segment_bytes);
    *segment = oldest < log->n ? log->segments[oldest].number : 0;
    tk_mutex_unlock(&log->lock);
    return is_due;
}

void gw_log_remove(gw_log *log, uint32_t segment)
{
    uint64_t waste;
    char *path = gw_log_path(log, segment);
    tk_mutex_lock(&log->lock);
    size_t oldest = find_oldest(&waste, log);
    if (path != NULL && oldest + 1 < log->n && log->segments[oldest].number == segment &&
        unlink(path) == 0) {
        log->n--;
        memmove(&log->segments[oldest], &log->segments[oldest + 1],
                (log->n - oldest) * sizeof(log->segments[0]));
    }
    tk_mutex_unlock(&log->lock);
    tk_free(path);
}

void gw_log_get_stats(gw_log_stats *out, gw_log *log)
{
    tk_mutex_lock(&log->lock);
    add_up(out, log);
    tk_mutex_unlock(&log->lock);
}

/* ---- start and end ---- */

static ssize_t real_pwrite(int fd, const void *data, size_t n, off_t offset)
{
    return pwrite(fd, data, n, offset);
}

static int real_sync(int fd)
{
    return fdatasync(fd);
}

/* Goes on in the last file, when it can take records. One whose head was not completed
 * never had any: it goes. */
static tinkc_code open_last(gw_log *log, tk_err *err)
{
    if (log->n == 0) {
        return TINKC_OK;
    }
    const gw_segment *last = last_of(log);
    char *path = gw_log_path(log, last->number);
    tinkc_code code = path != NULL ? TINKC_OK : tk_err_nomem(err);
    if (code == TINKC_OK && !last->is_foreign) {
        log->fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        code = log->fd >= 0 ? TINKC_OK : tk_err_sys(err, errno, "%s", path);
    } else if (code == TINKC_OK && last->bytes < GW_LOG_HEAD && unlink(path) == 0) {
        log->n--;
    }
    tk_free(path);
    return code;
}

static tinkc_code read_files(gw_log *log, const gw_log_config *config, tk_err *err)
{
    tinkc_code code = gw_log_claim(log, err);
    if (code == TINKC_OK) {
        code = gw_log_list(log, err);
    }
    for (size_t i = 0; code == TINKC_OK && i < log->n; i++) {
        code = gw_log_scan(log, &log->segments[i], i + 1 == log->n, config, err);
    }
    return code == TINKC_OK ? open_last(log, err) : code;
}

tinkc_code gw_log_open(gw_log **out, const gw_log_config *config, tk_err *err)
{
    gw_log *log = tk_zalloc(sizeof(*log));
    if (log == NULL) {
        return tk_err_nomem(err);
    }
    *log = (gw_log){.fd = -1, .lock_fd = -1, .log = config->log, .calls = config->calls};
    log->broken = (tk_err)TK_ERR_INIT;
    log->segment_bytes =
        config->segment_bytes > 0 ? config->segment_bytes : TK_GW_SEGMENT_BYTES;
    log->calls.pwrite = log->calls.pwrite != NULL ? log->calls.pwrite : real_pwrite;
    log->calls.sync = log->calls.sync != NULL ? log->calls.sync : real_sync;
    tinkc_code code = tk_cond_init_with(&log->wake, &log->lock, err);
    if (code != TINKC_OK) {
        tk_free(log);
        return code;
    }
    log->dir = tk_strdup(config->dir);
    code = log->dir != NULL ? read_files(log, config, err) : tk_err_nomem(err);
    if (code == TINKC_OK) {
        code = tk_thread_start(&log->thread, "gateway-log", run, log, err);
        log->has_thread = code == TINKC_OK;
    }
    if (code != TINKC_OK) {
        gw_log_close(log);
        return code;
    }
    *out = log;
    return TINKC_OK;
}

void gw_log_close(gw_log *log)
{
    if (log == NULL) {
        return;
    }
    if (log->has_thread) {
        tk_err err = TK_ERR_INIT; /* was logged */
        tk_mutex_lock(&log->lock);
        log->is_closing = true;
        tk_cond_broadcast(&log->wake);
        tk_mutex_unlock(&log->lock);
        tk_thread_join(&log->thread);
        (void)!gw_log_sync(log, &err);
    }
    if (log->fd >= 0) {
        (void)close(log->fd);
    }
    if (log->lock_fd >= 0) {
        (void)close(log->lock_fd);
    }
    tk_cond_dispose(&log->wake);
    tk_mutex_dispose(&log->lock);
    tk_free(log->segments);
    tk_free(log->dir);
    tk_free(log);
}
