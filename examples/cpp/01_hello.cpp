/* Hello in C++: asks the model a question and prints its answer, as 01_hello.c does.
 *
 *     c++ -std=c++17 01_hello.cpp $(pkg-config --cflags --libs tinkc) -o hello
 *     TINKER_BASE_URL=http://127.0.0.1:8000 ./hello
 *
 * docs/guide/cpp.md explains it. */
#include <cstdio>
#include <numeric>

#include <tinkc/tinkc.hpp>

static const char model[] = "tinkc/pebble-llama-2m";
static const char question[] = "<|endoftext|><|user|>Who are you?<|end|><|assistant|>";

static void hello()
{
    auto service = tinkc::service::open();
    auto sampling = service.create_sampling(model).get();
    auto tokenizer = sampling.get_tokenizer();
    tinkc::sampling_params params;
    params.temperature = 0; /* always the most likely token */
    params.max_tokens = 32;
    const std::int32_t end[] = {tokenizer.end()}; /* not every server stops by itself */
    params.with_stop(end);
    auto samples = sampling.sample(tokenizer.input(question), params).get();
    auto logprobs = samples.logprobs();
    std::printf("%s\n%zu tokens, log-probability %.3f\n",
                samples.text(0, tokenizer).c_str(), samples.tokens().size(),
                std::accumulate(logprobs.begin(), logprobs.end(), 0.0));
}

int main()
{
    try {
        hello();
    } catch (const tinkc::error &e) {
        std::fprintf(stderr, "%s: %s\n", e.code_name(), e.what());
        return 1;
    }
    return 0;
}
