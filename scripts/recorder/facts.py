"""What the SDK does besides sending and reading: which tokenizer it asks for, who it says the
caller is, where its console is, what a sampler handle holds, what it logs, which stored key it
takes, and what a custom loss accepts and reports. One entry for each fact: name, and what was
seen, or the exception."""

import base64
import json
import logging
import tempfile
from pathlib import Path

import transformers
from tinker import types

from normal import write
from server import Reply, State
from stage import MODEL, environment, has, resolve

MODELS = (
    "Qwen/Qwen3-8B", "meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.2-1B-Instruct", "a/b/variant",
    "moonshotai/Kimi-K2-Thinking", "moonshotai/Kimi-K2.5", "moonshotai/Kimi-K2.5-Text-Only",
    "moonshotai/Kimi-K2.6", "moonshotai/Kimi-K3", "thinkingmachines/any",
)


def tokenizer(name):
    """The repository and revision that a model name leads to; nothing is fetched."""
    from tinker.lib.public_interfaces.sampling_client import _load_tokenizer_from_model_info
    asked = []
    real = transformers.AutoTokenizer.from_pretrained
    transformers.AutoTokenizer.from_pretrained = lambda *args, **options: asked.append(
        {"repository": args[0], **options})
    try:
        getattr(_load_tokenizer_from_model_info, "__wrapped__", _load_tokenizer_from_model_info)(name)
    finally:
        transformers.AutoTokenizer.from_pretrained = real
    return asked[0]


def whoami(s):
    s.state.client_config = {"pjwt_auth_enabled": True}
    return s.rest().whoami().result().model_dump(mode="json")


def console_url(s):
    service = s.service()
    service.holder
    training = service.create_lora_training_client(base_model=MODEL)
    return [service.get_console_url(), training.get_console_url()]


def sampler_handle(s):
    """Decoded: the handle is base64 of JSON."""
    client = s.service().create_sampling_client(base_model=MODEL)
    handle = json.loads(base64.urlsafe_b64decode(client.get_sampler_handle()))
    text = s.normal.text(json.dumps(handle, sort_keys=True))
    return json.loads(text)


class Collected(logging.Handler):
    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(f"{record.levelname} {record.getMessage()}")


def deprecation_note(s, level):
    headers = [("x-deprecation-note", "use another"), ("x-deprecation-level", level)]
    body = {"supported_models": []}
    s.state.replies["/api/v1/get_server_capabilities"] = Reply(200, body, headers=headers)
    collected = Collected()
    logging.getLogger("tinker").addHandler(collected)
    try:
        s.service().get_server_capabilities()
    finally:
        logging.getLogger("tinker").removeHandler(collected)
    return [line for line in collected.lines if "use another" in line]


def stored_key(s):
    """The key of ~/.tinker/credentials.json, when neither argument nor environment has one."""
    details = {"org_details": {"name": "o"}, "user_details": {"email": "a@example.com"}}
    record = {"type": "manual", "key": "tml-stored", "name": "n", "note": "", "details": details}
    with tempfile.TemporaryDirectory() as home:
        path = Path(home) / ".tinker" / "credentials.json"
        path.parent.mkdir(mode=0o700)
        path.write_text(json.dumps({"version": 1, "default": "7", "keys": {"7": record}}))
        path.chmod(0o600)
        with environment(HOME=home, TINKER_API_KEY=None, TINKER_CREDENTIAL_CMD=None), s.record():
            s.service(api_key=None).holder
    request = next(r for r in s.state.log if r["path"] == "/api/v1/create_session")
    return {k.lower(): v for k, v in request["headers"]}["x-api-key"]


def custom_loss(s, **inputs):
    """Names of the reported metrics, with inputs beside the targets."""
    def loss(data, logprobs):
        return sum(v.sum() for v in logprobs), {"custom": 0.5}

    given = types.Datum(model_input=types.ModelInput.from_ints([1, 2, 3]),
                        loss_fn_inputs={"target_tokens": [2, 3, 4], **inputs})
    result = s.training().forward_backward_custom([given], loss).result()
    return sorted(result.metrics)


def mask_list(s):
    """A Python list under a name that later versions know the type of."""
    given = types.Datum(model_input=types.ModelInput.empty(),
                        loss_fn_inputs={"sequence_ratio_mask": [0, 1]})
    return given.loss_fn_inputs["sequence_ratio_mask"].dtype


def facts():
    for name in MODELS:
        yield f"tokenizer of {name}", lambda s, n=name: tokenizer(n)
    yield "whoami", whoami
    if has("ServiceClient.get_console_url"):
        yield "get_console_url", console_url
    if has("SamplingClient.get_sampler_handle"):
        yield "sampler handle", sampler_handle
    yield "x-deprecation-note", lambda s: deprecation_note(s, "warning")
    yield "x-deprecation-level", lambda s: deprecation_note(s, "error")
    yield "~/.tinker/credentials.json", stored_key
    yield "list under sequence_ratio_mask", mask_list
    try:
        import torch  # noqa: F401  (custom losses differentiate with it)
    except ImportError:
        return
    yield "custom loss", custom_loss
    yield "custom loss with weights", lambda s: custom_loss(s, weights=[1.0, 1.0, 1.0])
    yield "custom loss with further inputs", lambda s: custom_loss(s, advantages=[1.0, 2.0, 3.0])


def main(s, out):
    entries = []
    for name, look in facts():
        s.recorder.state = State()
        s.state.resolve = resolve
        entry = {"name": name}
        with environment(TINKER_TELEMETRY="0"):
            try:
                entry["result"] = look(s)
            except Exception as error:  # noqa: BLE001 what it raises is the fact
                entry["error"] = type(error).__name__
        s.close()
        entries.append(entry)
    write(out / "facts.json", {"facts": entries})
