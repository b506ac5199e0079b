"""Language models as participants: prompts from an agent's memory, and stored answers of a backend."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np

from ecsuite.games.participants.participant import Ask, Participant, Round, Setting, label
from ecsuite.language_models.asking import FILE, Asker, AskingOptions, Cost, KeptAnswers, PlanningBackend
from ecsuite.language_models.backend import BACKENDS, Allowed, Drawn, Page, Person, Request
from ecsuite.language_models.prompts import read_prompt
from ecsuite.parts.config import Natural
from ecsuite.parts.registry import Part
from ecsuite.runtime.errors import ConfigError

DRAWN = Part("drawn", Drawn.Options())
MOST_DRAWS = 2**31 - 64


class LanguageModelParticipant(Participant):
    """Participant that queries a language model; the prompt contains the agent's last rounds and taught language.

    Raises:
        ConfigError: If the prompt or the backend can't be used.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(AskingOptions):
        """Options of a language model."""

        backend: Annotated[Part, BACKENDS] = DRAWN
        """The language model."""
        prompt: str = "plain"
        """Prompt template: plain, ashery2025, kouwenhoven2025, or a user's file."""
        memory: Natural = 5
        """Number of the agent's last rounds in its prompt."""

        data_files: ClassVar[tuple[str, ...]] = ("prompt",)

    tasks = ("naming", "discrimination", "reconstruction")
    is_slow = True

    def __init__(self, options: Options, *, setting: Setting) -> None:
        super().__init__(options, setting=setting)
        self.prompt = read_prompt(options.prompt)
        try:
            self.backend = BACKENDS.make(options.backend)
            self.backend.to(setting.device)
        except ConfigError as error:
            raise ConfigError(f"{setting.place}.backend.{error}") from None
        self.asker = Asker(self.backend, options, setting.place)
        self._replayed: Path | None = None

    def require(self, allowed: Allowed) -> None:
        """Raise `ConfigError` if the backend can't be restricted to the allowed answers."""
        try:
            self.backend.require(allowed)
        except ConfigError as error:
            raise ConfigError(f"{self.setting.place}.backend.{error}") from None

    def answer(self, ask: Ask, rng: np.random.Generator) -> str:
        """See `answers`."""
        return self.answers([ask], rng)[0]

    def answers(self, asks: Sequence[Ask], rng: np.random.Generator) -> list[str]:
        """Query the backend, with several questions at once if possible."""
        return self.asker.ask([self._request(ask, rng) for ask in asks])

    def _request(self, ask: Ask, rng: np.random.Generator) -> Request:
        order = [ask.allowed.choices[n] for n in rng.permutation(len(ask.allowed.choices))]
        shown = Allowed(choices=tuple(order)) if order and not ask.candidates else ask.allowed
        things, size = self.setting.things, self.options.memory
        memory = ask.memory[-size:] if size else []
        first = len(ask.memory) - len(memory) + 1
        values = {
            "role": ask.role,
            "task": ask.task,
            "object": things[ask.thing] if ask.thing >= 0 else "",
            "candidates": [
                {"label": label(n), "object": things[thing]} for n, thing in enumerate(ask.candidates)
            ],
            "message": ask.message,
            "allowed": shown.sentence(),
            "choices": list(shown.choices),
            "taught": [{"object": things[thing], "message": message} for thing, message in ask.taught],
            "memory": [self._seen(ask.agent, played, first + n) for n, played in enumerate(memory)],
            "score": sum(2 * played.success - 1 for played in memory),
            "round": len(ask.memory) + 1,
            "num_agents": self.setting.num_agents,
        }
        system, user = self.prompt.render(values)
        draw = int(rng.integers(MOST_DRAWS)) if self.backend.is_drawn else 0
        return Request(
            system=system, user=user, allowed=ask.allowed, draw=draw, choices=shown.choices, past=ask.memory
        )

    def _seen(self, agent: int, played: Round, number: int) -> dict[str, Any]:
        """Describe a round from the agent's point of view."""
        speaks = agent == played.speaker
        names = (played.message, played.answer) if speaks else (played.answer, played.message)
        is_choice = bool(played.candidates) or played.phase != ""
        said, heard = ((played.message, "") if speaks else ("", played.message)) if is_choice else names
        return {
            "round": number, "role": "speaker" if speaks else "listener", "object": self.setting.things[played.thing],
            "said": said, "heard": heard, "answer": played.answer, "right": played.success, "success": played.success,
        }  # fmt: skip

    def open(self, folder: Path, others: Sequence[Participant], note: Callable[[str], None]) -> None:
        """Read the answers stored in the folder, once for all participants, and store further answers there."""
        shared = next(
            (each.asker.kept for each in others if isinstance(each, LanguageModelParticipant)), None
        )
        self.asker.kept = shared or KeptAnswers(folder, note)
        if self._replayed is None:
            self.check()
        else:
            self.asker.earlier = KeptAnswers(self._replayed, note, is_read_only=True)

    def check(self) -> None:
        """Raise `ConfigError` if the backend can't answer."""
        try:
            self.backend.check()
        except ConfigError as error:
            raise ConfigError(f"{self.setting.place}.{error}") from None

    def planned(self) -> Cost:
        """See the base class; stored answers are ignored, since other answers lead to other questions."""
        planning = PlanningBackend(self.backend, self.options)
        self.asker = Asker(planning, AskingOptions(), self.setting.place)
        return planning.cost

    def recall(self, folder: Path) -> None:
        """See the base class."""
        self.asker.kept = KeptAnswers(folder, is_read_only=True)

    def replay(self, folder: Path) -> bool:
        """See the base class.

        Raises:
            ConfigError: If the folder has no answers.
        """
        self._replayed = folder
        if not (folder / FILE).is_file():
            raise ConfigError(f"--replay {folder}: expected a run folder with answers, {FILE}")
        return True

    def seat(self, person: Person) -> None:
        """See the base class."""
        self.backend.is_over = person.is_over
        if isinstance(self.backend, Page):
            self.backend.person = person

    def close(self) -> None:
        """Write the answers in an order that does not depend on their time of arrival."""
        self.asker.kept.sort()

    def first_choices(self) -> Mapping[str, float] | None:
        """See the base class."""
        return self.asker.first_choices if self.backend.has_probabilities else None

    def provenance(self) -> Mapping[str, Any]:
        """Model and revision as reported with the answers, the backend, and the hash of the prompt."""
        used = self.asker.used
        return {
            "models": list(used.models), "backend": self.options.backend.kind, "prompt_sha256": self.prompt.digest,
            "calls": used.calls, "tokens": used.tokens, "cost": self.options.cost(used),
        }  # fmt: skip
