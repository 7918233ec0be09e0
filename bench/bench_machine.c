/* Prints what the other benchmarks run on: the CPU, its kernels, and the measured peak of
 * its multiply-adds. scripts/bench.sh runs it first.
 * Links: engine */
#include "bench_peak.h"

#include <string.h>
#include <unistd.h>

#include "engine/eng.h"

static void cpu_name(char *out, size_t n)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    (void)snprintf(out, n, "unknown CPU");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon != NULL) {
            (void)snprintf(out, n, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
            break;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}

int main(void)
{
    char detail[512], name[128];
    cpu_name(name, sizeof(name));
    int n = snprintf(detail, sizeof(detail), "%s, %ld CPUs; kernels, best first:", name,
                     sysconf(_SC_NPROCESSORS_ONLN));
    for (size_t i = 0; eng_kern_name(i) != NULL; i++) {
        n += snprintf(detail + n, sizeof(detail) - (size_t)n, "%s %s", i > 0 ? "," : "",
                      eng_kern_name(i));
    }
    for (size_t i = 0; bench_peak_path_at(i) != NULL; i++) {
        const bench_peak_path *path = bench_peak_path_at(i);
        n += snprintf(detail + n, sizeof(detail) - (size_t)n, "%s %.1f GFLOP/s with %s",
                      i > 0 ? "," : "; one thread's peak", bench_peak_of(path),
                      path->name);
    }
#ifdef __x86_64__
    bool has_amx = false;
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[4096];
    while (file != NULL && !has_amx && fgets(line, sizeof(line), file) != NULL) {
        has_amx = strstr(line, " amx_bf16") != NULL;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    (void)snprintf(detail + n, sizeof(detail) - (size_t)n, "; AMX: %s",
                   has_amx ? "there, the engine does not use it"
                           : "none, its bars cannot be judged here");
#endif
    bench_note("machine", detail);
    return 0;
}
