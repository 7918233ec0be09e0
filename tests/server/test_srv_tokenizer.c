/* The tokenizer of a model, by its handle, from the real server.
 * Links: client text */
#include <tinkc/sampling.h>
#include <tinkc/tokenizer.h>
#include <tinkc/training.h>

#include <unistd.h>

#include "base/file.h"
#include "server/clientfix.h"

#define MODEL "tinkc/pebble-llama-2m"

typedef struct fix {
    srvfix srv;
    tinkc_service *service;
    tinkc_tokenizer_options options; /* no cache of this machine, no hub */
    char cache[96];
} fix;

static void begin(fix *f, srv_options options)
{
    *f = (fix){.options = TINKC_TOKENIZER_OPTIONS_INIT};
    srvfix_open(&f->srv, options);
    (void)snprintf(f->cache, sizeof(f->cache), "%s/cache", f->srv.data);
    f->options.cache_dir = f->cache;
    f->options.hub_url = "http://127.0.0.1:1";
    f->options.hub_token = "";
    f->service = clientfix_service(&f->srv);
}

static void end(fix *f)
{
    tinkc_service_close(&f->service);
    srvfix_close(&f->srv);
    tinkc_tokenizer_cache_clear();
}

/* It is the embedded model's: text comes back, and its config came along. */
static void assert_works(tinkc_tokenizer **tokenizer)
{
    static const char text[] = "the river is cold";
    tinkc_encoding *encoding = NULL;
    tinkc_decode what = TINKC_DECODE_INIT;
    char *back = NULL;
    size_t n = 0;
    OK(tinkc_tokenizer_encode(&encoding, *tokenizer, text, strlen(text), NULL, &err));
    what.ids = tinkc_encoding_ids(&what.ids_n, encoding);
    assert_in_range(what.ids_n, 1, strlen(text));
    OK(tinkc_tokenizer_decode(&back, &n, *tokenizer, &what, &err));
    assert_string_equal(back, text);
    assert_non_null(tinkc_tokenizer_special(*tokenizer, "eos_token"));
    tinkc_text_free(&back);
    tinkc_encoding_free(&encoding);
    tinkc_tokenizer_free(tokenizer);
}

/* M-077, M-132: a model that is trained or sampled from leads to its tokenizer. */
static void test_tokenizer_of_clients(void **unused)
{
    fix f;
    tinkc_training *training = NULL;
    tinkc_sampling *sampling = NULL;
    tinkc_tokenizer *tokenizer = NULL;
    begin(&f, (srv_options){0});
    OK(tinkc_service_create_training_wait(&training, f.service, MODEL, NULL, &err));
    OK(tinkc_training_get_tokenizer(&tokenizer, training, &f.options, &err));
    assert_works(&tokenizer);
    OK(tinkc_service_create_sampling_wait(&sampling, f.service, MODEL, NULL, &err));
    OK(tinkc_sampling_get_tokenizer(&tokenizer, sampling, &f.options, &err));
    assert_works(&tokenizer);
    tinkc_sampling_close(&sampling);
    tinkc_training_close(&training);
    end(&f);
}

/* M-132: by name, from the server's own route; the same bytes are one tokenizer. */
static void test_tokenizer_of_name(void **unused)
{
    fix f;
    tinkc_tokenizer *tokenizer = NULL, *again = NULL;
    begin(&f, (srv_options){0});
    OK(tinkc_service_get_tokenizer(&tokenizer, f.service, MODEL, &f.options, &err));
    OK(tinkc_service_get_tokenizer(&again, f.service, MODEL ":7", &f.options, &err));
    assert_ptr_equal(tokenizer, again);
    tinkc_tokenizer_free(&again);
    assert_works(&tokenizer);
    end(&f);
}

/* A directory with the embedded model, whose template is a separate file. */
static void make_model(char dir[64])
{
    static const char *const files[] = {"config.json", "model.safetensors",
                                        "tokenizer.json"};
    char from[512], to[128];
    tk_err err = TK_ERR_INIT;
    srvfix_make_dir(dir);
    for (size_t i = 0; i < TK_ARRAY_LEN(files); i++) {
        (void)snprintf(from, sizeof(from), "%s/../../models/pebble-llama-2m/%s",
                       TEST_DATA_DIR, files[i]);
        (void)snprintf(to, sizeof(to), "%s/%s", dir, files[i]);
        assert_int_equal(symlink(from, to), 0);
    }
    (void)snprintf(to, sizeof(to), "%s/tokenizer_config.json", dir);
    assert_int_equal(tk_file_replace(to, "{}", 2, 0644, &err), TINKC_OK);
    (void)snprintf(to, sizeof(to), "%s/chat_template.jinja", dir);
    assert_int_equal(tk_file_replace(to, "hello", 5, 0644, &err), TINKC_OK);
}

/* M-132: a template that lies beside tokenizer_config.json comes along. */
static void test_tokenizer_brings_its_template(void **unused)
{
    fix f;
    char dir[64], command[96];
    tinkc_tokenizer *tokenizer = NULL;
    make_model(dir);
    const srv_pair model = {"own/model", dir};
    begin(&f, (srv_options){.models = &model, .n_models = 1});
    OK(tinkc_service_get_tokenizer(&tokenizer, f.service, "own/model", &f.options, &err));
    const char *text = tinkc_tokenizer_chat_template(tokenizer, NULL);
    assert_non_null(text);
    assert_string_equal(text, "hello");
    tinkc_tokenizer_free(&tokenizer);
    /* The embedded one has none. */
    (void)srvfix_ask(&f.srv, "GET", "/tinkc/v1/models/" MODEL "/chat_template.jinja",
                     NULL);
    assert_int_equal(f.srv.status, 404);
    end(&f);
    (void)snprintf(command, sizeof(command), "rm -rf %s", dir);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    (void)setenv("HF_HUB_CACHE", "/nowhere", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokenizer_of_clients),
        cmocka_unit_test(test_tokenizer_of_name),
        cmocka_unit_test(test_tokenizer_brings_its_template),
    };
    return cmocka_run_group_tests_name("srv_tokenizer", tests, NULL, NULL);
}
