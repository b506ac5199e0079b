"""Web server of a study: pages and actions over HTTP; pages load nothing from other servers.

All URLs are relative, so that the server works behind a proxy under any path.
"""

import hmac
import re
import sqlite3
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from importlib import resources
from typing import Any
from urllib.parse import quote

import msgspec
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ecsuite.people.database import RefusedError, Row, hashed
from ecsuite.people.kinds import ATTENTION, JUDGED_LATER, QUESTIONS, BadRequestError, Question, Shown
from ecsuite.people.session import MAX_TYPED, Sessions
from ecsuite.people.study import (
    AWAY,
    FINISHED,
    GAME,
    INSTRUCTIONS,
    LEFT,
    QUESTIONS_STAGE,
    QUIZ_STAGE,
    WAITING,
    WITH_CHAINS,
    WITH_PAIRS,
    WITH_PLAY,
    WITH_RUN,
    Study,
    as_html,
)

MAX_BODY = 16_384
"""Maximum size of a request body in bytes."""
MAX_WORKER = 200
"""Maximum length of a worker ID in characters."""
CHOICES_A_STEP = 10
"""Number of picture numbers reserved per step for its candidates, so that a number always means the same picture."""
NUMBER = re.compile("[0-9]{1,6}")
"""Pattern of picture numbers."""
YEAR = 365 * 24 * 3600
MAX_KEYS = 100_000
"""Maximum number of stored buckets of visitors; beyond it, full buckets are removed."""
STATIC = {
    "page.css": "text/css",
    "page.js": "text/javascript",
    "game.js": "text/javascript",
    "screens.js": "text/javascript",
    "server.js": "text/javascript",
    "icon.svg": "image/svg+xml",
    "jspsych.js": "text/javascript",
}
"""Files of the page, and their types."""
TITLES = {
    WITH_RUN: "A language that agents invented",
    WITH_CHAINS: "An unknown language",
    WITH_PAIRS: "A game for two",
    WITH_PLAY: "A game of words",
}
"""Titles of the page by kind of study."""
AWAY_TEXT = """# The game has ended

You were away for too long, so that your partner's game ended, too. Your answers until then are stored. If this is a
mistake, write to the people who invited you.
"""
"""Text for a participant who was away from a game with a partner."""
CONSENT, WAITED = "consent", "waited"
"""Stages that are not stored: before consent, and after the maximum waiting time."""
NO_PLACE = "Others are playing, and you will learn what one of them types. A place may become free soon."
NO_PARTNER = "You will play with another participant, who has not arrived yet."
"""Reasons for waiting, in chains and in pairs."""
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Default headers of all responses."""
Action = Callable[[str, dict[str, Any]], tuple[Row | None, dict[str, Any]]]
"""Action of a visitor: takes the token and the request's JSON, returns the participant's new row and a result."""


class Limiter:
    """Rate limiter with one token bucket per visitor.

    Args:
        burst: Permits in a full bucket.
        per_second: Permits added per second.
        clock: Returns the time in seconds.
    """

    def __init__(self, burst: float, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._burst, self._per_second, self._clock = burst, per_second, clock
        self._buckets: dict[str, tuple[float, float]] = {}  # permits, and the time of their last update

    def allows(self, key: str) -> bool:
        """Take a permit from a visitor's bucket; return False if the bucket is empty."""
        now, burst, rate = self._clock(), self._burst, self._per_second
        if len(self._buckets) >= MAX_KEYS:
            self._buckets = {
                name: (left, since)
                for name, (left, since) in self._buckets.items()
                if left + (now - since) * rate < burst
            }
        left, since = self._buckets.get(key, (burst, now))
        left = min(burst, left + (now - since) * rate)
        self._buckets[key] = (max(left - 1, 0.0), now)
        return left >= 1


class People:
    """Request handlers of a study.

    Args:
        sessions: The sessions of participants.
        is_trial: Whether a single user tries the game, and can play again.
    """

    def __init__(self, sessions: Sessions, *, is_trial: bool = False) -> None:
        self.sessions, self.is_trial = sessions, is_trial
        self.cookie = "people_" + hashed(sessions.database.setting("secret"))[:8]
        pages = resources.files("ecsuite.people").joinpath("pages")
        page = pages.joinpath("index.html").read_text("utf-8")
        self._page = page.replace("{title}", TITLES.get(sessions.study.kind, "Secret Spy Codes")).encode()
        self._static = {
            name: pages.joinpath(*(["jspsych"] if name == "jspsych.js" else []), name).read_bytes()
            for name in STATIC
        }
        per_minute = sessions.study.starts_per_minute
        self._starts, self._requests = Limiter(per_minute, per_minute / 60), Limiter(240, 40)
        self.actions: dict[str, Action] = {
            "begin": self._begin,
            "wait": lambda token, sent: (sessions.wait(token, _text(sent, "worker", MAX_WORKER)), {}),
            "go_on": lambda token, sent: (
                sessions.go_on(token, _text(sent, "stage", 20), _settings(sent)),
                {},
            ),
            "choose": lambda token, sent: (sessions.choose(token, _settings(sent)), {}),
            "quiz": self._quiz,
            "answer": self._answer,
            "panel": self._panel,
            "look": lambda token, sent: (sessions.look(token, _number(sent, "step")), {}),
            "reply": lambda token, sent: (sessions.reply(token, _replies(sent)), {}),
            "withdraw": lambda token, sent: (None, {"is_deleted": sessions.withdraw(token)}),
        }
        if is_trial:
            self.actions["skip"] = lambda token, sent: (sessions.skip(token), {})

    def app(self) -> ASGIApp:
        """The application."""
        routes = [
            Route("/", self._index),
            Route("/static/{name}", self._file),
            Route("/api/state", self._state),
            Route("/api/{action}", self._act, methods=["POST"]),
            Route("/picture/{place}/{number}", self._picture),
        ]
        return WithHeaders(Starlette(routes=routes, exception_handlers=ERRORS))

    def _visitor(self, request: Request) -> str:
        """Count a request, and return its visitor's token; empty if this study did not issue the token."""
        token = request.cookies.get(self.cookie, "")
        number, code = token[:32], token[32:]
        expected = self.sessions.code(f"token {number}")[:32]
        if not token.isascii() or not hmac.compare_digest(code, expected):
            return ""
        if not self._requests.allows(token):
            raise HTTPException(429, "Too many requests; wait a moment.")
        return token

    async def _index(self, request: Request) -> Response:
        response = Response(self._page, media_type="text/html")
        if not self._visitor(request) or (self.is_trial and "again" in request.query_params):
            response.set_cookie(
                self.cookie,
                self.sessions.new_token(),
                max_age=YEAR,
                path=request.scope.get("root_path") or "/",
                httponly=True,
                samesite="lax",
                secure=request.url.scheme == "https",
            )
        return response

    async def _file(self, request: Request) -> Response:
        self._visitor(request)
        name = request.path_params["name"]
        if name not in self._static:
            raise HTTPException(404)
        return Response(
            self._static[name], media_type=STATIC[name], headers={"Cache-Control": "public, max-age=300"}
        )

    async def _state(self, request: Request) -> Response:
        if not (token := self._visitor(request)):
            raise RefusedError(
                "This study needs a cookie to recognize you. Allow cookies and open the page again."
            )
        row = self.sessions.database.participant(token)
        return JSONResponse(view(self.sessions, token, row, self.is_trial))

    async def _act(self, request: Request) -> Response:
        token, name = self._visitor(request), request.path_params["action"]
        sent_code = request.headers.get("x-csrf-token", "")
        if not token or not hmac.compare_digest(sent_code.encode(), self.sessions.code(token).encode()):
            raise HTTPException(403, "Open the page of the study again.")
        if name not in self.actions:
            raise HTTPException(404)
        address = request.client.host if request.client else ""
        if name == "begin" and not self._starts.allows(address):
            raise HTTPException(429, "Too many people begin at once; wait a minute.")
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BODY:
                raise BadRequestError("Too much was sent.")
        try:
            sent = msgspec.json.decode(body, type=dict[str, Any])
        except (ValueError, RecursionError):  # also halves of surrogate pairs, which no text file can have
            raise BadRequestError("Expected a JSON object.") from None
        row, result = self.actions[name](token, sent)
        return JSONResponse({**result, "state": view(self.sessions, token, row, self.is_trial)})

    def _begin(self, token: str, sent: dict[str, Any]) -> tuple[Row | None, dict[str, Any]]:
        worker = _text(sent, "worker", MAX_WORKER)
        if worker == "ASSIGNMENT_ID_NOT_AVAILABLE":
            raise RefusedError("Accept the task at the platform first.")
        return self.sessions.begin(token, worker), {}

    def _quiz(self, token: str, sent: dict[str, Any]) -> tuple[Row | None, dict[str, Any]]:
        row, is_right = self.sessions.take_quiz(token, _number(sent, "attempt"), _replies(sent))
        return row, {"is_right": is_right}

    def _answer(self, token: str, sent: dict[str, Any]) -> tuple[Row | None, dict[str, Any]]:
        typed = _text(sent, "typed", MAX_TYPED).strip()
        if not typed or not typed.isprintable():
            raise BadRequestError("Type a code first.")
        milliseconds = sent.get("response_ms")  # None below if it is missing or not valid
        if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
            milliseconds = None
        elif not 0 <= milliseconds < 1e9:
            milliseconds = None
        response_ms = None if milliseconds is None else float(milliseconds)
        row, entry = self.sessions.answer(token, _number(sent, "step"), typed, response_ms)
        shown, game = Shown(kind=entry["kind"], meaning=entry["thing"]), self.sessions.kind.game(row)
        return row, {
            "is_right": None if shown.kind in JUDGED_LATER else bool(entry["is_right"]),
            "points": entry["points"],
            "kept": entry["typed"],
            "told": game.feedback(entry["step"], shown, entry["typed"]),
        }

    def _panel(self, token: str, sent: dict[str, Any]) -> tuple[Row | None, dict[str, Any]]:
        return self.sessions.change_panel(token, _number(sent, "before"), _number(sent, "after")), {}

    async def _picture(self, request: Request) -> Response:
        row = self.sessions.required(self._visitor(request))
        number, place = request.path_params["number"], request.path_params["place"]
        picture = self._drawn(row, place, int(number)) if NUMBER.fullmatch(number) else None
        if picture is None:
            raise HTTPException(404)
        return Response(picture, media_type="image/png", headers={"Cache-Control": "private, max-age=3600"})

    def _drawn(self, row: Row, place: str, number: int) -> bytes | None:
        """Picture of the current step or of an unlocked object; None for all other pictures."""
        game, step = self.sessions.kind.game(row), row["step"]
        if row["stage"] != GAME:
            return None
        shown = Shown(kind=row["kind"], meaning=row["thing"])
        if place == "panel" and number < row["num_available"]:
            return game.panel_picture(number)
        if shown.kind == ATTENTION:
            return None
        if place == "step" and number == step:
            return game.step_picture(step, shown)
        first = step * CHOICES_A_STEP
        if place == "choice" and first <= number < first + CHOICES_A_STEP:
            return game.choice_picture(step, shown, number - first)
        return None


def _text(sent: dict[str, Any], key: str, longest: int) -> str:
    value = sent.get(key, "")
    if not isinstance(value, str) or len(value) > longest:
        raise BadRequestError(f"{key}: expected at most {longest} characters.")
    return value


def _number(sent: dict[str, Any], key: str) -> int:
    value = sent.get(key)
    if type(value) is not int or not 0 <= value < 1_000_000:
        raise BadRequestError(f"{key}: expected a number.")
    return value


def _settings(sent: dict[str, Any]) -> dict[str, bool]:
    values = {key: sent.get(key) for key in ("has_sound", "names_objects")}
    if not all(isinstance(value, bool) for value in values.values()):
        raise BadRequestError("has_sound, names_objects: expected true or false.")
    return {key: bool(value) for key, value in values.items()}


def _replies(sent: dict[str, Any]) -> dict[str, str]:
    replies = sent.get("replies")
    if not isinstance(replies, dict) or not all(isinstance(value, str) for value in replies.values()):
        raise BadRequestError("replies: expected texts by name.")
    return {str(name): value for name, value in replies.items()}


def view(sessions: Sessions, token: str, row: Row | None, is_trial: bool) -> dict[str, Any]:
    """JSON-ready state of a visitor's page.

    Args:
        sessions: The sessions of participants.
        token: Token of the visitor.
        row: Database row of the participant; None before consent.
        is_trial: Whether a single user tries the game, and can play again.
    """
    study, queue = sessions.study, sessions.queue
    state: dict[str, Any] = {"csrf": sessions.code(token), "is_trial": is_trial, "platform": study.platform}
    is_waiting = row["stage"] == WAITING if row is not None else queue.seconds(token) is not None
    if is_waiting:
        seconds = queue.seconds(token)
        if seconds is not None and not queue.is_waiting(token):
            return {
                **state,
                "stage": WAITED,
                "html": as_html(study.waited),
                **_way_back(study, study.waited_code),
            }
        reason = NO_PLACE if row is None else NO_PARTNER
        waited = {"seconds": round(seconds or 0.0), "minutes": study.wait_minutes}
        return {**state, "stage": WAITING, "reason": reason, **waited}
    if row is None:
        return {**state, "stage": CONSENT, "html": as_html(study.consent)}
    state |= {
        "stage": row["stage"],
        "settings": {"has_sound": bool(row["has_sound"]), "names_objects": bool(row["names_objects"])},
    }
    if row["stage"] == INSTRUCTIONS:
        state["html"] = as_html(study.instructions)
    elif row["stage"] == QUIZ_STAGE:
        state |= {"attempt": row["num_quiz_attempts"], "questions": _questions(sessions.kind.quiz)}
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
            "table": sessions.kind.result_table(row),
            "token": token,
            **_way_back(study, study.completion_code),
        }
    return state


def _way_back(study: Study, code: str) -> dict[str, Any]:
    """The completion code of the last page, and the URL of the platform."""
    url = study.return_url
    return {
        "completion_code": code,
        "return_url": url.replace("{code}", code) if code or "{code}" not in url else "",
    }


def _game(sessions: Sessions, row: Row) -> dict[str, Any]:
    """JSON-ready step of a participant, with the panel of unlocked objects."""
    game, names_objects = sessions.kind.game(row), bool(row["names_objects"])
    if sessions.live is None:
        shown = Shown(kind=row["kind"], meaning=row["thing"])
        step: dict[str, Any] = {"view": game.view(row["step"], shown, names_objects)}
    else:
        feedback, colour = sessions.live.last_feedback(row)
        step = {"view": sessions.live.step_view(row, names_objects), "told": feedback, "told_kind": colour}
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
    return [
        {"name": name, "text": question.text, "choices": list(question.choices)}
        for name, question in questions.items()
    ]


class WithHeaders:
    """Middleware that adds `HEADERS` to all responses, including errors.

    Args:
        app: The application; it sends a response before it raises an error.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        with suppress(Exception):  # Starlette raises again the error that `_mistaken` has reported
            await self.app(scope, receive, send_with_headers)


def _message(status: int) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def handler(request: Request, error: Exception) -> Response:
        return JSONResponse({"error": str(error)}, status)

    return handler


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    text = "There is no such page." if error.status_code == 404 else error.detail
    return JSONResponse({"error": text}, error.status_code, error.headers)


async def _not_stored(request: Request, error: Exception) -> Response:
    sys.stderr.write(f"an answer can't be stored now: {error}; no answer is lost: the page sends it again\n")
    return JSONResponse({"error": "The server can't store answers now."}, 503)


async def _mistaken(request: Request, error: Exception) -> Response:
    place = f"{request.method} {quote(request.url.path)}"  # quoted, so that no escape sequence reaches the terminal
    sys.stderr.write(f"{place}: {type(error).__name__}: {error}\n")
    return JSONResponse({"error": "The server made a mistake."}, 500)


ERRORS = {
    HTTPException: _refused,
    BadRequestError: _message(400),
    ClientDisconnect: _message(400),
    RefusedError: _message(409),
    sqlite3.OperationalError: _not_stored,
    Exception: _mistaken,
}
"""Error handlers; visitors get one line without internal details."""
