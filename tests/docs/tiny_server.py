#!/usr/bin/env python3
"""The server that the examples of README.md are run against: capabilities, and {} for the rest.
Prints its port when it listens; the parent kills it."""
import http.server
import json

MODELS = {"supported_models": [{"model_name": "pebble-llama-2m"}]}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def reply(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        body = json.dumps(MODELS if "capabilities" in self.path else {}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = reply

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
