"""A server on loopback with the interface of OpenAI, whose model follows a script, and which fails as it is told.

The model answers with one of the choices of the JSON schema, or of the prompt, by the prompt and the seed alone.
"""

import hashlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = "sk-atokenoftests"
FAULTS = ("500", "429", "cut", "json", "slow", "drop")
"""What may happen to a request: two statuses, a body that ends early, one that is no JSON, a delay, no answer."""


class ModelServer(ThreadingHTTPServer):
    """`with ModelServer() as server` starts and stops it."""

    daemon_threads = True

    def __init__(self, every: int = 0, answer=None, model="scripted-1", key="", body=None):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.every, self.answer, self.model, self.key = every, answer or first_choices, model, key
        self.body = body
        """Every so many requests one fails, each time in another way; 0: none."""
        self.asked, self.answered, self.bodies, self.lock = 0, [], [], threading.Lock()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


def first_choices(body):
    schema = body["response_format"]["json_schema"]["schema"]["properties"]["answer"]
    number = int(hashlib.sha256(json.dumps([body["messages"], body["seed"]]).encode()).hexdigest(), 16)
    return json.dumps({"answer": schema["enum"][number % len(schema["enum"])]})


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else a body waits 40 ms until its headers are acknowledged

    def log_message(self, *_):
        pass

    def do_POST(self):
        server = self.server
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        with server.lock:
            server.asked += 1
            number = server.asked
        fails = server.every and number % server.every == 0
        fault = FAULTS[number // server.every % len(FAULTS)] if fails else ""
        if server.key and self.headers.get("Authorization") != f"Bearer {server.key}":
            return self._send(401, json.dumps({"error": f"wrong key {self.headers.get('Authorization')}"}).encode())
        if fault == "drop":
            self.close_connection = True
            return self.connection.close()
        if fault in ("500", "429"):
            return self._send(int(fault), b"{}")
        if fault == "json":
            return self._send(200, b'{"choices": [{"mess')
        if server.body is not None:
            return self._send(200, server.body)
        if fault == "slow":
            time.sleep(0.05)
        body = json.loads(raw)
        said = server.answer(body)
        words = sum(len(each["content"].split()) for each in body["messages"])
        usage = {"prompt_tokens": words, "completion_tokens": 1}
        message = {"role": "assistant", "content": said}
        content = json.dumps({"model": server.model, "choices": [{"message": message}], "usage": usage}).encode()
        if fault != "cut":
            with server.lock:
                server.answered.append(hashlib.sha256(raw).hexdigest())
                server.bodies.append(body)
        self._send(200, content, cut=fault == "cut")

    def _send(self, status, content, cut=False):
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        if status == 429:
            self.send_header("Retry-After", "0")
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if cut else content)
        if cut:
            self.close_connection = True
