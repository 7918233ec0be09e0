/* memory stays flat while a gigabyte of server-sent events is read.
 *   soak_stream [megabytes]        1000 by default */
#include "soak.h"

#include <sys/resource.h>

#include <tinkc/stream.h>

#include "support/fileserver.h"

#define EVENT_BYTES 128
#define GROWTH_KIB  8192

static uint64_t events;

/* The nth event, padded to a fixed size by a comment line. */
static void put_event(char out[EVENT_BYTES], uint64_t index)
{
    char text[EVENT_BYTES + 1];
    int n = index + 1 < events
                ? snprintf(text, sizeof(text), "data: {\"token_id\":%llu}\n\n:",
                           (unsigned long long)(index % 100000))
                : snprintf(text, sizeof(text), "data: {\"finish_reason\":\"stop\"}\n\n:");
    memset(out, '.', EVENT_BYTES);
    memcpy(out, text, (size_t)n);
    out[EVENT_BYTES - 1] = '\n';
}

static void read_events(void *user, uint64_t offset, char *p, size_t n)
{
    char event[EVENT_BYTES];
    while (n > 0) {
        size_t at = (size_t)(offset % EVENT_BYTES);
        size_t piece = EVENT_BYTES - at < n ? EVENT_BYTES - at : n;
        put_event(event, offset / EVENT_BYTES);
        memcpy(p, event + at, piece);
        p += piece;
        offset += piece;
        n -= piece;
    }
}

static void decide(void *user, size_t index, const char *head, fileserver_reply *reply)
{
    if (strstr(head, "/stream_sample ") != NULL) {
        reply->headers = "Content-Type: text/event-stream\r\n";
        reply->no_length = true;
    } else if (strstr(head, "/create_session ") != NULL) {
        reply->text = "{\"session_id\":\"S\"}";
    } else if (strstr(head, "/create_sampling_session ") != NULL) {
        reply->text = "{\"sampling_session_id\":\"S:sample:0\"}";
    } else {
        reply->text = "{}";
    }
}

static long resident_kib(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static tinkc_sampling *open_sampling(tinkc_service **service, const char *url)
{
    tinkc_config *config = NULL;
    tinkc_sampling *sampling = NULL;
    char base[64];
    (void)snprintf(base, sizeof(base), "%.*s", (int)(strlen(url) - strlen("/file")), url);
    if (tinkc_config_new(&config, NULL) != TINKC_OK ||
        tinkc_config_set(config, "base_url", base, NULL) != TINKC_OK ||
        tinkc_config_set(config, "api_key", "tml-x", NULL) != TINKC_OK ||
        tinkc_config_set(config, "heartbeat", "none", NULL) != TINKC_OK ||
        tinkc_service_open(service, config, NULL) != TINKC_OK ||
        tinkc_service_create_sampling_wait(&sampling, *service, "m", NULL, NULL) !=
            TINKC_OK) {
        soak_die("no service");
    }
    tinkc_config_free(&config);
    return sampling;
}

int main(int argc, char **argv)
{
    static const int32_t tokens[] = {1};
    uint64_t megabytes = argc > 1 ? (uint64_t)atoll(argv[1]) : 1000;
    tinkc_service *service = NULL;
    tinkc_model_input *prompt = NULL;
    tinkc_stream *stream = NULL;
    const tinkc_stream_event *event = NULL;
    uint64_t n = 0;
    bool right = true;
    events = megabytes * 1000000 / EVENT_BYTES;
    fileserver_options options = {events * EVENT_BYTES, read_events, decide, NULL};
    fileserver *server = fileserver_start(&options);
    tinkc_sampling *sampling = open_sampling(&service, fileserver_url(server));
    if (tinkc_model_input_new(&prompt, NULL) != TINKC_OK ||
        tinkc_model_input_add_tokens(prompt, tokens, 1, NULL) != TINKC_OK ||
        tinkc_stream_open(&stream, sampling, prompt, NULL, NULL) != TINKC_OK) {
        soak_die("no stream");
    }
    long before = resident_kib();
    double start = soak_now_s();
    while (tinkc_stream_next(&event, stream, TINKC_FOREVER, NULL) == TINKC_OK) {
        right = right && (n + 1 == events ? event->kind == TINKC_STREAM_DONE
                                          : event->token_id == (int64_t)(n % 100000));
        n++;
    }
    double seconds = soak_now_s() - start;
    long growth = resident_kib() - before;
    bool ok = growth <= GROWTH_KIB && right && n == events;
    char detail[160];
    (void)snprintf(detail, sizeof(detail),
                   "%llu MB, %llu events, %.0f s: memory grew by %ld KiB (bar %d)",
                   (unsigned long long)megabytes, (unsigned long long)n, seconds, growth,
                   GROWTH_KIB);
    int failed = soak_report("stream", ok, detail);
    tinkc_stream_close(&stream);
    tinkc_model_input_free(&prompt);
    tinkc_sampling_close(&sampling);
    tinkc_service_close(&service);
    fileserver_stop(&server);
    return failed;
}
