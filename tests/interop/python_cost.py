"""CPU time of a sample's round trip, through the official SDK or through our package: user and
system, all threads of the process, after the first samples. 8 samples are in flight.

    python_cost.py sdk|tinkc|await URL MODEL TOTAL      prints microseconds per sample

`await` is our package in asyncio; the other two wait in the calling thread.
"""

import sys
import time
from collections import deque

WIDTH, WARM_UP = 8, 40
PROMPT = [5 + 17 * i % 1900 for i in range(256)]
LENGTH = 16


def sdk(url, model):
    import tinker
    from tinker import types

    service = tinker.ServiceClient(base_url=url, api_key="tml-cost")
    sampling = service.create_sampling_client(base_model=model)
    params = types.SamplingParams(max_tokens=LENGTH, temperature=1.0)

    def submit():
        return sampling.sample(types.ModelInput.from_ints(PROMPT), 1, params)

    def check(future):
        sequence = future.result().sequences[0]
        assert 0 < len(sequence.tokens) == len(sequence.logprobs)

    return submit, check


def tinkc(url, model):
    import tinkc

    service = tinkc.Service(url, "tml-cost")
    sampling = service.create_sampling(model).result()

    def submit():
        return sampling.sample(PROMPT, max_tokens=LENGTH)

    def check(future):
        sequence = future.result()[0]
        assert 0 < len(sequence.tokens) == len(sequence.logprobs)

    return submit, check


def run(submit, check, n):
    window = deque()
    for _ in range(n):
        if len(window) == WIDTH:
            check(window.popleft())
        window.append(submit())
    while window:
        check(window.popleft())


def run_awaiting(submit, check, n):
    import asyncio

    async def worker(share):
        for _ in range(share):
            future = submit()
            await future
            check(future)

    async def main():
        await asyncio.gather(*(worker(n // WIDTH) for _ in range(WIDTH)))

    asyncio.run(main())


def main():
    kind, url, model, total = sys.argv[1:]
    submit, check = {"sdk": sdk, "tinkc": tinkc, "await": tinkc}[kind](url, model)
    loop = run_awaiting if kind == "await" else run
    loop(submit, check, WARM_UP)
    before = time.process_time()
    loop(submit, check, int(total))
    print("%.1f" % ((time.process_time() - before) / int(total) * 1e6), flush=True)


if __name__ == "__main__":
    main()
