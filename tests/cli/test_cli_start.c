/* Before and around a command: help, version, manual pages, completion, and what the
 * executable needs to start.
 * Links: client */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/clifix.h"
#include "cli/cmd_list.h"
#include <tinkc/version.h>

static proc *run_plain(const char *const *argv)
{
    static const char *const env[] = {"LC_ALL=C.UTF-8", "TERM=dumb", NULL};
    return proc_run(&(proc_options){.env = env}, argv);
}

/* A home with the files that the program might read, watched. */
typedef struct home {
    char path[64], tinker[96], key[128], env[96], command[128];
    int watch;
} home;

static void open_home(home *h)
{
    (void)snprintf(h->path, sizeof(h->path), "/tmp/tinkc-home-XXXXXX");
    assert_non_null(mkdtemp(h->path));
    (void)snprintf(h->tinker, sizeof(h->tinker), "%s/.tinker", h->path);
    (void)snprintf(h->key, sizeof(h->key), "%s/credentials.json", h->tinker);
    (void)snprintf(h->env, sizeof(h->env), "HOME=%s", h->path);
    (void)snprintf(h->command, sizeof(h->command), "TINKER_CREDENTIAL_CMD=touch %s/ran",
                   h->path);
    assert_int_equal(mkdir(h->tinker, 0700), 0);
    int fd = open(h->key, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0 && close(fd) == 0);
    h->watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    assert_true(h->watch >= 0);
    assert_true(inotify_add_watch(h->watch, h->path, IN_ALL_EVENTS) >= 0);
    assert_true(inotify_add_watch(h->watch, h->tinker, IN_ALL_EVENTS) >= 0);
}

/* Nothing in it was opened, listed or made. */
static void close_home(home *h)
{
    char events[4096];
    assert_int_equal(read(h->watch, events, sizeof(events)), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(close(h->watch), 0);
    assert_int_equal(unlink(h->key), 0);
    assert_int_equal(rmdir(h->tinker), 0);
    assert_int_equal(rmdir(h->path), 0);
}

/* A-128, M-163, C-003, C-004: help of the program, of groups and of commands looks at
 * nothing: the server that is configured is not asked, no file of the user is opened, the
 * credential command is not run, a bad configuration does no harm. */
static void test_cli_help_does_nothing(void **unused)
{
    clifix f;
    home h;
    clifix_begin(&f);
    open_home(&h);
    clifix_env(&f, h.env);
    clifix_env(&f, h.command);
    for (const cmd_spec *const *at = cmd_list; *at != NULL; at++) {
        char line[128];
        (void)snprintf(line, sizeof(line), "%s --help", (*at)->name);
        proc *p = clifix_run(&f, line);
        assert_int_equal(p->status, 0);
        assert_string_equal(proc_err(p), "");
        assert_non_null(strstr(proc_out(p), (*at)->help));
        proc_free(&p);
    }
    static const char *const lines[] = {"--help", "-h", "run --help", "checkpoint -h",
                                        "run list -h"};
    for (size_t i = 0; i < TK_ARRAY_LEN(lines); i++) {
        f.env[0] = "TINKER_BASE_URL=no such thing";
        proc *p = clifix_run(&f, lines[i]);
        assert_int_equal(p->status, 0);
        assert_non_null(strstr(proc_out(p), "Usage: tinkc "));
        proc_free(&p);
    }
    assert_int_equal(fakeapi_connections_total(f.api), 0);
    close_home(&h);
    clifix_end(&f);
}

/* C-001, C-002, C-009, C-035: usage errors, the version, --format anywhere. */
static void test_cli_usage(void **unused)
{
    clifix f;
    char version[64];
    clifix_begin(&f);
    (void)snprintf(version, sizeof(version), "tinkc %s\n", TINKC_VERSION);
    clifix_expect(&f, "version", version);
    clifix_expect(&f, "--version", version);
    (void)snprintf(version, sizeof(version),
                   "{\"version\": \"%s\", \"sdk_level\": \"%s\"}\n", TINKC_VERSION,
                   TINKC_SDK_LEVEL);
    clifix_expect(&f, "version --format jsonl", version);
    clifix_expect(&f, "--format=jsonl version", version);
    clifix_expect(&f, "-fjsonl version", version);
    clifix_refused(&f, "nosuch", 2, "Error: No such command 'nosuch'.\n");
    clifix_refused(&f, "run nosuch", 2, "Error: No such command 'run nosuch'.\n");
    clifix_refused(&f, "run list --nosuch", 2, "Error: No such option: --nosuch\n");
    clifix_refused(&f, "run list extra", 2, "Got unexpected extra argument (extra).");
    clifix_refused(&f, "run list --limit x", 2, "'x' is not a valid integer.");
    clifix_refused(&f, "-f xml run list", 2, "is not one of table|json|jsonl.");
    proc *p = clifix_run(&f, "run");
    assert_int_equal(p->status, 2);
    assert_non_null(strstr(proc_out(p), "  list "));
    proc_free(&p);
    assert_int_equal(fakeapi_total(f.api), 0);
    clifix_end(&f);
}

/* M-164: every page of the manual renders without a warning, and there is one for each
 * command. */
static void test_cli_man(void **unused)
{
    size_t n = 0;
    DIR *dir = opendir(TINKC_MAN);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (strstr(entry->d_name, ".1") == NULL) {
            continue;
        }
        char path[512];
        (void)snprintf(path, sizeof(path), TINKC_MAN "/%s", entry->d_name);
        proc *p = run_plain(
            (const char *[]){"man", "--warnings", "-E", "UTF-8", "-l", path, NULL});
        assert_string_equal(proc_err(p), "");
        assert_int_equal(p->status, 0);
        assert_non_null(strstr(proc_out(p), "SYNOPSIS"));
        proc_free(&p);
        n++;
    }
    closedir(dir);
    for (const cmd_spec *const *at = cmd_list; *at != NULL; at++) {
        char path[512];
        (void)snprintf(path, sizeof(path), TINKC_MAN "/tinkc-%.*s.1",
                       (int)strcspn((*at)->name, " "), (*at)->name);
        assert_int_equal(access(path, R_OK), 0);
    }
    assert_true(n > 10);
}

/* ---- completion ---- */

/* An interactive bash on a new terminal, with our completion. */
static proc *start_bash(void)
{
    static const char *const env[] = {"LC_ALL=C.UTF-8", "TERM=dumb", "PS1=READY>",
                                      "INPUTRC=/dev/null", NULL};
    const proc_options options = {.env = env, .out_columns = 200, .all_terminal = true};
    const char *const argv[] = {"bash", "--norc", "--noprofile", "-i", NULL};
    proc *p = proc_start(&options, argv);
    assert_true(proc_wait_for(p, "READY>"));
    proc_write(p, "bind 'set show-all-if-ambiguous on'; bind 'set page-completions off'; "
                  "PATH=$(dirname '" TINKC_PROGRAM "'):$PATH; source '" TINKC_MAN
                  "/completion.bash'; echo LOA''DED\n");
    assert_true(proc_wait_for(p, "LOADED"));
    return p;
}

/* What bash makes of `typed` and a tab: the whole line, printed by echo. */
static void completes(proc *p, const char *typed, const char *line)
{
    static int round;
    char text[512], expected[512];
    round++;
    (void)snprintf(text, sizeof(text), "%s\t", typed);
    proc_write(p, text);
    /* home, echo with a mark, end, mark, return */
    (void)snprintf(text, sizeof(text), "\001echo '<%d:'\005 ':%d>'\n", round, round);
    proc_write(p, text);
    (void)snprintf(expected, sizeof(expected), "<%d: %s :%d>", round, line, round);
    char close[32];
    (void)snprintf(close, sizeof(close), "<%d: ", round);
    assert_true(proc_wait_for(p, close));
    (void)snprintf(close, sizeof(close), " :%d>", round);
    assert_true(proc_wait_for(p, close));
    if (strstr(proc_out(p), expected) == NULL) {
        print_error("wanted %s in:\n%s\n", expected, proc_out(p));
    }
    assert_non_null(strstr(proc_out(p), expected));
}

/* M-164, C-092: the completion works in a real bash. */
static void test_cli_completion(void **unused)
{
    proc *p = start_bash();
    completes(p, " tinkc checkp", "tinkc checkpoint");
    completes(p, " tinkc checkpoint down", "tinkc checkpoint download");
    completes(p, " tinkc run list --col", "tinkc run list --columns");
    completes(p, " tinkc run list --base-", "tinkc run list --base-url");
    completes(p, " tinkc --format jsonl run in", "tinkc --format jsonl run info");
    completes(p, " tinkc --format tab", "tinkc --format table");
    completes(p, " tinkc checkpoint delete --type samp",
              "tinkc checkpoint delete --type sampler");
    completes(p, " tinkc --ver", "tinkc --ver"); /* --verbose, --version */
    completes(p, " tinkc checkpoint download -o /us",
              "tinkc checkpoint download -o /usr/");
    proc_write(p, " tinkc \t\t");
    assert_true(proc_wait_for(p, "weights-info"));
    proc_free(&p);
}

/* ---- what it needs ---- */

#ifndef TINKC_SANITIZED

static void copy_into(const char *root, const char *path)
{
    char to[512];
    (void)snprintf(to, sizeof(to), "%s%.*s", root, (int)(strrchr(path, '/') - path),
                   path);
    proc *p = run_plain((const char *[]){"mkdir", "-p", to, NULL});
    proc_free(&p);
    p = run_plain((const char *[]){"cp", "-L", path, to, NULL});
    assert_int_equal(p->status, 0);
    proc_free(&p);
}

/* Copies the libraries that ldd names; the loader's path into *loader. */
static void copy_libraries(const char *root, char *loader, size_t size)
{
    proc *p = run_plain((const char *[]){"ldd", TINKC_PROGRAM, NULL});
    fakeapi_bytes text = {0};
    fakeapi_bytes_puts(&text, proc_out(p));
    char *rest = text.p;
    (void)fakeapi_bytes_cstr(&text);
    rest = text.p;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        char *path = strchr(line, '/');
        if (path != NULL) {
            path[strcspn(path, " ")] = '\0';
            copy_into(root, path);
            if (strstr(path, "/ld-linux") != NULL) {
                (void)snprintf(loader, size, "%s", path);
            }
        }
    }
    fakeapi_bytes_dispose(&text);
    proc_free(&p);
}

/* A-129, M-163: one executable and the libraries of ldd, nothing else: no data files, no
 * configuration, no home. Without the right to chroot, the copied loader takes the copied
 * libraries only. */
static void test_cli_needs_libraries_only(void **unused)
{
    char root[] = "/tmp/tinkc-root.XXXXXX", loader[256] = "", program[512], path[512];
    static const char *const lines[][4] = {
        {"--help"}, {"version"}, {"run", "list", "--help"}, {"models"}};
    clifix f;
    clifix_begin(&f);
    fakeapi_default(f.api, "GET", CLI_API "get_server_capabilities",
                    &fakeapi_json("{\"supported_models\":[]}"));
    assert_non_null(mkdtemp(root));
    copy_into(root, TINKC_PROGRAM);
    copy_libraries(root, loader, sizeof(loader));
    assert_true(loader[0] != '\0');
    for (size_t i = 0; i < TK_ARRAY_LEN(lines); i++) {
        const char *inside[] = {"chroot",    root,        TINKC_PROGRAM, lines[i][0],
                                lines[i][1], lines[i][2], NULL};
        (void)snprintf(program, sizeof(program), "%s" TINKC_PROGRAM, root);
        (void)snprintf(path, sizeof(path), "%s%s", root, loader);
        char libraries[1024];
        (void)snprintf(libraries, sizeof(libraries),
                       "%s/lib/x86_64-linux-gnu:%s/lib/aarch64-linux-gnu:%s/lib:%s/lib64",
                       root, root, root, root);
        const char *outside[] = {path,        "--inhibit-cache", "--library-path",
                                 libraries,   program,           lines[i][0],
                                 lines[i][1], lines[i][2],       NULL};
        proc *p = proc_run(&f.options, geteuid() == 0 ? inside : outside);
        assert_string_equal(proc_err(p), "");
        assert_int_equal(p->status, 0);
        assert_true(p->said.n > 0);
        proc_free(&p);
    }
    proc *p = run_plain((const char *[]){"rm", "-rf", root, NULL});
    proc_free(&p);
    clifix_end(&f);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cli_help_does_nothing),
        cmocka_unit_test(test_cli_usage),
        cmocka_unit_test(test_cli_man),
        cmocka_unit_test(test_cli_completion),
#ifndef TINKC_SANITIZED
        cmocka_unit_test(test_cli_needs_libraries_only),
#endif
    };
    return cmocka_run_group_tests_name("cli_start", tests, NULL, NULL);
}
