"""Values computed by the SDK's own functions, for inputs at the edges."""

import base64

import numpy as np
from tinker import types
from tinker._qs import Querystring
from tinker.lib.chunked_fwdbwd_helpers import REDUCE_MAP, combine_fwd_bwd_output_results
from tinker.lib.public_interfaces import training_client as tc
from tinker.types._tensor_container import tensor_container_dim, tensor_container_shape

from answers_proto import tensor
from normal import number, write
from server import RUN

try:
    import torch
except ImportError:
    torch = None


def tried(function, *args):
    try:
        return {"result": function(*args)}
    except Exception as error:  # noqa: BLE001
        return {"error": type(error).__name__}


# ---- metric reducers ----

CHUNK_SETS = [
    [(1, {"loss:sum": 1.5, "a:mean": 2.0, "b:max": 1.0, "c:min": -1.0, "d:slack": 3.0,
          "e:unique": 9.0, "f:hash_unordered": 5.0})],
    [(3, {"loss:sum": 1.5, "a:mean": 2.0, "b:max": 1.0, "c:min": -1.0, "d:slack": 3.0,
          "e:unique": 9.0, "f:hash_unordered": 5.0}),
     (1, {"loss:sum": -0.25, "a:mean": 6.0, "b:max": 7.0, "c:min": -8.0, "d:slack": 11.0,
          "e:unique": 9.0, "f:hash_unordered": 2.0})],
    [(2, {"x:mean": 0.1, "x:sum": 0.1}), (5, {"x:mean": 0.2, "x:sum": 0.2}),
     (7, {"x:mean": 0.3, "x:sum": 0.3}), (11, {"x:mean": 0.7, "x:sum": 0.7})],
    [(1, {"e:unique": 1.0}), (1, {"e:unique": 2.0}), (1, {"e:unique": 3.0})],
    [(1, {"h:hash_unordered": 3.0}), (1, {"h:hash_unordered": -1.0}),
     (1, {"h:hash_unordered": 2.9})],
    [(1, {"h:hash_unordered": 2.0**62}), (1, {"h:hash_unordered": -(2.0**61)}),
     (1, {"h:hash_unordered": 0.0})],
    [(1, {"h:hash_unordered": 2.0**61 - 1}), (1, {"h:hash_unordered": 1e300})],
    [(1, {"h:hash2": 5.0})],
    [(1, {"h:hash2": -1.0}), (1, {"h:hash2": 2.9}), (1, {"h:hash2": -2.9})],
    [(1, {"h:hash2": 2.0**63}), (1, {"h:hash2": 2.0**63}), (1, {"h:hash2": 7.0})],
    [(1, {"h:hash2": 2.0**64 - 2.0**12}), (1, {"h:hash2": 1e300})],
    [(1, {"a:sum": 1.0, "only_first:sum": 2.0}), (1, {"a:sum": 3.0, "only_second:sum": 4.0})],
    [(1, {"new:median": 1.0, "a:sum": 1.0})],
    [(1, {"plain": 1.0})],
    [(1, {"a:b:sum": 1.0})],
    [(1, {":sum": 1.0})],
    [(0, {"a:mean": 1.0})],
    [(0, {"a:slack": 1.0})],
    [(0, {"a:sum": 1.0, "b:max": 2.0})],
    [(0, {"a:mean": 1.0}), (2, {"a:mean": 3.0})],
    [(1, {"a:sum": float("nan"), "b:max": float("nan"), "c:min": float("nan"),
          "d:mean": float("nan")}),
     (1, {"a:sum": 1.0, "b:max": 1.0, "c:min": 1.0, "d:mean": 1.0})],
    [(1, {"a:max": float("inf"), "b:sum": float("inf")}),
     (1, {"a:max": 1.0, "b:sum": float("-inf")})],
    [(1, {})],
    [(10, {"many:sum": i * 0.1}) for i in range(10)],
    [(i + 1, {"many:mean": i * 0.1, "many:slack": i * 0.1}) for i in range(20)],
]


def reduce(chunks):
    results = [types.ForwardBackwardOutput(loss_fn_output_type="T", loss_fn_outputs=[{}] * n,
                                           metrics=dict(metrics)) for n, metrics in chunks]
    combined = combine_fwd_bwd_output_results(results)
    return {k: number(v) for k, v in combined.metrics.items()}


def reducers():
    return {"reductions": sorted(REDUCE_MAP), "sets": [
        {"chunks": [{"outputs": n, "metrics": {k: number(v) for k, v in m.items()}}
                    for n, m in chunks], **tried(reduce, chunks)} for chunks in CHUNK_SETS]}


# ---- chunk splitting ----

def of_size(estimate):
    """A datum that is estimated at exactly this many bytes (four per token)."""
    return types.Datum(model_input=types.ModelInput.from_ints([0] * (estimate // 4)))


class Holder:
    def __init__(self, length, size):
        self._client_config = types.ClientConfigResponse(
            fwdbwd_max_chunk_len=length, fwdbwd_max_chunk_bytes_count=size)


def split(sizes, length, size):
    client = tc.TrainingClient(Holder(length, size), model_seq_id=0, model_id="m")
    chunks = client._chunked_requests([of_size(n) for n in sizes])
    return [{"request_id": r, "datums": len(d), "bytes": b} for r, d, b in chunks]


SPLITS = [
    ([], 1024, 5000000), ([4], 1024, 5000000), ([0, 0, 0], 2, 0), ([8, 8, 8], 1024, 16),
    ([8, 8, 8], 1024, 15), ([8, 8, 8], 1, 1000), ([100, 4, 4], 1024, 16), ([4, 100, 4], 1024, 16),
    ([4, 4, 100], 1024, 16), ([16, 16], 1024, 16), ([20, 20], 1024, 16), ([4] * 7, 3, 1000),
    ([4] * 6, 3, 8), ([4, 12, 0, 4], 1024, 16), ([2000000, 2000000, 1000000, 4], 1024, 5000000),
    ([4] * 1024, 1024, 5000000), ([4] * 1025, 1024, 5000000),
]


def estimates():
    text = types.EncodedTextChunk(tokens=[1, 2, 3])
    image = types.ImageChunk(data=b"12345", format="png", expected_tokens=7)
    pointer = types.ImageAssetPointerChunk(format="png", location="gs://ü", expected_tokens=7)
    dmel = types.DmelChunk(dmel=bytes([4, 1, 3, 0, 0, 0]))
    tensors = {
        "float32": types.TensorData(data=[1.0, 2.0, 3.0], dtype="float32", shape=[3]),
        "int64": types.TensorData(data=[1, 2, 3], dtype="int64", shape=[3]),
        "empty": types.TensorData(data=[], dtype="float32"),
        "sparse": types.TensorData(data=[1, 2], dtype="int64", shape=[3, 4],
                                   sparse_crow_indices=[0, 1, 1, 2], sparse_col_indices=[0, 1]),
        "sparse_float32": types.TensorData(data=[1.0], dtype="float32", shape=[2, 9],
                                           sparse_crow_indices=[0, 1, 1], sparse_col_indices=[0]),
    }
    chunks = {"text": text, "image": image, "image_asset_pointer": pointer, "dmel": dmel}
    return {
        "chunks": {n: {"chunk": c.model_dump(mode="json", exclude_none=True),
                       "bytes": tc._estimate_chunk_bytes_count_proto(c)}
                   for n, c in chunks.items()},
        "tensors": {n: {"tensor": tensor(t), "bytes": tc._estimate_tensor_bytes_count_proto(t)}
                    for n, t in tensors.items()},
    }


def splitting():
    return {"estimates": estimates(), "splits": [
        {"datum_bytes": s, "max_datums": n, "max_bytes": b, "chunks": split(s, n, b)}
        if len(s) < 100 else
        {"datum_bytes_each": s[0], "datums": len(s), "max_datums": n, "max_bytes": b,
         "chunks": split(s, n, b)} for s, n, b in SPLITS]}


# ---- sparse ----

def csr_inputs():
    """Around the border (rows + 1) + 2 * nnz < rows * cols."""
    for rows, cols, nonzero in [(1, 1, 0), (1, 2, 0), (1, 3, 0), (1, 4, 0), (1, 4, 1), (1, 5, 1),
                                (2, 2, 0), (2, 2, 1), (2, 3, 1), (2, 4, 2), (2, 4, 1), (3, 4, 4),
                                (3, 4, 3), (5, 0, 0), (0, 5, 0), (3, 10, 12), (3, 10, 13),
                                (3, 10, 30), (4, 4, 5), (4, 4, 6)]:
        values = [0.0] * (rows * cols)
        for i in range(nonzero):  # spread over the rows, the last cell first
            values[(rows * cols - 1 - i * 7) % (rows * cols)] = i + 0.5
        yield [rows, cols], values


def csr():
    out = []
    for shape, values in csr_inputs():
        for dtype in ("float32", "int64"):
            data = [int(v * 2) for v in values] if dtype == "int64" else values
            kind = torch.int64 if dtype == "int64" else torch.float32
            dense = torch.tensor(data, dtype=kind).reshape(shape)
            out.append({"shape": shape, "dtype": dtype, "data": data,
                        "result": tensor(types.TensorData.from_torch_sparse(dense))})
    negative_zero = torch.tensor([[0.0, -0.0, 0.0, 0.0, 0.0, float("nan")]])
    out.append({"shape": [1, 6], "dtype": "float32", "data": [0.0, -0.0, 0.0, 0.0, 0.0, "nan"],
                "result": tensor(types.TensorData.from_torch_sparse(negative_zero))})
    return {"conversions": out}


# ---- dmel containers, lists, paths, query strings ----

HEADERS = [
    b"", b"\xfe", b"\x04", b"\x04\x00", b"\x04\x01", b"\x04\x01\x03", b"\x04\x02\x03\x50",
    b"\xfe\x04\x02\x03\x50", b"\x00\x01\x00", b"\x07\x01\x01", b"\x08\x01\x01", b"\xff\x01\x01",
    b"\xfe\xfe\x01\x01", b"\x04\x02\x03", b"\x04\x01\x80\x01", b"\x04\x01\xff\xff\xff\xff\x0f",
    b"\x04\x01\x80", b"\x04\x81\x00\x05", b"\x04\x01" + b"\xff" * 9 + b"\x00",
    b"\x04\x01" + b"\xff" * 9 + b"\x01", b"\x04\x01" + b"\xff" * 10 + b"\x01",
    b"\x04\x01" + b"\x80" * 10 + b"\x01", b"\x04\x01\x03" + bytes(8),
]


def dmel():
    return {"containers": [
        {"base64": base64.b64encode(h).decode(),
         "shape": tried(lambda d: list(tensor_container_shape(d)), h),
         "length": tried(tensor_container_dim, h, 0)} for h in HEADERS]}


LISTS = [
    ("target_tokens", [1, 2, 3]), ("target_tokens", [1.0, 2.9, -2.9]), ("target_tokens", []),
    ("target_tokens", [[1, 2], [3, 4]]), ("target_tokens", [[]]), ("target_tokens", [True, False]),
    ("target_tokens", 5), ("target_tokens", [2**63 - 1]), ("target_tokens", [2**63]),
    ("target_tokens", ["a"]), ("target_tokens", [None]), ("target_tokens", [[1], [2, 3]]),
    ("weights", [0, 1]), ("weights", [0.1, 1e40]), ("weights", [16777217]), ("weights", [True]),
    ("weights", [[[1.0]]]), ("weights", ["0.5"]), ("advantages", [1]), ("logprobs", [-1]),
    ("clip_low_threshold", [0.5]), ("clip_high_threshold", [2]), ("other", [1.0]), ("other", []),
    ("mask", [1]),
]


def lists():
    def convert(key, value):
        with np.errstate(all="ignore"):
            d = types.Datum(model_input=types.ModelInput.empty(), loss_fn_inputs={key: value})
        return tensor(d.loss_fn_inputs[key])

    return {"conversions": [{"name": k, "value": v, **tried(convert, k, v)} for k, v in LISTS]}


PATHS = [
    f"tinker://{RUN}/weights/0001", f"tinker://{RUN}/sampler_weights/final", "tinker://r/weights/",
    "tinker:///weights/x", "tinker://r/weights/a b", "tinker://r/weights/ü", "tinker://r/weights/..",
    f"tinker://{RUN}/external_weights/e", "", "tinker://", "tinker://r", "tinker://r/weights",
    "tinker://r/weights/a/b", "tinker://r/other/a", "Tinker://r/weights/a", "tinker:/r/weights/a",
    "http://r/weights/a", " tinker://r/weights/a", "tinker://r/Weights/a", "tinker://r/weights/a/",
    "tinker://r//a", "tinker:////",
]


def paths():
    def parse(path):
        return types.ParsedCheckpointTinkerPath.from_tinker_path(path).model_dump(mode="json")

    return {"paths": [{"path": p, **tried(parse, p)} for p in PATHS]}


QUERIES = [
    {"a": "x y", "b": 1, "c": True, "d": False, "e": None, "f": 0, "g": 1.5, "h": ""},
    {"list": [1, 2, "x"]}, {"map": {"k": "v", "n": {"m": 1}}}, {"u": "ü&=+%/?#"}, {},
    {"t": "2026-01-02T00:00:00Z"}, {"tilde": "~-._*"},
]


def queries():
    qs = Querystring(array_format="comma")
    return {"queries": [{"params": q, "query": qs.stringify(q)} for q in QUERIES]}


PARTS = {"reducers": reducers, "splitting": splitting, "dmel": dmel, "lists": lists,
         "paths": paths, "queries": queries}
if torch is not None:
    PARTS["csr"] = csr


def write_part(out, name, make):
    write(out / f"{name}.json", make())
