/* The C++ headers against the real server: training, sampling, streams, futures, queues,
 * and callbacks of the program whose exceptions stay inside the library's threads. */
#include <atomic>
#include <poll.h>
#include <stdexcept>
#include <thread>

#include "cppfix.hpp"

using tinkc::expected;

static const std::int32_t text[] = {5, 17, 9, 40, 12, 33, 8, 21};
constexpr std::size_t datum_n = 7; /* of a datum; targets are shifted by one */

static std::vector<tinkc::datum> batch_of_one()
{
    auto datum = tinkc::datum::from(tinkc::model_input::from({text, datum_n}));
    datum.set("target_tokens", tinkc::span<const std::int32_t>(text + 1, datum_n));
    datum.set("weights", std::vector<float>(datum_n, 1.0F));
    std::vector<tinkc::datum> out;
    out.push_back(std::move(datum));
    return out;
}

static tinkc::training new_training(const tinkc::service &service)
{
    auto lora = tinkc::lora_config().with_seed(7);
    lora.rank = 8;
    return service.create_training(cppfix::model, lora).get();
}

static tinkc::sampling_params six_tokens()
{
    static const char *const none[] = {nullptr};
    tinkc::sampling_params params;
    params.max_tokens = 6;
    params.stop_texts = none; /* stop nowhere */
    return params.with_seed(11);
}

static void test_cpp_trains()
{
    auto service = tinkc::service::open();
    auto training = new_training(service);
    auto data = batch_of_one();
    tinkc::adam_params adam(0.01);
    double first = training.step(data, "cross_entropy", adam).get().loss(), last = first;
    for (int i = 0; i < 6; i++) {
        auto pass = training.forward_backward(data, "cross_entropy");
        auto step = training.optim_step(adam);
        auto result = pass.get();
        CHECK(!step.get().empty() && pass.empty());
        last = result.loss();
        CHECK(result.size() == 1 && result.logprobs(0).size() == datum_n);
        CHECK(result.shape(0, "logprobs")[0] == datum_n && result.metrics().size() > 0);
        double own = result.computed_loss(data, "cross_entropy");
        CHECK(own > last - 0.01 && own < last + 0.01);
    }
    CHECK(last < first / 2);
    auto info = training.info().get();
    CHECK(info.is_lora() && info.lora_rank() == 8);
    CHECK(tinkc::view(info.model_id()) == training.model_id());
    auto path = training.save_state("one").get();
    CHECK(path.rfind("tinker://", 0) == 0);
    auto before = training.forward(data, "cross_entropy").get();
    training.step(data, "cross_entropy").get();
    training.load_state(path, true).get();
    auto after = training.forward(data, "cross_entropy").get();
    for (std::size_t i = 0; i < datum_n; i++) {
        CHECK(before.logprobs(0)[i] == after.logprobs(0)[i]);
    }
    CHECK(service.create_training_from_state(path).get().model_id() != nullptr);
    training.unload().get();
}

static void test_cpp_samples()
{
    auto service = tinkc::service::open();
    CHECK(service.get_capabilities().get().size() > 0);
    service.health().get();
    auto sampling = service.create_sampling(cppfix::model).get();
    auto tokenizer = sampling.get_tokenizer();
    CHECK(sampling.base_model().get() == cppfix::model);
    auto prompt = tinkc::model_input::from({text, 3});
    auto samples = sampling.sample(prompt, six_tokens(), tinkc::sample_options(2)).get();
    CHECK(samples.size() == 2 && samples.tokens(1).size() == 6);
    CHECK(samples.logprobs(1).size() == 6 && samples.tokens(2).empty());
    CHECK(samples.stop_reason() == TINKC_STOP_LENGTH);
    CHECK(samples.text(0, tokenizer, false) == tokenizer.decode(samples.tokens(), false));
    CHECK_CODE(samples.text<expected>(2, tokenizer), TINKC_E_MISSING);
    auto datum = samples.rollout(0, prompt, 0.5);
    CHECK(datum.tensor_of("advantages").f32().back() == 0.5F);
    CHECK_CODE(samples.rollout<expected>(2, prompt, 0.5), TINKC_E_MISSING);
    CHECK(sampling.compute_logprobs(prompt).get().values().size() == 3);
    auto joined = service.import_sampling(sampling.export_handle()).get();
    CHECK(joined.sample(prompt, six_tokens()).get().tokens().size() == 6);
    tinkc::sample_target target;
    target.base_model = cppfix::model;
    CHECK(service.open_sampling(target).get().session_id() == nullptr);
    auto patient = sampling.with_retry({});
    CHECK(patient.sample(prompt, six_tokens()).get().size() == 1);
}

/* The events of a stream are the tokens of a sample with the same seed. */
static void test_cpp_streams()
{
    auto service = tinkc::service::open();
    auto sampling = service.create_sampling(cppfix::model).get();
    auto prompt = tinkc::model_input::from({text, 3});
    auto whole = sampling.sample(prompt, six_tokens()).get();
    std::size_t at = 0;
    bool ended = false;
    auto stream = sampling.stream(prompt, six_tokens());
    for (const tinkc_stream_event &event : stream) {
        CHECK(!ended);
        ended = event.kind == TINKC_STREAM_DONE;
        CHECK(ended || event.token_id == whole.tokens()[at++]);
    }
    CHECK(ended && at == 6);
    CHECK(*stream.next<expected>() == nullptr);
    std::atomic<int> events{0};
    sampling
        .stream_to(prompt, six_tokens(),
                   [&](const tinkc_stream_event &) { return ++events > 0; })
        .get();
    CHECK(events == 7);
    auto stopped = sampling.stream_to(prompt, six_tokens(),
                                      [](const tinkc_stream_event &) { return false; });
    CHECK_CODE(stopped.get<expected>(), TINKC_E_CANCELLED);
    bool thrown = false;
    try {
        sampling
            .stream_to(prompt, six_tokens(),
                       [](const tinkc_stream_event &) -> bool {
                           throw std::runtime_error("of the stream");
                       })
            .get();
    } catch (const std::runtime_error &e) {
        thrown = std::string(e.what()) == "of the stream";
    }
    CHECK(thrown);
}

/* A future can be waited for, watched, shared, cancelled; a queue gives them back in the
 * order of their completion, with their tags, and its descriptor says when. */
static void test_cpp_futures()
{
    auto service = tinkc::service::open();
    auto sampling = service.create_sampling(cppfix::model).get();
    auto prompt = tinkc::model_input::from({text, 3});
    auto one = sampling.sample(prompt, six_tokens());
    std::atomic<int> done{0};
    one.on_done([&] {
        done++;
        throw std::runtime_error("discarded");
    });
    CHECK_CODE(one.on_done<expected>([] {}), TINKC_E_STATE);
    CHECK(!one.explain().empty() && one.context() == nullptr);
    (void)one.status();
    CHECK(one.wait() && one.is_done() && !one.failure());
    auto second = one.share();
    tinkc::future<tinkc::samples> moved(std::move(one));
    CHECK(one.empty() && moved.get().size() == 1);
    while (done == 0) { /* it runs after the future is done */
        std::this_thread::yield();
    }
    CHECK_CODE(std::move(second).as<tinkc::samples>().get<expected>(), TINKC_E_STATE);
    auto wrong = tinkc::future<tinkc::metrics>(sampling.sample(prompt, six_tokens()));
    CHECK_CODE(wrong.get<expected>(), TINKC_E_STATE); /* a result of another kind */

    auto queue = tinkc::queue::open();
    CHECK(!queue.take(0)); /* none is attached */
    for (std::uintptr_t tag = 1; tag <= 5; tag++) {
        queue.add(sampling.sample(prompt, six_tokens()), tag);
    }
    std::uintptr_t sum = 0;
    while (queue.pending() > 0) {
        pollfd ready = {queue.fd(), POLLIN, 0};
        CHECK(poll(&ready, 1, -1) == 1);
        auto next = queue.take(0);
        CHECK(next && next->future.is_done());
        sum += next->tag;
        CHECK(std::move(next->future).as<tinkc::samples>().get().tokens().size() == 6);
    }
    CHECK(sum == 15);

    std::vector<tinkc::future<tinkc::samples>> several;
    for (int i = 0; i < 3; i++) {
        several.push_back(sampling.sample(prompt, six_tokens()));
    }
    CHECK(tinkc::wait_any(several).has_value() && tinkc::wait_all(several));
    auto late = sampling.sample(prompt);
    late.cancel();
    CHECK(late.failure()->code() == TINKC_E_CANCELLED);
    CHECK_CODE(late.get<expected>(), TINKC_E_CANCELLED);
    CHECK_CODE(late.get<expected>(), TINKC_E_STATE); /* empty now */
}

/* A loss of the program: the sum of the negative log-probabilities. */
static std::optional<double> nll(tinkc::loss_batch &batch)
{
    double sum = 0;
    for (std::size_t i = 0; i < batch.size(); i++) {
        auto item = batch[i];
        CHECK(item.tensor_of("target_tokens").i64().size() == item.logprobs().size());
        for (std::size_t k = 0; k < item.logprobs().size(); k++) {
            sum -= static_cast<double>(item.logprobs()[k]);
            item.gradient()[k] = -1;
        }
    }
    batch.put_metric("seen", static_cast<double>(batch.size()));
    return sum;
}

static void test_cpp_custom_loss()
{
    auto service = tinkc::service::open();
    auto training = new_training(service);
    auto data = batch_of_one();
    double server = training.forward(data, "cross_entropy").get().loss();
    auto kept = std::make_shared<int>(1);
    {
        auto result =
            training.forward_backward_custom(data, [kept](auto &b) { return nll(b); })
                .get();
        CHECK(result.loss() > server - 0.01 && result.loss() < server + 0.01);
        CHECK(result.metrics().find("seen") == 1.0);
    }
    CHECK(training.optim_step(tinkc::adam_params(0.01)).get().size() < 1000);
    CHECK(training.forward(data, "cross_entropy").get().loss() < server);
    tinkc::regularizer term;
    tinkc::regularized terms;
    terms.terms = &term;
    terms.terms_n = 1;
    auto result = training.forward_backward_custom(data, tinkc_regularize, &terms).get();
    CHECK(result.metrics().find("regularizer_total").has_value());
    /* dropped: the operation goes on, and frees the callback at its end */
    (void)training.forward_backward_custom(data, [kept](auto &b) { return nll(b); });
    auto cancelled =
        training.forward_backward_custom(data, [kept](auto &b) { return nll(b); });
    cancelled.cancel();
    training.unload().get();
    cancelled.reset();
    service.reset();
    CHECK(kept.use_count() == 1);
}

/* What a callback throws comes out of get(), or is an error; the model is as before. */
static void test_cpp_custom_loss_throws()
{
    struct mine : std::runtime_error {
        using std::runtime_error::runtime_error;
    };
    auto service = tinkc::service::open();
    auto training = new_training(service);
    auto data = batch_of_one();
    auto fails = [](tinkc::loss_batch &) -> std::optional<double> {
        throw mine("of the loss");
    };
    bool thrown = false;
    try {
        (void)training.forward_backward_custom(data, fails).get();
    } catch (const mine &e) {
        thrown = std::string(e.what()) == "of the loss";
    }
    CHECK(thrown);
    CHECK_CODE(training.forward_backward_custom(data, fails).get<expected>(),
               TINKC_E_INVALID);
    auto gives_up = training.forward_backward_custom(
        data, [](tinkc::loss_batch &) { return std::nullopt; });
    CHECK_CODE(gives_up.get<expected>(), TINKC_E_INVALID);
    try {
        (void)training.forward_backward_custom(std::vector<tinkc::datum>(), fails).get();
        CHECK(false);
    } catch (const tinkc::error &e) { /* it was not called */
        CHECK(e.code() == TINKC_E_INVALID);
    }
    CHECK(training.forward(data, "cross_entropy").get().size() == 1);
}

static void test_cpp_batch()
{
    auto service = tinkc::service::open();
    auto sampling = service.create_sampling(cppfix::model).get();
    std::vector<tinkc::model_input> prompts;
    prompts.push_back(tinkc::model_input::from({text, 3}));
    prompts.push_back(tinkc::model_input::create()); /* empty: refused */
    prompts.push_back(tinkc::model_input::from({text, 4}));
    std::string seen;
    std::optional<tinkc::error> kept;
    sampling.batch(prompts, six_tokens(), {},
                   [&](std::size_t i, const expected<tinkc::samples_view> &one) {
                       seen += std::to_string(i) + (one ? "+" : "-");
                       if (!one) {
                           kept = one.error();
                       }
                       return !one || one->tokens().size() == 6;
                   });
    CHECK(seen == "0+1-2+" && kept->code() == TINKC_E_INVALID);
    bool thrown = false;
    try {
        sampling.batch(prompts, six_tokens(), {},
                       [](std::size_t, const expected<tinkc::samples_view> &) -> bool {
                           throw std::logic_error("of the batch");
                       });
    } catch (const std::logic_error &) {
        thrown = true;
    }
    CHECK(thrown);
}

/* An error of the server as an exception, with what the server said. */
static void test_cpp_server_errors()
{
    auto service = tinkc::service::open();
    try {
        (void)service.create_sampling("no/such-model").get();
        CHECK(false);
    } catch (const tinkc::error &e) {
        CHECK(e.http_status() >= 400 && e.is_user_error());
        CHECK(std::string(e.what()).size() > 5);
    }
    CHECK(!service.create_training("no/such-model").get<expected>());
    auto training = new_training(service);
    auto data = batch_of_one();
    CHECK_CODE(training.forward_backward(data, "ppo").get<expected>(), TINKC_E_REQUEST);
}

int main()
{
    cppfix::server server;
    RUN(test_cpp_trains);
    RUN(test_cpp_samples);
    RUN(test_cpp_streams);
    RUN(test_cpp_futures);
    RUN(test_cpp_custom_loss);
    RUN(test_cpp_custom_loss_throws);
    RUN(test_cpp_batch);
    RUN(test_cpp_server_errors);
    return 0;
}
