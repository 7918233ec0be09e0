"""Sampling requests."""

from tinker import types

from cases_training import DMEL, JPEG, PNG, text
from server import RUN
from stage import KEY, MODEL, accepted, case, environment, has

ASAMPLE = {"/api/v1/asample"}
CREATE = {"/api/v1/create_sampling_session"}


@case("sampling", "create_session_base_model")
def _(s):
    """From a base model; the second has sampling_session_seq_id 1."""
    service = s.service()
    with s.record():
        service.create_sampling_client(base_model=MODEL)
        service.create_sampling_client(base_model=MODEL)
    return {"only": CREATE}


@case("sampling", "create_session_path")
def _(s):
    """From weights."""
    service = s.service()
    with s.record():
        service.create_sampling_client(model_path=f"tinker://{RUN}/sampler_weights/a")
    return {"only": CREATE}


@case("sampling", "create_session_both")
def _(s):
    """From weights with the base model named."""
    service = s.service()
    with s.record():
        service.create_sampling_client(model_path=f"tinker://{RUN}/sampler_weights/a",
                                       base_model=MODEL)
    return {"only": CREATE}


def sample(s, params, prompt=None, n=1, **options):
    client = s.sampling()
    with s.record():
        client.sample(prompt or text(1, 2, 3), n, params, **options).result()
    return {"only": ASAMPLE}


@case("sampling", "sample_default")
def _(s):
    """No parameter set: what is always sent."""
    return sample(s, types.SamplingParams())


@case("sampling", "sample_full")
def _(s):
    """Everything set."""
    params = types.SamplingParams(max_tokens=16, seed=42, stop=["\n\n", "END"], temperature=0.7,
                                  top_k=50, top_p=0.9)
    return sample(s, params, n=4, include_prompt_logprobs=True, topk_prompt_logprobs=5)


@case("sampling", "sample_zeros")
def _(s):
    """Zero and the largest seed are values, not absences."""
    return sample(s, types.SamplingParams(max_tokens=0, seed=2**63 - 1, temperature=0.0, top_k=0,
                                          top_p=0.0))


STOPS = {"string": "END", "strings": ["a", "é"], "tokens": [151643, 2], "empty": [],
         "empty_string": ""}


def stop_case(name, stop):
    @case("sampling", f"stop_{name}")
    def _(s):
        """`stop` travels in the form it was given."""
        return sample(s, types.SamplingParams(max_tokens=4, stop=stop))


for _name, _stop in STOPS.items():
    stop_case(_name, _stop)


@case("sampling", "chunk_kinds")
def _(s):
    """Every kind of chunk in its JSON form."""
    prompt = types.ModelInput(chunks=[
        types.EncodedTextChunk(tokens=[1, 2, 3]),
        types.EncodedTextChunk(tokens=[]),
        types.ImageChunk(data=PNG, format="png"),
        types.ImageChunk(data=JPEG, format="jpeg", expected_tokens=16),
        types.ImageAssetPointerChunk(format="png", location="gs://bucket/ü.png"),
        types.ImageAssetPointerChunk(format="jpeg", location="x", expected_tokens=0),
        types.DmelChunk(dmel=DMEL),
    ])
    return sample(s, types.SamplingParams(max_tokens=1), prompt)


@case("sampling", "prompt_empty")
def _(s):
    """A prompt without chunks."""
    return sample(s, types.SamplingParams(max_tokens=1), types.ModelInput.empty())


@case("sampling", "sequence_ids")
def _(s):
    """seq_id counts from 0 per sampling client."""
    client = s.sampling()
    with s.record():
        for _ in range(3):
            client.sample(text(1), 1, types.SamplingParams(max_tokens=1)).result()
    return {"only": ASAMPLE}


@case("sampling", "compute_logprobs")
def _(s):
    """A sample of one token with prompt logprobs."""
    client = s.sampling()
    with s.record():
        client.compute_logprobs(text(1, 2, 3)).result()
    return {"only": ASAMPLE}


@case("sampling", "get_sampler")
def _(s):
    """The sampler's base model; the id is not escaped."""
    client = s.sampling()
    with s.record():
        client.get_base_model()


@case("sampling", "sample_new_options", needs="SamplingClient.sample(topk_sample_logprobs)")
def _(s):
    """Options that 0.25 does not have."""
    service = s.service()
    client = service.create_sampling_client(base_model=MODEL, **accepted(
        "ServiceClient.create_sampling_client", record_stability_info=True))
    dense = types.TensorData(data=[5, -1], dtype="int64", shape=[2, 1])
    sparse = types.TensorData(data=[5], dtype="int64", shape=[2, 1],
                              sparse_crow_indices=[0, 1, 1], sparse_col_indices=[0])
    params = types.SamplingParams(max_tokens=1)
    with s.record():
        for target in (dense, sparse):
            client.sample(text(1, 2, 3), 1, params, include_prompt_logprobs=True, **accepted(
                "SamplingClient.sample", topk_sample_logprobs=3, target_prompt_logprobs=target,
                prompt_alt_tokens_k=2, prompt_logprobs_last_n=1)).result()
        client.compute_logprobs(text(1, 2, 3), **accepted(
            "SamplingClient.compute_logprobs", prompt_logprobs_last_n=2)).result()
    return {"only": ASAMPLE}


@case("sampling", "retrieve_futures", needs="ClientConfigResponse.sample_use_retrieve_futures")
def _(s):
    """One poll for all samples of a session, then the payload of each."""
    s.state.client_config = {"sample_use_retrieve_futures": True}
    client = s.sampling()
    params = types.SamplingParams(max_tokens=1)
    with s.record():
        client.sample(text(1), 1, params).result()
        # The last poll reports the result as fetched, where it can.
        assert not has("FuturesRetrieveRequest.retrieved_request_ids") or s.recorder.wait_for(
            lambda r: b'"retrieved_request_ids":["' in r["body"], 10)
    return {"only": {"/api/v1/retrieve_futures", "/api/v1/retrieve_future"}, "first": 3}


@case("sampling", "join_sampling_session", needs=(
    "ClientConfigResponse.sample_join_sampling_session", "SamplingClient.get_sampler_handle"))
def _(s):
    """A copy of a client asks for its own range of sequence ids."""
    s.state.client_config = {"sample_join_sampling_session": True}
    with environment(TINKER_API_KEY=KEY):
        client = s.sampling()
        clone = type(client).from_sampler_handle(client.get_sampler_handle(), api_key=KEY)
        with s.record():
            clone.sample(text(1), 1, types.SamplingParams(max_tokens=1)).result()
        clone.holder.close()
    return {"only": ASAMPLE | {"/api/v1/join_sampling_session"}}
