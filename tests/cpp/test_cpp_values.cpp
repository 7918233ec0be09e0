/* The C++ headers without a server: errors and expected, spans, moves, values, texts. */
#include <array>
#include <cmath>
#include <type_traits>
#if __cplusplus >= 202002L
#include <span>
#endif

#include "cppfix.hpp"

using tinkc::expected;

static_assert(!std::is_copy_constructible_v<tinkc::service>);
static_assert(std::is_nothrow_move_constructible_v<tinkc::service>);
static_assert(std::is_nothrow_move_assignable_v<tinkc::datum>);
static_assert(!std::is_copy_constructible_v<tinkc::future<tinkc::samples>>);
static_assert(sizeof(tinkc::datum) == sizeof(tinkc_datum *));
static_assert(std::is_nothrow_copy_constructible_v<tinkc::error>);
static_assert(!std::is_convertible_v<std::string_view, tinkc::cstring>);

/* What would keep a pointer into a temporary does not compile. */
template <class Tokens, class = void> struct can_borrow : std::false_type {
};
template <class Tokens>
struct can_borrow<Tokens, std::void_t<decltype(std::declval<tinkc::model_input &>()
                                                   .borrow(std::declval<Tokens>()))>>
    : std::true_type {
};
template <class Input, class = void> struct can_borrow_braces : std::false_type {
};
template <class Input>
struct can_borrow_braces<Input,
                         std::void_t<decltype(std::declval<Input &>().borrow({1, 2}))>>
    : std::true_type {
};
static_assert(can_borrow<std::vector<std::int32_t> &>());
static_assert(can_borrow<const std::vector<std::int32_t> &>());
static_assert(can_borrow<std::array<std::int32_t, 2> &>());
static_assert(can_borrow<const std::int32_t (&)[2]>());
static_assert(can_borrow<tinkc::span<const std::int32_t>>());
static_assert(!can_borrow<std::vector<std::int32_t>>());
static_assert(!can_borrow<const std::vector<std::int32_t>>());
static_assert(!can_borrow<std::array<std::int32_t, 2>>());
static_assert(can_borrow<tinkc::encoding &>() && !can_borrow<tinkc::encoding>());
static_assert(!can_borrow<std::initializer_list<std::int32_t>>());
static_assert(!can_borrow_braces<tinkc::model_input>());
static_assert(std::is_constructible_v<tinkc::rest, tinkc::service &>);
static_assert(!std::is_constructible_v<tinkc::rest, tinkc::service>);

/* An error says the same as exception and as value, and outlives what it came from. */
static void test_cpp_error()
{
    std::optional<tinkc::error> kept;
    auto input = tinkc::model_input::create();
    auto datum = tinkc::datum::from(std::move(input));
    try {
        datum.set("no_such_name", std::vector<float>{1});
        CHECK(false);
    } catch (const std::exception &e) {
        CHECK(dynamic_cast<const tinkc::error *>(&e) != nullptr);
        kept = dynamic_cast<const tinkc::error &>(e);
    }
    auto same = datum.set<expected>("no_such_name", std::vector<float>{1});
    CHECK(!same && std::string(same.error().what()) == kept->what());
    CHECK(kept->code() == TINKC_E_INVALID);
    CHECK(std::string(kept->code_name()) == "TINKC_E_INVALID");
    CHECK(kept->error_class() == TINKC_CLASS_USER && !kept->is_retryable());
    CHECK(std::string(kept->class_name()) == "user" && !kept->is_fatal());
    CHECK(kept->http_status() == 0 && kept->retry_after_ms() == -1);
    CHECK(kept->request_id() == nullptr && !kept->cause() && !kept->is_user_error());
    CHECK(std::string(kept->category_name()) == "unknown");
    CHECK(std::string(tinkc::error(TINKC_E_IO, nullptr).what()) == "TINKC_E_IO");
}

/* Numbers in braces, of each type. */
static void test_cpp_braces()
{
    auto datum = tinkc::datum::from(tinkc::model_input::from({1, 2, 3}));
    datum.set("target_tokens", {2, 3, 4});
    datum.set("weights", {0, 1, 1});
    datum.set("advantages", {0.5f, 1.0f, -1.0f});
    CHECK(datum.set<expected>("logprobs", {-0.5, -1.0, -2.0}));
    CHECK(tinkc_tensor_i64(tinkc_datum_tensor(datum.c_ptr(), "target_tokens"))[2] == 4);
    CHECK(tinkc_tensor_f32(tinkc_datum_tensor(datum.c_ptr(), "weights"))[1] == 1.0f);
    CHECK(tinkc_tensor_f32(tinkc_datum_tensor(datum.c_ptr(), "advantages"))[0] == 0.5f);
    CHECK(tinkc_tensor_f32(tinkc_datum_tensor(datum.c_ptr(), "logprobs"))[2] == -2.0f);
}

static void test_cpp_expected()
{
    expected<std::string> good(std::string("yes"));
    expected<std::string> bad(tinkc::error(TINKC_E_IO, nullptr));
    CHECK(good && *good == "yes" && good->size() == 3 && good.value() == "yes");
    CHECK(!bad && bad.error().code() == TINKC_E_IO);
    CHECK(std::move(bad).value_or("no") == "no");
    bool thrown = false;
    try {
        (void)expected<int>(tinkc::error(TINKC_E_LIMIT, nullptr)).value();
    } catch (const tinkc::error &e) {
        thrown = e.code() == TINKC_E_LIMIT;
    }
    CHECK(thrown);
    expected<void> nothing;
    nothing.value();
    CHECK(nothing.has_value());
    auto moved = std::move(good).value();
    CHECK(moved == "yes");
    auto input = tinkc::model_input::from<expected>({1, 2, 3}); /* holds a handle */
    CHECK(input && input->chunk_count() == 1);
    tinkc::model_input taken = *std::move(input);
    CHECK(taken.length() == 3 && input->empty());
}

static std::size_t count(tinkc::span<const std::int32_t> all)
{
    return all.size();
}

/* Arrays of every kind become a view of the same bytes. */
static void test_cpp_span()
{
    std::vector<std::int32_t> vector{1, 2, 3};
    const std::array<std::int32_t, 2> array{{4, 5}};
    std::int32_t plain[] = {6};
    tinkc::span<const std::int32_t> view(vector);
    CHECK(view.data() == vector.data() && view.size() == 3 && view.back() == 3);
    CHECK(count(array) == 2 && count(plain) == 1 && count({7, 8}) == 2 && count({}) == 0);
    tinkc::span<std::int32_t> writable(vector);
    writable[0] = 9;
    CHECK(vector[0] == 9 && writable.front() == 9);
    int sum = 0;
    for (std::int32_t one : view) {
        sum += one;
    }
    CHECK(sum == 14);
#if __cplusplus >= 202002L
    std::span<const std::int32_t> standard = view;
    CHECK(standard.data() == vector.data() && count(standard) == 3);
#endif
}

/* What was moved from is empty, and refuses; what was assigned to frees the old one. */
static void test_cpp_moves()
{
    auto first = tinkc::model_input::from({1, 2});
    tinkc_model_input *c = first.c_ptr();
    tinkc::model_input second(std::move(first));
    CHECK(first.empty() && second.c_ptr() == c);
    CHECK_CODE(first.length<expected>(), TINKC_E_INVALID);
    second = tinkc::model_input::from({3}); /* ASan sees a leak if the old one stays */
    CHECK(second.length() == 1);
    tinkc::model_input &same = second;
    second = std::move(same);
    CHECK(second.length() == 1);
    tinkc_model_input *released = second.release();
    CHECK(second.empty() && released != nullptr);
    tinkc_model_input_free(&released);
    second.reset();
    std::vector<tinkc::model_input> several;
    for (std::int32_t i = 0; i < 20; i++) { /* moves when it grows */
        several.push_back(tinkc::model_input::from({i}));
    }
    CHECK(several[17].tokens() == std::vector<std::int32_t>{17});
}

static void test_cpp_values_in_and_out()
{
    std::vector<std::int32_t> tokens{5, 6, 7};
    auto input = tinkc::model_input::create();
    input.add(tokens);
    input.borrow(tokens);
    CHECK(input.chunk_count() == 2 && input.length() == 6);
    auto copy = input.copy();
    auto datum = tinkc::datum::from(std::move(input));
    CHECK(input.empty());
    CHECK_CODE(tinkc::datum::from<expected>(std::move(input)), TINKC_E_INVALID);
    datum.set("target_tokens", tokens);
    datum.set("weights", std::vector<double>{1, 0.5, 0});
    CHECK(datum.tensor_of("target_tokens").i64()[2] == 7);
    CHECK(datum.tensor_of("weights").f32()[1] == 0.5F);
    CHECK(datum.tensor_of("weights").rank() == 1 && datum.tensor_of("none").empty());
    CHECK(datum.input() != nullptr);
    const std::int64_t shape[] = {2, 2};
    const float numbers[] = {1, 2, 3, 4};
    tinkc::array array;
    array.data = numbers;
    array.shape = shape;
    array.ndim = 2;
    array.dtype = TINKC_DTYPE_FLOAT32;
    auto tensor = tinkc::tensor::from(array);
    CHECK(tensor.view().dim(1) == 2 && tensor.view().f32()[3] == 4);
    datum.set("advantages", tensor.view());
    CHECK(datum.tensor_of("advantages").f32().size() == 4);
    auto rollout =
        tinkc::datum::from_rollout(copy, tokens, std::vector<float>{-1, -2, -3}, 0.5);
    CHECK(rollout.tensor_of("logprobs").f32().back() == -3);
    CHECK_CODE(tinkc::datum::from_rollout<expected>(copy, tokens, {-1.0F}, 0.5),
               TINKC_E_INVALID); /* a log-probability is missing */
    std::vector<tinkc::datum> batch;
    batch.push_back(std::move(rollout));
    CHECK(tinkc::estimate_batch(batch) > 0);
    tinkc::sampling_params params;
    params.max_tokens = 4;
    CHECK(tinkc::estimate_sample(copy, params) == std::make_pair(int64_t{6}, int64_t{4}));
}

static void test_cpp_options()
{
    tinkc::sampling_params params;
    CHECK(params.size == sizeof(tinkc_sampling_params) && params.temperature == 1.0);
    tinkc::check(params.with_seed(7));
    CHECK(params.has_seed && params.seed == 7);
    params.temperature = -1;
    CHECK_CODE(tinkc::check<expected>(params), TINKC_E_INVALID);
    CHECK(tinkc::adam_params(1e-3).learning_rate == 1e-3);
    CHECK(tinkc::lora_config().rank == 32 && tinkc::sample_options(3).num_samples == 3);
    tinkc::check(tinkc::lora_config());
    tinkc::check(tinkc::adam_params());
    tinkc::check(tinkc::sample_options());
    tinkc::check(tinkc::sample_retry());
    tinkc::check(tinkc::optimizer_config());
    tinkc::check(tinkc::optim_params());
    tinkc::check(tinkc::regularizer());
    CHECK_CODE(tinkc::check<expected>(tinkc::sample_target()), TINKC_E_INVALID);
    CHECK(tinkc::parse_loss("ppo") == TINKC_LOSS_PPO);
    CHECK(std::string(tinkc::name(TINKC_LOSS_PPO)) == "ppo");
    CHECK(std::string(tinkc::name(TINKC_OPTIMIZER_ADAMW)) == "adamw");
    CHECK(std::string(tinkc::name(TINKC_REGULARIZER_L1)) == "l1");
    CHECK(std::string(tinkc::name(TINKC_CHECKPOINT_SAMPLER)) == "sampler");
    CHECK(std::string(tinkc::name(TINKC_BILLING_TRAINING)) == "training");
    CHECK(std::string(tinkc::name(TINKC_LOG_WARN)) == "warn");
    CHECK(std::string(tinkc::name(TINKC_TOKENS_SAMPLED)) == "sampled");
    CHECK(tinkc::parse_log_level("debug") == TINKC_LOG_DEBUG);
    CHECK(!tinkc::parse_log_level("loud"));
    CHECK(tinkc::format_time(0) == "1970-01-01T00:00:00Z");
    CHECK(tinkc::parse_time("1970-01-01") == 0);
    CHECK(tinkc::version_number() == TINKC_VERSION_NUMBER);
    CHECK(tinkc::view(tinkc::version()) == TINKC_VERSION &&
          tinkc::sdk_level() != nullptr);
    CHECK(tinkc::config::option_at(0) && !tinkc::config::option_at(10000));
    auto config = tinkc::config::create();
    config.set("base_url", std::string("http://127.0.0.1:9"));
    config.set_header("X-A", "b");
    config.set_query("a", "b");
    config.set_metadata("a", nullptr);
    config.add_tag("a");
    CHECK(config.copy().get("base_url") == "http://127.0.0.1:9");
    CHECK_CODE(config.set<expected>("no_such_option", "1"), TINKC_E_CONFIG);
}

static tinkc::sampling_params stops_at(std::int32_t token)
{
    tinkc::sampling_params params;
    params.with_stop({token, token + 1});
    return params;
}

/* Options own what their member functions were given, also after a copy. */
static void test_cpp_options_own()
{
    auto params = stops_at(4);
    std::optional<tinkc::sampling_params> first = params.with_seed(1);
    std::vector<std::int32_t> many(1000, 7);
    params.with_stop(many);
    many.assign(1000, 8);
    CHECK(params.stop_tokens_n == 1000 && params.stop_tokens[999] == 7);
    tinkc::sampling_params copy = *first;
    first.reset();
    CHECK(copy.stop_tokens_n == 2 && copy.stop_tokens[0] == 4 &&
          copy.stop_tokens[1] == 5);
    copy = stops_at(6);
    CHECK(copy.stop_tokens[0] == 6 && copy.seed == 0);
    copy.with_stop({copy.stop_tokens + 1, 1}); /* of its own */
    CHECK(copy.stop_tokens_n == 1 && copy.stop_tokens[0] == 7);
    copy.with_stop({});
    CHECK(copy.stop_tokens_n == 0);
    tinkc::check(copy);
    const std::int32_t mine[] = {9};
    params.stop_tokens = mine; /* as in C: borrowed, also by a copy */
    params.stop_tokens_n = 1;
    copy = params;
    CHECK(copy.stop_tokens == mine && tinkc::sampling_params(params).stop_tokens == mine);

    tinkc::step_options step = tinkc::adam_params(1e-3);
    std::optional<tinkc::step_options> other(tinkc::adam_params(1e-5));
    tinkc::step_options twin = *other;
    other = step;
    step = tinkc::adam_params(1e-4);
    CHECK(other->adam->learning_rate == 1e-3 && step.adam->learning_rate == 1e-4);
    other.reset();
    CHECK(twin.adam->learning_rate == 1e-5);
    const tinkc::adam_params own(2e-3);
    step.adam = &own;
    twin = step;
    CHECK(twin.adam == &own && tinkc::step_options(step).adam == &own);
}

static void test_cpp_texts()
{
    auto tokenizer = tinkc::tokenizer::load(TINKC_MODEL_DIR);
    const char text[] = "What is the sum of 3 and 4?";
    auto encoding = tokenizer.encode(text);
    CHECK(encoding.ids().size() > 3 && tokenizer.count(text) == encoding.ids().size());
    CHECK(tokenizer.decode(encoding.ids()) == text);
    CHECK(tokenizer.encode("").ids().empty() && tokenizer.decode({}).empty());
    CHECK(tokenizer.encode("What")[0] == encoding[0]); /* an encoding is a range of ids */
    CHECK(tinkc::model_input::from(tokenizer.encode(text)).tokens() ==
          std::vector<std::int32_t>(encoding.begin(), encoding.end()));
    CHECK(encoding.data() == encoding.ids().data() && tinkc::encoding().size() == 0);
    CHECK(tinkc::encoding().begin() == tinkc::encoding().end());
    tinkc::encode_options with_offsets;
    with_offsets.offsets = true;
    auto placed = tokenizer.encode(text, with_offsets);
    CHECK(placed.offsets().size() == 2 * placed.ids().size());
    auto all = tokenizer.encode_all(std::vector<std::string_view>{"a", "b c"});
    CHECK(all.size() == 2 && tokenizer.decode(all[1].ids()) == "b c");
    auto decoder = tinkc::decoder::create(tokenizer);
    std::string joined;
    for (std::int32_t id : encoding.ids()) {
        joined += decoder.push({id});
    }
    joined += decoder.finish();
    CHECK(joined == text);
    auto shared = tokenizer.share();
    CHECK(shared.c_ptr() == tokenizer.c_ptr() && shared.end() >= 0);
    CHECK(tokenizer.token(tokenizer.end()).has_value());
    auto tpl = tinkc::chat_template::of(tokenizer);
    auto chat = tinkc::chat::create();
    chat.add("user", "Hello");
    auto prompt = chat.prompt(tpl, tokenizer);
    CHECK(prompt.length() > 3 && chat.size() == 1);
    chat.add_json(R"({"role": "assistant", "content": "Hi."})");
    auto rendered = chat.tokens(tpl, tokenizer);
    CHECK(rendered.text().find("Hello") != std::string_view::npos);
    CHECK(rendered.tokens().size() == rendered.weights().size());
    CHECK(rendered.part_count() > 1 && rendered.part(0) && !rendered.part(1000));
    auto datum = chat.to_datum(tpl, tokenizer);
    CHECK(datum.tensor_of("weights").f32().size() + 1 == rendered.tokens().size());
    CHECK(rendered.to_datum().tensor_of("weights").f32().size() ==
          datum.tensor_of("weights").f32().size());
    CHECK(chat.render(tpl) == rendered.text());
    chat.set("tools", "[]");
    CHECK_CODE(chat.set<expected>("tools", "["), TINKC_E_PARSE);
}

/* Episodes to datums and metrics, without a server. */
static void test_cpp_rl()
{
    const char *json = "{\"id\": \"e\", \"sequences\": [{\"tokens\": [1,2], \"mask\": "
                       "[0,1], \"logprobs\": [0,-0.5], \"turns\": [0], \"weights\": "
                       "[\"w\"]}]}";
    auto group = tinkc::rl_advantages({1, 0});
    CHECK(group.differ && group.values[0] == 0.5 && group.values[1] == -0.5);
    CHECK(!tinkc::rl_advantages({2, 2}).differ);
    tinkc::rl_batch_options options;
    options.group_size = 2;
    auto batch = tinkc::rl_batch::open(options);
    for (int i = 1; i >= 0; i--) {
        tinkc::rl_episode episode;
        episode.index = static_cast<std::uint64_t>(i);
        episode.reward = i;
        batch.add(episode, tinkc::trajectory::parse(json));
    }
    CHECK(batch.complete() == 1);
    auto step = batch.take();
    CHECK(step.data.size() == 2 && step.counts.groups_kept == 1);
    CHECK(step.data[1].tensor_of("advantages").f32()[0] == 0.5F);
    tinkc::rl_report report;
    report.counts = &step.counts;
    std::string line = tinkc::rl_json(report);
    CHECK(line.find("\"reward/mean\":0.5") != std::string::npos);
    const double now[] = {-1, -2}, before[] = {-1, -1};
    tinkc::rl_dpo_pairs pairs;
    pairs.logprobs = now;
    pairs.reference = before;
    pairs.pairs = 1;
    CHECK(tinkc::rl_dpo(pairs).accuracy == 1);
    CHECK(tinkc::rl_distill_advantages({-1.0F}, {-0.5F}, 2)[0] == 1);
}

int main()
{
    RUN(test_cpp_error);
    RUN(test_cpp_braces);
    RUN(test_cpp_expected);
    RUN(test_cpp_span);
    RUN(test_cpp_moves);
    RUN(test_cpp_values_in_and_out);
    RUN(test_cpp_options);
    RUN(test_cpp_options_own);
    RUN(test_cpp_texts);
    RUN(test_cpp_rl);
    return 0;
}
