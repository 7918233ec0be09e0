"""Reinforcement learning in the manner of GRPO: the model answers sums, and answers that did
better than the others to the same question become more likely. It does what examples/03_rl.c
does, with the same numbers; docs/guide/rl.md explains it.

    TINKER_BASE_URL=http://127.0.0.1:8000 python3 rl.py [seed]
"""

import sys

import tinkc

MODEL = "tinkc/pebble-llama-2m"
STEPS = 14
QUESTIONS = 16  # of a step
ANSWERS = 8  # to each of them: a group
ADAM = tinkc.Adam(3e-3, eps=1e-8)


class Random:
    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = self.state * 6364136223846793005 + 1442695040888963407
        self.state %= 2**64
        return (self.state >> 33) % n


def ask(sampling, tokenizer, random, seed):
    """Asks a question: the prompt, the right answer and the answers to come."""
    a, b = 1 + random.below(9), 1 + random.below(9)
    question = f"What is the sum of {a} and {b}?"
    text = f"<|endoftext|><|user|>{question}<|end|><|assistant|>"
    prompt = tinkc.ModelInput(tokenizer.encode(text))
    answers = sampling.sample(
        prompt,
        ANSWERS,
        max_tokens=6,
        stop=[tokenizer.end],  # a server may need to know it
        seed=seed,
    )
    return prompt, f"{a + b}<|end|>", answers


def judge(prompt, right, answers, tokenizer):
    """The mean reward of a group, and its data: none when all answers were equally good. A
    rollout is an answer with its advantage: how much better than the group it was."""
    samples = answers.result()
    rewards = [float(tokenizer.decode(s.tokens) == right) for s in samples]
    mean = sum(rewards) / ANSWERS
    advantages = tinkc.rl.advantages(rewards, scale=True) or []
    return mean, [
        tinkc.Datum.from_rollout(prompt, s.tokens, s.logprobs, advantage)
        for s, advantage in zip(samples, advantages)
    ]


def step(training, tokenizer, random, seeds):
    """Samples with the weights as they are, then improves them. Returns the mean reward."""
    with training.save_and_sample().result() as sampling:  # all questions are under way together
        groups = [ask(sampling, tokenizer, random, seed) for seed in seeds]
        judged = [judge(*group, tokenizer) for group in groups]
    data = [datum for _, group in judged for datum in group]
    if data:
        training.step(data, "importance_sampling", ADAM).result()
    return sum(mean for mean, _ in judged) / QUESTIONS


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    random, rewards = Random(seed), []
    with tinkc.Service() as service:
        with service.create_training(MODEL, seed=seed).result() as training:
            tokenizer = training.tokenizer()
            for i in range(STEPS):
                tasks = range(i * QUESTIONS, (i + 1) * QUESTIONS)
                seeds = [tinkc.rl.seed(seed, task, 0, 0) for task in tasks]
                rewards.append(step(training, tokenizer, random, seeds))
                print(f"step {i:2}  reward {rewards[-1]:.3f}", flush=True)
            training.unload().result()  # servers hold only a few models
    print(f"reward: {rewards[0]:.3f} at the start, {rewards[-1]:.3f} at the end")


if __name__ == "__main__":
    main()
