"""A proxy between `tinkc gateway` and a Tinker server that keeps what was sampled.

It forwards everything and leaves out `Accept`, so that answers are JSON. What it keeps, by the
seed of the request: [prompt ids, [[ids, logprobs] of each sequence]].
"""
import http.client
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DROPPED = {"host", "accept", "accept-encoding", "connection", "content-length", "transfer-encoding"}


class Proxy:
    def __init__(self, target):
        self.target = target.removeprefix("http://")
        self.lock = threading.Lock()
        self.asked, self.samples = {}, {}
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            connection_to = None

            def log_message(self, *unused):
                pass

            def do_GET(self):
                self.forward()

            do_POST = do_PUT = do_DELETE = do_GET

            def forward(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                headers = {k: v for k, v in self.headers.items() if k.lower() not in DROPPED}
                back = http.client.HTTPConnection(proxy.target, timeout=300)
                back.request(self.command, self.path, proxy.asks(self.path, body), headers)
                answer = back.getresponse()
                data = answer.read()
                back.close()
                if answer.status == 200:
                    data = proxy.answers(self.path, body, data)
                proxy.note(self.path, answer.status, body, data)
                self.send_response(answer.status)
                for key, value in answer.getheaders():
                    if key.lower() not in DROPPED and key.lower() not in ("date", "server"):
                        self.send_header(key, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                try:
                    self.wfile.write(data)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True  # it waits no longer

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def asks(self, path, body):
        """What the server is asked instead of `body`."""
        return body

    def answers(self, path, body, data):
        """What goes back instead of the server's answer."""
        return data

    def note(self, path, status, body, data):
        if status != 200:
            return
        if path.endswith("/asample"):
            request = json.loads(body)
            ids = [i for chunk in request["prompt"]["chunks"] for i in chunk["tokens"]]
            with self.lock:
                self.asked[json.loads(data)["request_id"]] = (request["sampling_params"]["seed"], ids)
        elif path.endswith("/stream_sample"):
            self.note_stream(json.loads(body), data.decode())
        elif path.endswith("/retrieve_future"):
            self.keep(json.loads(body)["request_id"], json.loads(data))
        elif path.endswith("/retrieve_futures"):
            for row in json.loads(data).get("futures", []):
                self.keep(row.get("request_id"), row.get("result") or row)

    def note_stream(self, request, text):
        sampled, logprobs = [], []
        for line in text.splitlines():
            event = json.loads(line[5:]) if line.startswith("data:") else {}
            if "token_id" in event:
                sampled.append(event["token_id"])
                logprobs.append(event["logprob"])
        ids = [i for chunk in request["prompt"]["chunks"] for i in chunk["tokens"]]
        with self.lock:
            self.samples[request["sampling_params"]["seed"]] = [ids, [[sampled, logprobs]]]

    def keep(self, name, answer):
        if isinstance(answer, dict) and "sequences" in answer:
            with self.lock:
                if name in self.asked:
                    seed, ids = self.asked.pop(name)
                    self.samples.setdefault(seed, [ids, []])[1].extend(
                        [s["tokens"], s["logprobs"]] for s in answer["sequences"])
