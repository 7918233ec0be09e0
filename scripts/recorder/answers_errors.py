"""Error answers, observed by running the SDK against them."""

import tinker
from tinker import types

from normal import write
from server import PROTOBUF, Reply, State
from stage import environment, resolve

STATUSES = (400, 401, 402, 403, 404, 408, 409, 410, 418, 422, 425, 429, 500, 502, 503, 504)
DETAIL = {"detail": "a reason"}
BODIES = [
    ("json", DETAIL, "application/json"),
    ("schema", {"detail": [{"loc": ["body", "x"], "msg": "bad", "type": "value_error"}]},
     "application/json"),
    ("text", b"plain trouble", "text/plain"),
    ("html", b"<html>bad gateway</html>", "text/html"),
    ("empty", b"", "application/json"),
]
OUTCOMES = [
    ("result", Reply(200, {"metrics": {"a": 1.0}})),
    ("result_null_metrics", Reply(200, {"metrics": None})),
    ("result_extra_key", Reply(200, {"metrics": {}, "x": 1})),
    ("result_mismatch", Reply(200, {"metrics": {"a": "x"}})),
    ("failed_user", Reply(200, {"error": "no", "category": "user"})),
    ("failed_server", Reply(200, {"error": "no", "category": "server"})),
    ("failed_unknown", Reply(200, {"error": "no", "category": "unknown"})),
    ("failed_category_case", Reply(200, {"error": "no", "category": "User"})),
    ("failed_no_category", Reply(200, {"error": "no"})),
    ("failed_null", Reply(200, {"error": None})),
    ("not_json", Reply(200, b"oops")),
    ("json_null", Reply(200, b"null")),
    ("json_array", Reply(200, b"[]")),
    ("protobuf_for_json_type", Reply(200, b"", PROTOBUF)),
    ("status_401", Reply(401, DETAIL)),
    ("status_403", Reply(403, DETAIL)),
    ("status_404", Reply(404, DETAIL)),
    ("status_409", Reply(409, DETAIL)),
    ("status_410", Reply(410, DETAIL)),
    ("status_422", Reply(422, DETAIL)),
    ("status_425", Reply(425, DETAIL)),
    ("status_400_forever", [Reply(400, DETAIL)] * 5),
    ("status_400_then_result", [Reply(400, DETAIL)] * 3 + [Reply(200, {})]),
    ("status_408_then_result", [Reply(408, {"type": "try_again", "request_id": "1",
                                            "queue_state": "active"})] * 2 + [Reply(200, {})]),
    ("status_408_text_then_result", [Reply(408, b"wait"), Reply(200, {})]),
    ("status_500_then_result", [Reply(500, DETAIL), Reply(503, DETAIL), Reply(200, {})]),
    ("status_429_then_result", [Reply(429, DETAIL), Reply(200, {})]),
    ("try_again_then_result", [Reply(200, {"type": "try_again", "request_id": "1",
                                           "queue_state": "active"}), Reply(200, {})]),
    ("metadata_then_result", [Reply(200, {"status": "complete_metadata",
                                          "response_payload_size": 5}), Reply(200, {})]),
    ("metadata_null_size", [Reply(200, {"status": "complete_metadata",
                                        "response_payload_size": None}), Reply(200, {})]),
    ("metadata_twice", [Reply(200, {"status": "complete_metadata",
                                    "response_payload_size": 5})] * 2),
]


def shown(reply):
    try:
        body = reply.body.decode()
    except UnicodeDecodeError:
        body = None
    return {"status": reply.status, "content_type": reply.content_type, "body": body}


def status_errors(s):
    out = []
    for status in STATUSES:
        for name, body, content_type in BODIES:
            reply = Reply(status, body, content_type)
            s.recorder.state = State()
            s.state.replies["/api/v1/healthz"] = reply

            async def call(client):
                return await client.with_options(max_retries=0).service.health_check()

            try:
                s.raw(call)
                raise AssertionError(f"{status} is not an error?")
            except tinker.APIError as error:
                seen = {"exception": type(error).__name__, "message": error.message,
                        "body": error.body}
            s.close()
            out.append({"name": f"{status}_{name}", "answer": shown(reply), "seen": seen})
    return out


def outcome(s, name, replies):
    """What an optim_step future makes of a scripted retrieve_future."""
    s.recorder.state = State()
    s.state.resolve = resolve
    training = s.training()
    s.state.polls = list(replies)
    seen = {}
    with s.record():
        try:
            result = training.optim_step(types.AdamParams()).result()
            seen["result"] = result.model_dump(mode="json")
        except Exception as error:  # noqa: BLE001
            seen["exception"] = type(error).__name__
            if isinstance(error, tinker.RequestFailedError):
                seen["category"] = error.category.value
    seen["polls"] = sum(r["path"].endswith("/retrieve_future") for r in s.state.log)
    s.close()
    return {"name": name, "answers": [shown(r) for r in replies], "seen": seen}


def main(s, out):
    with environment(TINKER_TELEMETRY="0"):
        write(out / "status_errors.json", {"answers": status_errors(s)})
        write(out / "future_outcomes.json", {"expected_type": "OptimStepResponse", "outcomes": [
            outcome(s, n, r if isinstance(r, list) else [r]) for n, r in OUTCOMES]})
