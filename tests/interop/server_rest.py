"""The REST client of the official Python SDK, unmodified, against `tinkc serve`: runs,
checkpoints, sessions, samplers, usage, and the archive.

    from server_rest import check_rest; check_rest(service, training, model)

Every check is an assertion.
"""
import datetime
import io
import tarfile
import urllib.request

import tinker


def refused(call, status):
    try:
        call().result()
    except tinker.APIStatusError as error:
        assert error.status_code == status, error
        return
    raise AssertionError(f"no {status}")


def check_archive(rest, path):
    answer = rest.get_checkpoint_archive_url_from_tinker_path(path).result()
    now = datetime.datetime.now(datetime.timezone.utc)
    assert answer.expires > now, answer
    with urllib.request.urlopen(answer.url) as response:
        data = response.read()
        assert int(response.headers["Content-Length"]) == len(data)
    names = tarfile.open(fileobj=io.BytesIO(data)).getnames()
    assert names == ["adapter_config.json", "adapter_model.safetensors",
                     "checkpoint_complete"], names


def check_usage(rest):
    hour = datetime.datetime.now(datetime.timezone.utc).replace(
        minute=0, second=0, microsecond=0)
    day = datetime.timedelta(days=1)
    usage = rest.get_billing_usage(hour - day, hour + day).result()
    kinds = {event.event_info.type for event in usage.data}
    assert "checkpoint" in kinds, kinds


def check_checkpoints(rest, run, path):
    rest.publish_checkpoint_from_tinker_path(path).result()
    rest.publish_checkpoint_from_tinker_path(path).result()  # again: no conflict
    listed = rest.list_checkpoints(run).result().checkpoints
    one = next(c for c in listed if c.tinker_path == path)
    assert one.public and one.expires_at is None, one
    rest.unpublish_checkpoint_from_tinker_path(path).result()
    rest.set_checkpoint_ttl_from_tinker_path(path, 3600).result()
    listed = rest.list_checkpoints(run).result().checkpoints
    assert next(c for c in listed if c.tinker_path == path).expires_at is not None
    rest.set_checkpoint_ttl_from_tinker_path(path, None).result()
    mine = rest.list_user_checkpoints(limit=1).result()
    assert len(mine.checkpoints) == 1 and mine.cursor.total_count >= 2, mine
    behind = rest.list_user_checkpoints(offset=1000).result()
    assert not behind.checkpoints
    assert behind.cursor.total_count == mine.cursor.total_count, behind


def check_newer(rest, run, path):
    """Calls that only newer versions have."""
    import tinker.types as types
    if hasattr(rest, "copy_weights"):
        copied = rest.copy_weights(path, "any-project", ttl_seconds=3600).result()
        assert copied.endswith(path.split("/", 3)[3]) and copied != path, copied
        listed = [c.tinker_path for c in rest.list_user_checkpoints().result().checkpoints]
        assert copied in listed, listed
        rest.delete_checkpoint_from_tinker_path(copied).result()
        assert rest.get_weights_info_by_tinker_path(path).result().is_lora
    if hasattr(rest, "search_sessions"):
        session = run.split(":")[0]
        found = rest.search_sessions(types.SessionSearchRequest(session_id=session)).result()
        assert [s.session_id for s in found.sessions] == [session], found
        found = rest.search_sessions(types.SessionSearchRequest(
            user_metadata={"suite": "interop"}, limit=1)).result()
        assert len(found.sessions) == 1 and found.next_cursor is not None, found
        found = rest.search_sessions(types.SessionSearchRequest(
            user_metadata={"suite": "nothing"})).result()
        assert found.sessions == [], found


def check_rest_client(service, training, model):
    rest = service.create_rest_client()
    run = training.model_id
    path = training.save_state("rest-1").result().path
    sampler_path = training.save_weights_for_sampler("rest-2").result().path
    got = rest.get_training_run(run).result()
    assert got.base_model == model and got.last_checkpoint.tinker_path == path, got
    assert got.last_sampler_checkpoint.tinker_path == sampler_path, got
    runs = rest.list_training_runs(limit=1).result()
    assert len(runs.training_runs) == 1 and runs.cursor.total_count >= 1, runs
    info = rest.get_weights_info_by_tinker_path(path).result()
    assert info.base_model == model and info.is_lora, info
    session = run.split(":")[0]
    assert session in rest.list_sessions().result().sessions
    assert run in rest.get_session(session).result().training_run_ids
    check_checkpoints(rest, run, path)
    check_newer(rest, run, path)
    if hasattr(rest, "get_checkpoint_archive_url_from_tinker_path"):  # gone in 0.36
        check_archive(rest, sampler_path)
    check_usage(rest)
    for one in (path, sampler_path):
        rest.delete_checkpoint_from_tinker_path(one).result()
        refused(lambda: rest.delete_checkpoint_from_tinker_path(one), 404)
