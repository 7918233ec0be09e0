/* Tokens in C++: makes a training example of token ids, trains on it, takes samples from a
 * queue as they complete, and walks over the runs that the server stores.
 *
 *     c++ -std=c++17 04_tokens.cpp $(pkg-config --cflags --libs tinkc) -o tokens
 *     TINKER_BASE_URL=http://127.0.0.1:8000 ./tokens
 *
 * docs/guide/cpp.md explains it. */
#include <cstdio>

#include <tinkc/tinkc.hpp>

static void tokens()
{
    auto service = tinkc::service::open();
    tinkc::lora_config lora;
    lora.rank = 8;
    auto training = service.create_training("tinkc/pebble-llama-2m", lora).get();
    auto tokenizer = training.get_tokenizer();

    /* each token is the target of the ones before it */
    auto ids = tokenizer.encode("A heron is a bird with long legs.");
    const std::size_t n = ids.size() - 1;
    std::vector<tinkc::datum> data;
    data.push_back(tinkc::datum::from(tinkc::model_input::from({ids.data(), n})));
    data[0].set("target_tokens", tinkc::span<const std::int32_t>(ids.data() + 1, n));
    data[0].set("weights", std::vector<float>(n, 1));
    for (int i = 0; i < 20; i++) {
        training.step(data, "cross_entropy", tinkc::adam_params(3e-3)).get();
    }

    auto sampling = training.save_and_sample().get();
    tinkc::sampling_params params;
    params.temperature = 0;
    params.with_stop({tokenizer.encode(".")[0], tokenizer.end()});
    auto queue = tinkc::queue::open();
    for (std::uintptr_t tag = 1; tag <= 3; tag++) { /* a prompt of 1, 2, 3 tokens */
        queue.add(sampling.sample(tinkc::model_input::from({ids.data(), tag}), params),
                  tag);
    }
    while (auto next = queue.take()) { /* nothing when all are taken */
        auto samples = std::move(next->future).as<tinkc::samples>().get();
        std::printf("after %zu tokens:%s\n", static_cast<std::size_t>(next->tag),
                    samples.text(0, tokenizer).c_str());
    }

    tinkc::rest rest(service);
    tinkc::pager_options fifty;
    fifty.page = 50; /* runs per request */
    auto pager = rest.all_runs(fifty);
    for (const tinkc_run &run : pager) {
        std::printf("run %s of rank %d\n", run.id, static_cast<int>(run.lora_rank));
    }
}

int main()
{
    try {
        tokens();
    } catch (const tinkc::error &e) {
        std::fprintf(stderr, "%s: %s\n", e.code_name(), e.what());
        return 1;
    }
    return 0;
}
