#!/usr/bin/env python3
"""Ordinary mistakes: what the Python package says to them, and how its objects print."""

import asyncio
import os
import subprocess
import sys
import warnings
from array import array

import support
import tinkc


class Mistakes(support.ServerCase):
    def refused(self, text, function, *arguments, **options):
        with self.assertRaises(TypeError) as caught:
            function(*arguments, **options)
        self.assertIn(text, str(caught.exception))

    def datum(self):
        return tinkc.Datum(
            self.prompt[:-1], target_tokens=self.prompt[1:], weights=[1.0] * (len(self.prompt) - 1)
        )

    def test_sample(self):
        sample = self.sampling.sample
        said = "sample() has no parameter 'max_token'; did you mean 'max_tokens'?"
        self.refused(said, sample, self.prompt, max_token=3)
        said = "sample() has no parameter 'zzz'; it has max_tokens, seed, "
        self.refused(said, sample, self.prompt, zzz=3)
        said = "sample() has no parameter 'n'; did you mean 'num_samples'?"
        self.refused(said, sample, self.prompt, n=2)
        said = "stop is an int, not a text or a list of texts or tokens: pass [3]"
        self.refused(said, sample, self.prompt, stop=3)
        self.refused("the prompt is a str: encode it with tokenizer.encode(...)", sample, "hello")
        self.refused("tokens are a list or a buffer of numbers, not None", sample, None)
        self.refused("token 1 is 'b', not an id", sample, [1, "b"])
        self.refused("max_tokens is a str, not an integer", sample, self.prompt, max_tokens="5")
        self.refused("temperature is a str, not a number", sample, self.prompt, temperature="hot")
        self.refused("num_samples is a float, not an integer", sample, self.prompt, 1.5)
        self.refused("seed is a float, not an integer", sample, self.prompt, seed=1.5)
        self.refused("deadline is a str", sample, self.prompt, deadline="soon")
        self.refused("stream() has no parameter 'max_token'", self.sampling.stream, self.prompt, max_token=3)

    def test_training(self):
        training, datum = self.training(), self.datum()
        self.refused("data[0] is a memoryview, not a tinkc.Datum", training.step, [self.prompt])
        self.refused("data is a Datum: pass a list, [datum]", training.forward_backward, datum)
        self.refused("data is an int, not a list of tinkc.Datum", training.forward, 5)
        self.refused("adam is a float: pass tinkc.Adam(0.001)", training.optim_step, 1e-3)
        self.refused("adam is a dict: pass tinkc.Adam(...)", training.step, [datum], adam={})
        self.refused("learning_rate is a str, not a number", tinkc.Adam, "fast")
        self.refused("the loss is a str, not a function", training.forward_backward_custom, [datum], "dpo")
        self.refused("expected a str, got an int: 7", training.forward, [datum], 7)
        self.assertEqual(len(training.forward((datum,)).result()), 1)
        create = self.service.create_training
        self.refused("rank is a str, not an integer", create, support.MODEL, rank="8")
        self.refused("seed is a str, not an integer", create, support.MODEL, seed="8")
        said = "create_training() has no parameter 'lora_rank'; did you mean 'rank'?"
        self.refused(said, create, support.MODEL, lora_rank=8)
        self.refused("ttl_seconds is a str, not an integer", training.save_state, "s", ttl_seconds="9")

    def test_no_result(self):
        """An attribute of the result, asked of the future."""
        future = self.sampling.sample(self.prompt, max_tokens=1)
        with self.assertRaises(AttributeError) as caught:
            future.tokens
        said = "'Future' object has no attribute 'tokens': call .result() or await it first"
        self.assertEqual(str(caught.exception), said)
        self.assertFalse(hasattr(future, "_asyncio_future_blocking"))
        self.assertEqual(len(future.result()), 1)

    def test_text(self):
        self.refused("the text is a bytes, not a str", self.tokenizer.encode, b"abc")
        chat = self.tokenizer.chat()
        self.refused("message 0 is a str, not a dictionary", chat.prompt, ["Hi"])
        self.refused("message 0 is a str, not a dictionary", chat.prompt, "Hi")

    def test_path_as_model(self):
        """create_sampling takes the path of a checkpoint where a model's name is expected."""
        path = self.training().save_weights_for_sampler("s").result()
        for sampling in (self.service.create_sampling(path), self.service.create_sampling(path=path)):
            with sampling.result() as found:
                self.assertEqual(found.base_model().result(), support.MODEL)

    def test_not_served(self):
        error = self.service.create_sampling(support.MODEL + "x").exception()
        self.assertIn(f'did you mean "{support.MODEL}"?', str(error))

    def test_tasks(self):
        """What asyncio takes: everything but create_task, which wants a coroutine."""

        async def ask():
            future = asyncio.ensure_future(self.sampling.sample(self.prompt, max_tokens=1))
            return await asyncio.wait_for(future, 60)

        self.assertEqual(len(asyncio.run(ask())), 1)

    def test_repr(self):
        training, datum = self.training(), self.datum()
        n = len(self.prompt)
        self.assertEqual(repr(datum), f"<tinkc.Datum: {n - 1} tokens, target_tokens, weights>")
        self.assertEqual(repr(tinkc.ModelInput([1, 2])), "<tinkc.ModelInput: 2 tokens>")
        future = self.sampling.sample(self.prompt, max_tokens=2, seed=1)
        self.assertTrue(repr(future).startswith("<tinkc.Future: "))
        samples = future.result()
        self.assertEqual(repr(samples[0]), "<tinkc.Sequence: 2 tokens, length>")
        self.assertEqual(repr(samples), "<tinkc.Samples: [<tinkc.Sequence: 2 tokens, length>]>")
        self.assertEqual(repr(training), f"<tinkc.Training {training.model_id}>")
        self.assertIn(":sample:", repr(self.sampling))
        self.assertEqual(repr(self.service), f"<tinkc.Service {self.service.session_id}>")
        self.assertIn("<tinkc.FwdBwd: 1 datums, metrics {", repr(training.forward([datum]).result()))
        self.assertEqual(str(tinkc.Code.E_TIMEOUT), "E_TIMEOUT")
        self.assertEqual(f"{tinkc.Code.E_TIMEOUT} {tinkc.Code.E_TIMEOUT:d}", "E_TIMEOUT 12")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            closed = tinkc.Service(self.server.url, "tml-test")
        self.assertEqual(repr(closed), "<tinkc.Service without a session yet>")
        closed.close()
        self.assertEqual(repr(closed), "<tinkc.Service closed>")

    def test_turns(self):
        """A sampled answer, in the prompt and among the messages."""
        chat, end = self.tokenizer.chat(), self.tokenizer.end
        messages = [{"role": "user", "content": "What is 3 + 4?"}]
        prompt = chat.prompt(messages)
        before = prompt.tokens()
        answer = self.sampling.sample(prompt, max_tokens=8, temperature=0.0, stop=[end]).result()[0]
        text = chat.add_sample(messages, prompt, answer)
        self.assertEqual(text, "7")
        self.assertEqual(messages[1], {"role": "assistant", "content": "7"})
        self.assertEqual(prompt.tokens(), before + answer.tokens.tolist())
        messages.append({"role": "user", "content": "And 1 + 1?"})
        chat.extend(prompt, messages)
        self.assertEqual(self.tokenizer.decode(prompt.tokens()), chat.text(messages, generation_prompt=True))

    def test_library(self):
        """What is wrong with the library is said of the variable that names it."""
        environment = dict(
            os.environ, TINKC_LIBRARY="/nope", PYTHONPATH=str(support.ROOT / "bindings/python")
        )
        done = subprocess.run(
            [sys.executable, "-c", "import tinkc"], env=environment, capture_output=True, text=True
        )
        self.assertIn("cannot load /nope: there is no such file; TINKC_LIBRARY names it", done.stderr)

    def test_arrays(self):
        self.refused(
            "weights are a list or a buffer of numbers, not a float", self.datum().set, "weights", 1.0
        )
        self.assertEqual(len(tinkc.ModelInput(array("i", []))), 0)


if __name__ == "__main__":
    support.main()
