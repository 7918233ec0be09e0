"""JSON answers: bodies for every typed response, and what the SDK reads in them.

For each type: the smallest body, one with everything, nulls where null is allowed, an
unknown key, and bodies that the SDK refuses. "decoded" is the SDK's own model, dumped
with its defaults; "error" means that strict validation raises.
"""

from tinker import types
from tinker._models import validate_type

from normal import write
from server import RUN, SESSION

T = "2026-01-02T03:04:05Z"
PATH = f"tinker://{RUN}/weights/0001"
CHECKPOINT = {"checkpoint_id": "weights/0001", "checkpoint_type": "training", "time": T,
              "tinker_path": PATH}
CHECKPOINT_FULL = {**CHECKPOINT, "checkpoint_type": "sampler", "size_bytes": 2**40, "public": True,
                   "expires_at": "2026-01-02T03:04:05.678901+00:00"}
RUN_MIN = {"training_run_id": RUN, "base_model": "b", "model_owner": "o", "is_lora": False,
           "last_request_time": T}
RUN_FULL = {**RUN_MIN, "is_lora": True, "corrupted": True, "lora_rank": 32,
            "last_checkpoint": CHECKPOINT, "last_sampler_checkpoint": CHECKPOINT_FULL,
            "user_metadata": {"a": "1", "ü": ""}}
CURSOR = {"offset": 0, "limit": 20, "total_count": 41}
EVENT = {"bucket_start": T, "bucket_end": "2026-01-02T04:04:05Z"}
EVENT_FULL = {**EVENT, "base_model": "b", "user_id": "u", "user_name": "n", "session_id": SESSION,
              "project_id": "p"}


def with_null(body, *keys):
    return {**body, **{k: None for k in keys}}


def extra(body):
    return {**body, "key_of_the_future": {"x": [1]}}


def without(body, key):
    return {k: v for k, v in body.items() if k != key}


CONFIG = {
    "pjwt_auth_enabled": True, "credential_default_source": "credential_cmd",
    "sample_dispatch_bytes_semaphore_size": 1, "inflight_response_bytes_semaphore_size": 2,
    "parallel_fwdbwd_chunks": False, "proto_compress_fwdbwd": True, "fwdbwd_max_chunk_len": 3,
    "fwdbwd_max_chunk_bytes_count": 4, "fwdbwd_dispatch_bytes_semaphore_size": 5,
    "billing_exception_max_pause_duration_sec": 6, "sample_no_retries": True,
    "sample_enable_stuck_detection": False, "sample_max_concurrent_requests": 7,
    "use_pyqwest_transport": False, "create_model_via_load_weights": True,
}
SESSION_CREATED = {"session_id": SESSION}
INFO = {"model_id": RUN, "model_data": {}}
WEIGHTS = {"base_model": "b", "is_lora": True}
FLAGS = ("lora_rank", "train_unembed", "train_mlp", "train_attn")
DONE = {"model_id": RUN}

BODIES = {
    "ClientConfigResponse": [{}, CONFIG, extra({}), {"fwdbwd_max_chunk_len": "3"},
                             {"fwdbwd_max_chunk_len": "x"}, {"pjwt_auth_enabled": None}],
    "ClientDynamicConfigResponse": [{}, {"refresh_interval_sec": 1}, extra({})],
    "AuthTokenResponse": [{"jwt": "a.b.c"}, {}, {"jwt": None}],
    "HealthResponse": [{"status": "ok"}, {"status": "bad"}, {}],
    "GetServerCapabilitiesResponse": [
        {"supported_models": []}, {"supported_models": [{}]},
        {"supported_models": [{"model_name": "m", "max_context_length": 32768},
                              {"model_name": None, "max_context_length": None}]}, {}],
    "CreateSessionResponse": [
        SESSION_CREATED, {**SESSION_CREATED, "type": "create_session", "info_message": "i",
                          "warning_message": "w", "error_message": "e"},
        with_null(SESSION_CREATED, "info_message", "warning_message", "error_message"),
        extra(SESSION_CREATED), {"session_id": 1}, {**SESSION_CREATED, "type": "other"}],
    "SessionHeartbeatResponse": [{}, {"type": "session_heartbeat"}, {"type": "x"}],
    "CreateSamplingSessionResponse": [
        {"sampling_session_id": "s"},
        {"sampling_session_id": "s", "type": "create_sampling_session"}, {}],
    "UntypedAPIFuture": [
        {"request_id": "1"}, {"request_id": "1", "model_id": RUN},
        {"request_id": "1", "model_id": None, "future_id": "1", "status": "pending"},
        {"request_id": 1}, {}],
    "CreateModelResponse": [DONE, {**DONE, "type": "create_model"}, {**DONE, "type": "x"}, {}],
    "UnloadModelResponse": [DONE, {**DONE, "type": "unload_model"}],
    "GetInfoResponse": [
        INFO, {**INFO, "type": "get_info", "is_lora": True, "lora_rank": 32, "model_name": "n",
               "model_data": {"arch": "a", "model_name": "m", "tokenizer_id": "t:rev"}},
        with_null(INFO, "is_lora", "lora_rank", "model_name", "type"),
        {**INFO, "model_data": {"arch": None, "model_name": None, "tokenizer_id": None}},
        without(INFO, "model_data")],
    "GetSamplerResponse": [
        {"sampler_id": "s", "base_model": "b"},
        {"sampler_id": "s", "base_model": "b", "model_path": PATH},
        {"sampler_id": "s", "base_model": "b", "model_path": None}, {"sampler_id": "s"}],
    "OptimStepResponse": [{}, {"metrics": None}, {"metrics": {}}, {"metrics": {"a": 1, "b": 0.5}},
                          {"metrics": {"a": "x"}}],
    "SaveWeightsResponse": [{"path": PATH}, {"path": PATH, "type": "save_weights"},
                            {"path": PATH, "type": None}, {"path": None}],
    "SaveWeightsForSamplerResponseInternal": [
        {}, {"path": PATH}, {"sampling_session_id": "s"},
        {"path": None, "sampling_session_id": "s", "type": "save_weights_for_sampler"}],
    "LoadWeightsResponse": [{}, {"path": PATH, "model_id": RUN, "type": "load_weights"},
                            {"path": None, "model_id": None, "type": None}],
    "WeightsInfoResponse": [
        WEIGHTS, {**WEIGHTS, "lora_rank": 16, "train_unembed": False, "train_mlp": True,
                  "train_attn": False}, with_null(WEIGHTS, *FLAGS), {"base_model": "b"}],
    "Checkpoint": [CHECKPOINT, CHECKPOINT_FULL, with_null(CHECKPOINT, "size_bytes", "expires_at"),
                   {**CHECKPOINT, "time": 1767323045}, {**CHECKPOINT, "time": 1767323045.5},
                   {**CHECKPOINT, "time": "2026-01-02T03:04:05"},
                   {**CHECKPOINT, "time": "2026-01-02T05:04:05.5+02:00"},
                   {**CHECKPOINT, "time": "yesterday"}, {**CHECKPOINT, "checkpoint_type": "x"}],
    "CheckpointsListResponse": [
        {"checkpoints": []}, {"checkpoints": [CHECKPOINT, CHECKPOINT_FULL], "cursor": CURSOR},
        {"checkpoints": [], "cursor": None}],
    "TrainingRun": [RUN_MIN, RUN_FULL,
                    with_null(RUN_MIN, "lora_rank", "last_checkpoint", "last_sampler_checkpoint",
                              "user_metadata"), without(RUN_MIN, "model_owner")],
    "TrainingRunsResponse": [{"training_runs": [], "cursor": CURSOR},
                             {"training_runs": [RUN_MIN, RUN_FULL], "cursor": CURSOR},
                             {"training_runs": []}],
    "ListSessionsResponse": [{"sessions": []}, {"sessions": [SESSION]}, {"sessions": [1]}],
    "GetSessionResponse": [{"training_run_ids": [], "sampler_ids": []},
                           {"training_run_ids": [RUN], "sampler_ids": ["s"]}, {}],
    "TelemetryResponse": [{"status": "accepted"}, {"status": "ok"}, {}],
    "AuditLogResponse": [
        {"entries": []}, {"entries": [{"timestamp": T, "event": "e"},
                                      {"timestamp": T, "event": "e", "model_id": RUN,
                                       "tinker_path": PATH, "purpose": "p"},
                                      {"timestamp": T, "event": "e", "model_id": None,
                                       "tinker_path": None, "purpose": None}]}],
    "BillingUsageResponse": [
        {"data": []},
        {"data": [
            {**EVENT, "event_info": {"type": "training", "token_count": 10}},
            {**EVENT_FULL, "event_info": {"type": "sampling_prefill", "cached": True,
                                          "token_count": 0}},
            {**EVENT, "event_info": {"type": "sampling_sample", "token_count": 2**40}},
            {**EVENT, "event_info": {"type": "checkpoint", "count": 1}},
            {**EVENT, "event_info": {"type": "storage", "gigabyte_hours": 0.125}},
        ], "sessions": {SESSION: {"user_metadata": {"a": "b"}}, "x": {"user_metadata": None},
                        "y": {}}},
        {"data": [{**EVENT, "event_info": {"type": "training", "token_count": 1, "x": 1}}]},
        {"data": [{**EVENT, "event_info": {"type": "unheard_of"}}]}],
    "TryAgainResponse": [{"type": "try_again", "request_id": "1", "queue_state": "active"},
                         {"request_id": "1", "queue_state": "paused_capacity"},
                         {"request_id": "1", "queue_state": "paused_rate_limit"},
                         {"request_id": "1", "queue_state": "paused_other"}],
    "RequestFailedResponse": [{"error": "e", "category": c} for c in
                              ("user", "server", "unknown", "User")] + [{"error": "e"}],
    "CheckpointArchiveUrlResponse": [{"url": "https://x.invalid", "expires": T},
                                     {"url": "https://x.invalid", "expires": 1767323045}],
    # 0.36
    "CopyWeightsResponse": [{"tinker_path": PATH}, {}],
    "CreateCustomLossResponse": [{"loss_id": "l"}, {"loss_id": "l", "type": "create_custom_loss"}],
    "JoinSamplingSessionResponse": [{"client_counter": 1},
                                    {"client_counter": 1, "type": "join_sampling_session"}],
    "FuturesRetrieveResponse": [
        {"completions": [], "cursor": 0},
        {"completions": [
            {"state": "finished", "request_id": "1"},
            {"state": "finished", "request_id": "1", "response_payload_uncompressed_size": 9},
            {"state": "failed", "request_id": "2"}], "cursor": 3},
        {"completions": [{"state": "other", "request_id": "1"}], "cursor": 0}],
    "SaveWeightsExternalResponseInternal": [{}, {"path": PATH, "size_bytes": 1,
                                                 "type": "save_weights_external"}],
    "ExternalWeightsUrlsResponse": [{"urls": {"a/b.safetensors": "https://x.invalid"},
                                     "expires": T}],
    "SessionSearchResponse": [
        {"sessions": []},
        {"sessions": [{
            "session_id": SESSION, "created_at": T, "owner": "o", "project_id": "p",
            "status": status, "checkpoints_count": 1, "display_name": "d",
            "user_metadata": {"a": "b"}, "checkpoint_storage_bytes": 5} for status in (
                None, {"type": "active"}, {"type": "cancelled", "detail": "x"},
                {"type": "client_finished", "reason": {"type": "success"}},
                {"type": "failed", "category": "user", "message": "m",
                 "reason": {"type": "training_run", "training_run_id": RUN}})],
         "next_cursor": {"last_created_at": T, "last_session_id": SESSION}}],
    "CurrentCheckpointStorageUsageResponse": [
        {"data": []},
        {"effective_rate_usd_per_gigabyte_month": 0.1, "data": [{
            "project_id": "p", "org_user_urn": "u", "user_email": "e", "user_name": "n",
            "checkpoint_count": 1, "size_bytes": 2, "size_gigabytes": 0.5,
            "estimated_monthly_cost_usd": 0.05}]}],
}


# New keys of types that 0.25 has too; older versions must ignore them.
NEWER = {
    "ClientConfigResponse": {"sample_use_retrieve_futures": True, "custom_loss_server_side": True,
                             "sample_join_sampling_session": True},
    "ClientDynamicConfigResponse": {"sample_cancel_enabled": True,
                                    "sample_cancel_max_batch_size": 8},
    "GetInfoResponse": {**INFO, "optimizer_config": {"type": "dimuon", "version": 1}},
    "WeightsInfoResponse": {**WEIGHTS, "optimizer_config": {"type": "adamw"}},
    "Checkpoint": {**CHECKPOINT, "user_metadata": {"k": "v"}},
    "GetSessionResponse": {"training_run_ids": [], "sampler_ids": [], "display_name": "d",
                           "user_metadata": {"a": "b"}},
    "UntypedAPIFuture": {"request_id": "1", "sample_sequence_ids": ["1:0", "1:1"]},
    "GetServerCapabilitiesResponse": {"supported_models": [
        {"model_name": "m", "trainable": True, "sampleable": False}]},
    "AuditLogResponse": {"entries": [{"timestamp": T, "event": "e",
                                      "event_details": {"who": {"id": 1}}}]},
}


def find(name):
    for module in (types, __import__("tinker.types.try_again_response", fromlist=[name])):
        if hasattr(module, name):
            return getattr(module, name)
    return None


def answer(kind, body):
    out = {"body": body}
    try:
        out["decoded"] = validate_type(type_=kind, value=body).model_dump(mode="json")
    except Exception as error:  # noqa: BLE001
        out["error"] = type(error).__name__
    return out


def main(out):
    for name, bodies in BODIES.items():
        kind = find(name)
        if kind is None:
            continue
        bodies = bodies + ([NEWER[name]] if name in NEWER else [])
        write(out / f"{name}.json", {"type": name, "answers": [answer(kind, b) for b in bodies]})
