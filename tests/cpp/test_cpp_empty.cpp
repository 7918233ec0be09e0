/* Every function of the C++ headers on empty handles, as they are after a move: it fails
 * with a code, or returns nothing, and never crashes. Each is called in the way without
 * exceptions, so that this program is also compiled with -fno-exceptions. */
#include "cppfix.hpp"

using tinkc::expected;

/* The call fails. */
#define FAILS(call)                                                                      \
    do {                                                                                 \
        auto outcome_ = (call);                                                          \
        CHECK(!outcome_);                                                                \
        CHECK(outcome_.error().code() != TINKC_OK);                                      \
        CHECK(outcome_.error().what()[0] != '\0');                                       \
    } while (0)

/* The operation's future is done, and it failed. */
#define REFUSED(future)                                                                  \
    do {                                                                                 \
        auto future_ = (future);                                                         \
        CHECK(future_.wait());                                                           \
        CHECK(future_.failure().has_value());                                            \
        FAILS(future_.get<expected>());                                                  \
        CHECK(future_.empty());                                                          \
    } while (0)

static void test_cpp_empty_values()
{
    tinkc::model_input input;
    const std::int32_t tokens[] = {1, 2};
    CHECK(input.empty() && input.c_ptr() == nullptr && input.chunk_count() == 0);
    FAILS(input.copy<expected>());
    FAILS(input.add<expected>(tokens));
    FAILS(input.borrow<expected>(tokens));
    FAILS(input.add_image<expected>("x", TINKC_IMAGE_PNG));
    FAILS(input.add_image_pointer<expected>("x", TINKC_IMAGE_PNG));
    FAILS(input.add_dmel<expected>("x"));
    FAILS(input.length<expected>());
    FAILS(input.tokens<expected>());
    FAILS(tinkc::datum::from<expected>(tinkc::model_input()));
    FAILS(tinkc::datum::from_rollout<expected>(input, tokens, {}, 1));
    FAILS(tinkc::trajectory::parse<expected>("{}"));
    tinkc::trajectory episode;
    CHECK(episode.id()[0] == '\0' && !episode.reward() && episode.metadata() == nullptr);
    CHECK(episode.size() == 0 && !episode.sequence(0));
    FAILS(episode.datums<expected>());
    FAILS(tinkc::tensor::from<expected>(tinkc::array()));
    FAILS(tinkc::tensor::from<expected>(tinkc::sparse()));
    tinkc::datum datum;
    FAILS(datum.set<expected>("weights", std::vector<std::int32_t>{1}));
    FAILS(datum.set<expected>("weights", std::vector<std::int64_t>{1}));
    FAILS(datum.set<expected>("weights", std::vector<float>{1}));
    FAILS(datum.set<expected>("weights", std::vector<double>{1}));
    FAILS(datum.set<expected>("weights", tinkc::array()));
    FAILS(datum.set<expected>("weights", tinkc::rows()));
    FAILS(datum.set<expected>("weights", tinkc::tensor().view()));
    FAILS(datum.set_provenance<expected>({}, {}));
    CHECK(datum.tensor_of("weights").empty() && datum.input() == nullptr);
    tinkc::tensor_view none = tinkc::tensor().view();
    CHECK(none.f32().empty() && none.i64().empty());
    CHECK(none.columns().empty() && none.row_starts().empty() && !none.is_sparse());
    CHECK(none.dim(0) == 0);
    (void)none.dtype();
    (void)none.rank();
    FAILS(tinkc::estimate_batch<expected>({}));
    FAILS(tinkc::estimate_sample<expected>(input));
}

static void test_cpp_empty_rl()
{
    tinkc::rl_batch batch;
    CHECK(tinkc::rl_seed(1, 2, 3, 4) == 215682197);
    FAILS(tinkc::rl_advantages<expected>({}));
    FAILS(batch.add<expected>(tinkc::rl_episode()));
    FAILS(batch.take<expected>());
    CHECK(batch.complete() == 0);
    tinkc::rl_batch_options options;
    options.group_size = 0;
    FAILS(tinkc::rl_batch::open<expected>(options));
    FAILS(tinkc::rl_compare<expected>(tinkc::fwdbwd_view(nullptr), {}));
    FAILS(tinkc::rl_sums<expected>(tinkc::fwdbwd_view(nullptr), {}));
    FAILS(tinkc::rl_dpo<expected>(tinkc::rl_dpo_pairs()));
    FAILS(tinkc::rl_distill_advantages<expected>({1}, {}));
    tinkc::rl_report report;
    report.more_n = 1;
    FAILS(tinkc::rl_json<expected>(report));
}

static void test_cpp_empty_texts()
{
    tinkc::tokenizer tokenizer;
    tinkc::chat_template tpl;
    tinkc::chat chat;
    tinkc::rendered rendered;
    tinkc::decoder decoder;
    FAILS(tokenizer.encode<expected>("x"));
    FAILS(tokenizer.encode_all<expected>(std::vector<std::string_view>{"x"}));
    FAILS(tokenizer.count<expected>("x"));
    FAILS(tokenizer.input<expected>("x"));
    FAILS(tokenizer.decode<expected>({1}));
    CHECK(tokenizer.size() == 0 && tokenizer.id("x") == -1 && tokenizer.end() == -1);
    CHECK(!tokenizer.token(0) && !tokenizer.is_special(0));
    CHECK(tokenizer.special("eos_token") == nullptr);
    CHECK(tokenizer.chat_template_source() == nullptr && tokenizer.share().empty());
    FAILS(tinkc::tokenizer::load<expected>("/nowhere/at/all"));
    FAILS(tinkc::tokenizer::load_cached<expected>("/nowhere/at/all"));
    FAILS(tinkc::tokenizer::from_json<expected>("{"));
    tinkc::tokenizer::cache_clear();
    CHECK(tinkc::encoding().ids().empty() && tinkc::encoding().offsets().empty());
    FAILS(tinkc::decoder::create<expected>(tokenizer));
    FAILS(decoder.push<expected>({1}));
    FAILS(decoder.finish<expected>());
    FAILS(tinkc::chat_template::parse<expected>("{% if %}"));
    FAILS(tinkc::chat_template::load<expected>("/nowhere/at/all"));
    FAILS(tinkc::chat_template::of<expected>(tokenizer));
    FAILS(chat.add<expected>("user", "x"));
    FAILS(chat.add_json<expected>("{}"));
    FAILS(chat.set<expected>("tools", "[]"));
    FAILS(chat.render<expected>(tpl));
    FAILS(chat.prompt<expected>(tpl, tokenizer));
    tinkc::model_input prompt;
    FAILS(chat.extend<expected>(prompt, tpl, tokenizer));
    FAILS(chat.tokens<expected>(tpl, tokenizer));
    FAILS(chat.to_datum<expected>(tpl, tokenizer));
    CHECK(chat.content(0).empty());
    CHECK(chat.size() == 0 && rendered.text().empty() && rendered.tokens().empty());
    CHECK(rendered.weights().empty() && rendered.part_count() == 0 && !rendered.part(0));
    CHECK(rendered.warning(0) == nullptr);
    FAILS(rendered.to_datum<expected>());
}

static void test_cpp_empty_results()
{
    tinkc::samples samples;
    CHECK(samples.size() == 0 && samples.tokens().empty() && samples.logprobs().empty());
    FAILS(samples.text<expected>(0, tinkc::tokenizer()));
    tinkc::chat chat;
    tinkc::model_input asked;
    FAILS(samples.add_to<expected>(chat, asked, tinkc::tokenizer()));
    FAILS(samples.rollout<expected>(0, tinkc::model_input(), 1));
    CHECK(samples.stop_reason() == TINKC_STOP_STOP && samples.stop_text()[0] == '\0');
    CHECK(samples.sequence_id() == nullptr && samples.prompt_logprobs().empty());
    CHECK(samples.topk_rows() == 0 && samples.sampled_topk_rows(0) == 0);
    FAILS(samples.topk<expected>(0));
    FAILS(samples.sampled_topk<expected>(0, 0));
    CHECK(samples.target_logprobs().empty() && samples.alt_tokens().empty());
    CHECK(samples.alt_logprobs().empty() && samples.cache_hits() == 0);
    CHECK(tinkc::logprobs().values().empty());
    tinkc::fwdbwd result;
    CHECK(result.size() == 0 && result.output_type() == nullptr);
    FAILS(result.loss<expected>());
    FAILS(result.computed_loss<expected>({}, "cross_entropy"));
    FAILS(result.f32<expected>(0, "logprobs"));
    FAILS(result.i64<expected>(0, "logprobs"));
    FAILS(result.shape<expected>(0, "logprobs"));
    FAILS(result.logprobs<expected>(0));
    CHECK(result.tensor_name(0, 0) == nullptr && result.metrics().size() == 0);
    tinkc::step step;
    FAILS(step.loss<expected>());
    CHECK(step.fwdbwd().size() == 0 && step.metrics().size() == 0);
    tinkc::metrics metrics;
    FAILS(metrics.loss<expected>());
    CHECK(metrics[0].first == nullptr && !metrics.find("loss"));
    CHECK(metrics.loss_name() == nullptr);
    tinkc::model_info info;
    CHECK(info.model_id() == nullptr && info.model_name() == nullptr);
    CHECK(info.arch() == nullptr && info.tokenizer_id() == nullptr && !info.is_lora());
    CHECK(info.lora_rank() == -1 && info.optimizer() == TINKC_OPTIMIZER_ADAMW);
    (void)info.optimizer_name();
    tinkc::capabilities offers;
    CHECK(offers.size() == 0 && offers.name(0) == nullptr && offers.context(0) == -1);
    CHECK(offers.trainable(0) == TINKC_CHOICE_UNSET);
    CHECK(offers.sampleable(0) == TINKC_CHOICE_UNSET);
    CHECK(tinkc::runs().size() == 0 && tinkc::runs().begin() == tinkc::runs().end());
}

static void test_cpp_empty_futures()
{
    tinkc::future<tinkc::samples> none;
    CHECK(none.empty() && !none.is_done() && !none.wait(0) && !none.failure());
    none.cancel();
    FAILS(none.on_done<expected>([] {}));
    FAILS(none.status<expected>());
    CHECK(!none.explain().empty() && none.context() == nullptr && none.share().empty());
    FAILS(none.get<expected>());
    FAILS(tinkc::future<std::string>().get<expected>());
    FAILS(tinkc::future<void>().get<expected>());
    std::vector<tinkc::future<void>> several(2);
    CHECK(!tinkc::wait_all(several, 0) && !tinkc::wait_any(several, 0));
    tinkc::queue queue;
    FAILS(queue.add<expected>(none));
    FAILS(queue.take<expected>(0));
    CHECK(queue.pending() == 0 && queue.fd() == -1);
}

static void test_cpp_empty_sampling()
{
    tinkc::sampling sampler;
    tinkc::model_input prompt;
    REFUSED(sampler.sample(prompt));
    REFUSED(sampler.compute_logprobs(prompt));
    REFUSED(sampler.compute_last_logprobs(prompt, 1));
    REFUSED(
        sampler.stream_to(prompt, {}, [](const tinkc_stream_event &) { return true; }));
    REFUSED(sampler.base_model());
    FAILS(sampler.stream<expected>(prompt));
    FAILS(sampler.batch<expected>(
        std::vector<tinkc::model_input>(1), {}, {},
        [](std::size_t, const expected<tinkc::samples_view> &) { return true; }));
    FAILS(sampler.with_retry<expected>({}));
    FAILS(sampler.with_context<expected>(tinkc::context()));
    FAILS(sampler.export_handle<expected>());
    FAILS(sampler.get_tokenizer<expected>());
    CHECK(sampler.session_id() == nullptr);
    tinkc::token_stream stream;
    FAILS(stream.next<expected>());
}

static void test_cpp_empty_training()
{
    tinkc::training trainer;
    std::vector<tinkc::datum> data(1);
    CHECK(trainer.model_id() == nullptr);
    REFUSED(trainer.forward(data, "cross_entropy"));
    REFUSED(trainer.forward_backward(data, "cross_entropy"));
    REFUSED(trainer.forward_backward_custom(data, [](tinkc::loss_batch &) { return 0; }));
    tinkc::regularized terms;
    REFUSED(trainer.forward_backward_custom(data, tinkc_regularize, &terms));
    REFUSED(trainer.optim_step());
    REFUSED(trainer.optim_step(tinkc::optim_params()));
    REFUSED(trainer.step(data, "cross_entropy"));
    REFUSED(trainer.save_state("a"));
    REFUSED(trainer.save_weights_for_sampler("a"));
    REFUSED(trainer.save_weights_external("a"));
    REFUSED(trainer.save_and_sample());
    REFUSED(trainer.load_state("tinker://a/weights/b"));
    REFUSED(trainer.info());
    REFUSED(trainer.unload());
    FAILS(trainer.get_tokenizer<expected>());
    FAILS(trainer.with_context<expected>(tinkc::context()));
}

static void test_cpp_empty_service()
{
    tinkc::service none;
    FAILS(none.set_finish<expected>(TINKC_FINISH_ERRORED, "x"));
    FAILS(none.process<expected>());
    FAILS(none.on_queue_state<expected>(
        [](tinkc_queue_state, const char *, const char *) {}));
    FAILS(none.with_context<expected>(tinkc::context()));
    FAILS(none.get_tokenizer<expected>(nullptr));
    CHECK(none.fd() == -1 && none.session_id() == nullptr && none.waits().empty());
    (void)none.deadline_ms();
    REFUSED(none.get_capabilities());
    REFUSED(none.health());
    REFUSED(none.create_sampling("m"));
    REFUSED(none.create_sampling(nullptr));
    REFUSED(none.open_sampling({}));
    REFUSED(none.import_sampling("x"));
    REFUSED(none.create_training("m"));
    REFUSED(none.create_training_from_state("tinker://a/weights/b"));
    REFUSED(none.create_custom_loss({}));
    tinkc::config config;
    FAILS(config.copy<expected>());
    FAILS(config.set<expected>("base_url", "x"));
    FAILS(config.set_header<expected>("a", "b"));
    FAILS(config.set_query<expected>("a", "b"));
    FAILS(config.set_metadata<expected>("a", "b"));
    FAILS(config.add_tag<expected>("a"));
    CHECK(config.get("base_url").empty());
    config.set_log(nullptr);
}

static void test_cpp_empty_rest()
{
    tinkc::service closed;
    tinkc::rest rest(closed);
    const char path[] = "tinker://a/weights/b";
    REFUSED(rest.get_run("a"));
    REFUSED(rest.get_run_of_path(path));
    REFUSED(rest.list_runs());
    REFUSED(rest.list_checkpoints("a"));
    REFUSED(rest.list_user_checkpoints());
    REFUSED(rest.delete_checkpoint(path));
    REFUSED(rest.publish_checkpoint(path));
    REFUSED(rest.unpublish_checkpoint(path));
    REFUSED(rest.set_checkpoint_ttl(path, 1));
    REFUSED(rest.archive_url(path));
    REFUSED(rest.get_weights_info(path));
    REFUSED(rest.copy_weights(path));
    REFUSED(rest.external_urls(path));
    REFUSED(rest.get_sampler("a"));
    REFUSED(rest.get_session("a"));
    REFUSED(rest.list_sessions());
    REFUSED(rest.assign_project("a", "b"));
    REFUSED(rest.export_trace("a"));
    REFUSED(rest.search_sessions());
    REFUSED(rest.search_checkpoints());
    REFUSED(rest.get_storage());
    REFUSED(rest.get_whoami());
    REFUSED(rest.get_audit());
    REFUSED(rest.get_billing(0, 1));
    FAILS(rest.all_runs<expected>());
    FAILS(rest.all_checkpoints<expected>());
    FAILS(rest.all_sessions<expected>());
    FAILS(rest.download<expected>(path, "/nowhere/at/all"));
    FAILS(rest.download_url<expected>("http://127.0.0.1:1/", "/nowhere/at/all", {},
                                      [](const tinkc_progress &) { return true; }));
    FAILS(
        rest.push<expected>(path, {}, [](const tinkc_push_progress &) { return true; }));
    FAILS(rest.pull<expected>("not a name", {},
                              [](const tinkc_pull_progress &) { return true; }));
    FAILS(tinkc::find_pulled<expected>("not a name"));
    FAILS(rest.upload<expected>("/nowhere/at/all"));
    tinkc::run_pager pager;
    FAILS(pager.next<expected>());
    FAILS(pager.has_next<expected>());
    FAILS(tinkc::checkpoint_pager().next<expected>());
    FAILS(tinkc::session_pager().next<expected>());
    CHECK(pager.total() == -1);
    REFUSED(tinkc::send(closed, {}));
    FAILS(tinkc::save<expected>(closed, {}, "/nowhere/at/all"));
    FAILS(tinkc::raw_stream::open<expected>(closed, {}));
    char byte[1];
    tinkc::raw_stream stream;
    FAILS(stream.read<expected>(byte));
    CHECK(stream.head().status() == 0 && stream.head().header("a") == nullptr);
    CHECK(!stream.head().header_at(0) && tinkc::raw_response().body().empty());
}

static void test_cpp_empty_insight()
{
    tinkc::service closed;
    tinkc::meter meter;
    tinkc::readings readings;
    FAILS(meter.attach<expected>(closed));
    FAILS(meter.add<expected>("a", 1));
    FAILS(meter.set<expected>("a", 1));
    FAILS(meter.observe<expected>("a", 1));
    meter.restart();
    FAILS(meter.read<expected>());
    CHECK(readings.size() == 0 && !readings.at(0) && !readings.find("a"));
    FAILS(readings.json<expected>());
    FAILS(readings.prometheus<expected>());
    FAILS(tinkc::trace::open<expected>("/nowhere/at/all"));
    tinkc::trace trace;
    FAILS(trace.attach<expected>(closed));
    CHECK(trace.close<expected>().has_value());
    tinkc::ledger ledger;
    FAILS(tinkc::ledger::of<expected>(closed));
    FAILS(tinkc::ledger::set_budget<expected>(closed, 1));
    CHECK(ledger.total(TINKC_TOKENS_TRAINING) == 0 && ledger.uncertain() == 0);
    CHECK(ledger.reserved() == 0 && ledger.runs() == 0 && ledger.run_id(0) == nullptr);
    CHECK(ledger.run_tokens(0, TINKC_TOKENS_TRAINING) == 0 && ledger.steps(0) == 0);
    CHECK(ledger.step_tokens(0, 0) == 0);
    (void)ledger.left();
    FAILS(tinkc::add_hook<expected>(closed, [](const tinkc_hook &) {}));
    FAILS(tinkc::telemetry::event<expected>(closed, "a"));
    FAILS(tinkc::telemetry::exception<expected>(closed, "a", "b"));
    FAILS(tinkc::telemetry::failure<expected>(closed, tinkc::error(TINKC_E_IO, nullptr)));
    FAILS(tinkc::telemetry::flush<expected>(closed, 0));
    FAILS(tinkc::telemetry::count<expected>(closed));
}

int main()
{
    RUN(test_cpp_empty_values);
    RUN(test_cpp_empty_rl);
    RUN(test_cpp_empty_texts);
    RUN(test_cpp_empty_results);
    RUN(test_cpp_empty_futures);
    RUN(test_cpp_empty_sampling);
    RUN(test_cpp_empty_training);
    RUN(test_cpp_empty_service);
    RUN(test_cpp_empty_rest);
    RUN(test_cpp_empty_insight);
    return 0;
}
