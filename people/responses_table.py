"""The long table of a study's answers, for mixed models: a row a response, with the same columns in every study."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ecsuite.people.agents_game import AgentsGame
from ecsuite.people.database import Row
from ecsuite.people.game import Game, Shown
from ecsuite.people.games import MakeGame
from ecsuite.people.pair_game import LISTENING, SPEAKING, PairGame
from ecsuite.people.records import Record
from ecsuite.people.rounds_game import LISTENS, NAMES, SPEAKS, RoundsGame
from ecsuite.people.study import Study

RESPONSE_WORDS = {
    "participant": "The participant, P001 and so on: the unit of random effects.",
    "counted": "1 if the participant counts: of chains, one from whom the last generation descends; else who finished.",
    "condition": "Dataset and grammar, the role in a game with agents, or the game of rounds.",
    "chain": "The chain; empty where there are none.",
    "generation": "Generation in the chain, from 1.",
    "pair": "The pair of people who play with each other; empty where there are none.",
    "trial": "Number of the response among the participant's, from 1.",
    "phase": "training, held_out, test (of chains), speaking or listening (of pairs), round_speaking, "
    "round_listening or round_test (of plays of rounds), or attention (a check).",
    "item": "The object in words; empty in an attention check.",
    "message": "Of pairs, of receivers in a game with agents, and of plays of rounds that are over: what was said in "
    "the trial.",
    "response": "What was answered; of listeners and receivers, the object.",
    "target": "What was right; in the test of a chain, what the one before typed; of who hears a name, that name.",
    "correct": "1 if the response is the target, or was understood; else 0; empty in round_test, where nobody listens, "
    "of a message that nobody has heard, and of a round that was not over when somebody left.",
    "rt": "Milliseconds from the picture to the answer, as the page measured them; empty if it did not.",
}
"""The columns of `responses.csv` and the keys of `responses.json`."""


def response_rows(
    study: Study,
    records: Sequence[Record],
    make_game: MakeGame,
    counted: Collection[int],
    played: Mapping[tuple[str | None, int], str],
) -> list[dict[str, Any]]:
    """All responses, JSON-ready.

    Args:
        study: The study.
        records: All participants.
        make_game: Makes a participant's game.
        counted: Numbers of the participants who count.
        played: By participant and step, what was said in plays of rounds.
    """
    said, alone = {**messages_of(records), **played}, unheard(records) | unjudged(records) - played.keys()
    return [row for record in records for row in _rows(study, record, make_game, counted, said, alone)]


def messages_of(records: Sequence[Record]) -> dict[tuple[str | None, int], str]:
    """By pair and step, what was said."""
    return {
        (record.pair, answer["step"]): answer["typed"]
        for record in records
        for answer in record.answers
        if answer["kind"] == SPEAKING
    }


def unheard(records: Sequence[Record]) -> set[tuple[str | None, int]]:
    """By pair and step, what was said and not understood that no listener has answered: the last before somebody left.

    Of a listener who has withdrawn, nobody knows.
    """
    heard = {
        (record.pair, answer["step"])
        for record in records
        for answer in record.answers
        if answer["kind"] == LISTENING
    }
    last = {
        (record.pair, answer["step"])
        for record in records
        for answer in record.answers[-1:]
        if _is_open(answer)
    }
    return last - heard


def unjudged(records: Sequence[Record]) -> set[tuple[str | None, int]]:
    """By participant and step, the last round of each play of rounds, unless it is known that it succeeded.

    What comes of a round is stored when the next one begins, or the play is over.
    """
    return {
        (record.name, answer["step"])
        for record in records
        for answer in record.answers[-1:]
        if answer["kind"] in (SPEAKS, LISTENS) and not answer["is_right"]
    }


def _is_open(answer: Row) -> bool:
    return answer["kind"] == SPEAKING and not answer["is_right"]


def _rows(
    study: Study,
    record: Record,
    make_game: MakeGame,
    counted: Collection[int],
    said: Mapping[tuple[str | None, int], str],
    alone: Collection[tuple[str | None, int]],
) -> list[dict[str, Any]]:
    row, game = record.row, make_game(record.row)
    shared = {
        "participant": record.name,
        "counted": int(row["id"] in counted),
        "condition": record.grammar if study.run or study.play else f"{row['dataset']}_{record.grammar}",
        "chain": record.chain,
        "generation": row["generation"],
        "pair": record.pair,
    }
    rows = []
    for answer in record.answers:
        shown = Shown(kind=answer["kind"], thing=answer["thing"])
        is_unjudged = shown.kind == NAMES or (record.pair or record.name, answer["step"]) in alone
        rows.append(
            {
                **shared,
                "trial": answer["step"] + 1,
                "phase": shown.kind,
                "item": game.name_of(shown.thing) if shown.thing >= 0 else None,
                **_answered(game, answer, shown, said.get((record.pair or record.name, answer["step"]))),
                "correct": None if is_unjudged else answer["is_right"],
                "rt": answer["response_ms"],
            }
        )
    return rows


def _answered(game: Game, answer: Row, shown: Shown, said: str | None) -> dict[str, str | None]:
    """The columns of what was answered: of a listener, the objects in place of their numbers."""
    step, typed = answer["step"], answer["typed"]
    if isinstance(game, RoundsGame):
        target = game.right_answer(step, shown) or (said if shown.kind == LISTENS else None)
        return {"message": said, "response": game.chosen(step, typed), "target": target}
    if isinstance(game, PairGame) and shown.kind == LISTENING:
        chosen = game.chosen(step, typed)
    elif isinstance(game, AgentsGame) and game.role == "receiver":
        said, chosen = game.language.text(game.language.symbols[shown.thing]), game.chosen(step, shown, typed)
    else:
        return {"message": said, "response": typed, "target": game.right_answer(step, shown) or None}
    response = typed if chosen is None else game.name_of(chosen)
    return {"message": said, "response": response, "target": game.name_of(shown.thing)}
