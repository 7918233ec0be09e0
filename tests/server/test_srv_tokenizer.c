/* The tokenizer of a model, by its handle, from the real server.
 * Links: client text */
#include <tinkc/sampling.h>
#include <tinkc/tokenizer.h>
#include <tinkc/training.h>

#include "server/srvfix.h"

#define MODEL "tinkc/pebble-llama-2m"

typedef struct fix {
    srvfix srv;
    tinkc_service *service;
    tinkc_tokenizer_options options; /* no cache of this machine, no hub */
    char cache[96];
} fix;

#define OK(call)                                                                         \
    do {                                                                                 \
        tinkc_error *err = NULL;                                                         \
        if ((call) != TINKC_OK) {                                                        \
            fail_msg("%s: %s", #call, tinkc_error_message(err));                         \
        }                                                                                \
    } while (0)

static void begin(fix *f)
{
    tinkc_config *config = NULL;
    *f = (fix){.options = TINKC_TOKENIZER_OPTIONS_INIT};
    srvfix_open(&f->srv, (srv_options){0});
    (void)snprintf(f->cache, sizeof(f->cache), "%s/cache", f->srv.data);
    f->options.cache_dir = f->cache;
    f->options.hub_url = "http://127.0.0.1:1";
    f->options.hub_token = "";
    OK(tinkc_config_new(&config, &err));
    OK(tinkc_config_set(config, "base_url", srv_url(f->srv.server), &err));
    OK(tinkc_config_set(config, "api_key", "tml-test-key", &err));
    OK(tinkc_config_set(config, "proxy", "", &err));
    OK(tinkc_service_open(&f->service, config, &err));
    tinkc_config_free(&config);
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
    what.ids = tinkc_encoding_ids(encoding, &what.ids_n);
    assert_in_range(what.ids_n, 1, strlen(text));
    OK(tinkc_tokenizer_decode(&back, &n, *tokenizer, &what, &err));
    assert_string_equal(back, text);
    assert_non_null(tinkc_tokenizer_special(*tokenizer, "eos_token"));
    tinkc_text_free(back);
    tinkc_encoding_free(&encoding);
    tinkc_tokenizer_free(tokenizer);
}

/* M-132: a model that is trained or sampled from leads to its tokenizer. */
static void test_tokenizer_of_clients(void **unused)
{
    (void)unused;
    fix f;
    tinkc_training *training = NULL;
    tinkc_sampling *sampling = NULL;
    tinkc_tokenizer *tokenizer = NULL;
    begin(&f);
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
    (void)unused;
    fix f;
    tinkc_tokenizer *tokenizer = NULL, *again = NULL;
    begin(&f);
    OK(tinkc_service_get_tokenizer(&tokenizer, f.service, MODEL, &f.options, &err));
    OK(tinkc_service_get_tokenizer(&again, f.service, MODEL ":7", &f.options, &err));
    assert_ptr_equal(tokenizer, again);
    tinkc_tokenizer_free(&again);
    assert_works(&tokenizer);
    end(&f);
}

int main(void)
{
    (void)setenv("HF_HUB_CACHE", "/nowhere", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokenizer_of_clients),
        cmocka_unit_test(test_tokenizer_of_name),
    };
    return cmocka_run_group_tests_name("srv_tokenizer", tests, NULL, NULL);
}
