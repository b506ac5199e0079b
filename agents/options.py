"""Options that several agents share."""

from dataclasses import dataclass
from typing import Annotated, Literal

from ecsuite.agents.registry import CELLS, PERCEPTIONS
from ecsuite.agents.taught import LANGUAGES, NOTHING
from ecsuite.parts.config import Count, Natural, Share, Weight
from ecsuite.parts.registry import Part
from ecsuite.runtime.errors import ConfigError, look_up

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
    """In training the agent sees objects with normal noise of this standard deviation; pixels are from 0 to 1."""
    shift: Natural = 0
    """In training the agent sees images moved by up to so many pixels in both directions, around their edges."""
    brightness: Share = 0.0
    """In training the agent sees each object multiplied by a factor that differs from 1 by up to this share."""


IDENTITY = Part("identity", PerceptionOptions())
"""The perception of agents outside games."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentOptions:
    """Options of every sender and receiver of a game."""

    perception: Annotated[Part, PERCEPTIONS] = IDENTITY
    """The network that encodes an object; the world sets the default."""
    taught: Annotated[Part, LANGUAGES] = NOTHING
    """The language that it learns before it plays: a grammar or a corpus; nothing: none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CellOptions(AgentOptions):
    """Options of agents that are made of recurrent cells."""

    cell: str = "gru"
    """Name of the cell, see `ecsuite list`."""
    hidden_size: Count = 256
    """Width of the hidden state."""
    embedding_size: Count = 32
    """Width of a symbol's embedding. Cell sru: always the width of the hidden state."""
    style: Style = "egg"
    """egg: as in EGG. icy: embeddings initialised from N(0, 1), and the embedding of EOS as the first input."""

    def __post_init__(self) -> None:
        """Check the cell, and set the width of embeddings where the cell does.

        Raises:
            ConfigError: If there is no such cell.
        """
        try:
            look_up("cell", self.cell, CELLS.parts)
        except ConfigError as error:
            raise ConfigError(f"cell: {error}") from None
        if self.cell.startswith("sru"):
            object.__setattr__(self, "embedding_size", self.hidden_size)
