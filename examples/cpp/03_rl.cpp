/* Reinforcement learning in the manner of GRPO, in C++: does what examples/03_rl.c does and
 * prints the same rewards for the same seed. docs/guide/rl.md explains it.
 *
 *     TINKER_BASE_URL=http://127.0.0.1:8000 ./03_rl [seed] */
#include <cstdio>
#include <string>
#include <vector>

#include <tinkc/tinkc.hpp>

constexpr int steps = 14;
constexpr int questions = 16; /* of a step */
constexpr int answers = 8;    /* to each of them: a group */

static std::uint64_t seed, asked; /* of the run; questions so far */
static std::uint64_t state;       /* of random_below */

static int random_below(int n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int>((state >> 33) % static_cast<std::uint64_t>(n));
}

struct group {
    tinkc::model_input prompt;
    std::string answer; /* the right one */
    tinkc::future<tinkc::samples> future;
};

static group ask(const tinkc::sampling &sampling, const tinkc::tokenizer &tokenizer)
{
    group g;
    int a = 1 + random_below(9), b = 1 + random_below(9);
    g.prompt =
        tokenizer.input("<|endoftext|><|user|>What is the sum of " + std::to_string(a) +
                        " and " + std::to_string(b) + "?<|end|><|assistant|>");
    g.answer = std::to_string(a + b) + "<|end|>";
    const std::int32_t end[] = {tokenizer.end()}; /* a server may need to know it */
    tinkc::sampling_params params;
    params.max_tokens = 6;
    params.with_stop(end).with_seed(tinkc::rl_seed(seed, asked++, 0, 0));
    g.future = sampling.sample(g.prompt, params, tinkc::sample_options(answers));
    return g;
}

/* Adds the data of one question; none when all answers were equally good. Each answer is
 * trained with its advantage: how much better than the group it was. Returns the mean. */
static double judge(group &g, const tinkc::tokenizer &tokenizer,
                    std::vector<tinkc::datum> &data)
{
    auto samples = g.future.get();
    double rewards[answers], mean = 0;
    for (std::size_t k = 0; k < answers; k++) {
        rewards[k] = samples.text(k, tokenizer, false) == g.answer ? 1 : 0;
        mean += rewards[k] / answers;
    }
    tinkc::rl_advantage_options how;
    how.scale = true; /* divide by the standard deviation */
    const auto advantages = tinkc::rl_advantages(rewards, how);
    for (std::size_t k = 0; k < answers && advantages.differ; k++) {
        data.push_back(samples.rollout(k, g.prompt, advantages.values[k]));
    }
    return mean;
}

/* Samples with the weights as they are, then improves them. Returns the mean reward. */
static double step(const tinkc::training &training, const tinkc::tokenizer &tokenizer,
                   const tinkc::adam_params &adam)
{
    auto sampling = training.save_and_sample().get();
    std::vector<group> groups;
    std::vector<tinkc::datum> data;
    double reward = 0;
    for (int i = 0; i < questions; i++) { /* all of them are under way together */
        groups.push_back(ask(sampling, tokenizer));
    }
    for (group &g : groups) {
        reward += judge(g, tokenizer, data) / questions;
    }
    if (!data.empty()) {
        training.step(data, "importance_sampling", adam).get();
    }
    return reward;
}

int main(int argc, char **argv)
try {
    double first = 0, last = 0; /* the first is from before anything was learnt */
    seed = state = argc > 1 ? std::stoull(argv[1]) : 1;
    tinkc::adam_params adam(3e-3);
    adam.eps = 1e-8;
    auto service = tinkc::service::open();
    auto training = service
                        .create_training("tinkc/pebble-llama-2m",
                                         tinkc::lora_config().with_seed(state))
                        .get();
    auto tokenizer = training.get_tokenizer();
    for (int i = 0; i < steps; i++) {
        last = step(training, tokenizer, adam);
        first = i == 0 ? last : first;
        std::printf("step %2d  reward %.3f\n", i, last);
    }
    std::printf("reward: %.3f at the start, %.3f at the end\n", first, last);
    training.unload().get(); /* servers hold only a few models */
    return 0;
} catch (const tinkc::error &e) {
    std::fprintf(stderr, "%s: %s\n", e.code_name(), e.what());
    return 1;
}
