"""Asking a model: kept answers first, several questions at once, limits, and answers that are none asked for again."""

from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from threading import Lock
from typing import Any, ClassVar

from ecsuite.language_models.backend import Backend, Drawn, Reply, Request
from ecsuite.language_models.kept import KeptAnswers, Used, digest, key_of
from ecsuite.parts.config import Count, Positive, Weight
from ecsuite.runtime.errors import RUN_AGAIN, ConfigError, LimitError, shown

GO_ON = f"nothing is lost: {RUN_AGAIN}"
"""What to do where a run stopped that can go on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AskingOptions:
    """How often a model is asked."""

    tries: Count = 5
    """How often it is asked before an answer that is not allowed stops the run; each time with another draw."""
    max_calls: Count | None = None
    """Most calls of this participant in the run, those before it was resumed too; null: no limit."""
    max_tokens: Count | None = None
    """Most tokens of its prompts and answers in the run; null: no limit."""
    prompt_price: Weight = 0.0
    """Price of a million tokens of prompts, in any currency."""
    answer_price: Weight = 0.0
    """Price of a million tokens of answers."""
    max_cost: Positive | None = None
    """Most that its answers in the run may cost by these prices; null: no limit."""

    changeable: ClassVar[tuple[str, ...]] = (
        "tries", "max_calls", "max_tokens", "prompt_price", "answer_price", "max_cost"
    )  # fmt: skip
    """What may be another number when the run goes on."""

    def __post_init__(self) -> None:
        """Check that a limit of costs has a price; `ConfigError` if not."""
        if self.max_cost is not None and not (self.prompt_price or self.answer_price):
            raise ConfigError("max_cost: expected prompt_price and answer_price, of a million tokens each")

    def cost(self, tokens: "Used | Cost") -> float:
        """What tokens cost."""
        return (self.prompt_price * tokens.prompt_tokens + self.answer_price * tokens.answer_tokens) / 1e6


class Asker:
    """Asks one backend.

    Args:
        backend: What answers.
        options: Limits.
        place: The section of the config, for messages.
    """

    def __init__(self, backend: Backend, options: AskingOptions, place: str) -> None:
        self.backend, self.options, self.place = backend, options, place
        self.kept = KeptAnswers()
        # Two participants may ask one model, and the limits and costs of each are its own.
        self._settings = digest([place, backend.settings])
        self.earlier: KeptAnswers | None = None
        """Answers of another run, which are used, and nothing is asked; None: the backend is asked."""
        self._lock = Lock()
        self._under_way = 0

    @property
    def used(self) -> Used:
        """What the backend was asked from this place of the config in this run."""
        return self.kept.used(self._settings)

    def ask(self, requests: Sequence[Request]) -> list[tuple[str, Reply]]:
        """The answer to each question, and all that the model said with it.

        Raises:
            LimitError: If a limit is reached.
            ConfigError: If there is no answer; those that came are kept.
        """
        found: dict[str, tuple[str, Reply]] = {}
        asked = {key_of(self.backend.settings, each): each for each in requests}
        if self.backend.batch_size > 1 and self.earlier is None:
            self._keep_together([each for key, each in asked.items() if key not in self.kept])
        if len(asked) == 1 or self.backend.concurrency == 1:
            found = {key: self._answered(request) for key, request in asked.items()}
        else:
            with ThreadPoolExecutor(self.backend.concurrency) as pool:
                was_over = self.backend.is_over.is_set()
                running = {key: pool.submit(self._answered, request) for key, request in asked.items()}
                is_done = False
                try:
                    done, _ = wait(running.values(), return_when=FIRST_EXCEPTION)
                    for each in done:
                        each.result()  # raises what went wrong first
                    is_done = True
                finally:
                    if not is_done:  # those that were sent are waited for, since their answers are kept
                        self.backend.is_over.set()
                        pool.shutdown(cancel_futures=True)
                        if not was_over:
                            self.backend.is_over.clear()
                found = {key: each.result() for key, each in running.items()}
        return [found[key_of(self.backend.settings, each)] for each in requests]

    def _keep_together(self, requests: Sequence[Request]) -> None:
        """Ask about several requests in one call of the backend, and keep what it says, as far as limits allow."""
        size = self.backend.batch_size
        for batch in (requests[start : start + size] for start in range(0, len(requests), size)):
            begun = 0
            try:
                # A limit that is reached here is told where the first request without an answer is asked.
                with suppress(LimitError):
                    for _ in batch:
                        self._begin()
                        begun += 1
                replies = self.backend.replies(batch[:begun]) if begun else []
                for request, reply in zip(batch, replies, strict=False):
                    self.kept.add(key_of(self.backend.settings, request), self._settings, request, reply)
            finally:
                self._under_way -= begun

    def _answered(self, request: Request) -> tuple[str, Reply]:
        """An allowed answer."""
        said = ""
        for number in range(self.options.tries):
            again = request if number == 0 else replace(request, draw=request.draw + number)
            reply = self._replied(again)
            if (answer := request.allowed.read(reply.text)) is not None:
                return answer, reply
            said = reply.text
            if not self.backend.is_drawn:
                break
        # These answers are kept, and would be read again.
        advice = f"{GO_ON}, with more {self.place}.tries"
        if not self.backend.is_drawn:
            advice = (
                "it says the same if it is asked again: expected another prompt, or a temperature above 0"
            )
        most = getattr(self.backend.options, "answer_tokens", None)
        if most is not None and reply.answer_tokens >= most:
            advice = (
                f"it was cut after {self.place}.backend.answer_tokens={most}: expected more, in another run"
            )
        raise ConfigError(
            f"{self.place}: {shown(said)} is not {request.allowed.sentence():.200}; asked {number + 1} times; {advice}"
        )

    def _replied(self, request: Request) -> Reply:
        """What the model said, now or when it was asked before."""
        key = key_of(self.backend.settings, request)
        if (kept := self.kept.get(key)) is not None:
            return kept
        if self.earlier is not None:
            if (kept := self.earlier.get(key)) is None:
                raise ConfigError(f"{self.place}: --replay: an answer is not among those that were kept")
            self.kept.add(key, self._settings, request, kept)
            return kept
        self._begin()
        try:
            reply = self.backend.reply(request)
            with self._lock:
                if (models := self.used.models) and reply.model != models[0]:
                    raise ConfigError(
                        f"{self.place}: the server's model was {shown(models[0])} and is now {shown(reply.model)}: "
                        f"where it is the first again, {RUN_AGAIN}, or begin another run with --out"
                    )
                self.kept.add(key, self._settings, request, reply)
        finally:
            with self._lock:
                self._under_way -= 1
        return reply

    def _begin(self) -> None:
        """Count a call that is made; refuse one too many."""
        with self._lock:
            for limit, used, what in (
                (self.options.max_calls, self.used.calls + self._under_way, "calls"),
                (self.options.max_tokens, self.used.tokens, "tokens"),
                (self.options.max_cost, self.options.cost(self.used), "cost"),
            ):
                if limit is not None and used >= limit:
                    limit_of = f"{limit:,}" if what == "cost" else f"{limit:,} {what}"
                    raise LimitError(f"{self.place}.max_{what}: the limit of {limit_of} is reached; {GO_ON}")
            self._under_way += 1


@dataclass(kw_only=True, slots=True)
class Cost:
    """What asking a backend takes."""

    seconds_per_call: float
    concurrency: int
    per_minute: float | None
    """Most calls a minute; None: as many as come."""
    options: AskingOptions
    """The prices."""
    calls: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0

    def to_json(self) -> dict[str, Any]:
        """Calls, tokens, hours and, where there are prices, what it costs; JSON-ready."""
        seconds = self.calls * self.seconds_per_call / self.concurrency
        if self.per_minute is not None:
            seconds = max(seconds, 60 * self.calls / self.per_minute)
        found = asdict(self)
        del found["options"]
        return {**found, "hours": seconds / 3600, "cost": self.options.cost(self)}


class PlanningBackend(Drawn):
    """Stands in for a backend while the cost is found out: answers at random, and counts.

    Where nothing is drawn, another question has another answer, and an equal one the same.

    Args:
        backend: What is asked later.
        options: Its prices.
    """

    def __init__(self, backend: Backend, options: AskingOptions) -> None:
        super().__init__(backend.options)
        self.backend = backend
        self.cost = Cost(
            seconds_per_call=backend.seconds_per_call,
            concurrency=backend.concurrency,
            per_minute=getattr(backend.options, "per_minute", None),
            options=options,
        )

    @property
    def is_drawn(self) -> bool:
        """As of the backend: equal questions are then asked once or not."""
        return self.backend.is_drawn

    def reply(self, request: Request) -> Reply:
        """An answer at random."""
        if not self.is_drawn:
            draw = int(digest([request.system, request.user, request.allowed.to_json()])[:8], 16)
            request = replace(request, draw=draw)
        reply = super().reply(request)
        self.cost.calls += 1
        self.cost.prompt_tokens += reply.prompt_tokens
        self.cost.answer_tokens += reply.answer_tokens
        return reply

    def num_tokens(self, text: str) -> int:
        """As the backend counts them."""
        return self.backend.num_tokens(text)
