"""Ask a backend: stored answers first, several questions at once, within limits; estimate the cost of a run."""

import errno
import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from math import fsum
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar

import msgspec

from ecsuite.files.atomic_files import write_atomically
from ecsuite.files.checksums import CHECKSUM, checksum_of, sealed
from ecsuite.formats.directory import BESIDE
from ecsuite.language_models.backend import Backend, Drawn, Reply, Request
from ecsuite.parts.config import Count, Positive, Weight
from ecsuite.runtime.errors import RUN_AGAIN, ConfigError, LimitError, shown

KEY = "answers"
"""Key of the file's checksum in the metadata of a run."""
FILE = BESIDE[KEY]
"""Name of the file in a run folder."""
SECONDS_TO_STORE = 0.002
"""Approximate time to render a prompt and to store its answer."""
GO_ON = f"nothing is lost: {RUN_AGAIN}"
"""Advice after a run that can be resumed."""


def digest(content: Any) -> str:
    """SHA-256 of JSON-ready content."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@dataclass(slots=True)
class Used:
    """Calls and tokens of one participant."""

    calls: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    models: list[str] = field(default_factory=list)
    """Models that answered, in the order of their first answers."""

    @property
    def tokens(self) -> int:
        """Tokens of prompts and answers."""
        return self.prompt_tokens + self.answer_tokens


class KeptAnswers:
    """Stored answers of a run, one per line, by the digest of backend settings, prompt, allowed answers and draw.

    Args:
        folder: Run folder; None: answers are in memory only.
        note: Called with a message about damaged lines, whose questions are asked again.
        is_read_only: Whether the file must not be changed.

    Attributes:
        replies: Replies by digest of the question.
        used: Calls and tokens by digest of participant and backend settings.
        first: Probabilities of choices in the first rounds of agents, by the same digest, if the backend has them.
    """

    def __init__(
        self,
        folder: Path | None = None,
        note: Callable[[str], None] = lambda _: None,
        *,
        is_read_only: bool = False,
    ) -> None:
        self.file = None if folder is None else folder / FILE
        self._lock, self.replies, self._lines = Lock(), dict[str, Reply](), dict[str, bytes]()
        self.used: defaultdict[str, Used] = defaultdict(Used)
        self.first: defaultdict[str, list[Mapping[str, float]]] = defaultdict(list)
        if self.file is None or not self.file.exists():
            return
        damaged = 0
        lines = self.file.read_bytes().splitlines(keepends=True)
        for number, line in enumerate(lines):
            try:
                row = json.loads(line)
                if not line.endswith(b"\n") or row[CHECKSUM] != checksum_of(row):
                    raise ValueError
                self._take(row, line)
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError, msgspec.MsgspecError):
                damaged += number < len(lines) - 1  # the last line may be cut by a killed process
        if damaged:
            note(
                f"{self.file}: {damaged} answers are damaged{'' if is_read_only else ' and asked for again'}"
            )
        if len(self._lines) < len(lines) and not is_read_only:
            write_atomically(self.file, self._lines.values())

    def _take(self, row: Mapping[str, Any], line: bytes) -> None:
        reply = msgspec.convert({name: row[name] for name in Reply.__slots__ if name in row}, Reply)
        used = self.used[row["backend"]]
        used.calls += 1
        used.prompt_tokens += reply.prompt_tokens
        used.answer_tokens += reply.answer_tokens
        if reply.model not in used.models:
            used.models.append(reply.model)
        if reply.choice_probabilities is not None and row["round"] == 1:
            self.first[row["backend"]].append(reply.choice_probabilities)
        self.replies[row["key"]], self._lines[row["key"]] = reply, line

    def add(self, key: str, backend: str, request: Request, reply: Reply) -> None:
        """Store an answer in the file before it is used.

        Raises:
            ConfigError: If the answer can't be written; the file is then unchanged.
        """
        known = {name: getattr(reply, name) for name in Reply.__slots__}
        if reply.choice_probabilities is None:
            del known["choice_probabilities"]
        row = {"key": key, "backend": backend, **known}
        row |= {"system": request.system, "user": request.user, "draw": request.draw}
        row["round"] = len(request.past) + 1
        line = json.dumps(sealed(row)).encode() + b"\n"
        with self._lock:
            if self.file is not None:
                with self.file.open("ab", buffering=0) as opened:
                    before = opened.tell()
                    try:
                        if opened.write(line) < len(line):
                            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                    except OSError as error:
                        opened.truncate(before)
                        raise ConfigError(
                            f"{self.file}: can't be written: {error.strerror}; earlier answers are stored: {RUN_AGAIN}"
                        ) from None
            self._take(row, line)

    def sort(self) -> None:
        """Sort the file by key, so that it does not depend on the order of answers."""
        if self.file is not None and self._lines:
            write_atomically(self.file, [self._lines[key] for key in sorted(self._lines)])


@dataclass(frozen=True, kw_only=True, slots=True)
class AskingOptions:
    """Retries and limits of questions to a model."""

    tries: Count = 5
    """Maximum number of attempts, each with another draw, before an answer that is not allowed stops the run."""
    max_calls: Count | None = None
    """Maximum number of calls of this participant in the run, including calls before a resume; null: no limit."""
    max_tokens: Count | None = None
    """Maximum number of tokens of its prompts and answers in the run; null: no limit."""
    prompt_price: Weight = 0.0
    """Price of a million tokens of prompts, in any currency."""
    answer_price: Weight = 0.0
    """Price of a million tokens of answers."""
    max_cost: Positive | None = None
    """Maximum cost of its prompts and answers in the run by these prices; null: no limit."""

    changeable: ClassVar[tuple[str, ...]] = (
        "tries", "max_calls", "max_tokens", "prompt_price", "answer_price", "max_cost"
    )  # fmt: skip
    """Options that may change when a run is resumed."""

    def __post_init__(self) -> None:
        """Raise `ConfigError` for a limit of costs without a price."""
        if self.max_cost is not None and not (self.prompt_price or self.answer_price):
            raise ConfigError("max_cost: needs prompt_price and answer_price, per million tokens")

    def cost(self, tokens: "Used | Cost") -> float:
        """Price of tokens."""
        return (self.prompt_price * tokens.prompt_tokens + self.answer_price * tokens.answer_tokens) / 1e6


class Asker:
    """Questions of one participant to one backend.

    Args:
        backend: Backend that answers.
        options: Retries and limits.
        place: Section of the config, for messages.

    Attributes:
        kept: Stored answers.
        earlier: Answers of another run, which replace the backend; None: the backend is asked.
    """

    def __init__(self, backend: Backend, options: AskingOptions, place: str) -> None:
        self.backend, self.options, self.place = backend, options, place
        self.kept = KeptAnswers()
        self.earlier: KeptAnswers | None = None
        self._settings = backend.settings
        # Two participants with the same model have separate limits and costs.
        self._asks = digest([place, self._settings])
        self._lock = Lock()
        self._under_way = 0

    @property
    def used(self) -> Used:
        """Calls and tokens of this participant in this run."""
        return self.kept.used[self._asks]

    @property
    def first_choices(self) -> dict[str, float]:
        """Mean probability of each choice in the first rounds of agents; empty if the backend does not have it."""
        first = self.kept.first[self._asks]
        return {name: fsum(each.get(name, 0.0) for each in first) / len(first) for name in chain(*first)}

    def ask(self, requests: Sequence[Request]) -> list[str]:
        """Answer several independent questions; equal questions are asked once.

        Raises:
            LimitError: If a limit is reached.
            ConfigError: If there is no allowed answer; received answers are stored.
        """
        keys = [digest([self._settings, *each.content(), each.draw]) for each in requests]
        asked = dict(zip(keys, requests, strict=True))
        backend = self.backend
        if backend.batch_size > 1 and self.earlier is None:
            self._store_together({key: each for key, each in asked.items() if key not in self.kept.replies})
        if len(asked) == 1 or backend.concurrency == 1:
            answers = {key: self._answer(key, request) for key, request in asked.items()}
            return [answers[key] for key in keys]
        with ThreadPoolExecutor(backend.concurrency) as pool:
            was_over = backend.is_over.is_set()
            running = {key: pool.submit(self._answer, key, request) for key, request in asked.items()}
            is_done = False
            try:
                done, _ = wait(running.values(), return_when=FIRST_EXCEPTION)
                for each in done:
                    each.result()  # raises the first error
                is_done = True
            finally:
                if not is_done:  # waits for pending requests, whose answers are stored
                    backend.is_over.set()
                    pool.shutdown(cancel_futures=True)
                    if not was_over:
                        backend.is_over.clear()
            return [running[key].result() for key in keys]

    def _store_together(self, requests: Mapping[str, Request]) -> None:
        """Let the backend answer batches of requests, by key, within the limits, and store the replies."""
        size, items = self.backend.batch_size, list(requests.items())
        for batch in (items[start : start + size] for start in range(0, len(items), size)):
            begun = 0
            try:
                # A limit that is reached here is reported by the first request without an answer.
                with suppress(LimitError):
                    for _ in batch:
                        self._begin()
                        begun += 1
                replies = self.backend.replies([request for _, request in batch[:begun]]) if begun else []
                for (key, request), reply in zip(batch, replies, strict=False):
                    self.kept.add(key, self._asks, request, reply)
            finally:
                self._under_way -= begun

    def _answer(self, key: str, request: Request) -> str:
        """An allowed answer, with another draw for each try."""
        backend = self.backend
        reply = self._reply(key, request)
        tries = 1
        while (answer := request.allowed.read(reply.text)) is None:
            if tries == self.options.tries or not backend.is_drawn:
                break
            again = replace(request, draw=request.draw + tries)
            reply = self._reply(digest([self._settings, *again.content(), again.draw]), again)
            tries += 1
        else:
            return answer
        # A new attempt would read these stored replies again.
        advice = f"{GO_ON}, with more {self.place}.tries"
        if not backend.is_drawn:
            advice = "its answer is deterministic: change the prompt, or use a temperature above 0"
        most = getattr(backend.options, "answer_tokens", None)
        if most is not None and reply.answer_tokens >= most:
            advice = (
                f"it was cut after {self.place}.backend.answer_tokens={most}: expected more, in another run"
            )
        raise ConfigError(
            f"{self.place}: {shown(reply.text)} is not {request.allowed.sentence():.200}; asked {tries} times; {advice}"
        )

    def _reply(self, key: str, request: Request) -> Reply:
        """A stored reply, or a new one, which is stored."""
        if (reply := self.kept.replies.get(key)) is not None:
            return reply
        if self.earlier is not None:
            if (reply := self.earlier.replies.get(key)) is None:
                raise ConfigError(f"{self.place}: --replay: an answer is not among the stored answers")
            self.kept.add(key, self._asks, request, reply)
            return reply
        self._begin()
        try:
            reply = self.backend.reply(request)
            with self._lock:
                if (models := self.used.models) and reply.model != models[0]:
                    raise ConfigError(
                        f"{self.place}: the server's model was {shown(models[0])} and is now {shown(reply.model)}: "
                        f"with the first model, {RUN_AGAIN}, or begin another run with --out"
                    )
                self.kept.add(key, self._asks, request, reply)
        finally:
            with self._lock:
                self._under_way -= 1
        return reply

    def _begin(self) -> None:
        """Count a new call; raise `LimitError` above a limit."""
        options = self.options
        with self._lock:
            used, calls = self.used, self.used.calls + self._under_way
            if options.max_calls is not None and calls >= options.max_calls:
                name, limit = "calls", f"{options.max_calls:,} calls"
            elif options.max_tokens is not None and used.tokens >= options.max_tokens:
                name, limit = "tokens", f"{options.max_tokens:,} tokens"
            elif options.max_cost is not None and options.cost(used) >= options.max_cost:
                name, limit = "cost", f"{options.max_cost:,}"
            else:
                self._under_way += 1
                return
        raise LimitError(f"{self.place}.max_{name}: the limit of {limit} is reached; {GO_ON}")


@dataclass(kw_only=True, slots=True)
class Cost:
    """Calls, tokens, time and price of a run."""

    backend: Backend
    """Backend of the run."""
    options: AskingOptions
    """Options with the prices."""
    questions: dict[str, Request] = field(default_factory=dict)
    """Distinct questions by digest, independent of their draws."""
    calls: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0

    def to_json(self) -> dict[str, Any]:
        """Calls, tokens, hours and price, JSON-ready."""
        seconds_per_call = self.backend.seconds_of(list(self.questions.values()))
        concurrency, per_minute = self.backend.concurrency, getattr(self.backend.options, "per_minute", None)
        num_slow = len(self.questions) if self.backend.remembers else self.calls
        seconds = max(num_slow * seconds_per_call / concurrency, self.calls * SECONDS_TO_STORE)
        if per_minute is not None:
            seconds = max(seconds, 60 * self.calls / per_minute)
        return {
            "seconds_per_call": seconds_per_call, "concurrency": concurrency, "per_minute": per_minute,
            "calls": self.calls, "prompt_tokens": self.prompt_tokens, "answer_tokens": self.answer_tokens,
            "hours": seconds / 3600, "cost": self.options.cost(self),
        }  # fmt: skip


class PlanningBackend(Drawn):
    """Random answers instead of a backend, to count questions.

    At temperature 0, equal questions have equal answers, and different questions have different answers.

    Args:
        backend: Backend of the planned run.
        options: Options with its prices.
    """

    def __init__(self, backend: Backend, options: AskingOptions) -> None:
        super().__init__(backend.options)
        self.backend, self.is_drawn = backend, backend.is_drawn
        self.cost = Cost(backend=backend, options=options)

    def reply(self, request: Request) -> Reply:
        """Draw an allowed answer."""
        question = digest(request.content())
        if not self.is_drawn:
            request = replace(request, draw=int(question[:8], 16))
        reply = super().reply(request)
        self.cost.questions.setdefault(question, request)
        self.cost.calls += 1
        self.cost.prompt_tokens += reply.prompt_tokens
        self.cost.answer_tokens += reply.answer_tokens
        return reply

    def num_tokens(self, text: str) -> int:
        """Count tokens as the backend does."""
        return self.backend.num_tokens(text)
