/* Prints the tables of commands as documents: docs/cli.md on standard output or, with a
 * directory as operand, the manual pages tinkc.1 and tinkc-COMMAND.1 there, one per command
 * or group. */
#include <stdio.h>
#include <string.h>
#include <tinkc/version.h>

#include "cli/cmd_list.h"
#include "cli/frame/cmd_int.h"

static const struct {
    const char *name, *text;
} environment[] = {
    {"TINKER_API_KEY", "Credential: a key (tml-...) or a token (eyJ...)."},
    {"TINKER_CREDENTIAL_CMD", "Shell command that prints a fresh credential."},
    {"TINKER_BASE_URL", "URL of the server; \"local\" works like --local."},
    {"TINKER_PROJECT_ID", "Project of new sessions."},
    {"TINKER_TAGS", "Tags of new sessions, separated by commas."},
    {"TINKER_LOG", "debug or info: log of the library on standard error."},
    {"TINKC_WIRE_DUMP",
     "1, with TINKER_LOG or -v: log whole requests, with secrets masked."},
    {"TINKER_TELEMETRY", "0 turns off reports to the server."},
    {"CLOUDFLARE_ACCESS_CLIENT_ID", "With _SECRET: headers for Cloudflare Access."},
    {"HTTPS_PROXY", "Proxy; HTTP_PROXY, ALL_PROXY and NO_PROXY work, too."},
    {"SSL_CERT_FILE", "Certificates to trust; SSL_CERT_DIR works, too."},
    {"NO_COLOR", "Turns off colour."},
    {"TINKC_CHAT_HISTORY",
     "File of the lines typed in tinkc chat, or off (~/.local/state/tinkc/chat_history)."},
    {"TINKC_SHOW_WAITS",
     "Milliseconds after which a wait is shown on standard error (2000), or off."},
};

static const struct {
    int code;
    const char *text;
} exits[] = {
    {CMD_OK, "Success."},
    {CMD_FAILED, "The command failed, or a part of it did."},
    {CMD_USAGE, "The command line is wrong; nothing was done."},
    {CMD_INTERRUPTED, "Interrupted with Ctrl-C."},
};

static const char description[] =
    "Trains, samples and serves language models with the Tinker API. Results go to\n"
    "standard output, as tables or, with --format json (one document) and --format jsonl\n"
    "(one line per item), as JSON. Progress, questions and errors go to standard error.\n"
    "Options of the program may come before or after the command. On SIGUSR1 the program\n"
    "lists on standard error the operations that it is waiting for.";

/* Returns whether the command at `at` starts a page: it has one word, or is the first of
 * its group. */
static bool opens_page(const cmd_spec *const *at)
{
    size_t n = strcspn((*at)->name, " ");
    return at == cmd_list || strncmp(at[-1]->name, (*at)->name, n) != 0 ||
           at[-1]->name[n] != (*at)->name[n];
}

static bool is_of_page(const cmd_spec *command, const char *word, size_t n)
{
    return strncmp(command->name, word, n) == 0 &&
           (command->name[n] == ' ' || command->name[n] == '\0');
}

/* ---- markdown ---- */

/* Escapes bars, which would end the cell of a table. */
static void md_text(const char *text)
{
    for (; *text != '\0'; text++) {
        fputs(*text == '|' ? "\\" : "", stdout);
        putchar(*text);
    }
}

static void md_options(const cmd_option *options)
{
    if (options == NULL) {
        return;
    }
    printf("\n| option | what |\n|---|---|\n");
    for (; options->name != NULL; options++) {
        printf("| ");
        if (options->letter != 0) {
            printf("`-%c`, ", options->letter);
        }
        printf("`--%s", options->name);
        if (options->value != NULL) {
            putchar(' ');
            md_text(options->value);
        }
        printf("` | ");
        md_text(options->help);
        printf("%s |\n", options->repeats && options->kind != CMD_FLAG
                             ? " May be given more than once."
                             : "");
    }
}

static void md_command(const cmd_spec *command)
{
    printf("\n## tinkc %s\n\n%s%s%s\n\n```\ntinkc %s [OPTIONS]%s%s\n```\n", command->name,
           command->help, command->more != NULL ? "\n" : "",
           command->more != NULL ? command->more : "", command->name,
           command->operands[0] != '\0' ? " " : "", command->operands);
    md_options(command->options);
    if (command->examples != NULL) {
        printf("\n```\n%s\n```\n", command->examples);
    }
}

static void md_hints(void)
{
    printf(
        "\n## Errors\n\nA line `Error: ...` on standard error says what failed, and a line "
        "`Hint: ...`\nwhat to do about it. `-v` adds code, status, request id and "
        "causes.\n\n"
        "| code | hint |\n|---|---|\n");
    for (int code = 1; code <= TINKC_E_INTERNAL; code++) {
        const char *hint = cmd_hint((tinkc_code)code);
        printf("| `%s` | %s |\n", tinkc_code_name((tinkc_code)code),
               hint != NULL ? hint : "");
    }
}

static void markdown(void)
{
    printf("# The program tinkc\n\n%s\n\nDifferences from the official program: "
           "[cli-differences.md](cli-differences.md).\n\n"
           "```\ntinkc [OPTIONS] COMMAND [ARGS]...\n```\n",
           description);
    md_options(cmd_globals);
    printf("\n| exit code | meaning |\n|---|---|\n");
    for (size_t i = 0; i < sizeof(exits) / sizeof(exits[0]); i++) {
        printf("| %d | %s |\n", exits[i].code, exits[i].text);
    }
    printf("\n| environment | meaning |\n|---|---|\n");
    for (size_t i = 0; i < sizeof(environment) / sizeof(environment[0]); i++) {
        printf("| `%s` | %s |\n", environment[i].name, environment[i].text);
    }
    for (const cmd_spec *const *at = cmd_list; *at != NULL; at++) {
        md_command(*at);
    }
    md_hints();
}

/* ---- manual pages ---- */

/* Writes text of one or more lines, with what is special in roff escaped: dashes,
 * backslashes, and dots and quotes at the start of a line. */
static void put(FILE *to, const char *text)
{
    bool at_start = true;
    for (; *text != '\0'; text++) {
        if (at_start && (*text == '.' || *text == '\'')) {
            fputs("\\&", to);
        }
        if (*text == '\\') {
            fputs("\\e", to);
        } else if (*text == '-') {
            fputs("\\-", to);
        } else {
            fputc(*text, to);
        }
        at_start = *text == '\n';
    }
}

static void put_line(FILE *to, const char *macro, const char *text)
{
    fputs(macro, to);
    put(to, text);
    fputc('\n', to);
}

static void man_head(FILE *to, const char *page, const char *what)
{
    char upper[64];
    size_t n = 0;
    for (; page[n] != '\0' && n + 1 < sizeof(upper); n++) {
        upper[n] =
            (char)(page[n] >= 'a' && page[n] <= 'z' ? page[n] - 'a' + 'A' : page[n]);
    }
    upper[n] = '\0';
    fprintf(to, ".TH \"%s\" 1 \"\" \"tinkc %s\" \"tinkc\"\n.SH NAME\n", upper,
            tinkc_version());
    put(to, page);
    fputs(" \\- ", to);
    put(to, what);
    fputc('\n', to);
}

static void man_options(FILE *to, const cmd_option *options)
{
    for (; options != NULL && options->name != NULL; options++) {
        fputs(".TP\n", to);
        if (options->letter != 0) {
            fprintf(to, "\\fB\\-%c\\fR, ", options->letter);
        }
        fputs("\\fB\\-\\-", to);
        put(to, options->name);
        fputs("\\fR", to);
        if (options->value != NULL) {
            fputs(" \\fI", to);
            put(to, options->value);
            fputs("\\fR", to);
        }
        fputc('\n', to);
        put_line(to, "", options->help);
        if (options->repeats && options->kind != CMD_FLAG) {
            fputs("May be given more than once.\n", to);
        }
    }
}

static void man_synopsis(FILE *to, const cmd_spec *command)
{
    fputs("\\fBtinkc ", to);
    put(to, command->name);
    fputs("\\fR [\\fIOPTIONS\\fR]", to);
    if (command->operands[0] != '\0') {
        fputc(' ', to);
        put(to, command->operands);
    }
    fputc('\n', to);
}

static void man_command(FILE *to, const cmd_spec *command)
{
    put_line(to, "", command->help);
    if (command->more != NULL) {
        put_line(to, ".PP\n", command->more);
    }
    man_options(to, command->options);
    if (command->examples != NULL) {
        fputs(".PP\nExamples:\n.PP\n.nf\n.RS 4\n", to);
        put_line(to, "", command->examples);
        fputs(".RE\n.fi\n", to);
    }
}

static void man_exits(FILE *to)
{
    fputs(".SH EXIT STATUS\n", to);
    for (size_t i = 0; i < sizeof(exits) / sizeof(exits[0]); i++) {
        fprintf(to, ".TP\n\\fB%d\\fR\n%s\n", exits[i].code, exits[i].text);
    }
}

/* Writes the description of a command or group for the NAME line of its page. */
static void page_words(char *out, size_t size, const cmd_spec *first)
{
    size_t n = strcspn(first->name, " ");
    const char *text =
        first->name[n] == '\0' ? first->help : cmd_group_help(cmd_groups, first->name, n);
    (void)snprintf(out, size, "%s", text);
    n = strlen(out);
    if (n > 0 && out[n - 1] == '.') {
        out[n - 1] = '\0';
    }
    if (out[0] >= 'A' && out[0] <= 'Z') {
        out[0] = (char)(out[0] - 'A' + 'a');
    }
}

static void man_page(FILE *to, const char *page, const cmd_spec *const *first)
{
    char words[256];
    size_t n = strcspn((*first)->name, " ");
    page_words(words, sizeof(words), *first);
    man_head(to, page, words);
    fputs(".SH SYNOPSIS\n", to);
    for (const cmd_spec *const *at = cmd_list; *at != NULL; at++) {
        if (is_of_page(*at, (*first)->name, n)) {
            fputs(at == first ? "" : ".PP\n", to);
            man_synopsis(to, *at);
        }
    }
    fputs(".SH DESCRIPTION\n", to);
    for (const cmd_spec *const *at = cmd_list; *at != NULL; at++) {
        if (is_of_page(*at, (*first)->name, n)) {
            if ((*at)->name[n] != '\0') {
                put_line(to, ".SS tinkc ", (*at)->name);
            }
            man_command(to, *at);
        }
    }
    fputs(".PP\nThe options of \\fBtinkc\\fR(1), such as \\fB\\-\\-format\\fR, also work "
          "here.\n",
          to);
    man_exits(to);
    fputs(".SH SEE ALSO\n.BR tinkc (1)\n", to);
}

static void man_main(FILE *to)
{
    man_head(to, "tinkc", "train, sample and serve language models");
    fputs(
        ".SH SYNOPSIS\n\\fBtinkc\\fR [\\fIOPTIONS\\fR] \\fICOMMAND\\fR [\\fIARGS\\fR]...\n"
        ".SH DESCRIPTION\n",
        to);
    put_line(to, "", description);
    fputs(".SH OPTIONS\n", to);
    man_options(to, cmd_globals);
    fputs(".SH COMMANDS\n", to);
    for (const cmd_spec *const *at = cmd_list; *at != NULL; at++) {
        fputs(".TP\n\\fB", to);
        put(to, (*at)->name);
        fputs("\\fR\n", to);
        put_line(to, "", (*at)->help);
    }
    fputs(".SH ENVIRONMENT\n", to);
    for (size_t i = 0; i < sizeof(environment) / sizeof(environment[0]); i++) {
        fprintf(to, ".TP\n\\fB%s\\fR\n", environment[i].name);
        put_line(to, "", environment[i].text);
    }
    man_exits(to);
    fputs(".SH SEE ALSO\n", to);
    for (const cmd_spec *const *at = cmd_list; *at != NULL; at++) {
        if (opens_page(at)) {
            char word[64];
            (void)snprintf(word, sizeof(word), "%.*s", (int)strcspn((*at)->name, " "),
                           (*at)->name);
            fputs(".BR tinkc\\-", to);
            put(to, word);
            fputs(" (1)\n", to);
        }
    }
}

static bool write_page(const char *dir, const char *page, const cmd_spec *const *first)
{
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s/%s.1", dir, page);
    FILE *to = fopen(path, "w");
    if (to == NULL) {
        perror(path);
        return false;
    }
    if (first != NULL) {
        man_page(to, page, first);
    } else {
        man_main(to);
    }
    return fclose(to) == 0;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        markdown();
        return 0;
    }
    bool ok = write_page(argv[1], "tinkc", NULL);
    for (const cmd_spec *const *at = cmd_list; *at != NULL; at++) {
        if (opens_page(at)) {
            char page[128];
            (void)snprintf(page, sizeof(page), "tinkc-%.*s",
                           (int)strcspn((*at)->name, " "), (*at)->name);
            ok = write_page(argv[1], page, at) && ok;
        }
    }
    return ok ? 0 : 1;
}
