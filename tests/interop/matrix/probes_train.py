"""Service and training clients."""

import tinker
from tinker import types

from stage import KEY, MODEL, TEXT, datum, local, logprobs, policy, probe

SERVICE, TRAINING = "ServiceClient", "TrainingClient"

local("how the client repeats requests", "ServiceClient.create_sampling_client(retry_config)",
      "TrainingClient.create_sampling_client(retry_config)",
      "TrainingClient.save_weights_and_get_sampling_client(retry_config)",
      "TrainingClient.save_weights_and_get_sampling_client_submit(retry_config)",
      "SamplingClient(retry_config)", "SamplingClient.create(retry_config)",
      "SamplingClient(shadow)", "SamplingClient(subprocess_sampling)",
      "SamplingClient(record_stability_info)", "LossHandle(loss_id)")
local("made by another call", "TrainingClient", "SamplingClient", "APIFuture", "LossHandle",
      "SamplingClient.create", "SamplingClient.create(model_path)",
      "SamplingClient.create(base_model)", "SamplingClient.create(sampling_session_id)",
      "SamplingClient.create(record_stability_info)")
local("headers of the transport", "ServiceClient(default_headers)",
      "ServiceClient(default_headers_overrides)", "ServiceClient(kwargs)")
local("no request", "ServiceClient.holder", "ServiceClient.get_telemetry",
      "TrainingClient.get_telemetry", "SamplingClient.get_telemetry", "RestClient.get_telemetry",
      "AdminClient.get_telemetry", "SamplingClient.on_queue_state_change", "APIFuture.result(timeout)",
      "auth.get_tinker_token", "auth.tinker_has_credentials", "LossHandle.key",
      "LossHandle.input_names")
local("ignored by the SDK", "TrainingClient.save_weights_and_get_sampling_client(name)")
local("has one value", "TrainingClient.forward_backward_custom(loss_type_input)")


# ---- service ----

def session_of(m, service):
    return service.create_lora_training_client(base_model=MODEL, rank=1).model_id.split(":")[0]


@probe("ServiceClient", covers="base_url api_key")
def _(m):
    assert session_of(m, m.new_service()) in m.raw("sessions?limit=1000")["sessions"]


@probe("ServiceClient(user_metadata)")
def _(m):
    session = session_of(m, m.new_service(user_metadata={"probe": f"session {m.name()}"}))
    found = m.raw("sessions/search", {"session_id": session})["sessions"][0]
    assert found["user_metadata"].get("probe"), found


@probe("ServiceClient(project_id)")
def _(m):
    session = session_of(m, m.new_service(project_id="project-of-the-matrix"))
    found = m.raw("sessions/search", {"session_id": session})["sessions"]
    assert found[0].get("project_id") == "project-of-the-matrix", found


@probe("ServiceClient(display_name)")
def _(m):
    session = session_of(m, m.new_service(display_name="a name to see"))
    found = m.raw("sessions/search", {"session_id": session})["sessions"][0]
    assert found.get("display_name") == "a name to see", found


@probe("ServiceClient.get_server_capabilities")
def _(m):
    names = [o.model_name for o in m.do(m.service, "get_server_capabilities").supported_models]
    assert MODEL in names, names


@probe("ServiceClient.get_console_url")
def _(m):
    assert m.session_id in m.service.get_console_url()


@probe("TrainingClient.get_console_url")
def _(m):
    assert m.training.model_id in m.training.get_console_url()


@probe("ServiceClient.create_rest_client")
def _(m):
    assert m.service.create_rest_client().list_sessions().result().sessions


@probe("ServiceClient.close", covers="status detail")
def _(m):
    service = m.new_service()
    session = session_of(m, service)
    m.settle(service.close("errored", detail="a reason"))
    found = m.raw("sessions/search", {"session_id": session})["sessions"][0]
    assert found["status"]["type"] == "client_finished", found
    assert found["status"]["reason"]["type"] == "errored", found


@probe("ServiceClient.copy_weights", covers="ttl_seconds weights_access_token")
def _(m):
    service = m.new_service(project_id="project-of-the-matrix")
    copy = m.do(service, "copy_weights", m.state, ttl_seconds=3600, weights_access_token=KEY)
    assert copy != m.state and m.checkpoint(copy)["expires_at"], copy


# ---- models ----

def create(m, **options):
    return m.do(m.service, "create_lora_training_client", base_model=MODEL,
                **{"rank": 4, "seed": 1, **options})


@probe("ServiceClient.create_lora_training_client")
def _(m):
    assert create(m).get_info().model_data.model_name == MODEL


@probe("ServiceClient.create_lora_training_client(rank)")
def _(m):
    assert create(m, rank=2).get_info().lora_rank == 2


def one_step(m, training):
    training.forward_backward([datum()], "cross_entropy").result()
    training.optim_step(types.AdamParams(learning_rate=0.05)).result()
    return logprobs(m.forward(training))


@probe("ServiceClient.create_lora_training_client(seed)")
def _(m):
    first = one_step(m, create(m, seed=7))
    assert one_step(m, create(m, seed=7)) == first != one_step(m, create(m, seed=8))


def part(name):
    @probe(f"ServiceClient.create_lora_training_client({name})")
    def _(m):
        path = create(m, **{name: False}).save_state(m.name()).result().path
        info = m.raw("weights_info", {"tinker_path": path})
        assert info[name] is False, info


for _name in ("train_mlp", "train_attn", "train_unembed"):
    part(_name)


@probe("ServiceClient.create_lora_training_client(user_metadata)")
def _(m):
    training = create(m, user_metadata={"a": "b"})
    assert m.raw(f"training_runs/{training.model_id}")["user_metadata"] == {"a": "b"}


@probe("ServiceClient.create_lora_training_client(optimizer)")
def _(m):
    training = create(m, optimizer=types.DimuonOptimizerConfig())
    info = m.raw("get_info", {"model_id": training.model_id, "type": "get_info"})
    assert info["optimizer_config"]["type"] == "dimuon", info
    training.forward_backward([datum()], "cross_entropy").result()
    training.optim_step(types.DimuonParams(learning_rate=0.02)).result()


def from_state(suffix):
    call = f"create_training_client_from_state{suffix}"

    def make(m, **options):
        return m.do(m.service, call, m.state, **options)

    @probe(f"{SERVICE}.{call}(weights_access_token)")
    def _(m):
        assert make(m, weights_access_token=KEY).get_info().model_data.model_name == MODEL

    @probe(f"{SERVICE}.{call}")
    def _(m):
        trained = m.new_training()
        one_step(m, trained)
        before = logprobs(m.forward(trained))
        path = trained.save_state(m.name()).result().path
        assert logprobs(m.forward(m.do(m.service, call, path))) == before

    @probe(f"{SERVICE}.{call}(base_model)")
    def _(m):
        assert make(m, base_model=MODEL).get_info().model_data.model_name == MODEL

    @probe(f"{SERVICE}.{call}(user_metadata)")
    def _(m):
        made = make(m, user_metadata={"c": "d"})
        assert m.raw(f"training_runs/{made.model_id}")["user_metadata"] == {"c": "d"}


for _suffix in ("", "_with_optimizer"):
    from_state(_suffix)


@probe("ServiceClient.create_training_client_from_state(optimizer)")
def _(m):
    made = m.service.create_training_client_from_state(
        m.state, optimizer=types.DimuonOptimizerConfig())
    info = m.raw("get_info", {"model_id": made.model_id, "type": "get_info"})
    assert info["optimizer_config"]["type"] == "dimuon", info


# ---- training ----

@probe("TrainingClient.get_info")
def _(m):
    info = m.do(m.training, "get_info")
    assert info.lora_rank == 4 and info.model_data.model_name == MODEL, info


@probe("TrainingClient.get_tokenizer")
def _(m):
    tokenizer = m.training.get_tokenizer()
    assert tokenizer.decode(tokenizer.encode("hello world")).strip() == "hello world"


@probe("TrainingClient.forward")
def _(m):
    values = logprobs(m.do(m.training, "forward", [datum()], "cross_entropy"))
    assert len(values) == len(TEXT) - 1 and all(v < 0 for v in values), values


@probe("TrainingClient.forward_backward")
def _(m):
    result = m.do(m.training, "forward_backward", [datum(), datum(TEXT[::-1])], "cross_entropy")
    assert len(result.loss_fn_outputs) == 2 and "loss:sum" in result.metrics, result
    m.training.optim_step(types.AdamParams(learning_rate=0.0)).result()


def config_effect(m, call, loss, config, shift=0.5):
    """The loss with and without a configuration, on inputs where it must matter."""
    base = logprobs(m.forward(m.training))
    data = [datum(**policy(shift, base))]

    def run(given):
        return m.settle(getattr(m.training, call)(data, loss, given)).metrics["loss:sum"]

    assert run(config) != run(None), f"{config} has no effect"


for _call in ("forward", "forward_backward"):
    @probe(f"TrainingClient.{_call}(loss_fn_config)")
    def _(m, call=_call):
        config_effect(m, call, "ppo", {"clip_low_threshold": 0.99, "clip_high_threshold": 1.01})


def unknown(m, loss, config):
    """True when refused; the SDK's exception decides the rest."""
    data = [datum(**policy())]
    try:
        m.settle(m.training.forward_backward(data, loss, config))
    except (tinker.APIStatusError, tinker.RequestFailedError) as error:
        status = getattr(error, "status_code", 400)
        assert 400 <= status < 500, error
        return
    raise AssertionError(f"{config} of {loss} was accepted")


@probe("loss_fn_config: an unknown key")
def _(m):
    unknown(m, "ppo", {"no_such_key": 1.0})


@probe("loss_fn_config: text")
def _(m):
    unknown(m, "ppo", {"clip_low_threshold": "narrow"})


@probe("TrainingClient.optim_step", covers="optim_params")
def _(m):
    training = m.new_training()
    before = logprobs(m.forward(training))
    training.forward_backward([datum()], "cross_entropy").result()
    m.do(training, "optim_step", types.AdamParams(learning_rate=0.05))
    assert logprobs(m.forward(training)) != before


@probe("TrainingClient.optim_step(adam_params)")
def _(m):
    training = m.new_training()
    before = logprobs(m.forward(training))
    training.forward_backward([datum()], "cross_entropy").result()
    training.optim_step(adam_params=types.AdamParams(learning_rate=0.05)).result()
    assert logprobs(m.forward(training)) != before


@probe("TrainingClient.forward_backward_custom")
def _(m):
    def loss(data, values):
        total = sum(-(v * v).sum() for v in values)
        return total, {"mine": float(total.detach())}

    training = m.new_training()
    result = m.do(training, "forward_backward_custom", [datum()], loss)
    assert "mine" in result.metrics, result.metrics
    before = logprobs(m.forward(training))
    training.optim_step(types.AdamParams(learning_rate=0.05)).result()
    assert logprobs(m.forward(training)) != before


@probe("ServiceClient.create_custom_loss", covers="fn input_ranks")
def _(m):
    def loss(logprobs, advantages):
        total = -(logprobs * advantages).sum()
        return total, {"custom/mine:sum": total}

    handle = m.settle(m.service.create_custom_loss(loss, {"logprobs": 1, "advantages": 1}))
    assert handle.key and handle.input_names == ("advantages",), handle
    data = [datum(advantages=[1.0] * (len(TEXT) - 1))]
    result = m.training.forward_backward_custom(data, handle).result()
    assert "custom/mine:sum" in result.metrics, result.metrics
    m.training.optim_step(types.AdamParams(learning_rate=0.0)).result()


# ---- weights ----

@probe("TrainingClient.save_state")
def _(m):
    name = m.name()
    path = m.do(m.training, "save_state", name).path
    assert path.endswith(f"/weights/{name}") and m.checkpoint(path), path


def lasting(call):
    @probe(f"TrainingClient.{call}(ttl_seconds)")
    def _(m):
        path = m.settle(getattr(m.training, call)(m.name(), ttl_seconds=3600)).path
        assert m.checkpoint(path)["expires_at"], "no end of life"

    if call == "save_weights_external":
        return

    @probe(f"TrainingClient.{call}(user_metadata)")
    def _(m):
        path = m.settle(getattr(m.training, call)(m.name(), user_metadata={"k": "v"})).path
        assert m.checkpoint(path).get("user_metadata") == {"k": "v"}, m.checkpoint(path)


for _call in ("save_state", "save_weights_for_sampler", "save_weights_external"):
    lasting(_call)


@probe("TrainingClient.save_state(overwrite)")
def _(m):
    name = m.name()
    path = m.training.save_state(name).result().path
    assert m.training.save_state(name, overwrite=True).result().path == path
    try:
        m.training.save_state(name).result()
    except tinker.RequestFailedError:
        return
    raise AssertionError("a name was taken twice")


@probe("TrainingClient.save_weights_for_sampler")
def _(m):
    name = m.name()
    path = m.do(m.training, "save_weights_for_sampler", name).path
    assert path.endswith(f"/sampler_weights/{name}") and m.checkpoint(path), path


@probe("TrainingClient.save_weights_external")
def _(m):
    name = m.name()
    saved = m.do(m.training, "save_weights_external", name)
    assert saved.path.endswith(f"/external_weights/{name}"), saved
    assert m.checkpoint(saved.path)["size_bytes"] > 0


@probe("TrainingClient.save_weights_external(age_encryption_recipients)")
def _(m):
    key = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
    saved = m.training.save_weights_external(m.name(), age_encryption_recipients=[key]).result()
    urls = m.rest.get_external_weights_urls(saved.path).result().urls
    assert all(name.endswith(".age") for name in urls), f"not encrypted: {sorted(urls)}"


def loading(call):
    @probe(f"TrainingClient.{call}", covers="weights_access_token")
    def _(m):
        options = {"weights_access_token": KEY} if m.accepts(
            f"TrainingClient.{call}", "weights_access_token") else {}
        other = m.new_training(seed=5)
        m.do(other, call, m.state, **options)
        assert logprobs(m.forward(other)) == logprobs(
            m.forward(m.service.create_training_client_from_state(m.state)))


for _call in ("load_state", "load_state_with_optimizer"):
    loading(_call)


@probe("TrainingClient.create_sampling_client", covers="model_path")
def _(m):
    client = m.do(m.training, "create_sampling_client", m.weights)
    assert m.sample(client=client).sequences[0].tokens


@probe("TrainingClient.save_weights_and_get_sampling_client")
def _(m):
    client = m.do(m.training, "save_weights_and_get_sampling_client")
    assert m.sample(client=client).sequences[0].tokens


@probe("TrainingClient.save_weights_and_get_sampling_client_submit")
def _(m):
    client = m.settle(m.training.save_weights_and_get_sampling_client_submit())
    assert m.sample(client=client).sequences[0].tokens


@probe("APIFuture.result")
def _(m):
    future = m.training.forward([datum()], "cross_entropy")
    if m.asynchronous:
        assert m.do(future, "result").metrics
        m.used.add("APIFuture.result")
    else:
        assert future.result(timeout=60).metrics


@probe("auth.raise_if_tinker_not_accessible")
def _(m):
    import os
    os.environ.update(TINKER_BASE_URL=m.url, TINKER_API_KEY=KEY)
    try:
        tinker.auth.raise_if_tinker_not_accessible()
    finally:
        del os.environ["TINKER_BASE_URL"], os.environ["TINKER_API_KEY"]
