"""REST and administration clients."""

import datetime
import io
import tarfile
import urllib.request

import tinker
from tinker import types

from stage import KEY, MODEL, Refused, probe

HOUR = datetime.datetime.now(datetime.timezone.utc).replace(minute=0, second=0, microsecond=0)
DAY = datetime.timedelta(days=1)


@probe("RestClient", covers="base_url api_key")
def _(m):
    assert tinker.RestClient(base_url=m.url, api_key=KEY).list_sessions().result().sessions


@probe("AdminClient", covers="base_url api_key")
def _(m):
    m.admin.get_billing_usage(HOUR - DAY, HOUR + DAY).result()


# ---- runs ----

@probe("RestClient.get_training_run")
def _(m):
    assert m.do(m.rest, "get_training_run", m.training.model_id).base_model == MODEL


@probe("RestClient.get_training_run_by_tinker_path")
def _(m):
    assert m.do(m.rest, "get_training_run_by_tinker_path", m.state).base_model == MODEL


@probe("RestClient.list_training_runs", covers="limit offset")
def _(m):
    m.new_training(), m.training
    whole = m.do(m.rest, "list_training_runs", limit=100)
    ids = [r.training_run_id for r in whole.training_runs]
    assert m.training.model_id in ids and whole.cursor.total_count == len(ids), whole.cursor
    got = m.rest.list_training_runs(limit=1, offset=1).result().training_runs
    assert [r.training_run_id for r in got] == ids[1:2], got


@probe("RestClient.list_training_runs(project_id)")
def _(m):
    m.training
    got = m.rest.list_training_runs(project_id="no-such-project").result().training_runs
    assert got == [], "the runs of every project"


def scope(call, *needs):
    @probe(f"RestClient.{call}(access_scope)")
    def _(m):
        args = [getattr(m, n) if n != "run" else m.training.model_id for n in needs]
        m.settle(getattr(m.rest, call)(*args, access_scope="accessible"))


scope("get_training_run", "run")
scope("get_training_run_by_tinker_path", "state")
scope("list_training_runs")
scope("get_session", "session_id")
scope("list_sessions")


@probe("RestClient.get_weights_info_by_tinker_path")
def _(m):
    info = m.do(m.rest, "get_weights_info_by_tinker_path", m.state)
    assert info.base_model == MODEL and info.lora_rank == 4, info


# ---- checkpoints ----

@probe("RestClient.list_checkpoints")
def _(m):
    got = m.do(m.rest, "list_checkpoints", m.state.split("/")[2]).checkpoints
    assert m.state in [c.tinker_path for c in got], got


@probe("RestClient.list_user_checkpoints", covers="limit offset")
def _(m):
    m.state, m.weights
    whole = m.do(m.rest, "list_user_checkpoints", limit=1000)
    paths = [c.tinker_path for c in whole.checkpoints]
    assert m.state in paths and whole.cursor.total_count == len(paths), whole.cursor
    got = m.rest.list_user_checkpoints(limit=1, offset=1).result().checkpoints
    assert [c.tinker_path for c in got] == paths[1:2], got


def gone(m, path):
    listed = m.raw(f"training_runs/{path.split('/')[2]}/checkpoints")["checkpoints"]
    return path not in [c["tinker_path"] for c in listed]


@probe("RestClient.delete_checkpoint")
def _(m):
    path = m.training.save_state(m.name()).result().path
    m.do(m.rest, "delete_checkpoint", path.split("/")[2], "/".join(path.split("/")[3:]))
    assert gone(m, path)


@probe("RestClient.delete_checkpoint_from_tinker_path")
def _(m):
    path = m.training.save_weights_for_sampler(m.name()).result().path
    m.do(m.rest, "delete_checkpoint_from_tinker_path", path)
    assert gone(m, path)


def check_archive(url):
    with urllib.request.urlopen(url) as answer:
        names = tarfile.open(fileobj=io.BytesIO(answer.read())).getnames()
    assert "adapter_model.safetensors" in names, names


@probe("RestClient.get_checkpoint_archive_url")
def _(m):
    run, name = m.weights.split("/")[2], "/".join(m.weights.split("/")[3:])
    check_archive(m.do(m.rest, "get_checkpoint_archive_url", run, name).url)


@probe("RestClient.get_checkpoint_archive_url_from_tinker_path")
def _(m):
    check_archive(m.do(m.rest, "get_checkpoint_archive_url_from_tinker_path", m.weights).url)


@probe("RestClient.get_external_weights_urls")
def _(m):
    path = m.training.save_weights_external(m.name()).result().path
    urls = m.do(m.rest, "get_external_weights_urls", path).urls
    sizes = {name: len(urllib.request.urlopen(url).read()) for name, url in urls.items()}
    assert any(n.endswith(".safetensors") and s for n, s in sizes.items()), sizes


@probe("RestClient.publish_checkpoint_from_tinker_path")
def _(m):
    m.do(m.rest, "publish_checkpoint_from_tinker_path", m.state)
    assert m.checkpoint(m.state)["public"] is True


@probe("RestClient.unpublish_checkpoint_from_tinker_path")
def _(m):
    m.rest.publish_checkpoint_from_tinker_path(m.state).result()
    m.do(m.rest, "unpublish_checkpoint_from_tinker_path", m.state)
    assert m.checkpoint(m.state)["public"] is False


@probe("RestClient.set_checkpoint_ttl_from_tinker_path")
def _(m):
    path = m.training.save_state(m.name()).result().path
    m.do(m.rest, "set_checkpoint_ttl_from_tinker_path", path, 3600)
    assert m.checkpoint(path)["expires_at"]
    m.do(m.rest, "set_checkpoint_ttl_from_tinker_path", path, None)
    assert not m.checkpoint(path)["expires_at"]


@probe("RestClient.copy_weights", covers="weights_access_token")
def _(m):
    copy = m.do(m.rest, "copy_weights", m.state, "a-project", weights_access_token=KEY)
    assert copy != m.state and m.checkpoint(copy)


@probe("RestClient.copy_weights(destination_project_id)")
def _(m):
    copy = m.rest.copy_weights(m.state, "project-of-the-copy").result()
    assert m.checkpoint(copy)


@probe("RestClient.copy_weights(ttl_seconds)")
def _(m):
    copy = m.rest.copy_weights(m.state, "a-project", ttl_seconds=3600).result()
    assert m.checkpoint(copy)["expires_at"]


# ---- sessions ----

@probe("RestClient.get_session")
def _(m):
    got = m.do(m.rest, "get_session", m.session_id)
    assert m.training.model_id in got.training_run_ids, got


@probe("RestClient.list_sessions", covers="limit offset")
def _(m):
    m.session_id
    m.new_service().create_lora_training_client(base_model=MODEL, rank=1)
    whole = m.do(m.rest, "list_sessions", limit=1000).sessions
    assert m.session_id in whole, whole
    assert m.rest.list_sessions(limit=1, offset=1).result().sessions == whole[1:2]


@probe("RestClient.assign_session_project")
def _(m):
    m.do(m.rest, "assign_session_project", m.session_id, "project-assigned")
    found = m.raw("sessions/search", {"session_id": m.session_id})["sessions"]
    assert found[0].get("project_id") == "project-assigned", "accepted, and not kept"


@probe("RestClient.export_session_trace")
def _(m):
    assert m.do(m.rest, "export_session_trace", m.session_id)


@probe("RestClient.get_sampler")
def _(m):
    sampler = m.service.create_sampling_client(base_model=MODEL)
    sampler_id = sampler._sampling_session_id
    assert m.do(m.rest, "get_sampler", sampler_id).base_model == MODEL


@probe("RestClient.whoami")
def _(m):
    try:
        assert m.do(m.rest, "whoami").user_urn
    except RuntimeError as error:  # without tokens the SDK answers by itself
        raise Refused(str(error)) from error


# ---- administration ----

def audit(owner, attribute):
    @probe(f"{owner}.get_audit_log", covers="event_type day")
    def _(m):
        client = getattr(m, attribute)
        m.do(client, "get_audit_log", event_type="checkpoints", day=HOUR.date())

    @probe(f"{owner}.get_billing_usage")
    def _(m):
        m.state
        client = getattr(m, attribute)
        got = m.do(client, "get_billing_usage", HOUR - DAY, HOUR + DAY)
        assert "checkpoint" in {e.event_info.type for e in got.data}, got
        early = HOUR - 3 * DAY
        assert client.get_billing_usage(early, early + DAY).result().data == []

    @probe(f"{owner}.get_current_checkpoint_storage_usage")
    def _(m):
        m.state
        got = m.do(getattr(m, attribute), "get_current_checkpoint_storage_usage")
        assert sum(row.checkpoint_count for row in got.data) > 0, got

    @probe(f"{owner}.get_current_checkpoint_storage_usage(project_id)")
    def _(m):
        m.state
        call = getattr(m, attribute).get_current_checkpoint_storage_usage
        got = call(project_id="no-such-project").result()
        assert sum(row.checkpoint_count for row in got.data) == 0, got


audit("RestClient", "rest")
audit("AdminClient", "admin")


# ---- search ----

def search(m, **fields):
    request = types.SessionSearchRequest(**fields)
    return [s.session_id for s in m.do(m.rest, "search_sessions", request).sessions]


@probe("RestClient.search_sessions")
def _(m):
    assert m.session_id in search(m, limit=200)


def labelled(m):
    """A session with a name and metadata, made once."""
    def make():
        service = m.new_service(display_name="Blue Heron", user_metadata={"bird": "heron"})
        return service.create_lora_training_client(base_model=MODEL, rank=1).model_id.split(":")[0]

    return m.once("labelled", make)


def search_field(field, hit, miss):
    """`hit` finds the labelled session, `miss` does not."""
    @probe(f"SessionSearchRequest.{field}")
    def _(m):
        session = labelled(m)
        given = session if hit is None else hit
        assert session in search(m, **{"limit": 200, field: given}), "not found"
        assert session not in search(m, **{"limit": 200, field: miss}), "found by what it is not"


search_field("session_id", None, "00000000-0000-4000-8000-00000000beef")
search_field("user_metadata", {"bird": "heron"}, {"bird": "wren"})
search_field("display_name", "heron", "wren")
if hasattr(types, "ActiveSessionStatusQuery"):
    search_field("statuses", [types.ActiveSessionStatusQuery()],
                 [types.ClientFinishedSessionStatusQuery(reasons=["errored"])])


@probe("SessionSearchRequest.project_ids")
def _(m):
    assert labelled(m) not in search(m, limit=200, project_ids=["no-such-project"])


@probe("SessionSearchRequest.owner")
def _(m):
    owner = types.UserSearchOwner(owner_urns=["tml:user:of-another-name"])
    assert labelled(m) not in search(m, limit=200, owner=owner)


@probe("SessionSearchRequest.limit")
def _(m):
    labelled(m), m.session_id
    assert len(search(m, limit=1)) == 1


@probe("SessionSearchRequest.cursor")
def _(m):
    labelled(m), m.session_id
    request = types.SessionSearchRequest(limit=1)
    first = m.rest.search_sessions(request).result()
    again = types.SessionSearchRequest(limit=1, cursor=first.next_cursor)
    second = m.rest.search_sessions(again).result()
    assert first.sessions[0].session_id != second.sessions[0].session_id
