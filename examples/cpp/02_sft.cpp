/* Supervised fine-tuning in C++: teaches the model one answer, and asks for it.
 *
 *     c++ -std=c++17 02_sft.cpp $(pkg-config --cflags --libs tinkc) -o sft
 *     TINKER_BASE_URL=http://127.0.0.1:8000 ./sft
 *
 * docs/guide/cpp.md explains it. */
#include <cstdio>

#include <tinkc/tinkc.hpp>

static void learn()
{
    auto service = tinkc::service::open();
    auto training =
        service
            .create_training("tinkc/pebble-llama-2m", tinkc::lora_config().with_seed(1))
            .get();
    auto tokenizer = training.get_tokenizer();
    auto tpl = tinkc::chat_template::of(tokenizer);

    auto chat = tinkc::chat::create();
    chat.add("user", "What is a heron?");
    auto prompt =
        chat.prompt(tpl, tokenizer); /* what the model reads before it answers */
    chat.add("assistant", "A heron is a bird with long legs.");
    std::vector<tinkc::datum> data;
    data.push_back(chat.to_datum(tpl, tokenizer)); /* with weights on the answer */

    double first = 0, last = 0;
    for (int i = 0; i < 20; i++) {
        last =
            training.step(data, "cross_entropy", tinkc::adam_params(3e-3)).get().loss();
        first = i == 0 ? last : first;
    }
    auto path = training.save_state("heron").get();

    tinkc::sampling_params params;
    params.temperature = 0;
    params.max_tokens = 32;
    const std::int32_t end[] = {tokenizer.end()};
    params.with_stop(end);
    auto samples = training.save_and_sample().get().sample(prompt, params).get();
    std::printf("loss %.2f at the start, %.2f at the end; saved as %s\n%s\n", first, last,
                path.c_str(), samples.text(0, tokenizer).c_str());
    training.unload().get(); /* servers hold only a few models */
}

int main()
{
    try {
        learn();
    } catch (const tinkc::error &e) {
        std::fprintf(stderr, "%s: %s\n", e.code_name(), e.what());
        return 1;
    }
    return 0;
}
