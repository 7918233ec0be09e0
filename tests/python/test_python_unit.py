#!/usr/bin/env python3
"""The Python package without a server: declarations, arrays, errors, tokenizers, chats."""

import enum
import gc
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from array import array
from ctypes import byref, sizeof

import support
import tinkc
from tinkc import _c, _convert

try:
    import numpy
except ImportError:  # Debian's Python comes without it; make interop has it
    numpy = None

MODEL_DIR = str(support.ROOT / "models/pebble-llama-2m")


class Declarations(unittest.TestCase):
    def test_generated(self):
        """The generated files are those that the headers give."""
        script = str(support.ROOT / "scripts/gen-python.py")
        done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_layout(self):
        """Sizes, offsets and values are those of the C compiler."""
        script = str(support.ROOT / "scripts/gen-python.py")
        source = subprocess.run([sys.executable, script, "--layout"], capture_output=True, check=True)
        with tempfile.TemporaryDirectory() as home:
            program = os.path.join(home, "layout")
            include = f"-I{support.ROOT}/include"
            command = ["cc", "-x", "c", "-std=c11", include, "-", "-o", program]
            subprocess.run(command, input=source.stdout, check=True)
            said = subprocess.run([program], capture_output=True, text=True, check=True).stdout
        enums = {}
        for name in dir(_c):
            made = getattr(_c, name)
            if isinstance(made, type) and issubclass(made, enum.IntEnum):
                for member in made:
                    enums[f"{made.__doc__} {member.name}"] = member.value
        structs = members = 0
        for name, value in (line.split() for line in said.splitlines()):
            struct, _, field = name.partition(".")
            if field:
                self.assertEqual(getattr(getattr(_c, struct), field).offset, int(value), name)
                members += 1
            elif name.startswith("tinkc_"):
                self.assertEqual(sizeof(getattr(_c, struct)), int(value), name)
                structs += 1
            else:
                word = next(k for k in enums if name.endswith("_" + k.split()[1]) and enums[k] == int(value))
                self.assertTrue(word)
        self.assertGreater(structs, 60)
        self.assertGreater(members, 400)

    def test_sizes(self):
        """The library, as it was built, agrees on every struct that begins with its size."""
        checked = 0
        for name in dir(_c):
            if name.startswith("tinkc_") and name.endswith("_init"):
                made = getattr(_c, name[: -len("_init")])()
                getattr(_c, name)(byref(made))
                self.assertEqual(made.size, sizeof(made), name)
                checked += 1
        self.assertGreater(checked, 30)

    def test_names(self):
        """The package uses no function that the library does not have."""
        used = set()
        for path in (support.ROOT / "bindings/python/tinkc").glob("*.py"):
            if path.name not in ("_c.py", "_enums.py", "_structs.py"):
                used |= set(re.findall(r"\b_c\.([A-Za-z]\w+)", path.read_text()))
        self.assertGreater(len(used), 100)
        self.assertEqual([name for name in used if not hasattr(_c, name)], [])
        missing = [n for n in used if n.startswith("tinkc_") and "missing" in repr(getattr(_c, n))]
        self.assertEqual(missing, [])

    def test_version(self):
        self.assertEqual(tinkc.library_version(), tinkc.__version__)


class Arrays(unittest.TestCase):
    def test_tokens_not_copied(self):
        """A buffer of int32 is read where it is."""
        buffer = array("i", [1, 2, 3])
        made = tinkc.ModelInput(buffer)
        buffer[1] = 7
        self.assertEqual(made.tokens(), [1, 7, 3])
        with self.assertRaises(BufferError):
            buffer.append(4)  # it is in use: it cannot move
        del made
        gc.collect()
        buffer.append(4)

    def test_tokens_of_other_kinds(self):
        for values in ([4, 5], (4, 5), range(4, 6), array("q", [4, 5]), array("H", [4, 5])):
            self.assertEqual(tinkc.ModelInput(values).tokens(), [4, 5])
        strided = memoryview(array("i", [4, 0, 5, 0]))[::2]
        self.assertEqual(tinkc.ModelInput(strided).tokens(), [4, 5])
        readonly = memoryview(array("i", [4, 5]).tobytes()).cast("i")
        self.assertEqual(tinkc.ModelInput(readonly).tokens(), [4, 5])
        self.assertEqual(len(tinkc.ModelInput()), 0)

    def test_tokens_refused(self):
        for values, error in (
            ([1.5], TypeError),
            (["a"], TypeError),
            ([1 << 40], OverflowError),
            (array("f", [1.0]), TypeError),
            (memoryview(bytes(8)).cast("i", (1, 2)), ValueError),
            (3, TypeError),
            ("text", TypeError),
        ):
            with self.assertRaises(error, msg=repr(values)):
                tinkc.ModelInput(values)

    def test_datum_not_copied(self):
        """float32 weights are sent from the caller's buffer."""
        weights = array("f", [0.0, 1.0, 0.5])
        datum = tinkc.Datum([1, 2, 3], target_tokens=[2, 3, 4], weights=weights)
        seen = datum["weights"]
        self.assertEqual(_convert.address(seen), weights.buffer_info()[0])
        self.assertEqual(seen.tolist(), [0.0, 1.0, 0.5])
        self.assertEqual(datum["target_tokens"].tolist(), [2, 3, 4])
        with self.assertRaises(KeyError):
            datum["advantages"]

    def test_datum_strided(self):
        every_second = memoryview(array("d", [0.0, 9.0, 1.0, 9.0, 0.5, 9.0]))[::2]
        backwards = memoryview(array("q", [4, 3, 2]))[::-1]
        datum = tinkc.Datum([1, 2, 3], target_tokens=backwards, weights=every_second)
        self.assertEqual(datum["weights"].tolist(), [0.0, 1.0, 0.5])
        self.assertEqual(datum["target_tokens"].tolist(), [2, 3, 4])

    def test_datum_rows(self):
        datum = tinkc.Datum([1, 2], target_tokens=[[1, 2], [3, 4]])
        datum.set("mine", [1.5, 2], dtype="float32")
        datum.set("ranks", [1, 2], dtype="int64")
        self.assertEqual(datum["target_tokens"].tolist(), [1, 2, 3, 4])
        self.assertEqual(datum["mine"].tolist(), [1.5, 2.0])
        self.assertEqual(datum["ranks"].tolist(), [1, 2])
        with self.assertRaises(ValueError):
            tinkc.Datum([1, 2], target_tokens=[[1, 2], [3]])

    def test_datum_refused(self):
        with self.assertRaises(tinkc.Error) as caught:
            tinkc.Datum([1], weights=[1e300])
        self.assertEqual(caught.exception.code, tinkc.Code.E_INVALID)
        with self.assertRaises(TypeError):
            tinkc.Datum([1], weights=memoryview(b"abc").cast("c"))
        with self.assertRaises(ValueError):
            tinkc.Datum([1]).set("a\0b", [1.0], dtype="float32")
        with self.assertRaises(ValueError):
            tinkc.Datum([1]).set("mine", [1.0], dtype="float16")
        for values, said in (
            (
                memoryview(b"ab").cast("c"),
                "weights are numbers of format 'c', which are not supported: convert them to",
            ),
            ("1", "weights are a list or a buffer of numbers, not a str"),
            (["1"], "weights[0] is '1', not a number"),
            ([1.0, None], "weights[1] is None, not a number"),
        ):
            with self.assertRaises(TypeError) as refused:
                tinkc.Datum([1, 2], weights=values)
            self.assertTrue(str(refused.exception).startswith(said), str(refused.exception))
            self.assertNotIn("tokenizer", str(refused.exception))
        with self.assertRaises(TypeError) as refused:
            tinkc.Datum.from_rollout([1], [2], ["x"], 1.0)
        self.assertEqual(str(refused.exception), "logprobs[0] is 'x', not a number")

    def test_datum_names(self):
        """An input that no loss has is refused where it is typed."""
        for name, meant in (
            ("targets", "target_tokens"),
            ("labels", "target_tokens"),
            ("weight", "weights"),
            ("advantage", "advantages"),
        ):
            for make in (lambda: tinkc.Datum([1], **{name: [1]}), lambda: tinkc.Datum([1]).set(name, [1])):
                with self.assertRaises(TypeError) as caught:
                    make()
                self.assertIn(
                    f"Datum() has no input {name!r}; did you mean {meant!r}?", str(caught.exception)
                )
        with self.assertRaises(TypeError) as caught:
            tinkc.Datum([1], zzz=[1])
        self.assertIn("it has target_tokens, weights, ", str(caught.exception))
        self.assertIn("datum.set(name, values, dtype='float32')", str(caught.exception))

    def test_datum_keeps_input(self):
        """A prompt that became a datum is still the caller's."""
        prompt = tinkc.ModelInput([1, 2])
        datum = tinkc.Datum(prompt, target_tokens=[2, 3])
        self.assertEqual(prompt.tokens(), [1, 2])
        del prompt
        self.assertEqual(datum["target_tokens"].tolist(), [2, 3])

    def test_rollout(self):
        datum = tinkc.Datum.from_rollout([1, 2], [3, 4], [-0.5, -0.25], 2.0)
        self.assertEqual(datum["target_tokens"].tolist(), [2, 3, 4])
        self.assertEqual(datum["logprobs"].tolist(), [0.0, -0.5, -0.25])
        self.assertEqual(datum["advantages"].tolist(), [0.0, 2.0, 2.0])
        with self.assertRaises(ValueError):
            tinkc.Datum.from_rollout([1, 2], [3, 4], [-0.5], 2.0)

    def test_rl(self):
        self.assertEqual(tinkc.rl.seed(1, 2, 3, 4), 215682197)
        self.assertEqual(tinkc.rl.advantages([1, 0, 0, 1]), [0.5, -0.5, -0.5, 0.5])
        self.assertEqual(tinkc.rl.advantages([3, 1], scale=True), [1, -1])
        self.assertEqual(tinkc.rl.advantages([3, 1], others=True), [2, -2])
        self.assertIsNone(tinkc.rl.advantages([2, 2]))
        with self.assertRaisesRegex(tinkc.Error, r"rewards\[1\]"):
            tinkc.rl.advantages([2, float("nan")])
        self.assertEqual(tinkc.rl.distill_advantages([-1], [-0.5], 2), [1])
        self.assertRaises(ValueError, tinkc.rl.distill_advantages, [-1], [])
        found = tinkc.rl.dpo([-3, -4], [-4, -3])
        self.assertAlmostEqual(found.margin, 0.2)
        self.assertAlmostEqual(found.slopes[0], -0.04501660026875222)
        self.assertRaises(ValueError, tinkc.rl.dpo, [-3], [-3])

    def test_rl_batch(self):
        episode = (
            '{"id": "e", "sequences": [{"tokens": [1, 2], "mask": [0, 1], "logprobs": [0, -0.5], '
            '"turns": [0], "weights": ["w"]}]}'
        )
        batch = tinkc.rl.Batch(2, max_lag=1)
        batch.add(7, 1, episode, 0, version=3)
        batch.add(8, 0, None, None)
        self.assertEqual(batch.complete, 0)
        batch.add(7, 0, episode, 1, version=3)
        self.assertEqual(batch.complete, 1)
        with self.assertRaises(tinkc.Error):
            batch.add(7, 0, episode, 1)
        data, counts = batch.take(version=4)
        self.assertEqual([d["advantages"].tolist() for d in data], [[0.5], [-0.5]])
        self.assertEqual((counts.groups_kept, counts.reward_mean), (1, 0.5))
        line = json.loads(tinkc.rl.report(3, counts, loss=0.5, more={"x": 1.5}))
        self.assertEqual((line["step"], line["reward/mean"], line["x"]), (3, 0.5, 1.5))
        self.assertNotIn("gap/kl", line)
        self.assertEqual(json.loads(tinkc.rl.report(0)), {"step": 0})

    def test_trajectory(self):
        episode = tinkc.Trajectory(
            '{"id": "e", "reward": 2, "metadata": {"a": 1}, "sequences": [{"tokens": [1, 2, 3], '
            '"mask": [0, 1, 1], "logprobs": [0, -0.5, -1.5], "turns": [0], "weights": ["w"], '
            '"fresh": 2, "reward": 2}]}'
        )
        self.assertEqual((episode.id, episode.reward, len(episode)), ("e", 2.0, 1))
        self.assertEqual(episode.metadata, '{"a":1}')
        sequence = episode[0]
        self.assertEqual(list(sequence.tokens), [1, 2, 3])
        self.assertEqual(list(sequence.mask), [0, 1, 1])
        self.assertEqual((sequence.weights, sequence.reward), (["w"], 2.0))
        self.assertRaises(IndexError, lambda: episode[1])
        (datum,) = episode.datums()
        self.assertEqual(list(datum["advantages"]), [0, 2])
        (datum,) = episode.datums([3], repeat_shared=True)
        self.assertEqual(list(datum["advantages"]), [3, 3])
        self.assertEqual(list(datum["logprobs"]), [-0.5, -1.5])
        self.assertRaises(ValueError, episode.datums, [1, 2])
        self.assertRaises(tinkc.Error, tinkc.Trajectory, "{}")

    def test_views_keep_memory(self):
        """A view outlives what it came from, and cannot be written."""
        tokenizer = tinkc.Tokenizer.load(MODEL_DIR)
        seen = tokenizer.encode("Once upon a time" * 100)
        expected = seen.tolist()
        del tokenizer
        gc.collect()
        self.assertEqual(seen.tolist(), expected)
        self.assertEqual(seen[2:5].tolist(), expected[2:5])
        with self.assertRaises(TypeError):
            seen[0] = 1


if numpy is not None or "TINKC_NUMPY" in os.environ:

    class Numpy(unittest.TestCase):
        def test_numpy(self):
            tokens = numpy.arange(6, dtype=numpy.int32)
            tokens.flags.writeable = False
            made = tinkc.ModelInput(tokens)
            self.assertEqual(made.tokens(), list(range(6)))
            self.assertEqual(tinkc.ModelInput(tokens.astype(numpy.int64)[::-1]).tokens(), [5, 4, 3, 2, 1, 0])
            weights = numpy.ones(6, dtype=numpy.float32)
            datum = tinkc.Datum(tokens, target_tokens=tokens.astype(numpy.int64), weights=weights)
            out = numpy.asarray(datum["weights"])
            self.assertTrue(numpy.shares_memory(out, weights))
            self.assertEqual(out.dtype, numpy.float32)
            rows = numpy.arange(12, dtype=numpy.int64).reshape(6, 2)
            datum.set("target_tokens", rows[:, ::-1])
            self.assertEqual(datum["target_tokens"].tolist(), rows[:, ::-1].ravel().tolist())
            seen = numpy.asarray(tinkc.Tokenizer.load(MODEL_DIR).encode("Once upon"))
            gc.collect()
            self.assertEqual((seen.dtype, len(seen)), (numpy.int32, 2))
            with self.assertRaises(TypeError):
                tinkc.Datum(tokens, weights=weights.astype(">f4"))


class Errors(unittest.TestCase):
    def test_config(self):
        with self.assertRaises(tinkc.Error) as caught:
            tinkc.Service("http://127.0.0.1:1", "tml-x", no_such_option=1)
        self.assertEqual(caught.exception.code, tinkc.Code.E_CONFIG)
        self.assertIn("no_such_option", str(caught.exception))
        self.assertEqual(caught.exception.status, 0)
        self.assertFalse(caught.exception.retryable)

    def test_refused(self):
        """No server: an error of the connection, which may be tried again."""
        with tinkc.Service("http://127.0.0.1:1", "tml-x", connect_wait_ms=1, telemetry=False) as service:
            error = service.health().exception()
        self.assertEqual(error.code, tinkc.Code.E_CONNECTION)
        self.assertTrue(error.retryable)
        self.assertEqual(error.kind, tinkc.Class.RETRYABLE)

    def test_missing_library(self):
        environment = dict(os.environ, TINKC_LIBRARY="nowhere/libtinkc.so")
        environment["PYTHONPATH"] = str(support.ROOT / "bindings/python")
        done = subprocess.run(
            [sys.executable, "-c", "import tinkc"], env=environment, capture_output=True, text=True
        )
        self.assertIn("ImportError: cannot load nowhere/libtinkc.so", done.stderr)

    def test_adam(self):
        self.assertIn("learning_rate=0.003", repr(tinkc.Adam(3e-3)))
        self.assertIn("beta2=0.95", repr(tinkc.Adam()))
        for name, meant in (("lr", "learning_rate"), ("epsilon", "eps"), ("beta_1", "beta1")):
            with self.assertRaises(TypeError) as caught:
                tinkc.Adam(**{name: 1e-3})
            self.assertEqual(
                str(caught.exception), f"Adam() has no parameter {name!r}; did you mean {meant!r}?"
            )


class Texts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tokenizer = tinkc.Tokenizer.load(MODEL_DIR)

    def test_round_trip(self):
        for text in ("Once upon a time", "", "a\0b", "Größe 🙂", "<|end|>"):
            self.assertEqual(self.tokenizer.decode(self.tokenizer.encode(text)), text)
        self.assertEqual(self.tokenizer.encode("<|end|>").tolist(), [self.tokenizer.id("<|end|>")])
        self.assertGreater(len(self.tokenizer.encode("<|end|>", plain_text=True)), 1)
        self.assertEqual(self.tokenizer.decode([self.tokenizer.end], skip_special=True), "")
        self.assertEqual(self.tokenizer.token(self.tokenizer.end), "<|end|>")
        self.assertIsNone(self.tokenizer.id("no such token"))
        self.assertIsNone(self.tokenizer.token(len(self.tokenizer)))

    def test_decoder(self):
        text = "Größe 🙂."
        decoder = self.tokenizer.decoder()
        pieces = [decoder.push([id]) for id in self.tokenizer.encode(text)]
        self.assertEqual("".join(pieces) + decoder.finish(), text)

    def test_missing(self):
        with self.assertRaises(tinkc.Error) as caught:
            tinkc.Tokenizer.load("no/such/directory")
        self.assertEqual(caught.exception.code, tinkc.Code.E_MISSING)

    def test_chat(self):
        chat = self.tokenizer.chat()
        question = [{"role": "user", "content": "Hi"}]
        whole = question + [{"role": "assistant", "content": "Ho"}]
        self.assertEqual(chat.text(whole), "<|endoftext|><|user|>Hi<|end|><|assistant|>Ho<|end|>")
        prompt = chat.prompt(question)
        self.assertEqual(self.tokenizer.decode(prompt.tokens()), chat.text(question, generation_prompt=True))
        rendered = chat.tokens(whole)
        self.assertEqual(rendered.text, chat.text(whole))
        trained = [t for t, w in zip(rendered.tokens, rendered.weights) if w]
        self.assertEqual(self.tokenizer.decode(trained), "Ho<|end|>")
        self.assertEqual(rendered.warnings, [])
        self.assertEqual(chat.datum(whole)["weights"].tolist(), rendered.weights.tolist()[1:])
        prompt.add_tokens(self.tokenizer.encode("Ho<|end|>"))
        chat.extend(prompt, whole + [{"role": "user", "content": "And?"}])
        self.assertTrue(self.tokenizer.decode(prompt.tokens()).endswith("And?<|end|><|assistant|>"))

    def test_encoding_releases_the_lock(self):
        """Another thread runs while a long text is encoded. It wakes when `go` is released; the
        switch interval is so long that only a call that gives the interpreter lock up lets it
        run before the call has returned."""
        text, go, ran, stop = "Once upon a time " * 20000, threading.Lock(), [0], []

        def work():
            while not stop:
                go.acquire()
                ran[0] += 1

        go.acquire()
        thread = threading.Thread(target=work)
        thread.start()
        before = sys.getswitchinterval()
        sys.setswitchinterval(1000)
        try:
            for _ in range(100):  # the system may not run the thread at once
                had = ran[0]
                go.release()
                self.tokenizer.encode(text)
                progress = ran[0] - had
                while ran[0] == had:
                    time.sleep(0)  # gives the lock up
                if progress:
                    break
        finally:
            sys.setswitchinterval(before)
            stop.append(True)
            go.release()
            thread.join()
        self.assertTrue(progress)


if __name__ == "__main__":
    support.main()
