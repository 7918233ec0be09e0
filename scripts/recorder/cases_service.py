"""Service, session, model and telemetry requests."""

import asyncio

import tinker
from tinker import types

from server import RUN, SESSION, Reply
from stage import MODEL, accepted, case, environment

CONFIG = {"/api/v1/client/config"}
DYNAMIC = {"/api/v1/client/dynamic_config"}
SESSIONS = {"/api/v1/create_session"}
TELEMETRY = {"/api/v1/telemetry"}


def open_session(s, only, env=None, **options):
    with environment(**(env or {})), s.record():
        s.service(**options).holder
    return {"only": only}


@case("service", "construct_session")
def _(s):
    """Everything a session holder sends while it is built, in order."""
    return open_session(s, None)


@case("service", "construct_rest")
def _(s):
    """Everything a REST holder sends while it is built, in order."""
    with s.record():
        s.rest()


@case("service", "client_config")
def _(s):
    """The first request of every client."""
    return open_session(s, CONFIG)


@case("service", "client_dynamic_config")
def _(s):
    """The refreshed half of the configuration."""
    return open_session(s, DYNAMIC)


@case("service", "auth_token")
def _(s):
    """Exchange of the key for a JWT, and the first request that carries the JWT."""
    s.state.client_config = {"pjwt_auth_enabled": True}
    return open_session(s, {"/api/v1/auth/token", "/api/v1/create_session"})


@case("service", "auth_credential_cmd")
def _(s):
    """The credential comes from TINKER_CREDENTIAL_CMD."""
    s.state.client_config = {
        "pjwt_auth_enabled": True, "credential_default_source": "credential_cmd",
    }
    env = {"TINKER_CREDENTIAL_CMD": "echo tml-from-command"}
    return open_session(s, CONFIG | {"/api/v1/auth/token"}, env)


@case("service", "default_headers")
def _(s):
    """Headers of the environment and of the caller."""
    env = {"CLOUDFLARE_ACCESS_CLIENT_ID": "cf-id", "CLOUDFLARE_ACCESS_CLIENT_SECRET": "cf-secret"}
    given = {"X-Custom": "1"}
    options = accepted("ServiceClient", default_headers_overrides=given) or {"default_headers": given}
    return open_session(s, SESSIONS, env, **options)


@case("service", "create_session_default")
def _(s):
    """No tags, no metadata, no project."""
    return open_session(s, SESSIONS)


@case("service", "create_session_full")
def _(s):
    """Tag, metadata and project."""
    options = accepted("ServiceClient", display_name="a run")
    return open_session(
        s, SESSIONS, {"TINKER_TAGS": "alpha"}, user_metadata={"a": "1", "b": "ü"},
        project_id="project-1", **options,
    )


@case("service", "create_session_environment")
def _(s):
    """Project from the environment; an empty TINKER_TAGS is one empty tag."""
    return open_session(s, SESSIONS, {"TINKER_TAGS": "", "TINKER_PROJECT_ID": "project-2"})


@case("service", "session_heartbeat")
def _(s):
    """The first heartbeat, ten seconds after the session was created."""
    path = "/api/v1/session_heartbeat"
    s.service().holder
    with s.record():
        assert s.recorder.wait_for(lambda r: r["path"] == path, 30)
    return {"only": {path}, "first": 1}


@case("service", "heartbeat_ended")
def _(s):
    """The first heartbeat is answered 410; is there a second?"""
    path = "/api/v1/session_heartbeat"
    s.state.replies[path] = [Reply(410, {"detail": "the session has ended"})]
    s.service().holder
    with s.record():
        s.recorder.wait_for(lambda _: sum(r["path"] == path for r in s.state.log) > 1, 30)
    return {"only": {path}, "first": 2}


@case("service", "copy_weights", needs="ServiceClient.copy_weights")
def _(s):
    """Into the project of the service client."""
    service = s.service(project_id="project-1")
    with s.record():
        service.copy_weights(f"tinker://{RUN}/weights/a").result()
    return {"only": {"/api/v1/copy_weights"}}


@case("service", "get_server_capabilities")
def _(s):
    """Through the REST holder."""
    with s.record():
        s.service().get_server_capabilities()
    return {"only": {"/api/v1/get_server_capabilities"}}


@case("service", "healthz")
def _(s):
    """Low-level client only."""
    with s.record():
        s.raw(lambda client: client.service.health_check())
    return {"only": {"/api/v1/healthz"}}


@case("service", "cancel_future", needs="ClientDynamicConfigResponse.sample_cancel_enabled")
def _(s):
    """An abandoned sample is cancelled at the server."""
    s.state.dynamic_config = {"sample_cancel_enabled": True}
    client = s.sampling()
    s.state.polls = [Reply(408, {}, delay=0.2)] * 100
    path = "/api/v1/cancel_future"
    with s.record():
        future = client.sample(types.ModelInput.from_ints([1]), 1, types.SamplingParams())
        assert s.recorder.wait_for(lambda r: r["path"].endswith("/retrieve_future"), 10)
        future.cancel()
        assert s.recorder.wait_for(lambda r: r["path"] == path, 10)
    return {"only": {path}}


@case("service", "finish_session", needs="ServiceClient.close")
def _(s):
    """close() of the service client, with and without a reason; null is sent as null."""
    first, second = s.service(), s.service()
    first.holder, second.holder
    with s.record():
        first.close("success").result()
        second.close("errored", detail="out of memory").result()
    return {"only": {f"/api/v1/sessions/{SESSION}/finish"}}


# ---- models ----

CREATE = {"/api/v1/create_model"}


@case("models", "create_model_default")
def _(s):
    """Only the base model given."""
    with s.record():
        s.training()
    return {"only": CREATE}


@case("models", "create_model_full")
def _(s):
    """All LoRA options and metadata."""
    with s.record():
        s.training(rank=8, seed=42, train_mlp=False, train_attn=True, train_unembed=False,
                   user_metadata={"owner": "x"})
    return {"only": CREATE}


@case("models", "create_model_second")
def _(s):
    """The second model of a session has model_seq_id 1."""
    service = s.service()
    with s.record():
        service.create_lora_training_client(base_model=MODEL)
        service.create_lora_training_client(base_model=MODEL, seed=0)
    return {"only": CREATE}


@case("models", "create_model_dimuon", needs="DimuonOptimizerConfig")
def _(s):
    """Another optimizer than Adam."""
    with s.record():
        s.training(optimizer=types.DimuonOptimizerConfig())
    return {"only": CREATE}


@case("models", "get_info")
def _(s):
    """No future: answered at once."""
    training = s.training()
    with s.record():
        training.get_info()


@case("models", "unload_model", needs="AsyncModelsResource.unload")
def _(s):
    """Low-level client only; gone in 0.36."""
    with s.record():
        s.raw(lambda c: c.models.unload(request=types.UnloadModelRequest(model_id=RUN)))
    return {"only": {"/api/v1/unload_model"}}


# ---- telemetry ----

@case("telemetry", "session_start_and_generic")
def _(s):
    """Session start, generic events of every severity (with nulls), an exception."""
    with environment(TINKER_TELEMETRY="1"):
        telemetry = s.service().holder.get_telemetry()
        for severity in ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"):
            telemetry.log("an_event", {"n": 1, "x": 0.5, "null": None, "list": [1, "a"]}, severity)
        telemetry.log("no_data")
        with s.record():
            telemetry.log_exception_sync(ValueError("bad value"))
            telemetry._wait_until_drained_sync()
    return {"only": TELEMETRY}


@case("telemetry", "fatal_exception")
def _(s):
    """A fatal exception ends with SESSION_END."""
    with environment(TINKER_TELEMETRY="1"):
        telemetry = s.service().holder.get_telemetry()
        with s.record():
            try:
                raise RuntimeError("broken")
            except RuntimeError as error:
                telemetry.log_fatal_exception_sync(error, "CRITICAL")
    return {"only": TELEMETRY}


@case("telemetry", "user_error")
def _(s):
    """A 4xx in a REST call: retry-layer event, then user_error, under a sessionless id."""
    path = f"/api/v1/sessions/{SESSION}"
    s.state.replies[path] = Reply(422, {"detail": "no"})
    with environment(TINKER_TELEMETRY="1"):
        rest = s.rest()
        with s.record():
            try:
                asyncio.run(rest.get_session_async(SESSION))
            except tinker.UnprocessableEntityError:
                pass
    return {"only": TELEMETRY}


@case("telemetry", "poll_error")
def _(s):
    """A failed poll reports request and response headers, the key among them."""
    with environment(TINKER_TELEMETRY="1"):
        training = s.training()
        s.state.polls = [Reply(404, {"detail": "gone"})]
        with s.record():
            try:
                training.optim_step(types.AdamParams()).result()
            except ValueError:
                pass
            training.holder.get_telemetry()._wait_until_drained_sync()
    return {"only": TELEMETRY}
