/* M-131: memory stays flat while a checkpoint of gigabytes is downloaded through a
 * connection that breaks, and the files are the same bytes.
 *   soak_download [megabytes]        2000 by default; needs that much room in TMPDIR */
#include "soak.h"

#include <sys/resource.h>

#include <tinkc/download.h>

#include "base/sha256.h"
#include "support/fileserver.h"

#define HEAD_BYTES  512
#define TAIL_BYTES  1024
#define CUTS        20
#define GROWTH_KIB  8192
#define PIECE_BYTES ((size_t)1 << 20)

typedef struct tar {
    uint64_t content; /* bytes of the one file */
    char head[HEAD_BYTES];
} tar;

/* The byte at an offset of the file, cheap and without a pattern that compresses. */
static void put_content(uint64_t offset, char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t word = (offset + i) / 8 * 0x9E3779B97F4A7C15u;
        word ^= word >> 29;
        p[i] = (char)(word >> ((offset + i) % 8 * 8));
    }
}

static void make_head(tar *t)
{
    unsigned sum = 0;
    (void)snprintf(t->head, 100, "adapter_model.safetensors");
    (void)snprintf(t->head + 100, 8, "%07o", 0644);
    (void)snprintf(t->head + 108, 8, "%07o", 0);
    (void)snprintf(t->head + 116, 8, "%07o", 0);
    (void)snprintf(t->head + 124, 12, "%011llo", (unsigned long long)t->content);
    (void)snprintf(t->head + 136, 12, "%011o", 0);
    memset(t->head + 148, ' ', 8);
    t->head[156] = '0';
    memcpy(t->head + 257,
           "ustar\0"
           "00",
           8);
    for (size_t i = 0; i < HEAD_BYTES; i++) {
        sum += (unsigned char)t->head[i];
    }
    (void)snprintf(t->head + 148, 7, "%06o", sum);
}

static void read_tar(void *user, uint64_t offset, char *p, size_t n)
{
    const tar *t = user;
    memset(p, 0, n);
    for (size_t at = 0; at < n;) {
        uint64_t here = offset + at;
        if (here < HEAD_BYTES) {
            p[at] = t->head[here];
            at++;
        } else if (here < HEAD_BYTES + t->content) {
            uint64_t left = HEAD_BYTES + t->content - here;
            size_t piece = left < n - at ? (size_t)left : n - at;
            put_content(here - HEAD_BYTES, p + at, piece);
            at += piece;
        } else {
            break;
        }
    }
}

static void decide(void *user, size_t index, const char *head, fileserver_reply *reply)
{
    const tar *t = user;
    reply->etag = "\"v1\"";
    if (strstr(head, "/file") == NULL) {
        reply->text = "{}";
    }
    if (index < CUTS) {
        reply->cut = t->content / CUTS * index + 12345 * index + 1;
    }
}

static long resident_kib(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static void digest(char out[TK_SHA256_HEX_BYTES], const char *path, uint64_t size)
{
    tk_sha256 *sha = NULL;
    char *piece = malloc(PIECE_BYTES);
    FILE *file = path != NULL ? fopen(path, "rb") : NULL;
    if (piece == NULL || tk_sha256_new(&sha, NULL) != TINKC_OK ||
        (path != NULL && file == NULL)) {
        soak_die("no digest");
    }
    for (uint64_t at = 0; at < size;) {
        size_t n = size - at < PIECE_BYTES ? (size_t)(size - at) : PIECE_BYTES;
        if (file == NULL) {
            put_content(at, piece, n);
        } else if (fread(piece, 1, n, file) != n) {
            soak_die("the file is too short");
        }
        if (tk_sha256_update(sha, piece, n, NULL) != TINKC_OK) {
            soak_die("no digest");
        }
        at += n;
    }
    if (tk_sha256_finish(out, sha, NULL) != TINKC_OK) {
        soak_die("no digest");
    }
    tk_sha256_free(sha);
    free(piece);
    if (file != NULL) {
        (void)fclose(file);
    }
}

static tinkc_service *open_service(const char *url)
{
    tinkc_config *config = NULL;
    tinkc_service *service = NULL;
    char base[64];
    (void)snprintf(base, sizeof(base), "%.*s", (int)(strlen(url) - strlen("/file")), url);
    if (tinkc_config_new(&config, NULL) != TINKC_OK ||
        tinkc_config_set(config, "base_url", base, NULL) != TINKC_OK ||
        tinkc_config_set(config, "api_key", "tml-x", NULL) != TINKC_OK ||
        tinkc_service_open(&service, config, NULL) != TINKC_OK) {
        soak_die("no service");
    }
    tinkc_config_free(&config);
    return service;
}

static void archive_answer(char *text, size_t size, const char *url)
{
    (void)snprintf(text, size, "{\"url\":\"%s\",\"expires\":\"2199-01-01T00:00:00Z\"}",
                   url);
}

static char answer[256];

static void decide_all(void *user, size_t index, const char *head,
                       fileserver_reply *reply)
{
    if (strstr(head, "/archive ") != NULL) {
        reply->text = answer;
        return;
    }
    decide(user, index, head, reply);
}

int main(int argc, char **argv)
{
    uint64_t megabytes = argc > 1 ? (uint64_t)atoll(argv[1]) : 2000;
    const char *where = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
    static tar t;
    char folder[256], target[300], file[400], sums[2][TK_SHA256_HEX_BYTES];
    tinkc_error *error = NULL;
    tinkc_progress result;
    t.content = megabytes * 1000000 / HEAD_BYTES * HEAD_BYTES;
    make_head(&t);
    (void)snprintf(folder, sizeof(folder), "%s/tinkc-soak-XXXXXX", where);
    if (mkdtemp(folder) == NULL) {
        soak_die("no folder");
    }
    (void)snprintf(target, sizeof(target), "%s/out", folder);
    (void)snprintf(file, sizeof(file), "%s/adapter_model.safetensors", target);
    fileserver_options options = {HEAD_BYTES + t.content + TAIL_BYTES, read_tar,
                                  decide_all, &t};
    fileserver *server = fileserver_start(&options);
    archive_answer(answer, sizeof(answer), fileserver_url(server));
    tinkc_service *service = open_service(fileserver_url(server));
    tinkc_download_options how = TINKC_DOWNLOAD_OPTIONS_INIT;
    how.retry_ms = 1;
    (void)tinkc_service_health_wait(service, NULL);
    long before = resident_kib();
    double start = soak_now_s();
    if (tinkc_download_checkpoint(&result, service, "tinker://r/weights/1", target, &how,
                                  &error) != TINKC_OK) {
        fprintf(stderr, "soak: %s\n", tinkc_error_message(error));
        soak_die("the download failed");
    }
    double seconds = soak_now_s() - start;
    long growth = resident_kib() - before;
    digest(sums[0], NULL, t.content);
    digest(sums[1], file, t.content);
    bool ok = growth <= GROWTH_KIB && strcmp(sums[0], sums[1]) == 0;
    char detail[200];
    (void)snprintf(detail, sizeof(detail),
                   "%llu MB, %d connections, %.0f s: memory grew by %ld KiB (bar %d), "
                   "SHA-256 %s",
                   (unsigned long long)megabytes, result.connections, seconds, growth,
                   GROWTH_KIB, strcmp(sums[0], sums[1]) == 0 ? "equal" : "differs");
    int failed = soak_report("download", ok, detail);
    tinkc_service_close(&service);
    fileserver_stop(&server);
    (void)unlink(file);
    (void)rmdir(target);
    (void)rmdir(folder);
    return failed;
}
