"""What participants learned of the language of trained agents: accuracy by block, beside the agents' and chance."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ecsuite.eval.statistics.estimates import mean_and_half_width
from ecsuite.people.agents_game import BLOCK, AgentsGame
from ecsuite.people.database import Row
from ecsuite.people.findings import Mean
from ecsuite.people.game import HELD_OUT, TRAINING, Game, Shown
from ecsuite.people.games import MakeGame
from ecsuite.people.records import Record

KINDS = {TRAINING: "unlocked", HELD_OUT: "held out"}
"""Kinds of examples, and their names in tables."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Learned:
    """What the participants of one role learned."""

    role: str
    participants: int
    """How many finished."""
    not_finished: int
    """How many did not; they are left out."""
    chance: float
    """Accuracy of whoever guesses."""
    accuracy: Mapping[str, Sequence[Mean]]
    """By kind of example and block of ten: share of right answers, the mean over participants."""
    agents: Mapping[str, Sequence[float]]
    """The agents' share of right answers in the same examples."""
    as_agents: float | None
    """Share of senders' messages that are exactly the agents' own; None of receivers."""

    def as_json(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


def learned(role: str, records: Sequence[Record], make_game: MakeGame) -> Learned:
    """What the participants of a role learned.

    Args:
        role: One of `ROLES`.
        records: All participants of the study.
        make_game: Makes a participant's game.
    """
    of_role = [record for record in records if record.row["grammar"] == role]
    finished = [record for record in of_role if record.has_finished]
    games = [game for record in finished if isinstance(game := make_game(record.row), AgentsGame)]
    shares: dict[str, list[Mean]] = {kind: [] for kind in KINDS}
    agents: dict[str, list[float]] = {kind: [] for kind in KINDS}
    num_blocks = max((game.num_examples // BLOCK for game in games), default=0)
    for block in range(num_blocks):
        for kind in KINDS:
            pairs = [
                _accuracy(game, _of_block(record.answers, block, kind))
                for game, record in zip(games, finished, strict=True)
            ]
            mean, half_width = mean_and_half_width([own for own, _ in pairs])
            shares[kind].append(Mean(mean=mean, half_width=half_width))
            agents[kind].append(float(np.mean([others for _, others in pairs])))
    typed = [
        game.language.parse(answer["typed"]) == list(game.language.symbols[answer["thing"]])
        for game, record in zip(games, finished, strict=True)
        for answer in record.answers
    ]
    return Learned(
        role=role,
        participants=len(finished),
        not_finished=len(of_role) - len(finished),
        chance=1 / games[0].language.num_candidates if games else float("nan"),
        accuracy=shares,
        agents=agents,
        as_agents=float(np.mean(typed)) if typed and role == "sender" else None,
    )


def _shown(answer: Row) -> Shown:
    return Shown(kind=answer["kind"], thing=answer["thing"])


def _of_block(answers: Sequence[Row], block: int, kind: str | None = None) -> list[Row]:
    return [
        answer for answer in answers if answer["example"] // BLOCK == block and kind in (None, answer["kind"])
    ]


def _accuracy(game: AgentsGame, answers: Sequence[Row]) -> tuple[float, float]:
    """The shares of right answers of a participant and of the agents."""
    agents = [game.agents_chosen(answer["step"], _shown(answer)) == answer["thing"] for answer in answers]
    return float(np.mean([answer["is_right"] for answer in answers])), float(np.mean(agents))


def result_table(game: Game, answers: Sequence[Row]) -> dict[str, Any] | None:
    """The shares of right answers by block, beside the agents', for a participant's last page; None of codes."""
    if not isinstance(game, AgentsGame):
        return None
    rows = [["Examples", "You", "The agents", "Guessing"]]
    chance = f"{1 / game.language.num_candidates:.0%}"
    for block in range(game.num_examples // BLOCK):
        own, agents = _accuracy(game, _of_block(answers, block))
        rows.append([f"{BLOCK * block + 1} to {BLOCK * (block + 1)}", f"{own:.0%}", f"{agents:.0%}", chance])
    return {"caption": "Right answers", "rows": rows}
