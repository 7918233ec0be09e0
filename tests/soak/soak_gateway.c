/* `tinkc gateway` in front of `tinkc serve`, both as processes: 2,000 episodes at the same time,
 * each on a connection of its own, several turns that continue each other. Every request of a turn
 * is sent before the first answer is read. Afterwards each tenth episode is one chain of all its
 * turns, and the gateway alone never held more than 256 MiB.
 *   soak_gateway [PROGRAM]     the program tinkc; without it ../tinkc beside this one
 * Links: wire */
#include <fcntl.h>
#include <ftw.h>
#include <sys/resource.h>

#include "soak.h"
#include "support/httpget.h"

#define MODEL    "tinkc/pebble-llama-2m"
#define EPISODES 2000
#define TURNS    5
#define FILES    10000
#define BAR_MIB  256.0

typedef struct child {
    pid_t pid;
    char url[96];
    int port;
} child;

/* What an episode said so far: messages as JSON. */
static char *said[EPISODES];

static void read_url(child *c, FILE *out)
{
    char line[256];
    static const char mark[] = "listening on ";
    while (fgets(line, sizeof(line), out) != NULL) {
        if (strncmp(line, mark, sizeof(mark) - 1) == 0) {
            line[strcspn(line, "\n")] = '\0';
            (void)snprintf(c->url, sizeof(c->url), "%.95s", line + sizeof(mark) - 1);
            c->port = atoi(strrchr(c->url, ':') + 1);
            return;
        }
    }
    soak_die("a program does not start");
}

static void start(child *c, const char *const *words)
{
    int fds[2];
    if (pipe(fds) != 0 || (c->pid = fork()) < 0) {
        soak_die("no process");
    }
    if (c->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)dup2(fds[1], 1);
        (void)dup2(open("/dev/null", O_WRONLY), 2); /* what waits, every few seconds */
        (void)execv(words[0], (char *const *)(uintptr_t)words);
        _exit(127);
    }
    (void)close(fds[1]);
    read_url(c, fdopen(fds[0], "r")); /* stays open: it may write more */
}

/* VmHWM: the most that was resident. */
static double resident_mib(const child *c)
{
    char path[64], line[256];
    double mib = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)c->pid);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "VmHWM:", 6) == 0) {
            mib = strtod(line + 6, NULL) / 1024;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return mib;
}

/* ---- episodes ---- */

static void say(int episode, const char *role, const char *content, size_t n)
{
    size_t had = said[episode] != NULL ? strlen(said[episode]) : 0;
    char *more = realloc(said[episode], had + n + 64);
    if (more == NULL) {
        soak_die("no memory");
    }
    (void)snprintf(more + had, n + 64, "%s{\"role\":\"%s\",\"content\":\"%.*s\"}",
                   had > 0 ? "," : "", role, (int)n, content);
    said[episode] = more;
}

static void ask(httpget *connection, int episode, int turn)
{
    char text[96], target[64];
    int n = snprintf(text, sizeof(text), "Turn %d of %d: is Monday free?", turn, episode);
    say(episode, "user", text, (size_t)n);
    size_t size = strlen(said[episode]) + 256;
    char *body = malloc(size);
    if (body == NULL) {
        soak_die("no memory");
    }
    (void)snprintf(target, sizeof(target), "/e/soak-%d/v1/chat/completions", episode);
    (void)snprintf(body, size,
                   "{\"model\":\"" MODEL
                   "\",\"max_tokens\":12,\"seed\":%d,\"messages\":[%s]}",
                   episode, said[episode]);
    const httpget_request request = {.method = "POST", .target = target, .body = body};
    if (!httpget_ask(connection, &request)) {
        soak_die("a request was not taken");
    }
    free(body);
}

/* The content as it is in the JSON, escapes included: it goes back like that. */
static void keep_answer(int episode, const char *body)
{
    static const char mark[] = "\"content\":\"";
    const char *at = strstr(body, mark);
    if (at == NULL) {
        say(episode, "assistant", "", 0);
        return;
    }
    at += sizeof(mark) - 1;
    size_t n = 0;
    while (at[n] != '\0' && at[n] != '"') {
        n += at[n] == '\\' ? 2 : 1;
    }
    say(episode, "assistant", at, n);
}

static size_t run_turn(httpget **connections, int turn)
{
    size_t failed = 0;
    for (int i = 0; i < EPISODES; i++) {
        ask(connections[i], i, turn);
    }
    for (int i = 0; i < EPISODES; i++) {
        httpget_response response;
        bool is_read = httpget_read(connections[i], &response) == HTTPGET_OK;
        bool ok = is_read && response.status == 200;
        if (ok) {
            keep_answer(i, response.body.p);
        } else if (failed++ < 3) {
            fprintf(stderr, "soak: episode %d: %d %s\n", i, is_read ? response.status : 0,
                    is_read ? response.body.p : "no answer");
        }
        httpget_response_dispose(&response);
    }
    return failed;
}

/* Whether an episode is one sequence of all its turns. */
static bool is_chain(int port, int episode)
{
    char target[64];
    httpget_response response;
    (void)snprintf(target, sizeof(target), "/tinkc/v1/episodes/soak-%d", episode);
    const httpget_request request = {.target = target};
    bool ok = httpget_once(port, &request, &response) == HTTPGET_OK &&
              response.status == 200 &&
              strstr(response.body.p, "\"turns\":[0,1,2,3,4]") != NULL &&
              strstr(response.body.p, "\"branch\"") == NULL;
    httpget_response_dispose(&response);
    return ok;
}

/* ---- all of it ---- */

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *walk)
{
    (void)st;
    (void)flag;
    (void)walk;
    return remove(path);
}

static void stop(const child *c)
{
    int status = 0;
    (void)kill(c->pid, SIGTERM);
    (void)waitpid(c->pid, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        soak_die("a program did not end well");
    }
}

static int talk(const child *gateway)
{
    static httpget *connections[EPISODES];
    char detail[256];
    size_t failed = 0, broken = 0;
    double begin = soak_now_s();
    for (int i = 0; i < EPISODES; i++) {
        connections[i] = httpget_connect(gateway->port);
        if (connections[i] == NULL) {
            soak_die("no connection");
        }
    }
    for (int turn = 0; turn < TURNS && failed == 0; turn++) {
        failed += run_turn(connections, turn);
    }
    double seconds = soak_now_s() - begin;
    double mib = resident_mib(gateway); /* before the exports */
    for (int i = 0; i < EPISODES; i++) {
        httpget_close(&connections[i]);
        broken += i % 10 == 0 && !is_chain(gateway->port, i);
        free(said[i]);
    }
    (void)snprintf(detail, sizeof(detail),
                   "%d episodes at once, %d turns each, %.0f s: %.0f MiB resident, at "
                   "most %.0f; %zu failed, %zu of %d are not one chain",
                   EPISODES, TURNS, seconds, mib, BAR_MIB, failed, broken, EPISODES / 10);
    return soak_report("gateway episodes", mib < BAR_MIB && failed == 0 && broken == 0,
                       detail);
}

int main(int n_words, char **words)
{
    char directory[] = "/tmp/tinkc-soak-XXXXXX", own[64], log[64], found[4096];
    child server, gateway;
    struct rlimit files = {FILES, FILES};
    const char *program = n_words > 1 ? words[1] : found;
    (void)snprintf(
        found, sizeof(found), "%.*s../tinkc",
        strrchr(words[0], '/') != NULL ? (int)(strrchr(words[0], '/') + 1 - words[0]) : 0,
        words[0]);
    if (mkdtemp(directory) == NULL || setrlimit(RLIMIT_NOFILE, &files) != 0) {
        soak_die("no directory or too few files");
    }
    (void)snprintf(own, sizeof(own), "%s/server", directory);
    (void)snprintf(log, sizeof(log), "%s/episodes", directory);
    start(&server,
          (const char *const[]){program, "serve", "--port", "0", "--data", own, NULL});
    start(&gateway, (const char *const[]){program, "gateway", "-m", MODEL, "--port", "0",
                                          "--data", log, "--base-url", server.url,
                                          "--api-key", "tml-soak", NULL});
    int failed = talk(&gateway);
    stop(&gateway);
    stop(&server);
    (void)nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return failed;
}
