"""CPU time of a sample's round trip, through the official SDK or through our package: user and
system, all threads of the process, after the first samples. 8 samples are in flight.

    python_cost.py sdk|tinkc result|await URL MODEL TOTAL      prints microseconds per sample

With `result` the calling thread waits, with `await` eight tasks do.
"""

import asyncio
import sys
import time
from collections import deque

WIDTH, WARM_UP = 8, 40
PROMPT = [5 + 17 * i % 1900 for i in range(256)]
LENGTH = 16


def sdk(url, model):
    """What submits a sample, what awaits one, and what checks a result."""
    import tinker
    from tinker import types

    service = tinker.ServiceClient(base_url=url, api_key="tml-cost")
    sampling = service.create_sampling_client(base_model=model)
    params = types.SamplingParams(max_tokens=LENGTH)

    def submit():
        return sampling.sample(types.ModelInput.from_ints(PROMPT), 1, params)

    def begin():
        return sampling.sample_async(types.ModelInput.from_ints(PROMPT), 1, params)

    def check(response):
        sequence = response.sequences[0]
        assert 0 < len(sequence.tokens) == len(sequence.logprobs)

    return submit, begin, check


def tinkc(url, model):
    import tinkc

    service = tinkc.Service(url, "tml-cost")
    sampling = service.create_sampling(model).result()

    def submit():
        return sampling.sample(PROMPT, max_tokens=LENGTH)

    def check(samples):
        sequence = samples[0]
        assert 0 < len(sequence.tokens) == len(sequence.logprobs)

    return submit, submit, check


def run(submit, check, n):
    window = deque()
    for _ in range(n):
        if len(window) == WIDTH:
            check(window.popleft().result())
        window.append(submit())
    while window:
        check(window.popleft().result())


def run_awaiting(begin, check, n):
    async def worker(share):
        for _ in range(share):
            check(await begin())

    async def main():
        await asyncio.gather(*(worker(n // WIDTH) for _ in range(WIDTH)))

    asyncio.run(main())


def main():
    who, how, url, model, total = sys.argv[1:]
    submit, begin, check = {"sdk": sdk, "tinkc": tinkc}[who](url, model)
    loop, start = {"result": (run, submit), "await": (run_awaiting, begin)}[how]
    loop(start, check, WARM_UP)
    before = time.process_time()
    loop(start, check, int(total))
    print("%.1f" % ((time.process_time() - before) / int(total) * 1e6), flush=True)


if __name__ == "__main__":
    main()
