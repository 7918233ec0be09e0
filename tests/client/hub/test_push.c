/* A checkpoint to a scripted hub: what arrives there, and where (M-138, M-139).
 * Links: peer */
#include "support/pushfix.h"

#define CARD(repo)                                                                        \
    "---\nbase_model: org/Base-1B\nlibrary_name: peft\ntags:\n- tinker\n- peft\n- lora\n" \
    "- base_model:adapter:org/Base-1B\ntinker_path: " PATH "\n---\n\n"                    \
    "# Tinker LoRA Adapter\n\nThis repository contains a LoRA adapter exported from "     \
    "Tinker.\n\n## Usage\n\n```python\nfrom transformers import "                         \
    "AutoModelForCausalLM\n\nadapter_id = \"" repo                                        \
    "\"\nbase_model = \"org/Base-1B\"\n\nmodel = "                                        \
    "AutoModelForCausalLM.from_pretrained(adapter_id, device_map=\"auto\")\n```\n\n"      \
    "## Source\n\n```\n" PATH "\n```\n\n## Details\n\n- Base model: org/Base-1B\n"        \
    "- LoRA rank: 16\n- Trained modules: attn=False, mlp=True, unembed=None\n"

#define CONFIG "{\n  \"base_model_name_or_path\": \"org/Base-1B\",\n  \"r\": 32\n}\n"

static const char *const repo_routes[] = {
    "/api/whoami-v2", "/api/repos/create", "/api/models/*/branch/*",
    PUSHFIX_SORT,     PUSHFIX_BATCH,       "/verify",
    PUSHFIX_COMMIT};

/* ---- everything ---- */

/* M-138, M-139: the bytes that arrive are the files; the token is the hub's alone. */
static void test_push_whole(void **unused)
{
    pushfix f;
    tk_arena arena;
    pushfix_begin(&f);
    tk_arena_init(&arena, 0);
    tinkc_pushed *pushed = pushfix_push(&f);
    assert_string_equal(pushed->repo, PUSHFIX_REPO);
    assert_string_equal(pushed->revision, PUSHFIX_BRANCH);
    assert_string_equal(pushed->commit_url, "https://hub/c/1");
    assert_null(pushed->pr_url);
    assert_int_equal(pushed->files, 4);
    assert_int_equal(pushed->uploaded, WEIGHTS);
    tinkc_pushed_free(&pushed);
    for (size_t i = 0; i < TK_ARRAY_LEN(repo_routes); i++) {
        const fakeapi_request *r = fakeapi_nth(f.hub, "*", repo_routes[i], 0);
        assert_non_null(r);
        assert_string_equal(fakeapi_header(r, "authorization"), "Bearer " PUSHFIX_TOKEN);
        assert_int_equal(fakeapi_count(f.hub, "*", repo_routes[i]), 1);
    }
    const fakeapi_request *put = fakeapi_nth(f.store, "PUT", "/put", 0);
    assert_int_equal(fakeapi_total(f.store), 1);
    assert_string_equal(put->query, "sig=1");
    assert_string_equal(fakeapi_header(put, "x-store"), "s1");
    assert_null(fakeapi_header(put, "content-type"));
    assert_int_equal(put->body_n, WEIGHTS);
    assert_memory_equal(put->body, f.weights, WEIGHTS);
    const tk_json *head = pushfix_line(&f, &arena, 0);
    assert_string_equal(pushfix_text(head, "key"), "header");
    assert_string_equal(pushfix_text(tk_json_get(head, "value"), "description"), "");
    assert_non_null(strstr(pushfix_text(tk_json_get(head, "value"), "summary"), "tinkc"));
    pushfix_brings(&f, 1, "README.md", CARD(PUSHFIX_REPO));
    pushfix_brings(&f, 2, "adapter_config.json", CONFIG);
    const tk_json *large = pushfix_line(&f, &arena, 3);
    assert_string_equal(pushfix_text(large, "key"), "lfsFile");
    const tk_json *value = tk_json_get(large, "value");
    assert_string_equal(pushfix_text(value, "path"), "adapter_model.safetensors");
    assert_string_equal(pushfix_text(value, "algo"), "sha256");
    assert_string_equal(pushfix_text(value, "oid"), f.sha);
    assert_int_equal(tk_json_get(value, "size")->as.integer, WEIGHTS);
    pushfix_brings(&f, 4, "sub/notes.txt", PUSHFIX_NOTES);
    assert_null(pushfix_line(&f, &arena, 5));
    tk_arena_dispose(&arena);
    pushfix_end(&f);
}

/* M-138: what the hub is asked, word for word. */
static void test_push_questions(void **unused)
{
    pushfix f;
    char text[512];
    pushfix_begin(&f);
    tinkc_pushed *pushed = pushfix_push(&f);
    tinkc_pushed_free(&pushed);
    const fakeapi_request *r = fakeapi_nth(f.hub, "POST", "/api/repos/create", 0);
    assert_string_equal(r->body, "{\"type\":\"model\",\"name\":\"tinker-Base-1B-r\","
                                 "\"organization\":null,\"private\":true}");
    r = fakeapi_nth(f.hub, "POST", "/api/models/*/branch/*", 0);
    assert_string_equal(r->target, "/api/models/" PUSHFIX_REPO "/branch/" PUSHFIX_BRANCH);
    r = fakeapi_nth(f.hub, "POST", PUSHFIX_SORT, 0);
    assert_string_equal(r->target,
                        "/api/models/" PUSHFIX_REPO "/preupload/" PUSHFIX_BRANCH);
    assert_non_null(strstr(r->body, "{\"path\":\"sub/notes.txt\",\"sample\":"
                                    "\"c29tZSBub3Rlcwo=\",\"size\":11}"));
    assert_null(strstr(r->body, "checkpoint_complete"));
    r = fakeapi_nth(f.hub, "POST", PUSHFIX_BATCH, 0);
    assert_string_equal(fakeapi_header(r, "accept"), "application/vnd.git-lfs+json");
    assert_string_equal(fakeapi_header(r, "content-type"),
                        "application/vnd.git-lfs+json");
    (void)snprintf(text, sizeof(text),
                   "{\"operation\":\"upload\",\"transfers\":[\"basic\",\"multipart\"],"
                   "\"objects\":[{\"oid\":\"%s\",\"size\":%zu}],\"hash_algo\":\"sha256\","
                   "\"ref\":{\"name\":\"" PUSHFIX_BRANCH "\"}}",
                   f.sha, WEIGHTS);
    assert_string_equal(r->body, text);
    r = fakeapi_nth(f.hub, "POST", "/verify", 0);
    (void)snprintf(text, sizeof(text), "{\"oid\":\"%s\",\"size\":%zu}", f.sha, WEIGHTS);
    assert_string_equal(r->body, text);
    pushfix_end(&f);
}

/* M-138: samples are the first 512 bytes. */
static void test_push_samples(void **unused)
{
    pushfix f;
    tk_buf sample;
    pushfix_begin(&f);
    tinkc_pushed *pushed = pushfix_push(&f);
    tinkc_pushed_free(&pushed);
    tk_buf_init(&sample, TK_KIB);
    tk_base64_encode(&sample, f.weights, 512);
    const fakeapi_request *r = fakeapi_nth(f.hub, "POST", PUSHFIX_SORT, 0);
    const char *at = strstr(r->body, tk_buf_cstr(&sample));
    assert_non_null(at);
    assert_int_equal(at[sample.n], '"');
    tk_buf_dispose(&sample);
    pushfix_end(&f);
}

/* ---- large files ---- */

/* M-138: in parts, whose ETags are reported as they came; no token goes along. */
static void test_push_parts(void **unused)
{
    pushfix f;
    char more[1024], text[512];
    const char *url;
    pushfix_begin(&f);
    url = fakeapi_url(f.store);
    (void)snprintf(more, sizeof(more),
                   ",\"actions\":{\"upload\":{\"href\":\"%s/done\",\"header\":"
                   "{\"chunk_size\":\"300000\",\"3\":\"%s/p3\",\"1\":\"%s/p1\","
                   "\"00002\":\"%s/p2\"}}}",
                   url, url, url, url);
    pushfix_batch(&f, more);
    for (int i = 1; i <= 3; i++) {
        char path[16], tag[32];
        (void)snprintf(path, sizeof(path), "/p%d", i);
        (void)snprintf(tag, sizeof(tag), "ETag: \"tag-%d\"\r\n", i);
        fakeapi_default(f.store, "PUT", path,
                        &(fakeapi_step){.body = "", .headers = tag});
    }
    fakeapi_default(f.store, "POST", "/done", &fakeapi_json("{}"));
    tinkc_pushed *pushed = pushfix_push(&f);
    assert_int_equal(pushed->uploaded, WEIGHTS);
    tinkc_pushed_free(&pushed);
    size_t at = 0;
    for (int i = 1; i <= 3; i++) {
        char path[16];
        (void)snprintf(path, sizeof(path), "/p%d", i);
        const fakeapi_request *r = fakeapi_nth(f.store, "PUT", path, 0);
        assert_int_equal(r->body_n, i < 3 ? 300000 : WEIGHTS - 600000);
        assert_memory_equal(r->body, f.weights + at, r->body_n);
        at += r->body_n;
    }
    const fakeapi_request *done = fakeapi_nth(f.store, "POST", "/done", 0);
    (void)snprintf(
        text, sizeof(text),
        "{\"oid\":\"%s\",\"parts\":[{\"partNumber\":1,\"etag\":\"\\\"tag-1\\\"\"},"
        "{\"partNumber\":2,\"etag\":\"\\\"tag-2\\\"\"},{\"partNumber\":3,"
        "\"etag\":\"\\\"tag-3\\\"\"}]}",
        f.sha);
    assert_string_equal(done->body, text);
    assert_int_equal(fakeapi_count(f.hub, "POST", "/verify"), 0);
    pushfix_end(&f);
}

/* M-138: what the storage has is not sent, what the repository has is not committed. */
static void test_push_is_there(void **unused)
{
    pushfix f;
    pushfix_begin(&f);
    pushfix_batch(&f, "");
    tinkc_pushed *pushed = pushfix_push(&f);
    assert_int_equal(fakeapi_total(f.store), 0);
    assert_int_equal(pushed->uploaded, 0);
    assert_int_equal(pushed->files, 4);
    tinkc_pushed_free(&pushed);
    char said[1024];
    (void)snprintf(said, sizeof(said),
                   "{\"files\":["
                   "{\"path\":\"README.md\",\"uploadMode\":\"regular\","
                   "\"shouldIgnore\":true},"
                   "{\"path\":\"adapter_config.json\",\"uploadMode\":\"regular\","
                   "\"oid\":\"0b037a6341715b405ba8e614320bafe50e9a72b5\"},"
                   "{\"path\":\"adapter_model.safetensors\",\"uploadMode\":\"lfs\","
                   "\"oid\":\"%s\"},"
                   "{\"path\":\"sub/notes.txt\",\"uploadMode\":\"regular\","
                   "\"oid\":\"cf88e040a4be8874952acfaa44f627718bcfd547\"}]}",
                   f.sha);
    pushfix_say(&f, "POST", PUSHFIX_SORT, said);
    pushed = pushfix_push(&f);
    assert_null(pushed->commit_url);
    assert_int_equal(pushed->files, 0);
    tinkc_pushed_free(&pushed);
    assert_int_equal(fakeapi_count(f.hub, "POST", PUSHFIX_COMMIT), 1); /* the first */
    assert_int_equal(fakeapi_count(f.hub, "POST", PUSHFIX_BATCH), 1);
    pushfix_end(&f);
}

/* M-138: what is large goes to the storage once, however often it is there. */
static void test_push_same_twice(void **unused)
{
    static const downloadfix_member members[] = {
        {"adapter_config.json", 0, NULL, 31, "{\"base_model_name_or_path\": \"\"}"},
        {"adapter_model.bin", 0, NULL, WEIGHTS, NULL},
        {"copy.bin", 0, NULL, WEIGHTS, NULL},
        {"README.md", 0, NULL, 4, "mine"},
        {"checkpoint_complete", 0, NULL, 0, NULL},
    };
    pushfix f;
    pushfix_begin_with(&f, members, TK_ARRAY_LEN(members), NULL);
    pushfix_say(&f, "POST", PUSHFIX_SORT,
                "{\"files\":[{\"path\":\"README.md\",\"uploadMode\":\"regular\"},"
                "{\"path\":\"adapter_config.json\",\"uploadMode\":\"regular\"},"
                "{\"path\":\"adapter_model.bin\",\"uploadMode\":\"lfs\"},"
                "{\"path\":\"copy.bin\",\"uploadMode\":\"lfs\"}]}");
    tinkc_pushed *pushed = pushfix_push(&f);
    assert_int_equal(pushed->files, 4);
    tinkc_pushed_free(&pushed);
    assert_int_equal(fakeapi_total(f.store), 1);
    pushfix_brings(&f, 1, "README.md", "mine");
    pushfix_brings(&f, 2, "adapter_config.json", "{\"base_model_name_or_path\": \"\"}");
    pushfix_end(&f);
}

/* ---- repositories and branches ---- */

/* M-138: one that is there is as good, also when it may not be made by this token; a name
 * without owner is the token's. */
static void test_push_repo_exists(void **unused)
{
    static const int statuses[] = {409, 401, 402, 403};
    for (size_t i = 0; i < TK_ARRAY_LEN(statuses); i++) {
        pushfix f;
        pushfix_begin(&f);
        f.options.repo = i == 0 ? "mine" : "org/theirs";
        f.options.is_public = true;
        fakeapi_default(f.hub, "POST", "/api/repos/create",
                        &fakeapi_status(statuses[i], "{\"error\":\"no\"}"));
        pushfix_say(&f, "GET", "/api/models/org/theirs", "{}");
        tinkc_pushed *pushed = pushfix_push(&f);
        assert_string_equal(pushed->repo, i == 0 ? "me/mine" : "org/theirs");
        assert_string_equal(pushed->revision, "main");
        tinkc_pushed_free(&pushed);
        assert_int_equal(fakeapi_count(f.hub, "POST", "/api/models/*/branch/*"), 0);
        const fakeapi_request *r = fakeapi_nth(f.hub, "POST", "/api/repos/create", 0);
        assert_string_equal(r->body, i == 0
                                         ? "{\"type\":\"model\",\"name\":\"mine\","
                                           "\"organization\":null,\"private\":false}"
                                         : "{\"type\":\"model\",\"name\":\"theirs\","
                                           "\"organization\":\"org\",\"private\":false}");
        pushfix_end(&f);
    }
}

/* M-138: the hub makes one repository at a time: it is asked again. */
static void test_push_repo_busy(void **unused)
{
    pushfix f;
    pushfix_begin(&f);
    fakeapi_reply(f.hub, "POST", "/api/repos/create",
                  &fakeapi_status(409, "{\"error\":\"Cannot create repo: another "
                                       "conflicting operation is in progress\"}"));
    tinkc_pushed *pushed = pushfix_push(&f);
    tinkc_pushed_free(&pushed);
    assert_int_equal(fakeapi_count(f.hub, "POST", "/api/repos/create"), 2);
    pushfix_end(&f);
}

/* M-138: a branch with a slash, which is there; the message. */
static void test_push_branch(void **unused)
{
    pushfix f;
    tk_arena arena;
    pushfix_begin(&f);
    tk_arena_init(&arena, 0);
    f.options.revision = "a/b";
    f.options.commit_message = "one \"two\"\n\xc3\xa9";
    fakeapi_default(f.hub, "POST", "/api/models/*/branch/*",
                    &fakeapi_status(409, "{\"error\":\"is there\"}"));
    tinkc_pushed *pushed = pushfix_push(&f);
    assert_string_equal(pushed->revision, "a/b");
    assert_string_equal(pushed->repo, PUSHFIX_REPO);
    tinkc_pushed_free(&pushed);
    const fakeapi_request *r = fakeapi_nth(f.hub, "POST", PUSHFIX_COMMIT, 0);
    assert_string_equal(r->target, "/api/models/" PUSHFIX_REPO "/commit/a%2Fb");
    const tk_json *head = tk_json_get(pushfix_line(&f, &arena, 0), "value");
    assert_string_equal(pushfix_text(head, "summary"), f.options.commit_message);
    r = fakeapi_nth(f.hub, "GET", PUSHFIX_README, 0);
    assert_string_equal(r->target, "/" PUSHFIX_REPO "/resolve/a%2Fb/README.md");
    tk_arena_dispose(&arena);
    pushfix_end(&f);
}

/* M-138: the longest message arrives, also when it is written six times as long. */
static void test_push_long_message(void **unused)
{
    pushfix f;
    tk_arena arena;
    char *message = calloc(1, 64 * TK_KIB + 2);
    pushfix_begin(&f);
    tk_arena_init(&arena, 0);
    assert_non_null(message);
    memset(message, 1, 64 * TK_KIB + 1);
    f.options.commit_message = message;
    pushfix_refused(&f, TINKC_E_INVALID, "too long");
    assert_int_equal(fakeapi_total(f.hub), 0);
    message[64 * TK_KIB] = '\0';
    tinkc_pushed *pushed = pushfix_push(&f);
    tinkc_pushed_free(&pushed);
    const tk_json *head = tk_json_get(pushfix_line(&f, &arena, 0), "value");
    assert_string_equal(pushfix_text(head, "summary"), message);
    tk_arena_dispose(&arena);
    free(message);
    pushfix_end(&f);
}

/* M-138: a pull request goes to the main branch; none is made. */
static void test_push_pull_request(void **unused)
{
    pushfix f;
    pushfix_begin(&f);
    f.options.create_pr = true;
    tinkc_pushed *pushed = pushfix_push(&f);
    assert_string_equal(pushed->pr_url, "https://hub/pr/7");
    assert_string_equal(pushed->revision, "main");
    tinkc_pushed_free(&pushed);
    assert_int_equal(fakeapi_count(f.hub, "POST", "/api/models/*/branch/*"), 0);
    const fakeapi_request *r = fakeapi_nth(f.hub, "POST", PUSHFIX_COMMIT, 0);
    assert_string_equal(r->query, "create_pr=1");
    r = fakeapi_nth(f.hub, "POST", PUSHFIX_SORT, 0);
    assert_string_equal(r->query, "create_pr=1");
    r = fakeapi_nth(f.hub, "POST", PUSHFIX_BATCH, 0);
    assert_null(strstr(r->body, "\"ref\""));
    pushfix_end(&f);
}

/* M-139: a README that names another checkpoint protects its repository. */
static void test_push_other_readme(void **unused)
{
    pushfix f;
    pushfix_begin(&f);
    pushfix_say(&f, "GET", PUSHFIX_README,
                "text\n`tinker://other/weights/9` and tinker://r/weights/1");
    pushfix_refused(&f, TINKC_E_CONFLICT,
                    "different Tinker checkpoint: found tinker://other/weights/9, "
                    "expected " PATH);
    assert_int_equal(fakeapi_count(f.hub, "POST", "/api/models/*"), 0);
    pushfix_say(&f, "GET", PUSHFIX_README, "tinker:// and `" PATH "`");
    tinkc_pushed *pushed = pushfix_push(&f);
    tinkc_pushed_free(&pushed);
    pushfix_end(&f);
}

/* M-139: a README that lies elsewhere is looked at there, without the token. */
static void test_push_readme_elsewhere(void **unused)
{
    pushfix f;
    char location[128];
    pushfix_begin(&f);
    (void)snprintf(location, sizeof(location), "location: %s/readme\r\n",
                   fakeapi_url(f.store));
    fakeapi_default(f.hub, "GET", PUSHFIX_README,
                    &(fakeapi_step){.status = 302, .headers = location});
    fakeapi_default(f.store, "GET", "/readme",
                    &(fakeapi_step){.body = "tinker://other/weights/9"});
    pushfix_refused(&f, TINKC_E_CONFLICT, "found tinker://other/weights/9");
    assert_int_equal(fakeapi_count(f.store, "GET", "/readme"), 1);
    pushfix_end(&f);
}

/* ---- which files ---- */

/* M-138: patterns on whole paths; the mark of completeness only when it is asked for. */
static void test_push_chosen_files(void **unused)
{
    static const char *const allow[] = {"*.txt", "check*"};
    static const char *const ignore[] = {"sub/*", "README.md"};
    static const char *const none[] = {"nothing"};
    pushfix f;
    pushfix_begin(&f);
    f.options.allow = allow;
    f.options.allow_n = 2;
    tinkc_pushed *pushed = pushfix_push(&f);
    assert_int_equal(pushed->files, 2);
    tinkc_pushed_free(&pushed);
    pushfix_brings(&f, 1, "checkpoint_complete", ""); /* empty: not large, whatever */
    pushfix_brings(&f, 2, "sub/notes.txt", PUSHFIX_NOTES);
    f.options.allow = none;
    f.options.allow_n = 1;
    pushfix_refused(&f, TINKC_E_INVALID, "leave no file");
    pushfix_end(&f);
    pushfix_begin(&f);
    f.options.ignore = ignore;
    f.options.ignore_n = 2;
    pushed = pushfix_push(&f);
    assert_int_equal(pushed->files, 2);
    tinkc_pushed_free(&pushed);
    pushfix_brings(&f, 1, "adapter_config.json", CONFIG);
    pushfix_end(&f);
}

/* M-139: no model card when the options turn it off; facts that the server does not give,
 * or that could be taken for something else in the card, are not in it. */
static void test_push_card(void **unused)
{
    static const char *const answers[] = {
        "{\"base_model\":\"x\\ny: z\",\"is_lora\":true}", "[]"};
    pushfix f;
    pushfix_begin(&f);
    f.options.no_model_card = true;
    tinkc_pushed *pushed = pushfix_push(&f);
    assert_int_equal(pushed->files, 3);
    tinkc_pushed_free(&pushed);
    pushfix_end(&f);
    for (size_t i = 0; i < TK_ARRAY_LEN(answers); i++) {
        pushfix_begin(&f);
        fakeapi_default(f.down.api, "POST", "/api/v1/weights_info",
                        &(fakeapi_step){.body = answers[i]});
        pushed = pushfix_push(&f);
        assert_string_equal(pushed->repo, "me/tinker-adapter-r");
        tinkc_pushed_free(&pushed);
        pushfix_brings(
            &f, 2, "adapter_config.json",
            "{\n  \"base_model_name_or_path\": \"unknown\",\n  \"r\": 32\n}\n");
        pushfix_end(&f);
    }
}

int main(void)
{
    pushfix_go_online();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_push_whole),
        cmocka_unit_test(test_push_questions),
        cmocka_unit_test(test_push_samples),
        cmocka_unit_test(test_push_parts),
        cmocka_unit_test(test_push_is_there),
        cmocka_unit_test(test_push_same_twice),
        cmocka_unit_test(test_push_repo_exists),
        cmocka_unit_test(test_push_repo_busy),
        cmocka_unit_test(test_push_branch),
        cmocka_unit_test(test_push_long_message),
        cmocka_unit_test(test_push_pull_request),
        cmocka_unit_test(test_push_other_readme),
        cmocka_unit_test(test_push_chosen_files),
        cmocka_unit_test(test_push_card),
        cmocka_unit_test(test_push_readme_elsewhere),
    };
    return cmocka_run_group_tests_name("push", tests, NULL, NULL);
}
