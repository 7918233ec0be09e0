"""Training requests: forward/backward in protobuf, the others in JSON."""

import typing

import numpy as np
from tinker import types

from server import RUN, Reply
from stage import MODEL, accepted, case

try:
    import torch
except ImportError:
    torch = None

FWDBWD = {"/api/v1/forward_backward"}
PNG = bytes.fromhex("89504e470d0a1a0a") + b"not a real image"
JPEG = bytes.fromhex("ffd8ffe0") + b"nor this"
DMEL = bytes([4, 2, 3, 80]) + bytes(240)  # uint8, two dimensions: 3 x 80


def text(*tokens):
    return types.ModelInput.from_ints(list(tokens))


def datum(n=3, **inputs):
    inputs = inputs or {"target_tokens": list(range(2, n + 2)), "weights": [1.0] * n}
    return types.Datum(model_input=text(*range(1, n + 1)), loss_fn_inputs=inputs)


def policy_datum():
    return datum(target_tokens=[2, 3, 4], logprobs=[-0.5, -1.25, -2.0],
                 advantages=[0.5, 0.5, -1.0])


def run(s, data, loss_fn="cross_entropy", config=None, forward=False):
    training = s.training()
    with s.record():
        call = training.forward if forward else training.forward_backward
        call(data, loss_fn, config).result()
    return {"only": FWDBWD}


@case("training", "forward_backward_cross_entropy")
def _(s):
    """Lists under known names; no configuration."""
    return run(s, [datum()])


@case("training", "forward")
def _(s):
    """The same endpoint with forward_only."""
    return run(s, [datum()], forward=True)


LOSSES = {
    "cross_entropy": None,
    "importance_sampling": {},
    "ppo": {"clip_low_threshold": 0.8, "clip_high_threshold": 1.2},
    "cispo": {"clip_low_threshold": 0.0, "clip_high_threshold": 4.0},
    "dro": {"beta": 0.05},
}
NEW_LOSSES = {
    "gspo": {"clip_low_threshold": 0.8},
    "stable_reinforce": {"kl_coeff": 0.01, "mode": "sequence"},
}


def loss_case(name, config):
    @case("training", f"loss_{name}")
    def _(s):
        """Policy inputs and a configuration."""
        return run(s, [datum() if name == "cross_entropy" else policy_datum()], name, config)


for _name, _config in LOSSES.items():
    loss_case(_name, _config)
for _name, _config in NEW_LOSSES.items():
    if _name in typing.get_args(types.LossFnType):
        loss_case(_name, _config)


@case("training", "tensor_kinds")
def _(s):
    """int64 and float32 TensorData, shape given, unknown, empty and two-dimensional; extremes."""
    tensors = {
        "ints": types.TensorData(data=[-(2**63), -1, 0, 2**63 - 1], dtype="int64", shape=[4]),
        "floats": types.TensorData(data=[-0.0, 1e-45, 3.4e38, 0.1], dtype="float32", shape=[4]),
        "not_finite": types.TensorData(
            data=[float("nan"), float("inf"), float("-inf")], dtype="float32", shape=[3]),
        "no_shape": types.TensorData(data=[1.0, 2.0], dtype="float32"),
        "empty": types.TensorData(data=[], dtype="float32", shape=[0]),
        "empty_no_shape": types.TensorData(data=[], dtype="int64"),
        "matrix": types.TensorData(data=[1, 2, 3, 4, 5, 6], dtype="int64", shape=[2, 3]),
        "no_columns": types.TensorData(data=[], dtype="float32", shape=[2, 0]),
        "scalar": types.TensorData(data=[2.5], dtype="float32", shape=[]),
    }
    return run(s, [datum(**tensors)])


@case("training", "tensor_lists")
def _(s):
    """Python lists and numpy arrays under the names that have a type."""
    return run(s, [
        datum(target_tokens=[1, 2], weights=[1, 0]),
        datum(target_tokens=[], weights=[]),
        datum(target_tokens=[[1, 2], [3, 4]], weights=[[0.5, 0.25], [0.0, 1.0]]),
        datum(target_tokens=np.array([5, 6], dtype=np.int32), weights=np.array([0.1, 0.2])),
        datum(target_tokens=[1], advantages=[2], logprobs=[-1], clip_low_threshold=[0.5],
              clip_high_threshold=[1.5]),
    ])


@case("training", "tensor_sparse")
def _(s):
    """CSR: values, row offsets and columns."""
    sparse = types.TensorData(data=[7, 9], dtype="int64", shape=[3, 4],
                              sparse_crow_indices=[0, 1, 1, 2], sparse_col_indices=[2, 3])
    floats = types.TensorData(data=[0.5], dtype="float32", shape=[2, 8],
                              sparse_crow_indices=[0, 0, 1], sparse_col_indices=[7])
    nothing = types.TensorData(data=[], dtype="float32", shape=[2, 8],
                               sparse_crow_indices=[0, 0, 0], sparse_col_indices=[])
    return run(s, [datum(target_tokens=sparse, weights=floats), datum(weights=nothing)])


@case("training", "chunk_kinds")
def _(s):
    """Text (also empty, and several in a row), images with and without a token count, audio."""
    chunks = [
        types.EncodedTextChunk(tokens=[1, 2, 2147483647, -1]),
        types.ImageChunk(data=PNG, format="png"),
        types.ImageChunk(data=JPEG, format="jpeg", expected_tokens=16),
        types.ImageChunk(data=b"", format="png", expected_tokens=0),
        types.DmelChunk(dmel=DMEL),
        types.EncodedTextChunk(tokens=[]),
        types.EncodedTextChunk(tokens=[3]),
    ]
    data = [types.Datum(model_input=types.ModelInput(chunks=chunks), loss_fn_inputs={}),
            types.Datum(model_input=types.ModelInput.empty(), loss_fn_inputs={})]
    return run(s, data)


@case("training", "provenance", needs="PromptProvenanceSpan")
def _(s):
    """Spans of prompt and sampled tokens."""
    prompt = types.PromptProvenanceSpan(sequence_id="seq-a", length=2)
    sampled = types.SampledProvenanceSpan(sequence_id="seq-b", offset=5, length=1)
    return run(s, [datum().with_provenance([prompt, sampled], [prompt, sampled])])


@case("training", "compressed")
def _(s):
    """proto_compress_fwdbwd: one zstd frame."""
    s.state.client_config = {"proto_compress_fwdbwd": True}
    return run(s, [datum(64)])


def seq(request):
    return request["protobuf"].get("seq_id", 0)


@case("training", "chunks_parallel")
def _(s):
    """Five datums in chunks of two: seq_ids 1, 2, 3; 1 is sent when 2 and 3 were accepted."""
    s.state.client_config = {"fwdbwd_max_chunk_len": 2}
    training = s.training()
    with s.record():
        training.forward_backward([datum(i) for i in range(1, 6)], "cross_entropy").result()
    sent = [r for r in s.state.log if r["path"] in FWDBWD]
    assert s.request(sent[-1])["protobuf"]["seq_id"] == 1
    return {"only": FWDBWD, "sort": seq}


@case("training", "chunks_serial")
def _(s):
    """The same in order, with parallel_fwdbwd_chunks off."""
    s.state.client_config = {"fwdbwd_max_chunk_len": 2, "parallel_fwdbwd_chunks": False}
    return run(s, [datum(i) for i in range(1, 6)])


@case("training", "chunks_by_bytes")
def _(s):
    """Chunks closed by the byte estimate; one datum larger than the limit goes alone."""
    s.state.client_config = {"fwdbwd_max_chunk_bytes_count": 100, "parallel_fwdbwd_chunks": False}
    return run(s, [datum(2), datum(3), datum(4), datum(20), datum(1)])


@case("training", "step_sequence")
def _(s):
    """forward_backward, optim_step, save, sampler save: one sequence of ids."""
    training = s.training()
    with s.record():
        a = training.forward_backward([datum()], "cross_entropy")
        b = training.optim_step(types.AdamParams(learning_rate=1e-3))
        c = training.save_state("step-1")
        d = training.save_weights_for_sampler("step-1")
        for future in (a, b, c, d):
            future.result()
    return {"only": FWDBWD | {"/api/v1/optim_step", "/api/v1/save_weights",
                              "/api/v1/save_weights_for_sampler"}}


def custom(s, forward_inputs):
    def loss(data, logprobs):
        total = sum((lp * (i + 1)).sum() for i, lp in enumerate(logprobs))
        return total, {"custom": 0.5}

    training = s.training()
    with s.record():
        training.forward_backward_custom([datum(2, **forward_inputs), datum(3)], loss).result()
    return {"only": FWDBWD}


if torch is not None:

    @case("training", "custom_loss")
    def _(s):
        """Missing weights become zeros forward; backward sends weights = -gradient."""
        return custom(s, {"target_tokens": [2, 3]})

    @case("training", "custom_loss_server_side", needs="ServiceClient.create_custom_loss")
    def _(s):
        """The traced loss is uploaded, then named in the request."""
        def loss(logprobs, advantages):
            value = -(logprobs * advantages).sum()
            return value, {"custom/loss:sum": value}

        s.state.client_config = {"custom_loss_server_side": True}
        service = s.service()
        training = service.create_lora_training_client(base_model=MODEL)
        with s.record():
            handle = service.create_custom_loss(loss, {"logprobs": 1, "advantages": 1}).result()
            data = [datum(target_tokens=[2, 3, 4], advantages=[1.0, 2.0, 3.0])]
            training.forward_backward_custom(data, handle).result()
        return {"only": FWDBWD | {"/api/v1/create_custom_loss"}}

    @case("training", "tensor_torch")
    def _(s):
        """Torch tensors: two-dimensional targets and weights become CSR where it is smaller."""
        wide = torch.zeros(3, 10)
        wide[1, 4] = 0.5
        return run(s, [
            datum(target_tokens=torch.eye(6, dtype=torch.int64), weights=wide),
            datum(target_tokens=torch.ones(2, 2, dtype=torch.int64), advantages=wide),
            datum(target_tokens=torch.tensor([1, 2]), weights=torch.tensor([0.5, 1.0]).bfloat16()),
        ])


# ---- optim_step, save, load ----

def one(s, path, call):
    training = s.training()
    with s.record():
        call(training).result()
    return {"only": {path}}


@case("training", "optim_step_default")
def _(s):
    """Every hyperparameter is sent."""
    return one(s, "/api/v1/optim_step", lambda t: t.optim_step(types.AdamParams()))


@case("training", "optim_step_full")
def _(s):
    """Every hyperparameter set."""
    params = types.AdamParams(learning_rate=5e-5, beta1=0.8, beta2=0.999, eps=1e-8,
                              weight_decay=0.01, grad_clip_norm=1.0)
    return one(s, "/api/v1/optim_step", lambda t: t.optim_step(params))


@case("training", "optim_step_dimuon", needs="DimuonParams")
def _(s):
    """Another optimizer: optimizer_params instead of adam_params."""
    params = types.DimuonParams(learning_rate=0.02)
    return one(s, "/api/v1/optim_step", lambda t: t.optim_step(params))


@case("training", "save_state_default")
def _(s):
    """Name only."""
    return one(s, "/api/v1/save_weights", lambda t: t.save_state("step-1"))


@case("training", "save_state_full")
def _(s):
    """Time to live and overwrite."""
    more = accepted("TrainingClient.save_state", user_metadata={"k": "v"})
    return one(s, "/api/v1/save_weights",
               lambda t: t.save_state("step-1", ttl_seconds=3600, overwrite=True, **more))


@case("training", "load_state")
def _(s):
    """Weights only."""
    return one(s, "/api/v1/load_weights", lambda t: t.load_state(f"tinker://{RUN}/weights/a"))


@case("training", "load_state_full")
def _(s):
    """With optimizer state and a foreign token."""
    return one(s, "/api/v1/load_weights", lambda t: t.load_state_with_optimizer(
        f"tinker://{RUN}/weights/a", weights_access_token="tml-other"))


@case("training", "save_weights_for_sampler_default")
def _(s):
    """Name only."""
    return one(s, "/api/v1/save_weights_for_sampler", lambda t: t.save_weights_for_sampler("s-1"))


@case("training", "save_weights_for_sampler_full")
def _(s):
    """Time to live."""
    more = accepted("TrainingClient.save_weights_for_sampler", user_metadata={"k": "v"})
    return one(s, "/api/v1/save_weights_for_sampler",
               lambda t: t.save_weights_for_sampler("s-1", ttl_seconds=60, **more))


@case("training", "save_weights_ephemeral")
def _(s):
    """No name: the answer is a sampling session; the second has sampling_session_seq_id 1."""
    training = s.training()
    with s.record():
        training.save_weights_and_get_sampling_client()
        training.save_weights_and_get_sampling_client()
    return {"only": {"/api/v1/save_weights_for_sampler"}}


@case("training", "save_weights_external", needs="TrainingClient.save_weights_external")
def _(s):
    """Weights for other engines, plain and encrypted."""
    training = s.training()
    with s.record():
        training.save_weights_external("e-1").result()
        training.save_weights_external("e-2", ttl_seconds=3600, **accepted(
            "TrainingClient.save_weights_external",
            age_encryption_recipients=["age1x"])).result()
    return {"only": {"/api/v1/save_weights_external"}}


# ---- training clients from a checkpoint ----

FROM_STATE = {"/api/v1/weights_info", "/api/v1/create_model", "/api/v1/load_weights"}
STATE_PATH = f"tinker://{RUN}/weights/a"


def from_state(s, method, config=None, **options):
    s.state.client_config = config or {}
    service = s.service()
    with s.record():
        getattr(service, method)(STATE_PATH, **options)
    return {"only": FROM_STATE}


@case("training", "from_state")
def _(s):
    """weights_info, create_model, load_weights; rank and train flags of the checkpoint."""
    return from_state(s, "create_training_client_from_state")


@case("training", "from_state_with_optimizer")
def _(s):
    """The same with optimizer state, metadata and a foreign token."""
    return from_state(s, "create_training_client_from_state_with_optimizer",
                      user_metadata={"a": "b"}, weights_access_token="tml-other")


OPTIMIZER = "ServiceClient.create_training_client_from_state(optimizer)"


@case("training", "from_state_optimizer", needs=OPTIMIZER)
def _(s):
    """Another optimizer than that of the checkpoint."""
    return from_state(s, "create_training_client_from_state",
                      optimizer=types.DimuonOptimizerConfig())


@case("training", "create_via_load_optimizer", needs=OPTIMIZER)
def _(s):
    """The same in one request."""
    return from_state(s, "create_training_client_from_state", CREATE_VIA_LOAD,
                      optimizer=types.DimuonOptimizerConfig())


CREATE_VIA_LOAD = {"create_model_via_load_weights": True}


@case("training", "create_via_load")
def _(s):
    """One request creates and loads."""
    return from_state(s, "create_training_client_from_state", CREATE_VIA_LOAD)


@case("training", "create_via_load_full")
def _(s):
    """All options of create-via-load, then the first training request has seq_id 1."""
    s.state.client_config = CREATE_VIA_LOAD
    service = s.service()
    with s.record():
        training = service.create_training_client_from_state_with_optimizer(
            STATE_PATH, base_model=MODEL, user_metadata={"a": "b"},
            weights_access_token="tml-other")
        training.optim_step(types.AdamParams()).result()
    return {"only": {"/api/v1/load_weights", "/api/v1/optim_step"}}


# ---- futures ----

FUTURE = {"/api/v1/retrieve_future"}
TRY_AGAIN = {"type": "try_again", "request_id": "r", "queue_state": "paused_capacity",
             "queue_state_reason": "busy"}
METADATA = {"status": "complete_metadata", "response_payload_size": 1000}


@case("futures", "poll_sequence")
def _(s):
    """408, try_again, complete_metadata, result: iteration count and allow_metadata_only."""
    training = s.training()
    s.state.polls = [Reply(408, TRY_AGAIN), Reply(200, TRY_AGAIN), Reply(200, METADATA)]
    with s.record():
        training.forward_backward([datum()], "cross_entropy").result()
    return {"only": FUTURE}


@case("futures", "poll_each_type")
def _(s):
    """The request type named by every operation, and what each accepts."""
    service = s.service()
    with s.record():
        training = service.create_lora_training_client(base_model=MODEL)
        training.forward([datum()], "cross_entropy").result()
        training.forward_backward([datum()], "cross_entropy").result()
        training.optim_step(types.AdamParams()).result()
        training.save_state("a").result()
        training.save_weights_for_sampler("a").result()
        training.load_state(STATE_PATH).result()
        sampling = service.create_sampling_client(base_model=MODEL)
        sampling.sample(text(1), 1, types.SamplingParams(max_tokens=1)).result()
    return {"only": FUTURE}
