"""A server with the interface of OpenAI's chat completions, over HTTP: vLLM, llama.cpp, Ollama, hosted models.

The key is read from an environment variable, and neither stored nor shown. Requests go to the given address only, and
redirections are not followed.
"""

import json
import math
import os
import re
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from threading import Lock
from typing import Any, ClassVar
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
)
from urllib.request import (
    Request as HttpRequest,
)

from ecsuite.language_models.asking import GO_ON
from ecsuite.language_models.backend import Backend, Reply, Request
from ecsuite.parts.config import Accuracy, Count, Natural, Positive, Weight
from ecsuite.runtime.errors import ConfigError, shown
from ecsuite.runtime.printable import printable

AGAIN = (408, 409, 425, 429, 500, 502, 503, 504, 529)
"""HTTP statuses after which a request is sent again."""
NO_ANSWER = (
    OSError, HTTPException, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError
)  # fmt: skip
"""Errors of the network, or of an unexpected response body; URLError is an OSError."""
MOST_BYTES = 1 << 22
"""Maximum bytes of a response."""
LONGEST_WAIT = 120.0
"""Maximum seconds between two attempts, even if the server asks for more."""
FENCE = re.compile(r"```(?:json)?\s(.*?)```", re.DOTALL | re.IGNORECASE)
"""A block of code in Markdown, into which some models put their JSON."""
THOUGHTS = re.compile(r"\s*<think>.*?(?:</think>\s*|\Z)", re.DOTALL)
"""Reasoning before an answer, if the server does not remove it."""
BEGUN = re.compile(r'(?:```(?:json)?)?\s*\{\s*"answer"', re.IGNORECASE)
"""The beginning of the requested JSON."""
FILE_PATH = re.compile(r"[/\\~]|[A-Za-z]:[/\\]")
"""The beginning of a file path, which llama.cpp reports as the name of a model."""
MOST_TOLD = 200
"""Maximum number of shown characters of a server's error message."""
LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""Addresses without a proxy."""


class Server(Backend):
    """A model on a server.

    Raises:
        ConfigError: If address or model is missing, or the key is not valid.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of a server."""

        url: str = ""
        """Address of the server, including the version: http://127.0.0.1:8000/v1."""
        model: str = ""
        """Name of the model on the server."""
        key_variable: str = ""
        """Environment variable with the key; empty: the server needs no key."""
        temperature: Weight = 1.0
        """Temperature of the answers; 0: the most likely answers, and equal questions are asked once."""
        top_p: Accuracy = 1.0
        """Nucleus sampling: share of the probability that answers are drawn from."""
        answer_tokens: Count = 32
        """Maximum number of tokens of an answer."""
        structured: bool = True
        """Whether the server restricts answers to a JSON schema; otherwise invalid answers are asked for again."""
        concurrency: Count = 4
        """Number of concurrent requests."""
        per_minute: Positive | None = None
        """Maximum number of requests per minute; null: no limit."""
        timeout: Positive = 60.0
        """Seconds without an answer after which a request is sent again."""
        retries: Natural = 6
        """Number of repeated requests after an error of the network or of the server."""
        wait: Positive = 1.0
        """Seconds before a request is repeated; doubled each time, or as long as the server asks."""

        changeable: ClassVar[tuple[str, ...]] = (
            "url", "key_variable", "concurrency", "per_minute", "timeout", "retries", "wait"
        )  # fmt: skip
        """Options that may change when a run is resumed."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.is_drawn, self.concurrency = options.temperature > 0, options.concurrency
        parts = urlsplit(options.url)
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ConfigError(
                "url: expected an address without a key: put the key into the environment variable of key_variable"
            )
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(
                f"url: expected an address such as http://127.0.0.1:8000/v1, got {shown(options.url)}"
            )
        if not options.model:
            raise ConfigError("model: expected the name of a model of the server")
        self._key = os.environ.get(options.key_variable, "").strip() if options.key_variable else ""
        if not (
            self._key.isascii() and self._key.isprintable()
        ):  # not a valid header, and errors of HTTP would show it
            raise ConfigError(f"key_variable: {options.key_variable}: expected a key of plain characters")
        self._opener = OpenerDirector()
        proxies = ProxyHandler({} if parts.hostname in LOOPBACK else None)
        for handler in (
            proxies,
            HTTPHandler(),
            HTTPSHandler(),
            HTTPDefaultErrorHandler(),
            HTTPErrorProcessor(),
        ):
            self._opener.add_handler(handler)
        self._lock, self._next = Lock(), 0.0

    def check(self) -> None:
        """Raise `ConfigError` if the key is not set; replays need no key."""
        if self.options.key_variable and not self._key:
            raise ConfigError(
                f"backend.key_variable: {self.options.key_variable} is not set in the environment"
            )

    @property
    def settings(self) -> dict[str, Any]:
        """Model and sampling."""
        names = ("model", "temperature", "top_p", "answer_tokens", "structured")
        return {"backend": "server", **{name: getattr(self.options, name) for name in names}}

    def reply(self, request: Request) -> Reply:
        """Send a request, and repeat it after transient errors.

        Raises:
            ConfigError: If the request fails, or the server rejects it.
        """
        options = self.options
        if self.is_over.is_set():
            raise ConfigError(f"{options.url}: stopped while waiting for an answer; {GO_ON}")
        system = [{"role": "system", "content": request.system}] if request.system else []
        body: dict[str, Any] = {
            "model": options.model, "messages": [*system, {"role": "user", "content": request.user}],
            "temperature": options.temperature, "top_p": options.top_p, "max_tokens": options.answer_tokens,
            "seed": request.draw,
        }  # fmt: skip
        if options.structured:
            schema = {"name": "answer", "strict": True, "schema": request.allowed.schema()}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        content = json.dumps(body).encode()
        for number in range(options.retries + 1):
            if options.per_minute is not None:
                with self._lock:
                    now = time.monotonic()
                    turn = max(now, self._next)
                    self._next = turn + 60 / options.per_minute
                self.is_over.wait(turn - now)
            try:
                return self._read(self._send(content), request)
            except HTTPError as error:
                message = self._error_message(error)
                if error.code not in AGAIN:
                    raise ConfigError(self._refusal(error.code, message)) from None
                told, least = _answered(error.code, message), _seconds(error.headers.get("Retry-After"))
            except NO_ANSWER as error:
                reason = error.reason if isinstance(error, URLError) else error
                told, least = f"can't be asked ({shown(str(reason) or type(reason).__name__)})", 0.0
            if number < options.retries:
                self.is_over.wait(min(max(options.wait * 2**number, least), LONGEST_WAIT))
            if self.is_over.is_set():
                break
        raise ConfigError(f"{options.url}: {told}, {number + 1} times; {GO_ON}")

    def _send(self, body: bytes) -> Any:
        headers = {"Content-Type": "application/json", "User-Agent": "ecsuite"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        address = f"{self.options.url.rstrip('/')}/chat/completions"
        seconds = self.options.timeout
        end, content = time.monotonic() + seconds, b""
        with self._opener.open(HttpRequest(address, body, headers), timeout=seconds) as response:
            while (piece := response.read1(1 << 16)) and len(content) < MOST_BYTES:
                content += piece
                if time.monotonic() > end:  # also limits responses that arrive slowly
                    raise TimeoutError("timed out")
        return json.loads(content[:MOST_BYTES])

    def _read(self, answer: Any, request: Request) -> Reply:
        """Read the reply in the server's JSON; raise an error of `NO_ANSWER` if there is none."""
        choice = answer["choices"][0]
        content = choice["message"]["content"]
        if not isinstance(content, str):
            raise ValueError("an answer without text")
        thoughts = THOUGHTS.match(content)
        text = content[thoughts.end() :] if thoughts else content
        found = None
        if self.options.structured:
            found = _parse_json(text)
            if found is None and (fenced := FENCE.search(text)):
                found = _parse_json(fenced[1])
        if isinstance(found, dict) or (self.options.structured and found is None and BEGUN.match(text)):
            value = (found or {}).get("answer")  # None if the JSON was cut
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            text = str(value) if isinstance(value, str) or is_number else ""
        elif not request.allowed.choices and choice.get("finish_reason") == "length":
            text = text.lstrip().rpartition("\n")[0]  # the end of a truncated message is unknown
        usage = answer.get("usage")
        counts = usage if isinstance(usage, dict) else {}
        name = answer.get("model") or self.options.model
        if isinstance(name, str) and FILE_PATH.match(name):
            name = re.split(r"[/\\]", name)[-1]  # removes folder names of the server's machine
        parts = (name, answer.get("system_fingerprint"))
        return Reply(
            text=text[:MOST_BYTES],
            model=printable(" ".join(str(part)[:200] for part in parts if part)),
            prompt_tokens=self._count(counts.get("prompt_tokens"), request.system, request.user),
            answer_tokens=self._count(counts.get("completion_tokens"), content),
        )

    def _count(self, value: Any, *texts: str) -> int:
        """Number of tokens from the server, otherwise an estimate from the texts."""
        is_count = type(value) is int and 0 <= value < 2**31
        return value if is_count else sum(self.num_tokens(text) for text in texts)

    def _error_message(self, error: HTTPError) -> str:
        """Message of a server's error, without the key; may be empty."""
        with error:
            try:
                said = error.read1(1 << 16).decode(errors="replace")
            except NO_ANSWER:
                return ""
        found = _parse_json(said)
        for name in ("error", "message"):  # keys of OpenAI, vLLM and llama.cpp
            found = found.get(name, found) if isinstance(found, dict) else found
        text = " ".join((found if isinstance(found, str) else said).split())
        return printable(text.replace(self._key, "…") if self._key else text)[:MOST_TOLD]

    def _refusal(self, status: int, told: str) -> str:
        """Explain a status and what to do."""
        meanings = {
            401: "the server does not accept the key",
            403: "the server does not allow this request with this key",
            404: f"the server has no model {shown(self.options.model)}, or nothing at this address",
        }
        if status in meanings:
            return f"{self.options.url}: {meanings[status]}; {GO_ON}"
        advice = GO_ON
        if status == 400 and self.options.structured:
            advice = "set structured=false for a server without JSON schemas"
        return f"{self.options.url}: {_answered(status, told)}; {advice}"


def _parse_json(text: str) -> Any:
    """Parse JSON; None if it is not valid."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def _answered(status: int, message: str) -> str:
    return f"answered {status}" + (f" ({message})" if message else "")


def _seconds(text: str | None) -> float:
    """Seconds of `Retry-After`, which may be a date; 0 without it."""
    try:
        seconds = float(text or 0)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(str(text)).timestamp() - time.time()
        except (ValueError, OverflowError):
            return 0.0
    return seconds if math.isfinite(seconds) and seconds > 0 else 0.0
