"""What the page is told: the stage, its texts, and of the game only what the participant may see."""

from collections.abc import Mapping
from typing import Any

from ecsuite.people.agents_findings import result_table
from ecsuite.people.database import Row
from ecsuite.people.game import Shown
from ecsuite.people.protocols import PROTOCOLS
from ecsuite.people.questions import QUESTIONS, Question
from ecsuite.people.session import Sessions
from ecsuite.people.stages import (
    AWAY,
    FINISHED,
    GAME,
    INSTRUCTIONS,
    LEFT,
    QUESTIONS_STAGE,
    QUIZ_STAGE,
    WAITING,
)
from ecsuite.people.study import Study
from ecsuite.people.texts import as_html

AWAY_TEXT = """# The game has ended

You were away for too long, so that the game of your partner ended, too. What you gave until then is stored. If this is
a mistake, write to those who invited you.
"""
"""Of the page of somebody who was away from a game with a partner."""
CONSENT, WAITED = "consent", "waited"
"""Stages that are not stored: of somebody who has not begun, and of one who has waited too long."""
NO_PLACE = "Others are playing, and you will learn what one of them types. A place may become free soon."
NO_PARTNER = "You will play with another participant, who is not there yet."
"""Why somebody waits for a place of a chain, and for a partner."""


def view(sessions: Sessions, token: str, is_trial: bool) -> dict[str, Any]:
    """The state of the page of a visitor, JSON-ready.

    Args:
        sessions: The participants.
        token: The visitor's.
        is_trial: Whether somebody tries the game alone, who can play again.
    """
    study, row = sessions.study, sessions.database.participant(token)
    state: dict[str, Any] = {"csrf": sessions.csrf(token), "is_trial": is_trial, "platform": study.platform}
    seconds = sessions.queue.seconds(token)
    if seconds is not None or (row is not None and row["stage"] == WAITING):
        is_over = seconds is not None and not sessions.queue.is_waiting(token)
        return state | _waiting(
            study, seconds or 0.0, NO_PLACE if row is None else NO_PARTNER, is_over=is_over
        )
    if row is None:
        return {**state, "stage": CONSENT, "html": as_html(study.consent)}
    state |= {
        "stage": row["stage"],
        "settings": {"has_sound": bool(row["has_sound"]), "names_objects": bool(row["names_objects"])},
    }
    if row["stage"] == INSTRUCTIONS:
        state["html"] = as_html(study.instructions)
    elif row["stage"] == QUIZ_STAGE:
        state |= {
            "attempt": row["num_quiz_attempts"],
            "questions": _questions(PROTOCOLS[row["protocol"]].quiz),
        }
    elif row["stage"] == GAME:
        state["game"] = _game(sessions, row)
    elif row["stage"] == QUESTIONS_STAGE:
        state["questions"] = _questions(QUESTIONS)
    elif row["stage"] in (LEFT, AWAY):
        text, code = (study.left, study.left_code) if row["stage"] == LEFT else (AWAY_TEXT, "")
        state |= {"html": as_html(text), "token": token, **_way_back(study, code)}
    else:
        assert row["stage"] == FINISHED
        state |= {
            "html": as_html(study.debriefing),
            "score": row["score"],
            "table": result_table(sessions.game_of(row), sessions.database.answers(row["id"])),
            "token": token,
            **_way_back(study, study.completion_code),
        }
    return state


def _waiting(study: Study, seconds: float, reason: str, *, is_over: bool) -> dict[str, Any]:
    """The page of somebody who has waited so long, and whether it is over."""
    if is_over:
        return {"stage": WAITED, "html": as_html(study.waited), **_way_back(study, study.waited_code)}
    return {"stage": WAITING, "reason": reason, "seconds": round(seconds), "minutes": study.wait_minutes}


def _way_back(study: Study, code: str) -> dict[str, Any]:
    """The code of a last page, and the address of the platform."""
    url = study.return_url
    return {
        "completion_code": code,
        "return_url": url.replace("{code}", code) if code or "{code}" not in url else "",
    }


def _game(sessions: Sessions, row: Row) -> dict[str, Any]:
    """The step of a participant, and the panel of unlocked objects."""
    game, names_objects = sessions.game_of(row), bool(row["names_objects"])
    shown = Shown(kind=row["kind"], thing=row["thing"])
    partners = sessions.pairs or sessions.plays
    if partners is None:
        step: dict[str, Any] = {"view": game.view(row["step"], shown, names_objects)}
    else:
        told, kind = partners.told(row)
        step = {"view": partners.view(row, names_objects), "told": told, "told_kind": kind}
    return {
        **step,
        "step": row["step"],
        "example": game.example_of(row["step"]) + 1,
        "num_examples": game.num_examples,
        "score": row["score"],
        "num_available": row["num_available"],
        "min_available": game.first_available,
        "max_available": game.max_available,
        "panel": game.panel(row["num_available"], names_objects),
        "has_pictures": game.has_pictures,
    }


def _questions(questions: Mapping[str, Question]) -> list[dict[str, Any]]:
    """Questions without what is right."""
    return [
        {"name": name, "text": question.text, "choices": list(question.choices)}
        for name, question in questions.items()
    ]
