"""One case at a time: fresh server state, a client of the SDK, a recording, a file.

Runs inside a virtual environment that holds the SDK. The SDK is used as it comes; the
only settings are the ones a user has (arguments and environment variables).
"""

import base64
import contextlib
import inspect
import json
import os
import re
from pathlib import Path

import tinker
import zstandard
from tinker.proto import tinker_public_pb2 as pb

from normal import Normaliser, canonical, fields, write
from server import JWT, PROTOBUF, SESSION, Recorder, Reply, State
from surface import client_class

KEY = "tml-recorded"
MODEL = "Qwen/Qwen3-8B"
CASES = []


def has(name):
    """Whether this version has it: "Client", "Client.call", "Client.call(parameter)", "Type",
    "Type.field", "Resource.call". Asked instead of the version, so that a version not seen before records what
    it can."""
    owner, member, parameter = re.fullmatch(r"(\w+)(?:\.(\w+))?(?:\((\w+)\))?", name).groups()
    found = client_class(owner) or getattr(tinker.types, owner, None) \
        or getattr(tinker.resources, owner, None)
    if found is None or member is None and parameter is None:
        return found is not None
    if hasattr(found, "model_fields"):
        return member in found.model_fields
    call = found if member is None else getattr(found, member, None)
    if call is None or parameter is None:
        return call is not None
    return parameter in inspect.signature(call).parameters


def accepted(call, **options):
    """Those of the options that the call takes in this version."""
    return {name: value for name, value in options.items() if has(f"{call}({name})")}


def case(group, name, needs=()):
    """Registers a case for versions that have everything it needs."""

    def register(function):
        if all(has(need) for need in ([needs] if isinstance(needs, str) else needs)):
            CASES.append((group, name, function))
        return function

    return register


class Stage:
    def __init__(self, out):
        self.out = Path(out)
        self.recorder = Recorder()
        self.normal = Normaliser(self.recorder.url, JWT)
        self.files = []
        self.closing = []

    @property
    def state(self):
        return self.recorder.state

    # ---- clients ----

    def service(self, **options):
        options.setdefault("api_key", KEY)
        client = tinker.ServiceClient(base_url=self.recorder.url, **options)
        self.closing.append(client)
        return client

    def training(self, **options):
        return self.service().create_lora_training_client(base_model=MODEL, **options)

    def sampling(self, **options):
        options = options or {"base_model": MODEL}
        return self.service().create_sampling_client(**options)

    def rest(self):
        service = self.service()
        # A path that no case uses keeps 0.36's process-wide REST holder out of other cases.
        private = getattr(service, "_rest_client", None)
        return private() if private is not None else service.create_rest_client()

    def raw(self, call):
        """Runs a coroutine function on the low-level client."""
        holder = self.service().holder
        from tinker.lib.client_connection_pool_type import ClientConnectionPoolType

        async def run():
            with holder.aclient(ClientConnectionPoolType.TRAIN) as client:
                return await call(client)

        return holder.run_coroutine_threadsafe(run()).result()

    # ---- recording ----

    @contextlib.contextmanager
    def record(self):
        self.state.recording = True
        yield
        self.state.recording = False

    def run(self, group, name, function):
        self.recorder.state = State()
        self.state.resolve = resolve
        with environment(TINKER_TELEMETRY="0"):
            options = function(self) or {}
        self.state.recording = False
        requests = [self.request(r) for r in self.state.log if wanted(r, options.get("only"))]
        if "sort" in options:
            requests.sort(key=options["sort"])
        if "first" in options:
            requests = requests[: options["first"]]
        assert requests, f"{group}/{name} recorded nothing"
        about = " ".join((function.__doc__ or "").split())
        path = f"{group}/{name}.json"
        write(self.out / path, {"case": f"{group}/{name}", "about": about, "requests": requests})
        self.files.append(path)
        self.close()

    def close(self):
        while self.closing:
            client = self.closing.pop()
            for holder in (client._session_holder, client._rest_holder):
                if holder is not None:
                    holder.close()

    def reset(self):
        """After a case that ended in the middle."""
        self.state.recording = False
        self.closing.clear()

    def request(self, raw):
        headers = self.normal.headers(raw["headers"])
        lower = {k.lower(): v for k, v in raw["headers"]}
        out = {"method": raw["method"], "path": self.normal.text(raw["path"])}
        if raw["query"]:
            out["query"] = raw["query"]
            out["params"] = dict(raw["params"])
        out["headers"] = headers
        body, content_type = raw["body"], lower.get("content-type", "")
        if not body:
            out["body"] = None
        elif content_type == PROTOBUF:
            out.update(self.protobuf(body, lower.get("content-encoding")))
        else:
            parsed = json.loads(body)
            out["body"] = self.normal.value(parsed, telemetry=raw["path"].endswith("/telemetry"))
        return out

    def protobuf(self, body, encoding):
        out = {}
        if encoding == "zstd":
            body = zstandard.ZstdDecompressor().decompress(body)
        message, data = canonical(pb.ForwardBackwardRequest, body)
        if encoding == "zstd":
            out["zstd_base64"] = base64.b64encode(zstandard.ZstdCompressor().compress(data)).decode()
        return {"protobuf_base64": base64.b64encode(data).decode(), **out, "protobuf": fields(message)}


# Sent on a timer, also by clients of earlier cases that are still being closed.
BACKGROUND = {"/api/v1/session_heartbeat", "/api/v1/telemetry"}


def wanted(request, only):
    return request["path"] not in BACKGROUND if only is None else request["path"] in only


@contextlib.contextmanager
def environment(**values):
    before = {name: os.environ.get(name) for name in values}
    apply(values)
    try:
        yield
    finally:
        apply(before)


def apply(values):
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


# ---- what futures resolve to ----

def fwdbwd_output(request):
    out = pb.ForwardBackwardOutput(loss_fn_output_type="TorchLossReturn")
    record = out.loss_fn_outputs.add()
    record.type_tag = "TorchLossReturn"
    record.num_datums = len(request.data)
    field = record.fields["logprobs"]
    field.dtype = pb.DTYPE_FLOAT32
    data, offsets = b"", [0]
    for datum in request.data:
        count = sum(len(c.encoded_text.tokens) // 4 for c in datum.model_input)
        data += b"\x00\x00\x00\xbf" * count
        offsets.append(len(data))
    field.data = data
    field.offsets = b"".join(o.to_bytes(8, "little") for o in offsets)
    out.metrics["loss:sum"] = 1.5
    return out


def sample_response(parsed):
    out = pb.SampleResponse()
    for _ in range(parsed.get("num_samples", 1)):
        out.sequences.add(tokens=(7).to_bytes(4, "little"), logprobs=b"\x00\x00\x00\xbf")
    prompt = sum(len(c.get("tokens", [])) for c in parsed["prompt"]["chunks"])
    if parsed.get("prompt_logprobs"):
        last = parsed.get("prompt_logprobs_last_n") or prompt - 1
        out.prompt_logprobs = b"\x00\x00\xc0\x7f" * (prompt - last) + b"\x00\x00\x00\xbf" * last
    k = parsed.get("prompt_alt_tokens_k")
    if k:
        cells, shape = (prompt - 1) * k, [prompt - 1, k]
        alt = out.prompt_alt_tokens
        alt.tokens.dtype, alt.tokens.dense = pb.DTYPE_INT32, b"\x07\x00\x00\x00" * cells
        alt.logprobs.dtype, alt.logprobs.dense = pb.DTYPE_FLOAT32, b"\x00\x00\x00\xbf" * cells
        alt.tokens.shape.extend(shape)
        alt.logprobs.shape.extend(shape)
    return out


def resolve(path, parsed, body):
    name = path.rsplit("/", 1)[1]
    if name == "forward_backward":
        if body[:4] == b"\x28\xb5\x2f\xfd":
            body = zstandard.ZstdDecompressor().decompress(body)
        request = pb.ForwardBackwardRequest.FromString(body)
        data = fwdbwd_output(request).SerializeToString()
        return f"{request.model_id}:{request.seq_id}", Reply(body=data, content_type=PROTOBUF)
    if name == "asample":
        data = sample_response(parsed).SerializeToString()
        request_id = f"{parsed['sampling_session_id']}:{parsed['seq_id']}"
        return request_id, Reply(body=data, content_type=PROTOBUF)
    return resolve_json(name, parsed)


def resolve_json(name, parsed):
    model = parsed.get("model_id") or f"{SESSION}:train:{parsed.get('model_seq_id')}"
    request_id = f"{model}:{parsed.get('seq_id', 0)}"
    result = {"type": name}
    if name in ("create_model", "unload_model"):
        result["model_id"] = model
    elif name == "optim_step":
        result = {"metrics": {"learning_rate": 0.0001}}
    elif name == "save_weights":
        result["path"] = f"tinker://{model}/weights/{parsed['path']}"
    elif name == "save_weights_for_sampler" and "path" in parsed:
        result["path"] = f"tinker://{model}/sampler_weights/{parsed['path']}"
    elif name == "save_weights_for_sampler":
        result["sampling_session_id"] = f"{SESSION}:sample:{parsed['sampling_session_seq_id']}"
    elif name == "save_weights_external":
        result.update(path=f"tinker://{model}/external_weights/{parsed['path']}", size_bytes=64)
    elif name == "load_weights":
        result.update(path=parsed["path"], model_id=model)
    elif name == "create_custom_loss":
        request_id = f"{SESSION}:loss:{parsed['custom_loss_seq_id']}"
        result["loss_id"] = request_id
    return request_id, Reply(body=result)
