"""Sampling clients, and the fields of what is passed to both kinds of client."""

import tinker
from tinker import types

from stage import KEY, MODEL, N, TEXT, datum, local, logprobs, policy, probe, prompt

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360"
    "606060000000050001a5f645400000000049454e44ae426082")


@probe("ServiceClient.create_sampling_client")
def _(m):
    assert m.sample(client=m.do(m.service, "create_sampling_client", base_model=MODEL)).sequences


@probe("ServiceClient.create_sampling_client(base_model)")
def _(m):
    assert m.service.create_sampling_client(base_model=MODEL).get_base_model() == MODEL


@probe("ServiceClient.create_sampling_client(model_path)")
def _(m):
    training = m.new_training()
    training.forward_backward([datum()], "cross_entropy").result()
    training.optim_step(types.AdamParams(learning_rate=0.1)).result()
    path = training.save_weights_for_sampler(m.name()).result().path
    client = m.service.create_sampling_client(model_path=path)
    seen = client.compute_logprobs(prompt()).result()[1:]
    expected = logprobs(m.forward(training))
    assert all(abs(a - b) < 1e-4 for a, b in zip(seen, expected)), (seen, expected)


def stability(call, *args):
    @probe(f"{call}(record_stability_info)")
    def _(m):
        owner = m.service if call.startswith("Service") else m.training
        given = {"base_model": MODEL} if call.startswith("Service") else {}
        path = [m.weights] if call == "TrainingClient.create_sampling_client" else []
        client = getattr(owner, call.split(".")[1])(*path, record_stability_info=True, **given)
        assert m.sample(client=client).sequences[0].tokens


for _call in ("ServiceClient.create_sampling_client", "TrainingClient.create_sampling_client",
              "TrainingClient.save_weights_and_get_sampling_client"):
    stability(_call)


@probe("SamplingClient.sample", covers="num_samples")
def _(m):
    params = types.SamplingParams(max_tokens=4, seed=1)
    got = m.do(m.sampler, "sample", prompt(), 3, params)
    assert len(got.sequences) == 3, got
    assert all(1 <= len(s.tokens) == len(s.logprobs) <= 4 for s in got.sequences), got
    assert any(len(s.tokens) == 4 for s in got.sequences), got


@probe("SamplingClient.sample(include_prompt_logprobs)")
def _(m):
    assert m.sample().prompt_logprobs is None
    got = m.sample(include_prompt_logprobs=True).prompt_logprobs
    assert got[0] is None and len(got) == len(TEXT) and all(v < 0 for v in got[1:]), got


@probe("SamplingClient.sample(topk_prompt_logprobs)")
def _(m):
    rows = m.sample(include_prompt_logprobs=True, topk_prompt_logprobs=2).topk_prompt_logprobs
    assert rows[0] is None and all(len(r) == 2 for r in rows[1:]), rows


@probe("SamplingClient.sample(topk_sample_logprobs)")
def _(m):
    rows = m.sample(topk_sample_logprobs=2).sequences[0].topk_logprobs
    assert rows is not None and len(rows) == 3 and all(len(r) == 2 for r in rows), rows


@probe("SamplingClient.sample(target_prompt_logprobs)")
def _(m):
    target = types.TensorData(data=TEXT[1:], dtype="int64", shape=[N, 1])
    got = m.sample(include_prompt_logprobs=True, target_prompt_logprobs=target)
    assert got.target_prompt_logprobs is not None, got
    seen = got.target_prompt_logprobs.data
    expected = got.prompt_logprobs[1:]
    assert len(seen) == N, seen
    assert all(abs(a - b) < 1e-4 for a, b in zip(seen, expected)), (seen, expected)


@probe("SamplingClient.sample(prompt_alt_tokens_k)")
def _(m):
    got = m.sample(include_prompt_logprobs=True, prompt_alt_tokens_k=2).prompt_alt_tokens
    assert got is not None and got.tokens.shape[1] == 2, got


@probe("SamplingClient.sample(prompt_logprobs_last_n)")
def _(m):
    got = m.sample(include_prompt_logprobs=True, prompt_logprobs_last_n=2).prompt_logprobs
    assert [v is None for v in got] == [True] * (len(TEXT) - 2) + [False] * 2, got


@probe("SamplingClient.compute_logprobs")
def _(m):
    got = m.do(m.sampler, "compute_logprobs", prompt())
    assert got[0] is None and len(got) == len(TEXT) and all(v < 0 for v in got[1:]), got


@probe("SamplingClient.compute_logprobs(prompt_logprobs_last_n)")
def _(m):
    whole = m.sampler.compute_logprobs(prompt()).result()
    got = m.sampler.compute_logprobs(prompt(), prompt_logprobs_last_n=2).result()
    assert got[-2:] == whole[-2:] and all(v is None for v in got[:-2]), got


@probe("SamplingClient.get_tokenizer")
def _(m):
    assert m.tokenizer().encode("hello")


@probe("SamplingClient.get_base_model")
def _(m):
    assert m.do(m.sampler, "get_base_model") == MODEL


@probe("SamplingClient.get_sampler_handle")
def _(m):
    assert isinstance(m.sampler.get_sampler_handle(), str)


@probe("SamplingClient.from_sampler_handle", covers="api_key")
def _(m):
    first = m.service.create_sampling_client(base_model=MODEL)
    copies = [tinker.SamplingClient.from_sampler_handle(first.get_sampler_handle(), api_key=KEY)
              for _ in range(2)]
    texts = [m.sample(client=c, params={"seed": 9}).sequences[0].tokens for c in [first, *copies]]
    assert texts[0] == texts[1] == texts[2], texts


# ---- SamplingParams ----

def tokens(m, n=1, count=12, **params):
    got = m.sample(count, n=n, params=params).sequences
    return [s.tokens for s in got]


@probe("SamplingParams.max_tokens")
def _(m):
    assert len(tokens(m, count=5)[0]) == 5


@probe("SamplingParams.seed")
def _(m):
    assert tokens(m, seed=1) == tokens(m, seed=1) != tokens(m, seed=2)


@probe("SamplingParams.stop")
def _(m):
    free = tokens(m, seed=1)[0]
    got = m.sample(12, params={"seed": 1, "stop": [free[1]]}).sequences[0]
    assert got.tokens == free[:free.index(free[1]) + 1], (got, free)
    text = m.tokenizer().decode([free[1]])
    assert m.sample(12, params={"seed": 1, "stop": text}).sequences[0].tokens != free


@probe("SamplingParams.temperature")
def _(m):
    assert tokens(m, seed=1, temperature=0.0) == tokens(m, seed=2, temperature=0.0)
    assert tokens(m, seed=1, temperature=2.0) != tokens(m, seed=2, temperature=2.0)


@probe("SamplingParams.top_k")
def _(m):
    assert tokens(m, seed=1, top_k=1) == tokens(m, seed=2, top_k=1)


@probe("SamplingParams.top_p")
def _(m):
    assert tokens(m, seed=1, top_p=1e-9) == tokens(m, seed=2, top_p=1e-9)


# ---- what is trained on ----

def chunk(row, make, covers=""):
    @probe(row, covers=covers)
    def _(m):
        given = types.ModelInput(chunks=[types.EncodedTextChunk(tokens=TEXT), make()])
        params = types.SamplingParams(max_tokens=1)
        assert m.sampler.sample(given, 1, params).result().sequences[0].tokens


chunk("ModelInputChunk.EncodedTextChunk", lambda: types.EncodedTextChunk(tokens=[1, 2]))
chunk("ModelInputChunk.ImageChunk", lambda: types.ImageChunk(data=PNG, format="png"))
chunk("ModelInputChunk.ImageAssetPointerChunk",
      lambda: types.ImageAssetPointerChunk(format="png", location="gs://a/b.png"))
chunk("ModelInputChunk.DmelChunk", lambda: types.DmelChunk(dmel=bytes([4, 2, 3, 80]) + bytes(240)))

local("the required inputs of every training probe", "Datum.model_input", "Datum.loss_fn_inputs")


def spans(field):
    @probe(f"Datum.{field}")
    def _(m):
        prompt_span = types.PromptProvenanceSpan(sequence_id="a", length=N)
        given = datum().with_provenance([prompt_span], [prompt_span])
        assert logprobs(m.training.forward([given], "cross_entropy").result())


for _field in ("model_input_spans", "loss_fn_input_spans"):
    spans(_field)


def loss(name):
    @probe(f"LossFnType.{name}")
    def _(m):
        base = logprobs(m.forward(m.training))
        inputs = {"weights": [1.0] * N} if name == "cross_entropy" else policy(0.2, base)
        if name == "gspo":
            inputs["sequence_ratio_mask"] = [1.0] * N
        config = {"custom": {"loss_id": "no such loss"},
                  "gspo": {"clip_low_threshold": 0.8, "clip_high_threshold": 1.2}}.get(name)
        result = m.training.forward_backward([datum(**inputs)], name, config).result()
        m.training.optim_step(types.AdamParams(learning_rate=0.0)).result()
        assert logprobs(result) == base and result.metrics["loss:sum"] != 0.0, result.metrics


for _name in ("cross_entropy", "importance_sampling", "ppo", "cispo", "dro", "gspo",
              "stable_reinforce", "custom"):
    loss(_name)


def adam(field, value):
    @probe(f"AdamParams.{field}")
    def _(m):
        plain = m.once("adam", lambda: m.trained(types.AdamParams(learning_rate=0.01)))
        assert m.trained(types.AdamParams(learning_rate=0.01)) == plain, "not repeatable"
        assert m.trained(types.AdamParams(**{"learning_rate": 0.01, field: value})) != plain


for _field, _value in {"learning_rate": 0.02, "beta1": 0.5, "beta2": 0.5, "eps": 1.0,
                       "weight_decay": 5.0, "grad_clip_norm": 0.001}.items():
    adam(_field, _value)


def dimuon(field, value):
    @probe(f"DimuonParams.{field}")
    def _(m):
        def run(**params):
            return m.trained(types.DimuonParams(**{"learning_rate": 0.02, **params}),
                             optimizer=types.DimuonOptimizerConfig())

        assert run(**{field: value}) != m.once("dimuon", run)


for _field, _value in {"learning_rate": 0.05, "beta1": 0.1, "grad_clip_norm": 0.001}.items():
    dimuon(_field, _value)
local("names the optimizer", "DimuonParams.type")
