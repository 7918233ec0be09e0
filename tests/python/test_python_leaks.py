#!/usr/bin/env python3
"""Every object of the library that the Python package gets is freed once: all functions that hand
one out or free one are counted while thousands of samples, and some of everything else, run."""

import asyncio
import ctypes
import gc
import importlib.util
import re
import sys
import threading
from collections import Counter

import support
from tinkc import _c

SAMPLES = 2000
KEPT = ("tinkc._c", "tinkc._enums", "tinkc._load", "tinkc._structs")  # not loaded again
live, lock = Counter(), threading.Lock()


def _count(kind, change):
    with lock:
        live[kind] += change


def _address(reference):
    """What a byref(pointer) points to."""
    target = reference._obj
    return ctypes.cast(target, ctypes.c_void_p).value


class _Counted:
    """A function that counts, according to its declaration, what it hands out and frees."""

    def __init__(self, function, declared):
        self.function = function
        self.is_future = declared.returned == "tinkc_future *"
        types = [argument.type for argument in declared.arguments]
        self.outs = {
            i: t.split()[0] for i, t in enumerate(types) if re.fullmatch(r"(tinkc_\w+|char) \*\*", t)
        }

    def __call__(self, *given):
        before = {i: _address(given[i]) for i in self.outs if given[i] is not None}
        result = self.function(*given)
        for i, had in before.items():
            has = _address(given[i])
            if bool(had) != bool(has):
                _count(self.outs[i], 1 if has else -1)
        if self.is_future:
            _count("tinkc_future", 1)
        return result


def _instrument():
    """Before the other modules of the package bind the functions."""
    path = support.ROOT / "scripts/gen-python.py"
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location("gen_python", path)
    gen = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(gen)
    for function in gen.Api(support.ROOT).functions:
        if any(a.type.endswith("**") for a in function.arguments) or function.returned == "tinkc_future *":
            setattr(_c, function.name, _Counted(getattr(_c, function.name), function))


for module in [name for name in sys.modules if name.startswith("tinkc.") and name not in KEPT]:
    del sys.modules[module]
del sys.modules["tinkc"]
_instrument()
import tinkc  # noqa: E402  with the functions that count


class Leaks(support.ServerCase):
    def resident(self):
        gc.collect()
        return +live

    def test_samples(self):
        """2,000 samples, half of them awaited: no result, future, prompt or error is left."""
        before = self.resident()
        self.assertEqual(before["tinkc_service"], 1)  # it does count
        window = []
        for i in range(SAMPLES // 2):
            window.append(self.sampling.sample(self.prompt, max_tokens=1, seed=i))
            if len(window) == 50:
                seen = [len(future.result()[0].tokens) for future in window]
                self.assertGreater(live["tinkc_samples"], before["tinkc_samples"] + 40)
                del window[:]
        self.assertEqual(seen, [1] * 50)

        async def one(i):
            samples = await self.sampling.sample(self.prompt, max_tokens=1, seed=i)
            return len(samples[0].tokens)

        async def main():
            counts = []
            for first in range(0, SAMPLES // 2, 50):
                counts += await asyncio.gather(*map(one, range(first, first + 50)))
            return sum(counts)

        self.assertEqual(asyncio.run(main()), SAMPLES // 2)
        self.assertEqual(self.resident(), before)

    def test_everything_else(self):
        before = self.resident()
        self.work()
        self.assertEqual(self.resident(), before)

    def work(self):
        training = self.service.create_training(support.MODEL, rank=2).result()
        datum = tinkc.Datum([1, 2, 3], target_tokens=[2, 3, 4])
        rollout = tinkc.Datum.from_rollout([1, 2], [3], [-1.0], 1.0)

        def bad(items):
            raise LookupError

        for _ in range(10):
            training.step([datum]).result().result.output(0)
            training.forward([rollout], "importance_sampling").result().metrics
            training.forward_backward_custom([datum], lambda items: 0.0).result()
            self.assertRaises(LookupError, training.forward_backward_custom([datum], bad).result)
            training.forward_backward([datum])  # nobody waits for it
            training.optim_step().result()
            self.sampling.sample([999999], max_tokens=1).exception()
            self.sampling.compute_logprobs(self.prompt).result()
            self.assertRaises(tinkc.Error, tinkc.Datum, [1], weights=[1e300])
            self.assertRaises(TypeError, tinkc.ModelInput, [1.5])
            self.assertRaises(tinkc.Error, tinkc.Service, no_such_option=1)
            next(self.sampling.stream(self.prompt, max_tokens=3))
            list(self.service.rest.runs())
            self.service.models().result()
            self.service.rest.run("none").exception()
            chat = self.tokenizer.chat()
            messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]
            chat.datum(messages), chat.prompt(messages), chat.text(messages)
            self.tokenizer.decoder().push(self.tokenizer.encode("x"))
        training.save_and_sample().result().close()
        training.info().result()
        training.unload().result()
        with tinkc.Service(self.server.url, "tml-test") as other:
            other.health().result()


if __name__ == "__main__":
    support.main()
