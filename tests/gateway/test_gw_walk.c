/* Random agents against the episodes of the gateway, over every template of the
 * repository (and those of the file that TINKC_GW_TEMPLATES names: {"name": "source"}).
 *
 * The sampler gives back any ids: text, tool calls, reasoning, halves of characters,
 * special tokens, with or without an end. The agent continues, repeats, edits, compacts,
 * leaves reasoning out, works on several branches. A checker that only has what was sent
 * and what was sampled compares every exported sequence with it; it decides through
 * <tinkc/chat.h> whether a branch had to be one.
 * Links: client */
#include <tinkc/chat.h>

#include "support/gwfix.h"

#define TURNS_MAX    48
#define MESSAGES_MAX 400
#define IDS_MAX      60

typedef struct said { /* a message of the agent's world */
    char *whole;      /* JSON, with reasoning */
    char *bare;       /* without; the same when there is none */
    char *raw;        /* of an answer: as it was sampled, JSON */
    bool has_calls;
    bool is_answer;
} said;

typedef struct seen { /* what went over the wire */
    int32_t *prompt, *sampled;
    float *logprobs;
    size_t n_prompt, n_sampled;
    int conv[MESSAGES_MAX]; /* indices of said */
    size_t n_conv;
    int answer;
    gw_origin origin;
    int64_t parent;
    bool with_tools;
} seen;

typedef struct world {
    gw_episodes *episodes;
    gw_model *model;
    tinkc_tokenizer *tokenizer;
    tinkc_chat_template *tpl;
    tk_rand rand;
    const char *name; /* of the episode */
    said said[MESSAGES_MAX];
    int n_said;
    seen seen[TURNS_MAX];
    size_t n_seen;
    bool with_tools;
    size_t refused;
} world;

static const char tools[] =
    "[{\"type\": \"function\", \"function\": {\"name\": \"f0\", \"description\": \"d\", "
    "\"parameters\": {\"type\": \"object\", \"properties\": {}}}}]";

static size_t total_turns, total_continued, total_branches, total_excused, total_first;

static bool chance(world *w, unsigned percent)
{
    return tk_rand_below(&w->rand, 100) < percent;
}

static char *copy(tk_buf *buf)
{
    char *text = tk_strndup(buf->p, buf->n);
    assert_non_null(text);
    tk_buf_clear(buf);
    return text;
}

/* ---- texts ---- */

static void put_words(world *w, tk_buf *out, size_t n)
{
    static const char *const words[] = {"the",
                                        " red",
                                        " stone",
                                        "\n",
                                        " two",
                                        "42",
                                        " is ",
                                        "\xc3\xa9",
                                        ".",
                                        "  ",
                                        "a",
                                        "\n\n",
                                        "\xe2\x82\xac",
                                        " {",
                                        "}",
                                        "\"",
                                        "\xf0\x9f\x99\x82",
                                        "<",
                                        "\\",
                                        "\xef\xbf\xbd",
                                        " why",
                                        "?"};
    for (size_t i = 0; i < n; i++) {
        tk_buf_puts(out, words[tk_rand_below(&w->rand, TK_ARRAY_LEN(words))]);
    }
}

static void put_call(world *w, tk_buf *out)
{
    static const char *const spaces[] = {"", " ", "  ", "\n"};
    const char *s = spaces[tk_rand_below(&w->rand, 4)];
    const char *t = spaces[tk_rand_below(&w->rand, 4)];
    unsigned x = (unsigned)tk_rand_below(&w->rand, 9);
    bool is_list = chance(w, 30);
    tk_buf_printf(
        out, "<tool_call>\n{\"name\":%s\"f%u\",%s\"arguments\": {\"b\":%s%u, \"a\": ", s,
        x % 2, t, t, x);
    tk_buf_puts(out, is_list ? "[1.0, 2]" : "\"x\"");
    tk_buf_puts(out, chance(w, 90) ? "}}\n</tool_call>" : "}\n</tool_call>");
}

static size_t sample(world *w, int32_t *ids)
{
    tk_buf text;
    tk_tok_ids some = {NULL, 0, 0, NULL};
    size_t n;
    tk_buf_init(&text, TK_MIB);
    if (chance(w, 25)) {
        tk_buf_puts(&text, "<think>\n");
        put_words(w, &text, 3);
        tk_buf_puts(&text, chance(w, 80) ? "\n</think>\n\n" : "</think>");
    }
    put_words(w, &text, tk_rand_below(&w->rand, 8));
    if (chance(w, 30)) {
        put_call(w, &text);
    }
    assert_int_equal(tk_tok_encode(w->model->tok, tk_buf_str(&text), &some, NULL),
                     TINKC_OK);
    n = TK_MIN(some.n, (size_t)IDS_MAX - 4);
    memcpy(ids, some.ids, n * sizeof(*ids));
    for (size_t i = 0; n > 0 && i < 2 && chance(w, 20);
         i++) { /* any id: halves, specials */
        ids[tk_rand_below(&w->rand, n)] =
            (int32_t)tk_rand_below(&w->rand, tk_tok_size(w->model->tok));
    }
    if (w->model->end_ids[0] >= 0 && chance(w, 75)) {
        ids[n++] = w->model->end_ids[0];
    } else if (chance(w, 10)) {
        ids[n++] = 0;
    }
    tk_tok_ids_dispose(&some);
    tk_buf_dispose(&text);
    return n;
}

/* ---- messages ---- */

static int add_said(world *w, char *whole, char *bare)
{
    assert_true(w->n_said < MESSAGES_MAX);
    w->said[w->n_said] = (said){.whole = whole, .bare = bare};
    return w->n_said++;
}

static int say(world *w, const char *role)
{
    tk_buf text, json;
    tk_json_writer writer;
    tk_buf_init(&text, TK_MIB);
    tk_buf_init(&json, TK_MIB);
    put_words(w, &text, 1 + tk_rand_below(&w->rand, 4));
    tk_json_writer_init(&writer, &json);
    tk_json_begin_object(&writer);
    tk_json_key(&writer, TK_STR("role"));
    tk_json_put_str(&writer, tk_str_of(role));
    tk_json_key(&writer, TK_STR("content"));
    tk_json_put_str(&writer, tk_buf_str(&text));
    tk_json_end_object(&writer);
    tk_buf_dispose(&text);
    char *whole = tk_strndup(json.p, json.n);
    char *bare = copy(&json);
    tk_buf_dispose(&json);
    return add_said(w, whole, bare);
}

/* The answer as the agent has it. */
static int hear(world *w, const ca_output *output, const int32_t *ids, size_t n)
{
    const char *const call_ids[] = {"abcdefghi", "abcdefghj", "abcdefghk", "abcdefghl"};
    ca_output bare = *output;
    tk_buf json, text;
    tk_json_writer writer;
    tk_buf_init(&json, TK_MIB);
    tk_buf_init(&text, TK_MIB);
    assert_true(output->n_calls <= TK_ARRAY_LEN(call_ids));
    ca_output_write(&json, output, call_ids);
    char *whole = copy(&json);
    bare.has_reasoning = false;
    ca_output_write(&json, &bare, call_ids);
    int index = add_said(w, whole, copy(&json));
    if (n > 0 && (ids[n - 1] == w->model->end_ids[0] || ids[n - 1] == 0)) {
        n--;
    }
    tk_tok_decode(w->model->tok, ids, n, false, &text);
    tk_json_writer_init(&writer, &json);
    tk_json_begin_object(&writer);
    tk_json_key(&writer, TK_STR("role"));
    tk_json_put_str(&writer, TK_STR("assistant"));
    tk_json_key(&writer, TK_STR("content"));
    tk_json_put_str(&writer, tk_buf_str(&text));
    tk_json_end_object(&writer);
    w->said[index].raw = copy(&json);
    w->said[index].has_calls = output->n_calls > 0;
    w->said[index].is_answer = true;
    tk_buf_dispose(&json);
    tk_buf_dispose(&text);
    return index;
}

/* ---- the checker: did it have to be a branch? ---- */

/* forms: bit i set = the i-th answer of the conversation is raw. */
static bool can_continue(world *w, const seen *turn, const int *conv, size_t n,
                         unsigned forms)
{
    tinkc_chat *chat = NULL;
    tinkc_model_input *prompt = NULL;
    tinkc_chat_options options = TINKC_CHAT_OPTIONS_INIT;
    unsigned answer = 0;
    bool is_ok;
    int32_t *ids = tk_array(turn->n_prompt + turn->n_sampled, sizeof(*ids));
    memcpy(ids, turn->prompt, turn->n_prompt * sizeof(*ids));
    memcpy(ids + turn->n_prompt, turn->sampled, turn->n_sampled * sizeof(*ids));
    assert_int_equal(tinkc_chat_new(&chat, NULL), TINKC_OK);
    for (size_t i = 0; i < n; i++) {
        const said *message = &w->said[conv[i]];
        bool is_raw = message->is_answer && (forms >> answer & 1) != 0;
        answer += message->is_answer ? 1 : 0;
        const char *json = is_raw ? message->raw : message->whole;
        assert_int_equal(tinkc_chat_add_json(chat, json, strlen(json), NULL), TINKC_OK);
    }
    if (w->with_tools) {
        assert_int_equal(tinkc_chat_set(chat, "tools", tools, NULL), TINKC_OK);
    }
    options.add_generation_prompt = true;
    options.now_us = tk_clock_wall_us(NULL);
    assert_int_equal(tinkc_model_input_from_tokens(
                         &prompt, ids, turn->n_prompt + turn->n_sampled, NULL),
                     TINKC_OK);
    is_ok = tinkc_chat_continue(prompt, w->tpl, chat, w->tokenizer, &options, NULL) ==
            TINKC_OK;
    tinkc_model_input_free(&prompt);
    tinkc_chat_free(&chat);
    tk_free(ids);
    return is_ok;
}

static bool continues(const world *w, const seen *turn, const int *conv, size_t n)
{
    return n > turn->n_conv && conv[turn->n_conv] == turn->answer &&
           memcmp(conv, turn->conv, turn->n_conv * sizeof(*conv)) == 0;
}

/* A branch is right when no turn that the conversation continues is rendered as it was,
 * in whatever form its answers are written. */
static void check_branch(world *w, const int *conv, size_t n)
{
    for (size_t i = 0; i < w->n_seen; i++) {
        const seen *turn = &w->seen[i];
        unsigned answers = 0;
        if (!continues(w, turn, conv, n) || turn->with_tools != w->with_tools) {
            continue;
        }
        for (size_t k = 0; k <= turn->n_conv; k++) {
            answers += w->said[conv[k]].is_answer ? 1 : 0;
        }
        for (unsigned forms = 0; forms < 1U << TK_MIN(answers, 5U); forms++) {
            if (can_continue(w, turn, conv, n, forms)) {
                fail_msg("a branch although turn %zu is rendered as it was (forms %x)", i,
                         forms);
            }
        }
        total_excused++;
    }
}

/* ---- one request ---- */

static void make_json(world *w, tk_buf *out, const int *conv, size_t n)
{
    tk_buf_putc(out, '[');
    for (size_t i = 0; i < n; i++) {
        const said *message = &w->said[conv[i]];
        tk_buf_puts(out, i > 0 ? "," : "");
        tk_buf_puts(out, chance(w, 50) ? message->whole : message->bare);
    }
    tk_buf_putc(out, ']');
}

static void check_plan(world *w, const gw_plan *plan, const int *conv, size_t n)
{
    tk_buf text;
    tk_buf_init(&text, 16 * TK_MIB);
    tk_tok_decode(w->model->tok, plan->ids, plan->n, false, &text);
    assert_int_equal(text.n, plan->text.n);
    assert_memory_equal(text.p, plan->text.p, text.n);
    tk_buf_dispose(&text);
    if (plan->origin == GW_ORIGIN_CONTINUED) {
        const seen *turn = &w->seen[plan->parent];
        assert_int_equal(plan->n_shared, turn->n_prompt + turn->n_sampled);
        assert_memory_equal(plan->ids, turn->prompt, turn->n_prompt * sizeof(int32_t));
        assert_memory_equal(plan->ids + turn->n_prompt, turn->sampled,
                            turn->n_sampled * sizeof(int32_t));
        total_continued++;
    } else {
        assert_int_equal(plan->parent, -1);
        assert_int_equal(plan->origin == GW_ORIGIN_FIRST, w->n_seen == 0);
        check_branch(w, conv, n);
        *(plan->origin == GW_ORIGIN_FIRST ? &total_first : &total_branches) += 1;
    }
}

static void keep_seen(world *w, const gw_plan *plan, const gw_sequence *sequence,
                      const int *conv, size_t n)
{
    seen *turn = &w->seen[w->n_seen];
    *turn = (seen){.n_prompt = plan->n,
                   .n_sampled = sequence->n,
                   .n_conv = n,
                   .origin = plan->origin,
                   .parent = plan->parent,
                   .with_tools = w->with_tools};
    turn->prompt = tk_memdup(plan->ids, plan->n * sizeof(int32_t));
    turn->sampled = tk_memdup(sequence->ids, sequence->n * sizeof(int32_t));
    turn->logprobs = tk_memdup(sequence->logprobs, sequence->n * sizeof(float));
    memcpy(turn->conv, conv, n * sizeof(*conv));
    w->n_seen++;
}

static void answer(world *w, const gw_ask *ask, const gw_plan *plan, const int *conv,
                   size_t n)
{
    int32_t ids[2][IDS_MAX];
    float logprobs[2][IDS_MAX];
    ca_parser *parsers[2] = {NULL, NULL};
    gw_sequence sequences[2];
    ca_output outputs[2];
    int64_t numbers[2];
    size_t k = w->n_seen + 2 <= TURNS_MAX && chance(w, 15) ? 2 : 1;
    for (size_t i = 0; i < k; i++) {
        size_t count = sample(w, ids[i]);
        for (size_t at = 0; at < count; at++) {
            logprobs[i][at] = -(float)tk_rand_double(&w->rand);
        }
        sequences[i] = (gw_sequence){
            .ids = ids[i], .logprobs = logprobs[i], .n = count, .is_stopped = true};
        assert_int_equal(gwfix_parse(&parsers[i], w->model, ids[i], count, w->with_tools),
                         TINKC_OK);
        outputs[i] = *ca_parser_output(parsers[i]);
    }
    gw_turn turn = {ask, plan, sequences, outputs, k};
    assert_int_equal(gw_episodes_record(w->episodes, &turn, numbers, NULL), TINKC_OK);
    for (size_t i = 0; i < k; i++) {
        assert_int_equal(numbers[i], w->n_seen);
        keep_seen(w, plan, &sequences[i], conv, n);
        w->seen[w->n_seen - 1].answer = hear(w, &outputs[i], ids[i], sequences[i].n);
        ca_parser_free(parsers[i]);
        total_turns++;
    }
}

static void request(world *w, const int *conv, size_t n)
{
    tk_buf json;
    ca_request body;
    gw_plan plan;
    tk_err err = TK_ERR_INIT;
    tk_buf_init(&json, 16 * TK_MIB);
    make_json(w, &json, conv, n);
    assert_true(gwfix_request(&body, tk_buf_str(&json)));
    if (w->with_tools) {
        assert_int_equal(tk_chat_set(&body.chat, TK_STR("tools"), tk_str_of(tools), NULL),
                         TINKC_OK);
    }
    gw_ask ask = {.episode = tk_str_of(w->name), .model = w->model, .request = &body};
    tinkc_code code = gw_episodes_plan(&plan, w->episodes, &ask, &err);
    if (code == TINKC_OK) {
        check_plan(w, &plan, conv, n);
        answer(w, &ask, &plan, conv, n);
        gw_plan_dispose(&plan);
    } else { /* the template refuses the conversation, also in our hands */
        assert_true(code == TINKC_E_INVALID || code == TINKC_E_UNSUPPORTED);
        w->refused++;
    }
    gwfix_request_dispose(&body);
    tk_buf_dispose(&json);
}

/* ---- the agent ---- */

static size_t begin(world *w, int *conv)
{
    size_t n = 0;
    if (chance(w, 40)) {
        conv[n++] = say(w, "system");
    }
    conv[n++] = say(w, "user");
    return n;
}

static size_t follow(world *w, int *conv, const seen *turn)
{
    size_t n = turn->n_conv;
    memcpy(conv, turn->conv, n * sizeof(*conv));
    conv[n++] = turn->answer;
    if (w->said[turn->answer].has_calls && chance(w, 85)) {
        conv[n++] = say(w, "tool");
    } else {
        conv[n++] = say(w, "user");
    }
    return n;
}

static void act(world *w)
{
    int conv[MESSAGES_MAX];
    unsigned dice = (unsigned)tk_rand_below(&w->rand, 100);
    const seen *turn =
        w->n_seen > 0
            ? &w->seen[dice < 55 ? w->n_seen - 1 : tk_rand_below(&w->rand, w->n_seen)]
            : NULL;
    size_t n;
    if (turn == NULL || dice >= 95) { /* a new conversation, or a compacted one */
        n = begin(w, conv);
    } else if (dice >= 88) { /* the same once more */
        n = turn->n_conv;
        memcpy(conv, turn->conv, n * sizeof(*conv));
    } else {
        n = follow(w, conv, turn);
        if (dice >= 80) { /* edited */
            size_t at = tk_rand_below(&w->rand, n);
            bool is_answer = w->said[conv[at]].is_answer;
            conv[at] = say(w, is_answer ? "assistant" : "user");
        }
        w->with_tools = chance(w, 4) ? !w->with_tools : w->with_tools;
    }
    request(w, conv, n);
}

/* ---- the checker: what is exported ---- */

static void check_sequence(const world *w, const tk_json *sequence, bool *is_covered)
{
    const tk_json *tokens = tk_json_get(sequence, "tokens");
    const tk_json *mask = tk_json_get(sequence, "mask");
    const tk_json *logprobs = tk_json_get(sequence, "logprobs");
    const tk_json *turns = tk_json_get(sequence, "turns");
    size_t n = tk_json_len(tokens), at = 0;
    assert_int_equal(tk_json_len(mask), n);
    assert_int_equal(tk_json_len(logprobs), n);
    for (size_t i = 0; i < tk_json_len(turns); i++) {
        const seen *turn = &w->seen[turns->as.ints.items[i]];
        is_covered[turns->as.ints.items[i]] = true;
        assert_true(at <= turn->n_prompt);
        for (size_t k = 0; k < turn->n_prompt;
             k++) { /* all of it, also what came before */
            assert_int_equal(tokens->as.ints.items[k], turn->prompt[k]);
        }
        for (; at < turn->n_prompt; at++) {
            assert_int_equal(mask->as.ints.items[at], 0);
        }
        for (size_t k = 0; k < turn->n_sampled; k++, at++) {
            tk_json value = tk_json_at(logprobs, at);
            double logprob = 1;
            assert_true(tk_json_to_double(&value, &logprob));
            assert_int_equal(tokens->as.ints.items[at], turn->sampled[k]);
            assert_int_equal(mask->as.ints.items[at], 1);
            assert_true((float)logprob == turn->logprobs[k]);
        }
    }
    assert_int_equal(at, n);
}

static void check_export(const world *w)
{
    tk_buf out;
    tk_arena arena;
    const tk_json *root = NULL;
    bool is_covered[TURNS_MAX] = {false};
    size_t leaves = 0;
    tk_buf_init(&out, TK_GW_EXPORT_BYTES);
    tk_arena_init(&arena, 0);
    assert_int_equal(gw_episodes_export(&out, w->episodes, tk_str_of(w->name), NULL),
                     TINKC_OK);
    assert_int_equal(tk_json_parse(&root, &arena, out.p, out.n, NULL, NULL), TINKC_OK);
    const tk_json *sequences = tk_json_get(root, "sequences");
    for (size_t i = 0; i < tk_json_len(sequences); i++) {
        tk_json sequence = tk_json_at(sequences, i);
        check_sequence(w, &sequence, is_covered);
    }
    for (size_t i = 0; i < w->n_seen; i++) {
        bool is_leaf = true;
        assert_true(is_covered[i]);
        for (size_t k = 0; k < w->n_seen; k++) {
            is_leaf &= w->seen[k].parent != (int64_t)i;
        }
        leaves += is_leaf ? 1 : 0;
    }
    assert_int_equal(tk_json_len(sequences), leaves);
    assert_int_equal(tk_json_len(tk_json_get(root, "turns")), w->n_seen);
    tk_arena_dispose(&arena);
    tk_buf_dispose(&out);
}

/* ---- all of it ---- */

static void clear_world(world *w)
{
    for (int i = 0; i < w->n_said; i++) {
        tk_free(w->said[i].whole);
        tk_free(w->said[i].bare);
        tk_free(w->said[i].raw);
    }
    for (size_t i = 0; i < w->n_seen; i++) {
        tk_free(w->seen[i].prompt);
        tk_free(w->seen[i].sampled);
        tk_free(w->seen[i].logprobs);
    }
    w->n_said = 0;
    w->n_seen = 0;
    w->with_tools = false;
}

static char *make_config(tk_str source)
{
    tk_buf out;
    tk_json_writer w;
    tk_buf_init(&out, 16 * TK_MIB);
    tk_json_writer_init(&w, &out);
    tk_json_begin_object(&w);
    tk_json_key(&w, TK_STR("bos_token"));
    tk_json_put_str(&w, TK_STR("<|endoftext|>"));
    tk_json_key(&w, TK_STR("eos_token"));
    tk_json_put_str(&w, TK_STR("<|end|>"));
    tk_json_key(&w, TK_STR("chat_template"));
    tk_json_put_str(&w, source);
    tk_json_end_object(&w);
    assert_non_null(tk_buf_cstr(&out));
    return out.p;
}

/* Some episodes of one template, each with a restart in the middle. */
static void walk(const char *name, tk_str source, unsigned seed, unsigned episodes)
{
    char *json = gwfix_tokenizer_json();
    char *config = make_config(source);
    char dir[64], id[32];
    world *w = tk_zalloc(sizeof(*w));
    gwfix_directory(dir);
    w->model = gwfix_model_new(json, source, "base");
    if (w->model == NULL) {
        print_message("%s: not parsed\n", name);
        goto out;
    }
    assert_int_equal(tinkc_tokenizer_from_json(&w->tokenizer, json, config, NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_chat_template_of(&w->tpl, w->tokenizer, NULL, NULL), TINKC_OK);
    size_t continued = total_continued, branches = total_branches, turns = total_turns;
    tk_rand_init(&w->rand, seed);
    gw_episodes_config how = {
        .dir = dir, .max_bytes = 64 * TK_KIB, .segment_bytes = 32 * TK_KIB};
    assert_int_equal(gw_episodes_open(&w->episodes, &how, NULL), TINKC_OK);
    for (unsigned i = 0; i < episodes; i++) {
        (void)snprintf(id, sizeof(id), "walk-%u", i);
        w->name = id;
        unsigned steps = 0;
        while (w->n_seen < TURNS_MAX - 1 && w->n_said < MESSAGES_MAX - 12 && steps < 60) {
            act(w);
            if (++steps == 25) {
                gw_episodes_close(w->episodes);
                assert_int_equal(gw_episodes_open(&w->episodes, &how, NULL), TINKC_OK);
            }
        }
        if (w->n_seen > 0) {
            check_export(w);
        }
        clear_world(w);
    }
    gw_episodes_close(w->episodes);
    print_message("%-12s %5zu turns, %5zu continued, %4zu branches, %4zu refused\n", name,
                  total_turns - turns, total_continued - continued,
                  total_branches - branches, w->refused);
out:
    tinkc_chat_template_free(&w->tpl);
    tinkc_tokenizer_free(&w->tokenizer);
    gw_model_release(w->model);
    tk_free(w);
    tk_free(config);
    tk_free(json);
    gwfix_remove(dir);
}

/* G-001 */
static void test_our_template(void **state)
{
    for (unsigned seed = 0; seed < 4; seed++) {
        walk("embedded", tk_str_of(gwfix_template), seed, 6);
    }
}

/* G-001 */
static void test_templates_of_tests(void **state)
{
    static const char *const names[] = {"chatml", "headers", "brackets", "marked",
                                        "parts",  "schema",  "thinking"};
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        char path[512];
        char *source = NULL;
        size_t n = 0;
        (void)snprintf(path, sizeof(path), "%s/text/templates/%s.jinja", TEST_DATA_DIR,
                       names[i]);
        assert_int_equal(tk_file_read(&source, &n, path, TK_MIB, NULL), TINKC_OK);
        walk(names[i], (tk_str){source, n}, 100 + (unsigned)i, 6);
        tk_free(source);
    }
    assert_true(total_continued > total_turns / 4);
    assert_true(total_branches > 0 && total_excused > 0);
}

static void test_real_templates(void **state)
{
    const char *path = getenv("TINKC_GW_TEMPLATES");
    char *text = NULL;
    size_t n = 0;
    tk_arena arena;
    const tk_json *root = NULL;
    if (path == NULL) {
        return;
    }
    tk_arena_init(&arena, 0);
    assert_int_equal(tk_file_read(&text, &n, path, 64 * TK_MIB, NULL), TINKC_OK);
    assert_int_equal(tk_json_parse(&root, &arena, text, n, NULL, NULL), TINKC_OK);
    for (size_t i = 0; i < root->as.object.n; i++) {
        const tk_json_member *member = &root->as.object.members[i];
        walk(member->key.p, member->value.as.string, 1000 + (unsigned)i, 4);
    }
    print_message("%zu turns: %zu first, %zu continued, %zu branches\n", total_turns,
                  total_first, total_continued, total_branches);
    tk_arena_dispose(&arena);
    tk_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_our_template),
                                       cmocka_unit_test(test_templates_of_tests),
                                       cmocka_unit_test(test_real_templates)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
