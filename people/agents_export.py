"""The export of a study with trained agents: its trials, and what senders typed as corpora."""

from typing import Any

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.games.worlds.objects import split_names
from ecsuite.people.agents_game import AgentsGame
from ecsuite.people.game import HELD_OUT, Shown
from ecsuite.people.records import Record
from ecsuite.people.study import Study
from ecsuite.runtime.ragged import Ragged

AGENTS_TRIAL_WORDS = {
    "participant": "The participant, P001 and so on.",
    "step": "Number of the step, from 0.",
    "example": "Number of the example, from 0.",
    "kind": "training (an object that can be unlocked) or held_out (one that never is).",
    "object": "The object in words.",
    "candidates": "The objects to choose from, in their order.",
    "num_available": "Unlocked objects when the example was shown.",
    "num_looks": "How often the training panel was opened during the example.",
    "typed": "What was answered: the number of an object, from 1 (receiver), or a message (sender).",
    "agents_answer": "The number of the right object (receiver), or what the agents' sender says (sender).",
    "is_right": "Whether the object was understood.",
    "agents_right": "Whether the agents understand each other in the same round.",
    "points": "Points given.",
    "shown_after": "Seconds from the participant's start to this step.",
    "answered_after": "Seconds from the participant's start to the answer, by the server's clock.",
    "response_ms": "Milliseconds from the picture to the answer, as the page measured them; empty if it did not.",
}
"""The columns of `trials.csv` and the keys of `trials.json`."""


def agents_trials(record: Record, game: AgentsGame) -> list[dict[str, Any]]:
    """The answers of a participant as rows of a table, JSON-ready."""
    start, names, rows = record.row["started_at"], game.language.names, []
    for answer in record.answers:
        shown = Shown(kind=answer["kind"], thing=answer["thing"])
        entry = {
            **answer,
            "participant": record.name,
            "object": names[shown.thing],
            "candidates": "; ".join(names[thing] for thing in game.candidates(answer["step"], shown)),
            "agents_answer": game.right_answer(answer["step"], shown),
            "is_right": bool(answer["is_right"]),
            "agents_right": game.agents_chosen(answer["step"], shown) == shown.thing,
            "shown_after": round(answer["shown_at"] - start, 3),
            "answered_after": round(answer["answered_at"] - start, 3),
        }
        rows.append({name: entry[name] for name in AGENTS_TRIAL_WORDS})
    return rows


def sender_corpus(record: Record, game: AgentsGame, study: Study) -> Corpus | None:
    """What a participant said as a sender, in the agents' symbols; answers that are no messages are left out.

    Returns:
        None if nothing was said. Meanings are attribute values, or the number of the object where it has none; the
        columns are `split` (`train` or `held_out`) and `is_right`.
    """
    if game.role != "sender":
        return None
    said = [(answer, game.language.parse(answer["typed"])) for answer in record.answers]
    rows = [(answer, symbols) for answer, symbols in said if symbols is not None]
    if not rows:
        return None
    values = game.language.values
    return Corpus(
        Ragged.from_rows([symbols for _, symbols in rows]),
        meanings=np.array([values[answer["thing"]] if values else [answer["thing"]] for answer, _ in rows]),
        columns={
            "split": split_names(np.array([answer["kind"] == HELD_OUT for answer, _ in rows])),
            "is_right": np.array([answer["is_right"] for answer, _ in rows]),
        },
        metadata={
            "speaker": study.speakers[0],
            "participant": record.name,
            "learned_from": game.language.run,
            "game": game.signature,
            "seed": record.row["seed"],
            "vocab_size": game.language.vocab_size,
        },
    )
