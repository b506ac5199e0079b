"""Questions to language models, the answers that they allow, and the backends that answer."""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ecsuite.files.data_folder import data_folder
from ecsuite.parts.own_code import NoOptions
from ecsuite.parts.registry import Registry
from ecsuite.runtime.errors import ConfigError

if TYPE_CHECKING:
    import torch

BACKENDS = Registry(
    word="backend",
    parts={
        "server": (
            "ecsuite.language_models.server:Server",
            "a server with the interface of OpenAI: vLLM, llama.cpp, Ollama, hosted ones",
        ),
        "transformers": (
            "ecsuite.language_models.causal:CausalModel",
            "a causal model on this machine, restricted to allowed answers by its logits",
        ),
        "gguf": (
            "ecsuite.language_models.gguf:GgufModel",
            "a model in one file, such as the model of `ecsuite data smollm2`; as transformers",
        ),
        "typed": (
            "ecsuite.language_models.backend:Typed",
            "a person at this terminal, who reads the prompts",
        ),
        "page": (
            "ecsuite.language_models.backend:Page",
            "a person at a page of `ecsuite people`, who reads the prompts",
        ),
        "drawn": ("ecsuite.language_models.backend:Drawn", "answers at random, without any model"),
    },
    base="ecsuite.language_models.backend:Backend",
)
"""Backends by name."""
SMOLLM2 = "smollm2"
"""Name of the model that `ecsuite data smollm2` downloads, and of its data folder."""
MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"
"""File name of the model."""
MODEL_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
"""SHA-256 of the model file."""
NO_TERMINAL = "backend typed: expected a terminal at which a person answers"
PERSON = "person"
"""Model name in the replies of people."""
MOST_NAMED = 40
"""Maximum number of choices or symbols that a sentence lists."""
QUOTES = "\"'`*“” "
"""Characters that are removed at both ends of an answer."""


@dataclass(frozen=True, kw_only=True)
class Allowed:
    """Allowed answers: one of some choices, a sequence of symbols, or (with neither) free text."""

    choices: tuple[str, ...] = ()
    """Answers to choose from."""
    symbols: tuple[str, ...] = ()
    """Letters, syllables or words that answers consist of."""
    separator: str = ""
    """Text between two symbols."""
    max_len: int = 8
    """Maximum number of symbols, or of words in free text."""

    @cached_property
    def _symbol(self) -> re.Pattern[str]:
        by_length = sorted(map(re.escape, self.symbols), key=len, reverse=True)
        return re.compile("|".join(by_length))

    def split(self, text: str) -> tuple[str, ...]:
        """Split an answer into its symbols; a choice is a single symbol."""
        if self.symbols and self.separator:
            return tuple(text.split(self.separator))
        if self.symbols:
            return tuple(self._symbol.findall(text))
        return (text,) if self.choices else tuple(text.split())

    def allows(self, text: str) -> bool:
        """Return whether a text is an allowed answer."""
        if self.choices:
            return text in self.choices
        parts = self.split(text)
        if not self.symbols:
            return 0 < len(parts) <= self.max_len and text.isprintable()
        return (
            0 < len(parts) <= self.max_len
            and set(parts) <= set(self.symbols)
            and self.separator.join(parts) == text
        )

    def begins(self, text: str) -> bool:
        """Return whether an allowed answer can begin with a text."""
        if self.choices:
            return any(choice.startswith(text) for choice in self.choices)
        if not self.symbols:
            return "\n" not in text and len(text.split()) <= self.max_len
        return not text or self._begins(text, self.max_len)

    def _begins(self, text: str, left: int) -> bool:
        """Return whether a text has at most `left` symbols; the last symbol may be unfinished."""
        if left == 0:
            return False
        for symbol in self.symbols:
            if symbol.startswith(text):
                return True
            if text.startswith(symbol):
                rest = text[len(symbol) :]
                if self.separator and not rest.startswith(self.separator):
                    if self.separator.startswith(rest) and left > 1:
                        return True
                    continue
                rest = rest[len(self.separator) :]
                if (not rest and left > 1) or (rest and self._begins(rest, left - 1)):
                    return True
        return False

    def read(self, reply: str) -> str | None:
        """Find the answer in a reply, without quotation marks and a full stop at its end.

        Choices and symbols are matched regardless of case; free text is otherwise unchanged.

        Returns:
            The answer; None if there is none.
        """
        lines = reply.strip().splitlines()
        text = lines[0].strip() if lines else ""
        bare = text.strip(QUOTES).rstrip(".").strip(QUOTES)
        if not self.choices and not self.symbols:
            return bare if self.allows(bare) else None
        for candidate in (text, text.strip(QUOTES), bare):
            if self.allows(candidate):
                return candidate
        folded = self._in_own_case(bare.casefold())
        return folded if self.allows(folded) else None

    def _in_own_case(self, folded: str) -> str:
        names = {each.casefold(): each for each in self.choices or self.symbols}
        if self.choices:
            return names.get(folded, folded)
        parts = Allowed(symbols=tuple(names), separator=self.separator).split(folded)
        is_whole = self.separator.join(parts) == folded
        return self.separator.join(names.get(part, part) for part in parts) if is_whole else folded

    def drawn(self, rng: np.random.Generator, length: int | None = None) -> str:
        """Draw a random answer; `length`: number of symbols (None: 1 to `max_len`)."""
        if self.choices:
            return self.choices[int(rng.integers(len(self.choices)))]
        symbols = self.symbols or ("la", "mi", "no", "pu")
        number = length or int(rng.integers(1, self.max_len + 1))
        separator = self.separator if self.symbols else " "
        return separator.join(symbols[int(each)] for each in rng.integers(len(symbols), size=number))

    def sentence(self) -> str:
        """Describe the allowed answers in words."""
        if self.choices:
            return f"one of: {', '.join(self.choices)}"
        if not self.symbols:
            return f"at most {self.max_len} words"
        between = "" if not self.separator else " between spaces" if self.separator == " " else ""
        return f"1 to {self.max_len} of these symbols{between}: {' '.join(self.symbols[:MOST_NAMED])}"

    def schema(self) -> dict[str, Any]:
        """JSON schema of an object with an allowed answer."""
        answer: dict[str, Any] = {"type": "string"}
        if self.choices:
            answer["enum"] = list(self.choices)
        elif self.symbols:
            by_length = sorted(map(_escaped, self.symbols), key=len, reverse=True)
            symbol, between = f"(?:{'|'.join(by_length)})", _escaped(self.separator)
            answer["pattern"] = f"^{symbol}(?:{between}{symbol}){{0,{self.max_len - 1}}}$"
        properties = {"answer": answer}
        return {
            "type": "object", "properties": properties, "required": ["answer"], "additionalProperties": False
        }  # fmt: skip


def _escaped(text: str) -> str:
    r"""Escape a text for regular expressions of ECMA-262, which lack the `\ ` and `\#` of `re.escape`."""
    return re.sub(r"[\\^$.*+?()\[\]{}|]", r"\\\g<0>", text)


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """Question to a model."""

    system: str
    user: str
    allowed: Allowed
    draw: int
    """Number of the random draw of the answer; 0 for deterministic models."""
    choices: tuple[str, ...] = ()
    """Answers to choose from, in the order of the prompt."""
    past: Sequence[Any] = ()
    """Past rounds of the agent; shown to a person as feedback."""

    def content(self) -> list[Any]:
        """Prompt and allowed answers, JSON-ready, for a digest."""
        allowed = self.allowed
        limits = [list(allowed.choices), list(allowed.symbols), allowed.separator, allowed.max_len]
        return [self.system, self.user, limits]


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """Reply of a model."""

    text: str
    model: str
    """Model and revision, as far as the backend knows."""
    prompt_tokens: int
    answer_tokens: int
    choice_probabilities: dict[str, float] | None = None
    """Probability of each choice at this temperature; None if the backend does not have them."""


class Backend(ABC):
    """Answers requests; called by several threads at once if `concurrency` is more than 1."""

    Options: ClassVar[type] = NoOptions

    is_drawn: bool = True
    """Whether the same question can get different answers."""
    concurrency: int = 1
    """Number of concurrent requests."""
    batch_size: int = 1
    """Maximum number of requests for `replies`, if it is faster than single calls of `reply`."""
    remembers: bool = False
    """Whether repeated questions, with another draw, are answered without delay."""
    has_probabilities: bool = False
    """Whether replies have the probabilities of choices."""

    def __init__(self, options: Any) -> None:
        self.options = options
        self.is_over = Event()
        """Set when answers are no longer needed."""

    @property
    def settings(self) -> dict[str, Any]:
        """Settings that affect answers, part of the key of stored answers; by default all options."""
        return {"backend": type(self).__name__, **asdict(self.options)}

    def to(self, device: "torch.device") -> None:
        """Compute on a device; backends that answer elsewhere ignore it."""
        return

    def seconds_of(self, requests: Sequence[Request]) -> float:
        """Mean time to answer a request in seconds: an assumption, unless the backend measures it."""
        return 1.0

    def require(self, allowed: Allowed) -> None:
        """Raise `ConfigError` for allowed answers that the backend can't be restricted to."""
        return

    def check(self) -> None:
        """Raise `ConfigError`, before anything is written, if the backend can't answer."""
        return

    @abstractmethod
    def reply(self, request: Request) -> Reply:
        """Answer a request; raise `ConfigError` with one line on failure."""

    def replies(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer several independent requests."""
        return [self.reply(each) for each in requests]

    def num_tokens(self, text: str) -> int:
        """Estimate the number of tokens of a text, by default one per four characters."""
        return -(-len(text) // 4)


def model_file() -> Path:
    """Path of the model that `ecsuite data smollm2` downloads.

    Raises:
        ConfigError: If the file does not exist.
    """
    file = data_folder(SMOLLM2) / MODEL
    if not file.is_file():
        raise ConfigError(
            f"{file}: no such file; download it with ecsuite data {SMOLLM2} (93 MB, Apache License 2.0)"
        )
    return file


class Drawn(Backend):
    """Random answers, for tests and for cost estimates."""

    def seconds_of(self, requests: Sequence[Request]) -> float:
        """No time."""
        return 0.0

    def reply(self, request: Request) -> Reply:
        """Draw an allowed answer, seeded by the number of the draw."""
        text = request.allowed.drawn(np.random.default_rng([request.draw, *b"drawn"]))
        length = self.num_tokens(request.system) + self.num_tokens(request.user)
        return Reply(text=text, model="drawn", prompt_tokens=length, answer_tokens=self.num_tokens(text))


class Typed(Backend):
    """A person at the terminal of this process; answers are stored like a model's."""

    def check(self) -> None:
        """Raise `ConfigError` if there is no terminal."""
        try:
            open("/dev/tty", "r+b", buffering=0).close()
        except OSError:
            raise ConfigError(NO_TERMINAL) from None

    def reply(self, request: Request) -> Reply:
        """Read the person's answer from the terminal.

        Raises:
            ConfigError: If there is no terminal.
        """
        try:
            with open("/dev/tty", "r+b", buffering=0) as terminal:
                terminal.write(f"\n{request.user}\n> ".encode())
                line = b""
                while not line.endswith(b"\n"):
                    line += os.read(terminal.fileno(), 1024) or b"\n"
        except OSError:
            raise ConfigError(NO_TERMINAL) from None
        text = line.decode(errors="replace").strip()
        return Reply(text=text, model=PERSON, prompt_tokens=0, answer_tokens=0)


class Person(ABC):
    """A person who answers at a web page."""

    def __init__(self) -> None:
        self.is_over = Event()
        """Set when answers are no longer needed: models then get no further questions."""

    @abstractmethod
    def answer(self, request: Request) -> str:
        """Wait for the answer to a question."""


class Page(Backend):
    """A person at a page of `ecsuite people`; answers are stored like a model's."""

    person: Person | None = None
    """The person, once somebody has taken the seat."""

    def seconds_of(self, requests: Sequence[Request]) -> float:
        """An assumption."""
        return 10.0

    def check(self) -> None:
        """Raise `ConfigError` without a person."""
        if self.person is None:
            raise ConfigError("backend page: needs a person: start this game with `ecsuite people play`")

    def reply(self, request: Request) -> Reply:
        """Wait for the person's answer."""
        assert self.person is not None
        return Reply(text=self.person.answer(request), model=PERSON, prompt_tokens=0, answer_tokens=0)
