"""What an agent is taught before it plays: a language, by supervision."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ecsuite.parts.config import Accuracy, Count, Seed, Weight
from ecsuite.parts.registry import KIND, Part, Registry
from ecsuite.runtime.errors import ConfigError


class Nothing:
    """An agent begins without a language."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """There are none."""


class Language:
    """An agent learns a language before it plays: a sender to say it, a receiver to understand it."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of what is taught."""

        language: str | tuple[str, ...] = ()
        """A grammar, with options after commas, or a corpus with meanings; several are variants: each meaning is said
        in one of them."""
        shares: tuple[Weight, ...] = ()
        """How often each variant is used, in proportion to the others; []: all equally often."""
        redraw: bool = False
        """Whether the message of a meaning is drawn anew in each epoch, where the language has several for it; if not,
        a meaning has one."""
        share: Accuracy = 1.0
        """Share of the meanings that are taught; the others are drawn at random."""
        epochs: Count = 10
        """Passes over the training examples, at most."""
        until_accuracy: Accuracy | None = None
        """It ends after a pass in which the agent of the role that knows the language least has this accuracy; null:
        after all passes."""
        batch_size: Count | None = None
        """Rounds of a step; null: those of training.batch_size."""
        seed: Seed = 0
        """Seed of the language, as that of `ecsuite grammar`."""

        def __post_init__(self) -> None:
            """Check that there is a language, and a share for each variant; `ConfigError` if not."""
            if not self.languages or not all(self.languages):
                raise ConfigError(
                    "language: expected a grammar or a corpus, such as concat or runs/a, got none"
                )
            if self.shares and (len(self.shares) != len(self.languages) or not sum(self.shares)):
                raise ConfigError(
                    f"shares: expected {len(self.languages)} numbers, one for each language and not all 0, "
                    f"got {list(self.shares)}"
                )

        @property
        def languages(self) -> tuple[str, ...]:
            """The language, or its variants."""
            return (self.language,) if isinstance(self.language, str) else self.language


class Languages(Registry):
    """What can be taught: any name that is no kind is a language, so that `taught: concat` is short for its section."""

    def section(self, given: Any, path: str) -> dict[str, Any]:
        """See `Registry`."""
        if isinstance(given, str | list):
            given = {KIND: given}
        named = given.get(KIND) if isinstance(given, Mapping) else None
        if isinstance(named, list) or (not isinstance(named, Mapping | None) and named not in self.parts):
            given = {**given, KIND: "language", "language": named}
        elif isinstance(given, Mapping) and named is None and "language" in given:
            given = {**given, KIND: "language"}
        return super().section(given, path)


LANGUAGES = Languages(
    word="taught",
    parts={
        "nothing": ("ecsuite.agents.taught:Nothing", "the agent begins without a language"),
        "language": ("ecsuite.agents.taught:Language", "a grammar, a corpus, or a mixture of them"),
    },
)
NOTHING = Part("nothing", Nothing.Options())
"""What an agent is taught of which nothing is said."""
