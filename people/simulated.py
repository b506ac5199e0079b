"""Simulated participants, which type codes or name objects in whole games: for tests, and for trying a study."""

import secrets
from collections.abc import Mapping
from itertools import count
from typing import Any

import numpy as np

from ecsuite.people.chains import ChainGame
from ecsuite.people.codes import CodesGame
from ecsuite.people.database import RefusedError, Row
from ecsuite.people.kinds import ATTENTION, Shown
from ecsuite.people.pairs import PairGame, PairsStudy
from ecsuite.people.session import Sessions
from ecsuite.people.study import FINISHED, GAME, INSTRUCTIONS, QUESTIONS_STAGE, QUIZ_STAGE

Seen = Mapping[int, str]
"""Codes shown so far, by object."""
REPLIES = {"strategy": "I looked at the letters.", "notes": "no"}
"""Replies to the questions after the game."""


class Memorizer:
    """Program that remembers the codes in the panel, and types a random one of them for unknown objects."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)

    def answer(self, game: CodesGame | ChainGame, row: Row, seen: Seen) -> str:
        """The typed answer."""
        return seen.get(row["thing"]) or (seen[self.rng.choice(list(seen))] if seen else "a")


class Composer(Memorizer):
    """Memorizer that knows that a code is the word of the colour followed by the word of the shape."""

    def answer(self, game: CodesGame | ChainGame, row: Row, seen: Seen) -> str:
        """The typed answer; for an unknown object, a code composed of two known halves."""
        if row["thing"] in seen:
            return seen[row["thing"]]
        colour, shape = game.objects.values(row["thing"])
        first = [
            code[: len(code) // 2]
            for meaning, code in seen.items()
            if game.objects.values(meaning)[0] == colour
        ]
        last = [
            code[len(code) // 2 :]
            for meaning, code in seen.items()
            if game.objects.values(meaning)[1] == shape
        ]
        return first[0] + last[0] if first and last else super().answer(game, row, seen)


class RandomTypist(Memorizer):
    """Program that types random letters."""

    def answer(self, game: CodesGame | ChainGame, row: Row, seen: Seen) -> str:
        """The typed answer."""
        geometry = game.objects.geometry
        numbers = self.rng.integers(geometry.vocab_size, size=geometry.message_length)
        return "".join(chr(ord("a") + int(number)) for number in numbers)


class Namer:
    """Program for pairs: it reuses a name that either partner gave to the object, or invents one."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.words: dict[int, str] = {}

    def say(self, meaning: int) -> str:
        """The typed message for an object."""
        word = "".join(chr(ord("a") + int(number)) for number in self.rng.integers(26, size=4))
        return self.words.setdefault(meaning, word)

    def choose(self, game: PairGame, step: int, message: str) -> str:
        """The number of the candidate that best fits a message; the name of the target is then learned."""
        candidates = game.candidates(step)
        same = [meaning for meaning in candidates if self.words.get(meaning) == message]
        unnamed = [meaning for meaning in candidates if meaning not in self.words]
        chosen = self.rng.choice(same or unnamed or candidates)
        self.words[game.target(step)] = message
        return str(candidates.index(chosen) + 1)


def simulate(sessions: Sessions) -> int:
    """Let programs take part until the study has enough participants.

    Args:
        sessions: Sessions of a study of codes, with chains or with pairs.

    Returns:
        Number of simulated participants.
    """
    pairs: dict[str, Namer] = {}
    first = sessions.database.next_id() - 1  # earlier numbers belong to an earlier simulation
    for number in count(first):
        token, worker = secrets.token_urlsafe(24), f"simulated{number}"
        try:
            if not isinstance(sessions.kind, PairsStudy):
                play(sessions, token, Composer(number), worker)
            else:
                arrive(sessions, token, worker)
                sessions.wait(token)
                pairs[token] = Namer(number)
        except RefusedError:
            break
    play_together(sessions, pairs)
    return number - first


def play_together(sessions: Sessions, players: Mapping[str, Namer]) -> None:
    """Play games of pairs that have begun to the end; `players` is keyed by token."""
    at_work = dict(players)
    while at_work:
        for token, player in list(at_work.items()):
            if not take_turn(sessions, token, player):
                sessions.reply(token, REPLIES)
                del at_work[token]


def take_turn(sessions: Sessions, token: str, player: Namer) -> bool:
    """Answer if it is the participant's turn in a game with a partner; return whether the game continues."""
    row = sessions.required(token)
    if row["stage"] != GAME:
        return False
    assert isinstance(sessions.kind, PairsStudy)
    game, view = sessions.kind.game(row), sessions.kind.step_view(row, False)
    if view["kind"] == "speak":
        sessions.answer(token, row["step"], player.say(row["thing"]), 1000.0)
    elif view["kind"] == "choice":
        sessions.answer(token, row["step"], player.choose(game, row["step"], view["message"]), 1000.0)
    return True


def arrive(sessions: Sessions, token: str, worker: str = "") -> Row:
    """Give consent, read the instructions and pass the quiz, unless done before; the study must have a free place."""
    begun = sessions.begin(token, worker)
    assert begun is not None
    if begun["stage"] == INSTRUCTIONS:
        sessions.go_on(token, INSTRUCTIONS, {"has_sound": False, "names_objects": False})
    row = sessions.required(token)
    if row["stage"] == QUIZ_STAGE:
        right = {name: question.right for name, question in sessions.kind.quiz.items()}
        sessions.take_quiz(token, 0, right)
    return sessions.required(token)


def play(
    sessions: Sessions, token: str, participant: Memorizer, worker: str = "", steps: int | None = None
) -> Row:
    """Play from the participant's current step; return the participant's row.

    Args:
        sessions: Sessions of a study of codes, or with chains; the study must have a free place.
        token: Token of the participant.
        participant: The program that types.
        worker: Participant ID of the platform.
        steps: Number of steps; None: to the end.
    """
    row = arrive(sessions, token, worker)
    game: Any = sessions.kind.game(row)
    seen: dict[int, str] = {}
    done = 0
    while row["stage"] == GAME and done != steps:
        codes = (card["code"] for card in game.panel(row["num_available"], False))
        seen |= zip(game.order[: row["num_available"]], codes, strict=True)
        shown = Shown(kind=row["kind"], meaning=row["thing"])
        is_check = shown.kind == ATTENTION
        typed = game.right_answer(row["step"], shown) if is_check else participant.answer(game, row, seen)
        sessions.answer(token, row["step"], typed, 1000.0)
        row, done = sessions.required(token), done + 1
    if row["stage"] == QUESTIONS_STAGE:
        sessions.reply(token, REPLIES)
        row = sessions.required(token)
    assert steps is not None or row["stage"] == FINISHED
    return row
