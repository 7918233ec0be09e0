"""Protobuf results: bytes made with the SDK's own messages, and what the SDK reads in them."""

import base64
import struct

import numpy as np
from tinker.proto import tinker_public_pb2 as pb
from tinker.proto.response_conv import (
    deserialize_forward_backward_output as read_output,
    deserialize_sample_response as read_sample,
)

from normal import canonical, fields, number, write

MASK = -99999.0
TOPK = pb.TopkLogprobs if hasattr(pb, "TopkLogprobs") else pb.TopkPromptLogprobs
LENGTH = next(n for n in ("length", "prompt_length") if n in TOPK.DESCRIPTOR.fields_by_name)


def pack(code, *values):
    return struct.pack(f"<{len(values)}{code}", *values)


def numbers(array):
    return [number(v) for v in np.asarray(array).ravel().tolist()]


# ---- what the SDK decodes ----

def tensor(value):
    out = {"dtype": value.dtype, "shape": value.shape, "data": [number(v) for v in value.data]}
    if value.sparse_crow_indices is not None:
        out["sparse_crow_indices"] = value.sparse_crow_indices
        out["sparse_col_indices"] = value.sparse_col_indices
    return out


def matrix(value):
    if value is None:
        return None
    rows, k = value.token_ids.shape
    return {"length": rows, "k": k, "token_ids": numbers(value.token_ids),
            "logprobs": numbers(value.logprobs)}


def sample(data):
    r = read_sample(data)
    out = {
        "sequences": [
            {"stop_reason": q.stop_reason, "tokens": q.tokens,
             "logprobs": None if q.logprobs is None else numbers(q.logprobs)}
            for q in r.sequences
        ],
        "prompt_logprobs": r.prompt_logprobs,
        "topk_prompt_logprobs": r.topk_prompt_logprobs,
        "topk_prompt_matrix": matrix(r.topk_prompt_logprobs_np),
        "prompt_cache_hit_tokens": r.prompt_cache_hit_tokens,
    }
    for target, q in zip(out["sequences"], r.sequences):
        if hasattr(q, "topk_logprobs"):
            target["topk_logprobs"] = q.topk_logprobs
    if hasattr(r, "target_prompt_logprobs"):
        target = r.target_prompt_logprobs
        out["target_prompt_logprobs"] = None if target is None else tensor(target)
    if hasattr(r, "prompt_alt_tokens"):
        alt = r.prompt_alt_tokens
        out["prompt_alt_tokens"] = alt and {"tokens": tensor(alt.tokens),
                                            "logprobs": tensor(alt.logprobs)}
    return out


def output(data):
    r = read_output(data)
    return {
        "loss_fn_output_type": r.loss_fn_output_type,
        "loss_fn_outputs": [{k: tensor(v) for k, v in sorted(d.items())} for d in r.loss_fn_outputs],
        "metrics": {k: number(v) for k, v in sorted(r.metrics.items())},
    }


# ---- SampleResponse ----

def sequence(tokens=(7,), logprobs=(-0.5,), stop=pb.STOP_REASON_STOP):
    out = pb.SampledSequence(stop_reason=stop, tokens=pack("i", *tokens))
    if logprobs is not None:
        out.logprobs = pack("f", *logprobs)
    return out


def topk(rows, k, ids, logprobs):
    return TOPK(token_ids=pack("i", *ids), logprobs=pack("f", *logprobs), k=k, **{LENGTH: rows})


def samples():
    nan = float("nan")
    yield "empty", pb.SampleResponse()
    yield "one", pb.SampleResponse(sequences=[sequence()])
    yield "length_and_stop", pb.SampleResponse(sequences=[
        sequence((1, 2, -1, 2147483647), (-1e-7, -3.5, float("-inf"), 0.0), pb.STOP_REASON_LENGTH),
        sequence((), None), sequence((5,), None), sequence((5,), ())])
    yield "prompt_logprobs", pb.SampleResponse(
        sequences=[sequence()], prompt_logprobs=pack("f", nan, -1.0, nan, -0.25),
        prompt_cache_hit_tokens=3)
    yield "prompt_logprobs_empty", pb.SampleResponse(sequences=[sequence()], prompt_logprobs=b"")
    yield "topk", pb.SampleResponse(
        sequences=[sequence()], topk_prompt_logprobs=topk(
            3, 2, (0, 0, 5, 6, 7, 0), (MASK, MASK, -0.5, -1.5, -0.1, MASK)))
    yield "topk_mask_inside", pb.SampleResponse(
        topk_prompt_logprobs=topk(1, 3, (4, 0, 9), (-1.0, MASK, -2.0)))
    yield "topk_token_zero", pb.SampleResponse(
        topk_prompt_logprobs=topk(1, 2, (0, 0), (-1.0, -2.0)))
    yield "topk_k_zero", pb.SampleResponse(topk_prompt_logprobs=topk(4, 0, (), ()))
    yield "topk_no_rows", pb.SampleResponse(topk_prompt_logprobs=topk(0, 4, (), ()))
    yield "topk_longer", pb.SampleResponse(
        topk_prompt_logprobs=topk(1, 2, (1, 2, 3), (-1.0, -2.0, -3.0)))
    yield "topk_short", pb.SampleResponse(topk_prompt_logprobs=topk(2, 2, (1, 2), (-1.0, -2.0)))
    yield "unknown_stop_reason", pb.SampleResponse(sequences=[sequence(stop=2)])
    yield "ragged_tokens", pb.SampleResponse(sequences=[pb.SampledSequence(tokens=b"\x01\x00\x00")])
    yield "everything", pb.SampleResponse(
        sequences=[sequence((1, 2), (-0.5, -0.75), pb.STOP_REASON_LENGTH), sequence()],
        prompt_logprobs=pack("f", nan, -2.0), prompt_cache_hit_tokens=2147483647,
        topk_prompt_logprobs=topk(2, 1, (0, 3), (MASK, -0.5)))
    known = pb.SampleResponse.DESCRIPTOR.fields_by_name
    if "topk_sampled_logprobs" in pb.SampledSequence.DESCRIPTOR.fields_by_name:
        yield "topk_sampled", topk_sampled()
    dense = dict(dense=pack("f", -0.5, 0.0), dtype=pb.DTYPE_FLOAT32, shape=[2, 1])
    if "target_prompt_logprobs" in known:
        sparse = dict(dtype=pb.DTYPE_FLOAT32, shape=[2, 1], sparse_csr=pb.SparseCsr(
            values=pack("f", -0.5), crow_indices=pack("q", 0, 1, 1), col_indices=pack("q", 0)))
        for name, value in (("target_dense", dense), ("target_sparse", sparse)):
            yield name, pb.SampleResponse(target_prompt_logprobs=pb.Tensor(**value))
    if "prompt_alt_tokens" in known:
        ids = pb.Tensor(dense=pack("i", 7, 8), dtype=pb.DTYPE_INT32, shape=[2, 1])
        yield "alt_tokens", pb.SampleResponse(
            prompt_alt_tokens=pb.PromptAltTokens(tokens=ids, logprobs=pb.Tensor(**dense)))


def topk_sampled():
    with_topk = sequence((1, 2), (-0.5, -0.75))
    with_topk.topk_sampled_logprobs.CopyFrom(topk(2, 2, (1, 9, 2, 0), (-0.5, -1.0, -0.75, MASK)))
    return pb.SampleResponse(sequences=[with_topk, sequence()])


# ---- ForwardBackwardOutput ----

def batched(code, dtype, rows, trailing=()):
    """Rows of numbers, back to back."""
    chunks = [pack(code, *row) for row in rows]
    offsets = [0]
    for chunk in chunks:
        offsets.append(offsets[-1] + len(chunk))
    return pb.BatchedTensor(data=b"".join(chunks), offsets=pack("q", *offsets), dtype=dtype,
                            trailing_shape=trailing)


def record(n, **parts):
    out = pb.ArrayRecord(type_tag="TorchLossReturn", num_datums=n)
    for name, value in parts.items():
        out.fields[name].CopyFrom(value)
    return out


def made(records, metrics=(), kind="TorchLossReturn"):
    out = pb.ForwardBackwardOutput(loss_fn_output_type=kind, loss_fn_outputs=records)
    for name, value in dict(metrics).items():
        out.metrics[name] = value
    return out


def outputs():
    f32 = lambda rows, *t: batched("f", pb.DTYPE_FLOAT32, rows, t)  # noqa: E731
    nan, inf = float("nan"), float("inf")
    yield "empty", pb.ForwardBackwardOutput()
    yield "no_records", made([], {"loss:sum": 0.0}, "module:Kind")
    yield "one", made([record(2, logprobs=f32([(-0.5, -1.0), (-2.0,)]))], {"loss:sum": 3.5})
    yield "type_with_module", made([record(1, logprobs=f32([(1.0,)]))], (), "a.b:c:ArrayRecord")
    yield "empty_type", made([record(1, logprobs=f32([(1.0,)]))], (), "")
    yield "empty_slices", made([record(3, logprobs=f32([(), (1.5,), ()]))])
    yield "not_finite", made([record(1, logprobs=f32([(nan, inf, -inf, -0.0)]))],
                             {"a:mean": nan, "b:max": inf, "c:min": -inf})
    yield "int64", made([record(2, ids=batched("q", pb.DTYPE_INT64, [(-(2**63), 2**63 - 1), (0,)]))])
    yield "int32", made([record(2, ids=batched("i", pb.DTYPE_INT32, [(-(2**31),), (1, 2**31 - 1)]))])
    yield "bfloat16", made([record(2, x=batched(
        "H", pb.DTYPE_BFLOAT16, [(0x3F80, 0xBF00), (0x7F80, 0x8000, 0x0001)]))])
    yield "matrix", made([record(2, x=f32([(1, 2, 3, 4), (5, 6)], 2))])
    yield "three_dimensions", made([record(1, x=f32([(1, 2, 3, 4, 5, 6, 7, 8)], 2, 2))])
    yield "trailing_zero", made([record(2, x=f32([(), ()], 0))])
    yield "several_fields", made([record(2, logprobs=f32([(-0.5,), (-1.0,)]),
                                         elementwise_loss=f32([(0.5,), (1.0,)]),
                                         ids=batched("q", pb.DTYPE_INT64, [(1,), (2,)]))])
    yield "several_records", made([
        record(1, x=f32([(1, 2, 3, 4)], 2)), record(2, x=f32([(1, 2, 3), (4, 5, 6)], 3)),
        record(1, x=batched("i", pb.DTYPE_INT32, [(9,)]))])
    yield "num_datums_missing", made([record(0, x=f32([(1.0,), (2.0,)]))])
    yield "no_fields", made([record(3)], {"loss:sum": 1.0})
    yield "metrics", made([record(1, x=f32([(1.0,)]))], {
        "loss:sum": 3.5, "e_frac_with_tokens:mean": 0.25, "e_max_violation:max": 1e300,
        "tokens:unique": -7.0, "h:hash_unordered": 12345678901234.0, "plain": 5e-324})
    yield "dtype_unspecified", made([record(1, x=batched("f", 0, [(1.0,)]))])
    yield "dtype_unknown", made([record(1, x=batched("f", 9, [(1.0,)]))])
    yield "too_few_slices", made([record(3, x=f32([(1.0,)]))])


def answer(name, message, read):
    message, data = canonical(type(message), message.SerializeToString())
    out = {"name": name, "protobuf_base64": base64.b64encode(data).decode(),
           "protobuf": fields(message)}
    try:
        out["decoded"] = read(data)
    except Exception as error:  # noqa: BLE001 what the SDK raises is the fact we want
        out["error"] = type(error).__name__
    return out


def main(out):
    write(out / "sample_response.json", {"message": "SampleResponse", "answers": [
        answer(name, message, sample) for name, message in samples()]})
    write(out / "forward_backward_output.json", {"message": "ForwardBackwardOutput", "answers": [
        answer(name, message, output) for name, message in outputs()]})
