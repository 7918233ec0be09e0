/* JSON of token ids and logprobs, against jansson; the other side of bench_json.py.
 *
 * Without arguments: our reader and writer against jansson's on 32,768 token ids. With
 * `--steps`: reads a line "<what> <file>" at a time and answers with the CPU nanoseconds
 * of one repetition, so that bench_json.py can interleave us with Python's json.
 * Links: jansson */
#include "bench.h"

#include <jansson.h>
#include <string.h>

#include "base/mem.h"

#define TOKENS 32768

/* One text and the values it holds. */
typedef struct job {
    tk_buf text;
    int32_t *ids;    /* when all are integers */
    double *doubles; /* when some are not */
    float *floats;
    size_t n;
    json_t *theirs; /* for the jansson writer */
    size_t written;
} job;

static void die(const char *what)
{
    fprintf(stderr, "bench_json: %s\n", what);
    exit(1);
}

static void parse_ours(void *user)
{
    job *j = user;
    tk_arena arena;
    tk_arena_init(&arena, 0);
    const tk_json *value;
    if (tk_json_parse(&value, &arena, j->text.p, j->text.n, NULL, NULL) != TINKC_OK ||
        tk_json_len(value) != j->n) {
        die("our reader failed");
    }
    tk_arena_dispose(&arena);
}

static void parse_theirs(void *user)
{
    job *j = user;
    json_t *value = json_loadb(j->text.p, j->text.n, 0, NULL);
    if (json_array_size(value) != j->n) {
        die("jansson's reader failed");
    }
    json_decref(value);
}

static void write_ours(void *user, void (*put)(tk_json_writer *w, const job *j))
{
    job *j = user;
    tk_buf out;
    tk_json_writer w;
    tk_buf_init(&out, TK_GIB);
    tk_json_writer_init(&w, &out);
    put(&w, j);
    if (tk_json_finish(&w, NULL) != TINKC_OK) {
        die("our writer failed");
    }
    j->written = out.n;
    tk_buf_dispose(&out);
}

static void put_ids(tk_json_writer *w, const job *j)
{
    tk_json_put_i32s(w, j->ids, j->n);
}

static void put_doubles(tk_json_writer *w, const job *j)
{
    tk_json_put_doubles(w, j->doubles, j->n);
}

static void put_floats(tk_json_writer *w, const job *j)
{
    tk_json_put_f32s(w, j->floats, j->n, false);
}

static void write_ids(void *user)
{
    write_ours(user, put_ids);
}

static void write_doubles(void *user)
{
    write_ours(user, put_doubles);
}

static void write_floats(void *user)
{
    write_ours(user, put_floats);
}

static void write_theirs(void *user)
{
    job *j = user;
    char *text = json_dumps(j->theirs, JSON_COMPACT);
    if (text == NULL) {
        die("jansson's writer failed");
    }
    j->written = strlen(text);
    free(text);
}

/* ---- against jansson ---- */

static void race(const char *name, void (*ours)(void *), void (*theirs)(void *), job *j)
{
    bench_side a = {.run = ours, .user = j};
    bench_side b = {.run = theirs, .user = j};
    double ours_ns, theirs_ns;
    bench_race(&a, &b, &ours_ns, &theirs_ns);
    char detail[128];
    (void)snprintf(detail, sizeof(detail), "%.0f KB: ours %.0f MB/s, jansson %.0f MB/s",
                   (double)j->text.n / 1e3, (double)j->text.n / ours_ns * 1e3,
                   (double)j->text.n / theirs_ns * 1e3);
    bench_report(name, theirs_ns / ours_ns, 5, detail);
}

static void race_jansson(void)
{
    static int32_t ids[TOKENS];
    job j = {.ids = ids, .n = TOKENS};
    uint64_t state = 42;
    for (size_t i = 0; i < TOKENS; i++) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        ids[i] = (int32_t)((state >> 33) % 151643);
    }
    tk_json_writer w;
    tk_buf_init(&j.text, TK_MIB);
    tk_json_writer_init(&w, &j.text);
    put_ids(&w, &j);
    j.theirs = json_loadb(j.text.p, j.text.n, 0, NULL);
    race("json: parse token ids, against jansson", parse_ours, parse_theirs, &j);
    race("json: write token ids, against jansson", write_ids, write_theirs, &j);
    json_decref(j.theirs);
    tk_buf_dispose(&j.text);
}

/* ---- for bench_json.py ---- */

static void load_text(job *j, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        die("cannot open the text");
    }
    char block[65536];
    for (size_t n; (n = fread(block, 1, sizeof(block), file)) > 0;) {
        tk_buf_put(&j->text, block, n);
    }
    (void)fclose(file);
}

static void load(job *j, const char *path)
{
    tk_arena arena;
    tk_arena_init(&arena, 0);
    const tk_json *value;
    tk_buf_init(&j->text, TK_GIB);
    load_text(j, path);
    if (tk_json_parse(&value, &arena, j->text.p, j->text.n, NULL, NULL) != TINKC_OK) {
        die("cannot parse the text");
    }
    j->n = tk_json_len(value);
    j->ids = tk_array(j->n, sizeof(j->ids[0]));
    j->doubles = tk_array(j->n, sizeof(j->doubles[0]));
    j->floats = tk_array(j->n, sizeof(j->floats[0]));
    if (j->ids == NULL || j->doubles == NULL || j->floats == NULL) {
        die("out of memory");
    }
    for (size_t i = 0; i < j->n; i++) {
        tk_json item = tk_json_at(value, i);
        if (!tk_json_to_double(&item, &j->doubles[i])) {
            die("not an array of numbers");
        }
        j->ids[i] = (int32_t)j->doubles[i];
        j->floats[i] = (float)j->doubles[i];
    }
    tk_arena_dispose(&arena);
}

static void unload(job *j)
{
    tk_free(j->ids);
    tk_free(j->doubles);
    tk_free(j->floats);
    tk_buf_dispose(&j->text);
    memset(j, 0, sizeof(*j));
}

static void step(const char *what, job *j)
{
    static const struct {
        const char *name;
        void (*run)(void *user);
    } rows[] = {{"parse", parse_ours},
                {"write_ids", write_ids},
                {"write_doubles", write_doubles},
                {"write_floats", write_floats}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        if (strcmp(rows[i].name, what) == 0) {
            double ns = bench_time_ns(rows[i].run, j);
            printf("%.0f %zu\n", ns, j->written);
            (void)fflush(stdout);
            return;
        }
    }
    die("unknown step");
}

static void run_steps(void)
{
    job j = {0};
    char loaded[256] = "";
    char what[32];
    char path[256];
    while (scanf("%31s %255s", what, path) == 2) {
        if (strcmp(path, loaded) != 0) {
            unload(&j);
            load(&j, path);
            (void)snprintf(loaded, sizeof(loaded), "%s", path);
        }
        step(what, &j);
    }
    unload(&j);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--steps") == 0) {
        run_steps();
    } else {
        race_jansson();
    }
    return 0;
}
