/* See push_int.h: what is done on this machine, in a private directory: the download, the
 * checks, the texts that are missing, the names. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <tinkc/download.h>
#include <tinkc/rest.h>

#include "base/env.h"
#include "base/file.h"
#include "base/mem.h"
#include "client/hub/push_int.h"
#include "client/values/error.h"

#define FILE_MODE 0600
#define STEM      "tinkc-push"

/* ---- the download ---- */

static bool tell(const tinkc_progress *progress, void *user)
{
    tk_push *push = user;
    push->progress.done = progress->received;
    push->progress.total = progress->total;
    return push->peer.tick(push->peer.user);
}

static tinkc_code make_folder(tk_push *push, tk_err *err)
{
    const char *parent = push->options.temp_dir;
    if (parent == NULL) {
        parent = tk_env_get_nonempty(NULL, "TMPDIR");
        parent = parent != NULL ? parent : "/tmp";
    }
    tk_staging_sweep(parent, STEM, NULL); /* of those that were killed */
    tinkc_code code = tk_staging_make(&push->stage, parent, STEM, err);
    if (code == TINKC_OK) {
        push->folder = tk_file_join(push->stage.path, "checkpoint");
        code = push->folder != NULL ? TINKC_OK : tk_err_nomem(err);
    }
    return code;
}

tinkc_code tk_push_download(tk_push *push, tk_err *err)
{
    tinkc_download_options options = TINKC_DOWNLOAD_OPTIONS_INIT;
    tinkc_error *error = NULL;
    tinkc_code code = make_folder(push, err);
    if (code != TINKC_OK) {
        return code;
    }
    options.max_retries = push->options.max_retries;
    options.fn = tell;
    options.user = push;
    code = tinkc_download_checkpoint(NULL, push->service, push->path, push->folder,
                                     &options, &error);
    if (code != TINKC_OK) {
        tk_error_read(err, error);
    }
    tinkc_error_free(&error);
    return code;
}

/* ---- the checks ---- */

static tinkc_code has(bool *out, const tk_push *push, const char *name, tk_err *err)
{
    struct stat info;
    char *path = tk_file_join(push->folder, name);
    if (path == NULL) {
        return tk_err_nomem(err);
    }
    *out = lstat(path, &info) == 0 && S_ISREG(info.st_mode);
    tk_free(path);
    return TINKC_OK;
}

static tinkc_code check_content(const tk_push *push, tk_err *err)
{
    static const char *const names[] = {"adapter_config.json",
                                        "adapter_model.safetensors", "adapter_model.bin",
                                        "checkpoint_complete"};
    bool there[TK_ARRAY_LEN(names)] = {false};
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        tinkc_code code = has(&there[i], push, names[i], err);
        if (code != TINKC_OK) {
            return code;
        }
    }
    if (!there[0] || (!there[1] && !there[2])) {
        return tk_err_set(err, TINKC_E_UNSUPPORTED,
                          "Checkpoint archive does not contain a PEFT adapter: expected "
                          "adapter_config.json and adapter_model.safetensors (or "
                          "adapter_model.bin)");
    }
    return there[3] ? TINKC_OK
                    : tk_err_set(err, TINKC_E_UNSUPPORTED,
                                 "Checkpoint archive is missing 'checkpoint_complete': "
                                 "the adapter files may be incomplete");
}

/* ---- what the server says of it ---- */

/* It goes into YAML, code and text as it is. */
static bool is_plain(const char *base)
{
    static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                               "0123456789._-/:@+";
    return base != NULL && base[0] != '\0' && strchr("._-/:@+", base[0]) == NULL &&
           base[strspn(base, good)] == '\0' && strlen(base) <= 256;
}

static tinkc_code ask_facts(tk_push *push, tk_err *err)
{
    tinkc_error *error = NULL;
    tinkc_future *future = tinkc_rest_weights_info(push->service, push->path);
    tk_hub_wait(&push->peer, future);
    tinkc_code code = tinkc_future_take_weights_info(&push->info, future, &error);
    tinkc_error_free(&error);
    tinkc_future_free(&future);
    push->facts = (tk_push_facts){.base = "unknown", .lora_rank = -1};
    if (code == TINKC_OK) {
        const tinkc_weights_info *info = push->info;
        push->facts = (tk_push_facts){
            .base = is_plain(info->base_model) ? info->base_model : "unknown",
            .lora_rank = info->lora_rank,
            .train_unembed = info->train_unembed,
            .train_mlp = info->train_mlp,
            .train_attn = info->train_attn};
    }
    if (code == TINKC_E_NOMEM) {
        return tk_err_nomem(err);
    }
    return code == TINKC_E_CANCELLED && !push->peer.tick(push->peer.user)
               ? tk_err_set(err, TINKC_E_CANCELLED, "stopped by the callback")
               : TINKC_OK; /* the card leaves out what the server did not send */
}

/* ---- texts ---- */

/* Not synced: what is in the private directory does not outlive the call. */
static tinkc_code replace(const tk_push *push, const char *name, const tk_buf *text,
                          tk_err *err)
{
    tk_file_writer *writer = NULL;
    char *path = tk_file_join(push->folder, name);
    tinkc_code code = path != NULL ? tk_file_writer_new(&writer, path, FILE_MODE, err)
                                   : tk_err_nomem(err);
    if (code == TINKC_OK) {
        code = tk_file_writer_put(writer, text->p, text->n, err);
        if (code == TINKC_OK) {
            code = tk_file_writer_publish(writer, err);
        } else {
            tk_file_writer_abort(writer);
        }
    }
    tk_free(path);
    return code;
}

/* One that is too large to be looked into stays as it is. */
static tinkc_code patch_config(const tk_push *push, tk_err *err)
{
    tk_err why = TK_ERR_INIT;
    tk_buf text;
    char *data = NULL;
    size_t n = 0;
    bool changed = false;
    char *path = tk_file_join(push->folder, "adapter_config.json");
    tinkc_code code = path != NULL
                          ? tk_file_read(&data, &n, path, TK_PUSH_CONFIG_BYTES, &why)
                          : tk_err_nomem(&why);
    tk_free(path);
    if (code != TINKC_OK) {
        return code == TINKC_E_LIMIT ? TINKC_OK
                                     : tk_err_set(err, code, "%s", why.message);
    }
    tk_buf_init(&text, 4 * TK_PUSH_CONFIG_BYTES);
    code = tk_push_patch(&text, &changed, (tk_str){data, n}, push->facts.base, err);
    if (code == TINKC_OK && changed) {
        code = replace(push, "adapter_config.json", &text, err);
    }
    tk_buf_dispose(&text);
    tk_free(data);
    return code;
}

static tinkc_code add_card(const tk_push *push, tk_err *err)
{
    bool is_there = false;
    tk_buf text;
    tinkc_code code = has(&is_there, push, "README.md", err);
    if (code != TINKC_OK || is_there || push->options.no_model_card) {
        return code;
    }
    tk_buf_init(&text, TK_PUSH_CARD_BYTES);
    tk_push_card(&text, &push->facts, push->repo, push->path);
    code = tk_buf_status(&text, err);
    if (code == TINKC_OK) {
        code = replace(push, "README.md", &text, err);
    }
    tk_buf_dispose(&text);
    return code;
}

/* ---- names ---- */

/* "tinker-<last part of the base model>-<run>" */
static void put_repo(tk_buf *out, const tk_push *push)
{
    tk_buf text;
    const char *slash = strrchr(push->facts.base, '/');
    const char *last = slash != NULL ? slash + 1 : push->facts.base;
    bool is_known = strcmp(push->facts.base, "unknown") != 0;
    tk_buf_init(&text, TK_PUSH_CARD_BYTES);
    tk_buf_printf(&text, "tinker-%s-" TK_STR_FMT, is_known ? last : "adapter",
                  TK_STR_ARG(push->source.run));
    tk_push_put_name(out, tk_buf_str(&text));
    if (text.failure != TINKC_OK) {
        tk_buf_fail(out, text.failure);
    }
    tk_buf_dispose(&text);
}

static tinkc_code name_repo(tk_push *push, tk_err *err)
{
    const char *given = push->options.repo;
    tk_buf name;
    tk_buf_init(&name, TK_PUSH_CARD_BYTES);
    if (given == NULL || strchr(given, '/') == NULL) {
        tk_buf_printf(&name, "%s/", push->user);
    }
    if (given != NULL) {
        tk_buf_puts(&name, given);
    } else {
        put_repo(&name, push);
    }
    const char *text = tk_buf_cstr(&name);
    tinkc_code code =
        text != NULL ? tk_push_check_repo(text, err) : tk_buf_status(&name, err);
    if (code == TINKC_OK) {
        (void)snprintf(push->repo, sizeof(push->repo), "%s", text);
    }
    tk_buf_dispose(&name);
    return code;
}

/* A pull request goes to the main branch, unless another one is named. */
static tinkc_code name_revision(tk_push *push, tk_err *err)
{
    const tinkc_push_options *options = &push->options;
    tk_buf name, text;
    tk_buf_init(&name, TK_PUSH_CARD_BYTES);
    tk_buf_init(&text, TK_PUSH_CARD_BYTES);
    if (options->revision != NULL) {
        tk_buf_puts(&name, options->revision);
    } else if (options->repo == NULL && !options->create_pr) {
        tk_buf_printf(&text, TK_STR_FMT "-" TK_STR_FMT, TK_STR_ARG(push->source.kind),
                      TK_STR_ARG(push->source.name));
        tk_push_put_name(&name, tk_buf_str(&text));
    } else {
        tk_buf_puts(&name, "main");
    }
    tinkc_code code = tk_buf_status(&text, err);
    const char *made = tk_buf_cstr(&name);
    if (code == TINKC_OK) {
        code =
            made != NULL ? tk_push_check_revision(made, err) : tk_buf_status(&name, err);
    }
    if (code == TINKC_OK) {
        (void)snprintf(push->revision, sizeof(push->revision), "%s", made);
    }
    tk_buf_dispose(&name);
    tk_buf_dispose(&text);
    return code;
}

tinkc_code tk_push_prepare(tk_push *push, tk_err *err)
{
    tinkc_code code = check_content(push, err);
    if (code == TINKC_OK) {
        code = ask_facts(push, err);
    }
    if (code == TINKC_OK) {
        code = patch_config(push, err);
    }
    if (code == TINKC_OK) {
        code = name_repo(push, err);
    }
    if (code == TINKC_OK) {
        code = name_revision(push, err);
    }
    if (code == TINKC_OK) {
        code = add_card(push, err);
    }
    if (code == TINKC_OK) {
        code = tk_push_files_find(&push->files, push->folder, &push->options, err);
    }
    return code;
}
