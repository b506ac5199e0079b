"""Options of agents and perceptions, and the languages that agents are taught before they play."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from ecsuite.agents.registry import CELLS, PERCEPTIONS
from ecsuite.parts.config import Accuracy, Count, Natural, Seed, Share, Weight
from ecsuite.parts.registry import KIND, Part, Registry
from ecsuite.runtime.errors import ConfigError, look_up


class Nothing:
    """No language is taught."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """No options."""


class InitialLanguage:
    """A language that an agent learns before it plays: a sender to produce it, a receiver to understand it."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of a taught language."""

        language: str | tuple[str, ...] = ()
        """A grammar, with options after commas, or a corpus with meanings; several are variants: each meaning is
        expressed in one variant."""
        shares: tuple[Weight, ...] = ()
        """Frequency of each variant, relative to the others; []: all equal."""
        redraw: bool = False
        """Whether the message of a meaning that has several is redrawn in each epoch; otherwise each meaning
        has one message."""
        share: Accuracy = 1.0
        """Share of the meanings that are taught, drawn at random."""
        epochs: Count = 10
        """Maximum number of passes over the training examples."""
        until_accuracy: Accuracy | None = None
        """Teaching ends after a pass when all agents of the role have reached this accuracy; null:
        after all passes."""
        batch_size: Count | None = None
        """Rounds per step; null: training.batch_size."""
        seed: Seed = 0
        """Seed of the language, as in `ecsuite grammar`."""

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
    """Registry of taught languages: a name that is not a kind is a language, as in `taught: concat`."""

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
        "nothing": ("ecsuite.agents.options:Nothing", "the agent begins without a language"),
        "language": ("ecsuite.agents.options:InitialLanguage", "a grammar, a corpus, or a mixture of them"),
    },
)
NOTHING = Part("nothing", Nothing.Options())
"""Default: no language is taught."""


Style = Literal["egg", "icy"]
"""Initialisation and inputs of agents.

egg (Kharitonov et al. 2019): an input projection with a bias, and a learnt first input.
icy (the paper that introduces ICY, appendix B): a meaning is the sum of the embeddings of its values, initialised from
N(0, 1), and the first input is the embedding of EOS, which serves as the start symbol.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class PerceptionOptions:
    """Options of every perception."""

    dropout: Share = 0.0
    """Dropout rate in training: of the sender's mean over its objects, or of the receiver's encoded candidates."""
    noise: Weight = 0.0
    """Standard deviation of normal noise on objects in training; pixels are from 0 to 1."""
    shift: Natural = 0
    """Maximum shift of images in training, in pixels and in both directions, around their edges."""
    brightness: Share = 0.0
    """Maximum deviation from 1 of a factor by which each object is multiplied in training."""


IDENTITY = Part("identity", PerceptionOptions())
"""The perception of agents outside games."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentOptions:
    """Options of every sender and receiver of a game."""

    perception: Annotated[Part, PERCEPTIONS] = IDENTITY
    """Network that encodes an object; the world sets the default."""
    taught: Annotated[Part, LANGUAGES] = NOTHING
    """Language that the agent learns before it plays: a grammar or a corpus; nothing: none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CellOptions(AgentOptions):
    """Options of agents with recurrent cells."""

    cell: str = "gru"
    """Name of the cell, see `ecsuite list`."""
    hidden_size: Count = 256
    """Width of the hidden state."""
    embedding_size: Count = 32
    """Width of a symbol's embedding. Cell sru: always the width of the hidden state."""
    style: Style = "egg"
    """egg: as in EGG. icy: embeddings initialised from N(0, 1), and the embedding of EOS as the first input."""

    def __post_init__(self) -> None:
        """Check the cell, and set the width of embeddings if the cell determines it.

        Raises:
            ConfigError: If there is no such cell.
        """
        try:
            look_up("cell", self.cell, CELLS.parts)
        except ConfigError as error:
            raise ConfigError(f"cell: {error}") from None
        if self.cell.startswith("sru"):
            object.__setattr__(self, "embedding_size", self.hidden_size)


@dataclass(frozen=True, kw_only=True, slots=True)
class PhrasebookRules:
    """Options of phrasebooks that speak and listen."""

    inventory: str = ""
    """JSON file of pairs of a form and a meaning: the output of `ecsuite score --metrics csar --json`."""
    size: Count | None = None
    """Number of pairs with the highest weights to use; null: all."""
    order: Literal["kept", "shuffled"] = "kept"
    """kept: forms are ordered by their mean positions. shuffled: in a random order."""
    fill: Literal["repeat", "nothing"] = "repeat"
    """repeat: forms are repeated until the message is full. nothing: the message ends, if its length is variable."""
    unknown: Literal["skip", "stop"] = "skip"
    """Treatment of symbols that are in no form. skip: continue after them. stop: do not read the rest."""

    data_files: ClassVar[tuple[str, ...]] = ("inventory",)
