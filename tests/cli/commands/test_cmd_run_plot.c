/* `tinkc run plot`: files and runs of a server, what is missing, and the picture. */
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/clifix.h"

static void write_file(const char *path, const char *text)
{
    assert_int_equal(tk_file_replace(path, text, strlen(text), 0600, NULL), TINKC_OK);
}

static char *temp_folder(char out[64])
{
    (void)snprintf(out, 64, "/tmp/tinkc-plot-XXXXXX");
    assert_non_null(mkdtemp(out));
    return out;
}

#define METRICS                                                                          \
    "{\"step\":0,\"eval_loss\":4}\n"                                                     \
    "{\"step\":1,\"loss\":3,\"lr\":0.1,\"tokens\":10,\"seconds\":2}\n"                   \
    "{\"step\":2,\"loss\":1,\"lr\":0.05,\"tokens\":10,\"seconds\":2}\n{\"step\":3,\"lo"

/* The loss with the held-out loss; a line that is still being written is left out. */
static void test_cli_run_plot_file(void **unused)
{
    clifix f;
    char folder[64], path[128], line[512], svg[160];
    char *text = NULL;
    clifix_begin(&f);
    (void)snprintf(path, sizeof(path), "%s/metrics.jsonl", temp_folder(folder));
    (void)snprintf(svg, sizeof(svg), "%s/a.svg", folder);
    write_file(path, METRICS);
    (void)snprintf(line, sizeof(line), "run plot %s --svg %s -f jsonl", folder, svg);
    clifix_expect(&f, line,
                  "{\"metric\": \"loss\", \"by\": \"step\", \"series\": [{\"name\": "
                  "\"loss\", \"points\": [[1.0, 3.0], [2.0, 1.0]]}, {\"name\": "
                  "\"held-out\", \"points\": [[0.0, 4.0]]}]}\n");
    assert_int_equal(tk_file_read(&text, NULL, svg, TK_MIB, NULL), TINKC_OK);
    assert_non_null(strstr(text, ">held-out</text>"));
    tk_free(text);
    (void)snprintf(line, sizeof(line), "run plot %s --metric lr --by time -f jsonl",
                   path);
    clifix_expect(
        &f, line,
        "{\"metric\": \"lr\", \"by\": \"time\", \"series\": [{\"name\": \"lr\", "
        "\"points\": [[2.0, 0.1], [4.0, 0.05]]}]}\n");
    (void)snprintf(line, sizeof(line), "run plot %s --metric nope", path);
    clifix_refused(&f, line, 1, "has no metric nope; it has eval_loss, loss, lr, tokens");
    clifix_refused(&f, "run plot no/such.jsonl", 1, "there is no file no/such.jsonl");
    clifix_refused(&f, "run plot", 2, "Missing argument: RUN.");
    assert_int_equal(fakeapi_total(f.api), 0); /* files need no server */
    (void)unlink(path);
    (void)unlink(svg);
    (void)rmdir(folder);
    clifix_end(&f);
}

/* Of a run the server is asked, for means of at most a thousand points. */
static void test_cli_run_plot_server(void **unused)
{
    clifix f;
    clifix_begin(&f);
    fakeapi_default(f.api, "GET", "/tinkc/v1/console/runs/*",
                    &fakeapi_json("{\"series\":[{\"name\":\"lr\",\"step\":[1,2],"
                                  "\"time_ms\":[5000,6500],\"tokens\":[10,20],"
                                  "\"mean\":[2,null],\"min\":[1,null]}]}"));
    clifix_expect(
        &f, "run plot S:train:0 --metric lr -f jsonl",
        "{\"metric\": \"lr\", \"by\": \"step\", \"series\": [{\"name\": \"lr\", "
        "\"points\": [[1.0, 2.0]]}]}\n");
    assert_string_equal(clifix_last(&f)->query, "metric=lr&by=step&points=1000");
    clifix_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cli_run_plot_file),
        cmocka_unit_test(test_cli_run_plot_server),
    };
    return cmocka_run_group_tests_name("cmd_run_plot", tests, NULL, NULL);
}
