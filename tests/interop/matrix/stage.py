"""The registry of probes, and what a probe has at hand.

Runs inside the environment of one SDK version, which is used unmodified. A probe makes one call
of the SDK on `tinkc serve` and asserts that its effect is seen. What it raises decides the
outcome: nothing is "works", a final 4xx with a sentence is "refused", everything else fails.
"""

import asyncio
import concurrent.futures
import json
import os
import urllib.error
import urllib.request
from pathlib import Path

import tinker
from tinker import types

VERSION = tuple(int(p) for p in tinker.__version__.split("."))
KEY = "tml-matrix"
MODEL = "tinkc/pebble-llama-2m"
TEXT = [5, 17, 9, 40, 12, 33, 8, 21]
N = len(TEXT) - 1
# Statuses that the SDK sends again by itself: an answer with one of them is not final.
RETRIED = {408, 409, 425, 429}

PROBES = {}  # row -> function
COVERED = {}  # call -> names of parameters whose effect its own probe checks
LOCAL = {}  # parameters that never reach a server -> why


def probe(row, covers=""):
    """Registers the probe of a row: "Class.call", "Class.call(parameter)", "Type.field"."""

    def register(function):
        assert row not in PROBES, row
        PROBES[row] = function
        COVERED[row] = set(covers.split())
        return function

    return register


def local(why, *rows):
    for row in rows:
        LOCAL[row] = why


class Refused(Exception):
    """A final refusal that was seen in another form than an exception of the SDK."""


class Stage:
    def __init__(self, url, surface, work):
        self.url, self.surface, self.work = url, surface, Path(work)
        self.asynchronous = False
        self.used = set()  # calls made in their asynchronous form
        self.count = 0
        self._cache = {}

    # ---- calls ----

    def do(self, target, name, *args, **options):
        """Calls target.name, or its asynchronous twin, and returns the final result."""
        twin = getattr(target, name + "_async", None)
        if not self.asynchronous or twin is None:
            return self.settle(getattr(target, name)(*args, **options))
        owner = target if isinstance(target, type) else type(target)
        self.used.add(f"{owner.__name__}.{name}")

        async def run():
            value = twin(*args, **options)
            while hasattr(value, "__await__"):
                value = await value
            return value

        return asyncio.run(run())

    @staticmethod
    def settle(value):
        while isinstance(value, concurrent.futures.Future) or hasattr(value, "result_async"):
            value = value.result()
        return value

    def has(self, row):
        """Whether this version has the call, parameter or field that a row is about."""
        return row in self.surface

    def accepts(self, call, *names):
        return all(f"{call}({name})" in self.surface for name in names)

    def raw(self, path, body=None, method=None):
        """Asks the server without the SDK: what a probe uses to see an effect."""
        request = urllib.request.Request(
            f"{self.url}/api/v1/{path}", method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"X-API-Key": KEY, "Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            return {"status": error.code, "detail": error.read().decode()}

    # ---- clients, made once ----

    def once(self, name, make):
        if name not in self._cache:
            self._cache[name] = make()
        return self._cache[name]

    def new_service(self, **options):
        return tinker.ServiceClient(base_url=self.url, api_key=KEY, **options)

    @property
    def service(self):
        return self.once("service", self.new_service)

    def new_training(self, **options):
        options = {"rank": 4, "seed": 1, **options}
        return self.service.create_lora_training_client(base_model=MODEL, **options)

    @property
    def training(self):
        return self.once("training", self.new_training)

    @property
    def sampler(self):
        return self.once("sampler", lambda: self.service.create_sampling_client(base_model=MODEL))

    @property
    def rest(self):
        return self.once("rest", self.service.create_rest_client)

    @property
    def admin(self):
        return self.once("admin", lambda: tinker.AdminClient(base_url=self.url, api_key=KEY))

    def name(self):
        """A checkpoint name that no other probe uses."""
        self.count += 1
        return f"m{self.count}"

    @property
    def state(self):
        """The path of training weights."""
        return self.once("state", lambda: self.training.save_state("state").result().path)

    @property
    def weights(self):
        """The path of sampler weights."""
        return self.once("weights",
                         lambda: self.training.save_weights_for_sampler("weights").result().path)

    @property
    def session_id(self):
        return self.training.model_id.split(":")[0]

    # ---- what most probes need ----

    def forward(self, training, loss="cross_entropy", **options):
        return training.forward([datum()], loss, **options).result()

    def checkpoint(self, path):
        run = path.split("/")[2]
        listed = self.raw(f"training_runs/{run}/checkpoints")["checkpoints"]
        return next(c for c in listed if c["tinker_path"] == path)

    def trained(self, step, loss="cross_entropy", optimizer=None, **inputs):
        """Logprobs after two steps on two different texts."""
        options = {} if optimizer is None else {"optimizer": optimizer}
        training = self.new_training(**options)
        for tokens in (TEXT, TEXT[::-1]):
            training.forward_backward([datum(tokens, **inputs)], loss).result()
            training.optim_step(step).result()
        return logprobs(self.forward(training))

    def tokenizer(self):
        """A sampling client looks a tokenizer up by the model's name: here a folder of that name."""
        info = self.raw("get_info", {"model_id": self.training.model_id, "type": "get_info"})
        folder = self.work / MODEL
        if not folder.exists():
            folder.parent.mkdir(parents=True)
            folder.symlink_to(info["model_data"]["tokenizer_id"])
        os.chdir(self.work)
        return self.sampler.get_tokenizer()

    def sample(self, tokens=3, n=1, client=None, params=None, **options):
        params = types.SamplingParams(**{"max_tokens": tokens, "seed": 3, **(params or {})})
        return (client or self.sampler).sample(prompt(), n, params, **options).result()


def prompt(tokens=TEXT):
    return types.ModelInput.from_ints(list(tokens))


def datum(tokens=TEXT, **inputs):
    inputs = inputs or {"weights": [1.0] * N}
    return types.Datum(model_input=prompt(tokens[:-1]),
                       loss_fn_inputs={"target_tokens": list(tokens[1:]), **inputs})


def policy(shift=0.0, base=None):
    """Inputs of a policy loss whose ratio is exp(-shift)."""
    base = base or [-5.0] * N
    return {"logprobs": [v + shift for v in base], "advantages": [1.0, -0.5, 0.5, 2.0, 1.0, 1.0, 0.25]}


def logprobs(result, index=0):
    return result.loss_fn_outputs[index]["logprobs"].tolist()


def refusal(error):
    """The sentence of a final refusal, or None."""
    if isinstance(error, Refused):
        return str(error)
    if isinstance(error, tinker.APIStatusError):
        body = error.body if isinstance(error.body, dict) else {}
        detail = body.get("detail")
        if isinstance(detail, list):
            detail = "; ".join(str(d.get("msg", "")) for d in detail)
        if 400 <= error.status_code < 500 and error.status_code not in RETRIED and detail:
            return str(detail)
        return None
    if isinstance(error, tinker.RequestFailedError):
        category = getattr(error.category, "value", error.category)
        return str(error) if str(category).lower().endswith("user") else None
    return None


def environment(**values):
    """The caller's environment without any setting of the SDK, plus `values`."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TINKER_", "HF_"))}
    return {**kept, **values}
