"""What a backend is: it answers a request, and says what model it was that answered."""

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from threading import Event
from typing import Any, ClassVar

import numpy as np

from ecsuite.language_models.allowed import Allowed
from ecsuite.parts.own_code import NoOptions
from ecsuite.runtime.errors import ConfigError

NO_TERMINAL = "backend typed: expected a terminal at which a person answers"
PERSON = "person"
"""The model of what people answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """A question to a model."""

    system: str
    user: str
    allowed: Allowed
    draw: int
    """Another number is another draw of the same answer; 0 where nothing is drawn."""
    choices: tuple[str, ...] = ()
    """The answers to choose from, in the order that the prompt has them in."""
    past: Sequence[Any] = ()
    """The rounds that the agent was in, for a person, who is told what came of the last one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What a model said."""

    text: str
    model: str
    """The model and its revision, as far as the backend knows."""
    prompt_tokens: int
    answer_tokens: int


class Backend(ABC):
    """Answers requests; used by several threads at once where `concurrency` is more than 1."""

    Options: ClassVar[type] = NoOptions

    def __init__(self, options: Any) -> None:
        self.options = options
        self.is_over = Event()
        """Set when nobody waits for answers any more."""

    @property
    def settings(self) -> dict[str, Any]:
        """What changes an answer: part of the digest by which it is kept. All options, unless a backend says which."""
        return {"backend": type(self).__name__, **asdict(self.options)}

    @property
    def is_drawn(self) -> bool:
        """Whether the same question may have another answer."""
        return True

    @property
    def concurrency(self) -> int:
        """How many requests are answered at once."""
        return 1

    @property
    def batch_size(self) -> int:
        """How many requests `replies` takes at most, where it is faster than `reply` of each."""
        return 1

    @property
    def seconds_per_call(self) -> float:
        """How long an answer takes: an assumption, unless the backend measures it."""
        return 1.0

    def require(self, allowed: Allowed) -> None:
        """Refuse answers that the backend can't be held to, by `ConfigError`."""
        return

    def check(self) -> None:
        """Refuse what nobody can answer, before anything is written, by `ConfigError`."""
        return

    @abstractmethod
    def reply(self, request: Request) -> Reply:
        """Answer a request; `ConfigError` in one line where that can't be done."""

    def replies(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer several requests, none of which depends on another."""
        return [self.reply(each) for each in requests]

    def num_tokens(self, text: str) -> int:
        """Tokens of a text: counted, or about a token for four characters."""
        return -(-len(text) // 4)


class Drawn(Backend):
    """Answers at random: what a study costs is found out with it, and that its files are right."""

    @property
    def seconds_per_call(self) -> float:
        """About a millisecond."""
        return 0.001

    def reply(self, request: Request) -> Reply:
        """An answer that is allowed, by the number of the draw."""
        text = request.allowed.drawn(np.random.default_rng([request.draw, *b"drawn"]))
        length = self.num_tokens(request.system) + self.num_tokens(request.user)
        return Reply(text=text, model="drawn", prompt_tokens=length, answer_tokens=self.num_tokens(text))


class Typed(Backend):
    """A person at the terminal of this process, whose answers are kept as those of a model."""

    def check(self) -> None:
        """Refuse to go on without a terminal."""
        try:
            open("/dev/tty", "r+b", buffering=0).close()
        except OSError:
            raise ConfigError(NO_TERMINAL) from None

    def reply(self, request: Request) -> Reply:
        """What the person types.

        Raises:
            ConfigError: If there is no terminal.
        """
        try:
            with open("/dev/tty", "r+b", buffering=0) as terminal:
                terminal.write(f"\n{request.user}\n> ".encode())
                said = b""
                while not said.endswith(b"\n"):
                    said += os.read(terminal.fileno(), 1024) or b"\n"
        except OSError:
            raise ConfigError(NO_TERMINAL) from None
        text = said.decode(errors="replace").strip()
        return Reply(text=text, model=PERSON, prompt_tokens=0, answer_tokens=0)


class Person(ABC):
    """Somebody who answers at a page."""

    def __init__(self) -> None:
        self.is_over = Event()
        """Set when nobody waits for answers any more: models are then asked nothing further."""

    @abstractmethod
    def answer(self, request: Request) -> str:
        """Wait for the answer to a question."""


class Page(Backend):
    """A person at a page of `ecsuite people`, whose answers are kept as those of a model."""

    person: Person | None = None
    """Who answers, as soon as somebody has a place."""

    @property
    def seconds_per_call(self) -> float:
        """An assumption."""
        return 10.0

    def check(self) -> None:
        """Refuse to go on without a person."""
        if self.person is None:
            raise ConfigError("backend page: a person answers: expected `ecsuite people play` with this game")

    def reply(self, request: Request) -> Reply:
        """What the person answers."""
        assert self.person is not None
        return Reply(text=self.person.answer(request), model=PERSON, prompt_tokens=0, answer_tokens=0)
