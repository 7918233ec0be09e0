"""REST requests."""

from datetime import date, datetime, timezone

import tinker
from tinker import types

from server import RUN, SESSION, Reply
from stage import accepted, case, has

WEIGHTS = f"tinker://{RUN}/weights/0001"
SAMPLER = f"tinker://{RUN}/sampler_weights/final"


def rest_case(name, *calls):
    """Each call is (method, positional, named); all go into one file."""
    calls = [call for call in calls if has(f"RestClient.{call[0]}")]
    if not calls:
        return None

    @case("rest", name)
    def _(s):
        rest = s.rest()
        with s.record():
            for method, args, options in calls:
                options = accepted(f"RestClient.{method}", **options)
                getattr(rest, method)(*args, **options).result()

    _.__doc__ = "; ".join(dict.fromkeys(method for method, _args, _options in calls))
    return _


rest_case("get_training_run", ("get_training_run", (RUN,), {}),
          ("get_training_run", (RUN,), {"access_scope": "accessible"}),
          ("get_training_run_by_tinker_path", (WEIGHTS,), {}))
rest_case("weights_info", ("get_weights_info_by_tinker_path", (WEIGHTS,), {}))
rest_case("list_training_runs", ("list_training_runs", (), {}),
          ("list_training_runs", (), {"limit": 5, "offset": 10, "access_scope": "accessible",
                                      "project_id": "project-1"}))
rest_case("list_checkpoints", ("list_checkpoints", (RUN,), {}))
rest_case("list_user_checkpoints", ("list_user_checkpoints", (), {}),
          ("list_user_checkpoints", (), {"limit": 0, "offset": 3}))
rest_case("delete_checkpoint", ("delete_checkpoint", (RUN, "weights/0001"), {}),
          ("delete_checkpoint_from_tinker_path", (SAMPLER,), {}))
rest_case("archive_url", ("get_checkpoint_archive_url", (RUN, "weights/0001"), {}),
          ("get_checkpoint_archive_url_from_tinker_path", (SAMPLER,), {}))
rest_case("publish", ("publish_checkpoint_from_tinker_path", (WEIGHTS,), {}),
          ("unpublish_checkpoint_from_tinker_path", (WEIGHTS,), {}))
rest_case("ttl", ("set_checkpoint_ttl_from_tinker_path", (WEIGHTS, 3600), {}),
          ("set_checkpoint_ttl_from_tinker_path", (WEIGHTS, None), {}))
rest_case("sessions", ("get_session", (SESSION,), {}),
          ("get_session", (SESSION,), {"access_scope": "accessible"}),
          ("list_sessions", (), {}),
          ("list_sessions", (), {"limit": 7, "offset": 1, "access_scope": "accessible"}))
rest_case("assign_project", ("assign_session_project", (SESSION, "project-1"), {}))
rest_case("trace_export", ("export_session_trace", (SESSION,), {}))
rest_case("get_sampler", ("get_sampler", (f"{SESSION}:sample:0",), {}))
# The day is given: without it the server picks today, and no parameter is sent.
rest_case("audit", ("get_audit_log", (), {}),
          ("get_audit_log", (), {"event_type": "checkpoints", "day": date(2026, 1, 2)}))
rest_case("billing_usage",
          ("get_billing_usage", ("2026-01-02T00:00:00Z", "2026-01-03T00:00:00+00:00"), {}),
          ("get_billing_usage", (datetime(2026, 1, 2, 3, tzinfo=timezone.utc),
                                 datetime(2026, 1, 3, tzinfo=timezone.utc)), {}))
rest_case("external_weights_urls",
          ("get_external_weights_urls", (f"tinker://{RUN}/external_weights/e",), {}))
rest_case("copy_weights", ("copy_weights", (WEIGHTS, "project-2"), {}),
          ("copy_weights", (WEIGHTS, "project-2"),
           {"ttl_seconds": 3600, "weights_access_token": "tml-other"}))
rest_case("storage_usage", ("get_current_checkpoint_storage_usage", (), {}),
          ("get_current_checkpoint_storage_usage", (), {"project_id": "project-1"}))

if has("SessionSearchRequest"):
    rest_case("search_sessions", ("search_sessions", (types.SessionSearchRequest(),), {}),
              ("search_sessions", (types.SessionSearchRequest(
                  session_id=SESSION, project_ids=["p"], user_metadata={"a": "b"},
                  display_name="x", owner=types.UserSearchOwner(owner_urns=["urn:1"]), limit=2,
                  statuses=[types.ActiveSessionStatusQuery(),
                            types.ClientFinishedSessionStatusQuery(reasons=["errored"])],
                  cursor=types.SessionSearchCursor(
                      last_created_at="2026-01-02T03:04:05Z", last_session_id=SESSION)),), {}))


@case("rest", "admin", needs="AdminClient")
def _(s):
    """The calls that moved to AdminClient, and the event types of the audit log."""
    admin = tinker.AdminClient(s.rest().holder)
    with s.record():
        for event_type in ("projects", "teams", "organizations"):
            admin.get_audit_log(event_type=event_type, day=date(2026, 1, 2)).result()
        admin.get_billing_usage("2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z").result()
        admin.get_current_checkpoint_storage_usage().result()


@case("rest", "trace_export_pending")
def _(s):
    """Polled every five seconds until it is ready."""
    rest = s.rest()
    s.state.replies[f"/api/v1/sessions/{SESSION}/trace_export"] = [
        Reply(200, {"status": "pending"}), Reply(200, {"status": "pending"})]
    with s.record():
        rest.export_session_trace(SESSION).result()


@case("rest", "retried")
def _(s):
    """A 503 with Retry-After-Ms: same idempotency key, retry count 1."""
    rest = s.rest()
    s.state.replies["/api/v1/weights_info"] = [
        Reply(503, {"detail": "busy"}, headers=[("retry-after-ms", "1")])]
    with s.record():
        rest.get_weights_info_by_tinker_path(WEIGHTS).result()
    keys = {dict(r["headers"]).get("x-idempotency-key") or dict(r["headers"])["X-Idempotency-Key"]
            for r in s.state.log}
    assert len(keys) == 1
