"""The server that the official SDK talks to while we record it.

Standard library only. Listens on a free loopback port, answers every endpoint with the
smallest body the SDK accepts, and keeps each request whole (method, target, headers in
the order and case they came, body) while a recording is on. What a future resolves to is
decided by the driver through `resolve`; `polls` scripts what retrieve_future says before
that.
"""

import base64
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

SESSION = "00000000-0000-4000-8000-000000000001"
RUN = SESSION + ":train:0"
JSON = "application/json"
PROTOBUF = "application/x-protobuf"


def b64url(data):
    return base64.urlsafe_b64encode(json.dumps(data).encode()).rstrip(b"=").decode()


# Expires in 2100: the client must not refresh it while it is being recorded.
JWT = ".".join(
    [
        b64url({"alg": "none"}),
        b64url({"exp": 4102444800, "sub": "tinker:user:1", "email": "a@example.com",
                "iss": "passport-test", "org": "tinker:org:1", "org_id": "1"}),
        "signature",
    ]
)

CHECKPOINT = {
    "checkpoint_id": "weights/0001",
    "checkpoint_type": "training",
    "time": "2026-01-02T03:04:05Z",
    "tinker_path": f"tinker://{RUN}/weights/0001",
}
TRAINING_RUN = {
    "training_run_id": RUN,
    "base_model": "Qwen/Qwen3-8B",
    "model_owner": "tinker:user:1",
    "is_lora": True,
    "last_request_time": "2026-01-02T03:04:05Z",
}


class Reply:
    def __init__(self, status=200, body=None, content_type=JSON, headers=(), delay=0):
        self.status = status
        self.delay = delay
        self.headers = list(headers)
        self.content_type = content_type
        if isinstance(body, bytes):
            self.body = body
        else:
            self.body = b"" if body is None else json.dumps(body).encode()


class State:
    """What one case needs; a fresh one per case."""

    def __init__(self):
        self.client_config = {}
        self.dynamic_config = {"refresh_interval_sec": 300}
        self.polls = []  # Replies given by retrieve_future before the result
        self.replies = {}  # path -> Reply or list of them, before the default answer
        self.resolve = None  # (path, parsed or raw body) -> (request id, Reply)
        self.results = {}
        self.models = 0
        self.samplers = 0
        self.log = []
        self.recording = False
        self.arrived = threading.Condition()


class Recorder:
    def __init__(self):
        self.state = State()
        recorder = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *args):
                pass

            def handle_one(self):
                length = int(self.headers.get("content-length") or 0)
                body = self.rfile.read(length)
                reply = recorder.handle(self.command, self.path, list(self.headers.items()), body)
                time.sleep(reply.delay)
                self.send_response(reply.status)
                if reply.body or reply.status != 204:
                    self.send_header("Content-Type", reply.content_type)
                    self.send_header("Content-Length", str(len(reply.body)))
                for name, value in reply.headers:
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(reply.body)

            do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = handle_one

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, address):
                pass  # a client that left in the middle of an answer

        self.http = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def handle(self, method, target, headers, body):
        state = self.state
        parts = urlsplit(target)
        if state.recording:
            with state.arrived:
                state.log.append(
                    {
                        "method": method,
                        "path": parts.path,
                        "query": parts.query,
                        "params": parse_qsl(parts.query, keep_blank_values=True),
                        "headers": headers,
                        "body": body,
                    }
                )
                state.arrived.notify_all()
        content_type = next((v for n, v in headers if n.lower() == "content-type"), "")
        parsed = json.loads(body) if body and "json" in content_type else None
        scripted = state.replies.get(parts.path)
        if isinstance(scripted, list):
            scripted = scripted.pop(0) if scripted else None
        if scripted is not None:
            return scripted
        return answer(state, method, parts.path, parsed, body)

    def wait_for(self, predicate, seconds):
        with self.state.arrived:
            return self.state.arrived.wait_for(
                lambda: any(predicate(r) for r in self.state.log), seconds
            )


FUTURES = {
    "/api/v1/create_model",
    "/api/v1/unload_model",
    "/api/v1/forward_backward",
    "/api/v1/optim_step",
    "/api/v1/save_weights",
    "/api/v1/save_weights_for_sampler",
    "/api/v1/save_weights_external",
    "/api/v1/load_weights",
    "/api/v1/asample",
    "/api/v1/create_custom_loss",
}


def answer(state, method, path, parsed, body):
    if path in FUTURES:
        request_id, result = state.resolve(path, parsed, body)
        state.results[request_id] = result
        reply = {"request_id": request_id}
        if path == "/api/v1/asample":
            count = (parsed or {}).get("num_samples", 1)
            reply["sample_sequence_ids"] = [f"{request_id}:{i}" for i in range(count)]
        return Reply(body=reply)
    if path == "/api/v1/retrieve_future":
        if state.polls:
            return state.polls.pop(0)
        return state.results[parsed["request_id"]]
    fixed = FIXED.get((method, path))
    if callable(fixed):
        return Reply(body=fixed(state, parsed))
    if fixed is not None:
        return Reply(body=fixed)
    return answer_rest(method, path)


def create_sampling_session(state, parsed):
    return {"sampling_session_id": f"{SESSION}:sample:{parsed['sampling_session_seq_id']}"}


def retrieve_futures(state, parsed):
    done = [
        {"state": "finished", "request_id": r, "response_payload_uncompressed_size": 64}
        for r in sorted(state.results)
    ]
    return {"completions": done, "cursor": 7}


PAGE = {"offset": 0, "limit": 20, "total_count": 1}
FIXED = {
    ("POST", "/api/v1/client/config"): lambda state, _: state.client_config,
    ("POST", "/api/v1/client/dynamic_config"): lambda state, _: state.dynamic_config,
    ("POST", "/api/v1/auth/token"): {"jwt": JWT},
    ("GET", "/api/v1/healthz"): {"status": "ok"},
    ("GET", "/api/v1/get_server_capabilities"): {
        "supported_models": [{"model_name": "Qwen/Qwen3-8B", "max_context_length": 32768}]
    },
    ("POST", "/api/v1/create_session"): {"session_id": SESSION},
    ("POST", "/api/v1/session_heartbeat"): {"type": "session_heartbeat"},
    ("POST", "/api/v1/create_sampling_session"): create_sampling_session,
    ("POST", "/api/v1/join_sampling_session"): {"client_counter": 3},
    ("POST", "/api/v1/retrieve_futures"): retrieve_futures,
    ("POST", "/api/v1/cancel_future"): {},
    ("POST", "/api/v1/get_info"): lambda _, parsed: {
        "model_id": parsed["model_id"],
        "model_data": {"arch": "qwen3", "model_name": "Qwen/Qwen3-8B", "tokenizer_id": "t:1"},
        "is_lora": True,
        "lora_rank": 32,
    },
    ("POST", "/api/v1/telemetry"): {"status": "accepted"},
    ("POST", "/api/v1/weights_info"): {
        "base_model": "Qwen/Qwen3-8B", "is_lora": True, "lora_rank": 16, "train_unembed": False,
        "train_mlp": None, "train_attn": True,
    },
    ("POST", "/api/v1/copy_weights"): {"tinker_path": CHECKPOINT["tinker_path"]},
    ("GET", "/api/v1/training_runs"): {"training_runs": [TRAINING_RUN], "cursor": PAGE},
    ("GET", "/api/v1/checkpoints"): {"checkpoints": [CHECKPOINT], "cursor": PAGE},
    ("GET", "/api/v1/sessions"): {"sessions": [SESSION]},
    ("POST", "/api/v1/sessions/search"): {"sessions": [], "next_cursor": None},
    ("GET", "/api/v1/audit"): {"entries": []},
    ("GET", "/api/v1/billing/usage/events"): {"data": [], "sessions": {}},
    ("GET", "/api/v1/billing/usage/checkpoints/current"): {"data": []},
}


def answer_rest(method, path):
    if path.endswith("/checkpoints"):
        return Reply(body={"checkpoints": [CHECKPOINT], "cursor": None})
    if path.endswith("/archive"):
        return Reply(302, b"", headers=[
            ("Location", "https://download.invalid/archive.tar"),
            ("Expires", "Wed, 27 May 2026 20:00:00 GMT"),
        ])
    if path.endswith("/external_weights_urls"):
        return Reply(body={"urls": {}, "expires": "2026-01-02T03:04:05Z"})
    if path.endswith("/trace_export"):
        return Reply(body={"status": "ready", "url": "https://download.invalid/trace"})
    if method == "DELETE":
        return Reply(204)
    if method == "PUT" or path.endswith(("/publish", "/finish")):
        return Reply(body={})
    if path.startswith("/api/v1/training_runs/"):
        return Reply(body=TRAINING_RUN)
    if path.startswith("/api/v1/sessions/"):
        return Reply(body={"training_run_ids": [RUN], "sampler_ids": []})
    if path.startswith("/api/v1/samplers/"):
        return Reply(body={"sampler_id": path.rsplit("/", 1)[1], "base_model": "Qwen/Qwen3-8B"})
    return Reply(404, {"detail": f"no answer for {method} {path}"})
