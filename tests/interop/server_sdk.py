"""The official Python SDK, unmodified, against `tinkc serve`.

    server_sdk.py URL [--torch]

Every check is an assertion; the first that fails ends the program with its text.
"""
import io
import sys
import tarfile
import time
import urllib.request

import tinker
from tinker import types

from server_rest import check_rest_client

MODEL = None  # what the server calls its model
TEXT = [5, 17, 9, 40, 12, 33, 8, 21]
N = len(TEXT) - 1


def datum(**inputs):
    inputs = inputs or {"weights": [1.0] * N}
    return types.Datum(
        model_input=types.ModelInput.from_ints(TEXT[:-1]),
        loss_fn_inputs={"target_tokens": TEXT[1:], **inputs})


def logprobs_of(result, index=0):
    return result.loss_fn_outputs[index]["logprobs"].tolist()


def check_service(service):
    global MODEL
    MODEL = service.get_server_capabilities().supported_models[0].model_name
    assert MODEL


def check_info(training):
    info = training.get_info()
    assert info.model_data.model_name == MODEL, info
    assert info.lora_rank == 8, info
    tokenizer = training.get_tokenizer()
    ids = tokenizer.encode("hello world")
    assert ids and "hello world" in tokenizer.decode(ids), ids


def check_losses(training):
    before = logprobs_of(training.forward([datum()], "cross_entropy").result())
    policy = {"logprobs": before, "advantages": [1.0, -0.5, 0.0, 2.0, 1.0, 1.0, 0.25]}
    result = training.forward_backward([datum()], "cross_entropy").result()
    assert logprobs_of(result) == before
    assert abs(result.metrics["loss:sum"] + sum(before)) < 1e-3, result.metrics
    for loss, config in (("importance_sampling", None),
                         ("ppo", {"clip_low_threshold": 0.9, "clip_high_threshold": 1.1}),
                         ("cispo", None), ("dro", {"beta": 0.05})):
        result = training.forward_backward([datum(**policy), datum(**policy)], loss,
                                           loss_fn_config=config).result()
        assert len(result.loss_fn_outputs) == 2, loss
        assert logprobs_of(result, 1) == before, loss
        assert all(k.count(":") == 1 for k in result.metrics), result.metrics
    training.optim_step(types.AdamParams(learning_rate=0.0)).result()


def check_mistakes(training):
    try:
        training.forward_backward([datum()], "no_such_loss").result()
    except tinker.RequestFailedError as error:
        assert error.category == types.RequestErrorCategory.User, error
    except tinker.APIStatusError as error:
        assert error.status_code in (400, 422), error
    else:
        raise AssertionError("an unknown loss was accepted")


def check_learning(training):
    losses = []
    for _ in range(10):
        passed = training.forward_backward([datum()], "cross_entropy")
        step = training.optim_step(types.AdamParams(learning_rate=0.01))
        losses.append(passed.result().metrics["loss:sum"])
        assert "unclipped_grad_l2:mean" in step.result().metrics
    assert losses[-1] < losses[0] / 2, losses


def check_many_chunks(training):
    """More datums than one request takes: parts arrive in any order, the first one last."""
    data = [datum() for _ in range(1030)]
    result = training.forward_backward(data, "cross_entropy").result()
    assert len(result.loss_fn_outputs) == 1030
    training.optim_step(types.AdamParams(learning_rate=0.0)).result()


def check_state(service, training):
    path = training.save_state("state-1").result().path
    assert path.startswith("tinker://") and path.endswith("/weights/state-1"), path
    before = logprobs_of(training.forward([datum()], "cross_entropy").result())

    def step(client):
        client.forward_backward([datum()], "cross_entropy").result()
        client.optim_step(types.AdamParams(learning_rate=0.01)).result()
        return logprobs_of(client.forward([datum()], "cross_entropy").result())

    stepped = step(training)
    assert stepped != before
    same = service.create_training_client_from_state(path)
    assert logprobs_of(same.forward([datum()], "cross_entropy").result()) == before
    with_moments = service.create_training_client_from_state_with_optimizer(path)
    assert step(with_moments) == stepped
    assert step(same) != stepped
    try:
        training.save_state("state-1").result()
    except tinker.RequestFailedError as error:
        assert error.category == types.RequestErrorCategory.User, error
    else:
        raise AssertionError("a name was taken twice")
    training.load_state_with_optimizer(path).result()
    assert logprobs_of(training.forward([datum()], "cross_entropy").result()) == before
    return path


def sample(client, **params):
    params = types.SamplingParams(**{"max_tokens": 6, "stop": [], **params})
    return client.sample(types.ModelInput.from_ints(TEXT[:3]), 1, params).result()


def check_sampling(service, training):
    base = service.create_sampling_client(base_model=MODEL)
    assert base.get_base_model() == MODEL
    one = sample(base, seed=3).sequences[0]
    assert len(one.tokens) == 6 and len(one.logprobs) == 6, one
    assert one.stop_reason == "length", one
    assert sample(base, seed=3).sequences[0].tokens == one.tokens
    params = types.SamplingParams(max_tokens=5, seed=4, temperature=0.9, top_k=40, top_p=0.95)
    prompt = types.ModelInput.from_ints(TEXT[:3])
    several = base.sample(prompt, 4, params).result().sequences
    again = base.sample(prompt, 4, params).result().sequences
    assert [s.tokens for s in several] == [s.tokens for s in again]
    greedy = sample(base, temperature=0.0).sequences[0].tokens
    stopped = sample(base, temperature=0.0, stop=[greedy[2]]).sequences[0]
    assert stopped.stop_reason == "stop", stopped
    assert stopped.tokens == greedy[:greedy.index(greedy[2]) + 1], (stopped, greedy)
    tokenizer = training.get_tokenizer()
    text = tokenizer.decode([greedy[1]])
    if text.strip():
        by_text = sample(base, temperature=0.0, stop=[text]).sequences[0]
        assert by_text.stop_reason == "stop", by_text
        assert text in tokenizer.decode(by_text.tokens), (text, by_text)

    path = training.save_weights_for_sampler("sampler-1").result().path
    assert path.endswith("/sampler_weights/sampler-1"), path
    named = service.create_sampling_client(model_path=path)
    frozen = training.save_weights_and_get_sampling_client()
    assert sample(named, seed=5).sequences[0].tokens == sample(frozen, seed=5).sequences[0].tokens
    trained = logprobs_of(training.forward([datum()], "cross_entropy").result())
    computed = frozen.compute_logprobs(types.ModelInput.from_ints(TEXT)).result()
    assert computed[0] is None and computed[1:] == trained, (computed, trained)
    topk = base.sample(types.ModelInput.from_ints(TEXT), 1, types.SamplingParams(max_tokens=1),
                       include_prompt_logprobs=True, topk_prompt_logprobs=3).result()
    rows = topk.topk_prompt_logprobs
    assert len(rows) == len(TEXT) and rows[0] is None and len(rows[1]) == 3, rows
    assert topk.prompt_logprobs[0] is None and topk.prompt_logprobs[1] is not None
    futures = [base.sample(prompt, 1, types.SamplingParams(max_tokens=4, seed=i))
               for i in range(64)]
    assert all(len(f.result().sequences) == 1 for f in futures)
    return path


def check_sampler_errors(service):
    try:
        service.create_sampling_client(model_path="tinker://nobody:train:0/weights/nothing")
    except tinker.NotFoundError:
        return
    raise AssertionError("a checkpoint that is not there was opened")


def check_archive(rest, path):
    """0.25 downloads checkpoints as a tar; newer SDKs have another way."""
    if not hasattr(rest, "get_checkpoint_archive_url_from_tinker_path"):
        return
    url = rest.get_checkpoint_archive_url_from_tinker_path(path).result().url
    with urllib.request.urlopen(url) as answer:
        archive = tarfile.open(fileobj=io.BytesIO(answer.read()))
    names = sorted(archive.getnames())
    assert {"adapter_config.json", "adapter_model.safetensors",
            "checkpoint_complete"} <= set(names), names


def check_rest(service, training, state, sampler):
    rest = service.create_rest_client()
    run_id = training.model_id
    runs = rest.list_training_runs(limit=100).result()
    assert run_id in [r.training_run_id for r in runs.training_runs], runs
    run = rest.get_training_run(run_id).result()
    assert run.base_model == MODEL and run.is_lora and run.lora_rank == 8, run
    assert run.last_checkpoint is not None, run
    listed = {c.tinker_path: c for c in rest.list_checkpoints(run_id).result().checkpoints}
    assert set(listed) == {state, sampler}, listed
    assert listed[state].checkpoint_id == "weights/state-1", listed
    assert listed[sampler].checkpoint_type == "sampler", listed
    assert listed[state].size_bytes > 0
    everything = rest.list_user_checkpoints(limit=1000).result()
    assert everything.cursor.total_count >= 2, everything.cursor
    info = rest.get_weights_info_by_tinker_path(state).result()
    assert info.base_model == MODEL and info.lora_rank == 8, info

    def now(path):
        found = rest.list_checkpoints(run_id).result().checkpoints
        return {c.tinker_path: c for c in found}[path]

    rest.publish_checkpoint_from_tinker_path(state).result()
    assert now(state).public
    rest.unpublish_checkpoint_from_tinker_path(state).result()
    assert not now(state).public
    rest.set_checkpoint_ttl_from_tinker_path(state, 3600).result()
    assert now(state).expires_at is not None
    rest.set_checkpoint_ttl_from_tinker_path(state, None).result()
    assert now(state).expires_at is None
    check_archive(rest, sampler)
    session_id = run_id.split(":")[0]
    assert session_id in rest.list_sessions(limit=1000).result().sessions
    session = rest.get_session(session_id).result()
    assert run_id in session.training_run_ids and session.sampler_ids, session
    rest.delete_checkpoint_from_tinker_path(sampler).result()
    assert sampler not in [c.tinker_path for c in rest.list_checkpoints(run_id).result().checkpoints]


def check_custom_loss(training):
    import torch  # noqa: F401  (the SDK differentiates with it)

    def loss(data, logprobs):
        total = sum(-(p * p).sum() for p in logprobs)
        return total, {"mine": float(total.detach())}

    result = training.forward_backward_custom([datum()], loss).result()
    assert "mine" in result.metrics, result.metrics
    training.optim_step(types.AdamParams(learning_rate=0.0)).result()


def main():
    began = time.monotonic()
    service = tinker.ServiceClient(base_url=sys.argv[1], api_key="tml-interop",
                                   user_metadata={"suite": "interop"})
    check_service(service)
    training = service.create_lora_training_client(base_model=MODEL, rank=8, seed=1)
    check_info(training)
    check_losses(training)
    check_mistakes(training)
    check_learning(training)
    check_many_chunks(training)
    state = check_state(service, training)
    sampler = check_sampling(service, training)
    check_rest(service, training, state, sampler)
    check_sampler_errors(service)
    check_rest_client(service, training, MODEL)
    if "--torch" in sys.argv:
        check_custom_loss(training)
    print(f"tinker {tinker.__version__}: all calls agree, {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    main()
