"""The web server of a study: pages and actions over HTTP, with nothing from any other network address.

All addresses are relative, so that it works behind a proxy under any path.
"""

import hmac
import re
from collections.abc import Awaitable, Callable
from importlib import resources
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from ecsuite.people.database import Row, hashed
from ecsuite.people.errors import RefusedError
from ecsuite.people.game import ATTENTION, TEST, Shown
from ecsuite.people.limits import Limiter
from ecsuite.people.objects import letters_of
from ecsuite.people.pair_game import SPEAKING
from ecsuite.people.responses import ERRORS, BadRequestError, WithHeaders
from ecsuite.people.session import MAX_TYPED, Sessions
from ecsuite.people.stages import GAME
from ecsuite.people.study import WITH_CHAINS, WITH_PAIRS, WITH_PLAY, WITH_RUN
from ecsuite.people.views import view

MAX_BODY = 16_384
"""Most bytes of what an action sends."""
MAX_WORKER = 200
"""Most characters of an ID."""
CHOICES_A_STEP = 10
"""Pictures of objects to choose are numbered by steps of so many, so that a picture never changes."""
NUMBER = re.compile("[0-9]{1,6}")
"""Of a picture."""
YEAR = 365 * 24 * 3600
STATIC = {
    "page.css": "text/css",
    "page.js": "text/javascript",
    "game.js": "text/javascript",
    "screens.js": "text/javascript",
    "server.js": "text/javascript",
    "icon.svg": "image/svg+xml",
    "jspsych.js": "text/javascript",
}
"""The files of the page, and their types."""
TITLES = {
    WITH_RUN: "A language that agents invented",
    WITH_CHAINS: "An unknown language",
    WITH_PAIRS: "A game for two",
    WITH_PLAY: "A game of words",
}
"""By kind of study, the title of the page."""
Action = Callable[[str, dict[str, Any]], dict[str, Any]]


class People:
    """The handlers of a study.

    Args:
        sessions: The participants.
        is_trial: Whether somebody tries the game alone, who can play again.
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
            "wait": self._wait,
            "go_on": self._go_on,
            "choose": self._choose,
            "quiz": self._quiz,
            "answer": self._answer,
            "panel": self._panel,
            "look": self._look,
            "reply": self._reply,
            "withdraw": self._withdraw,
        }
        if is_trial:
            self.actions["skip"] = self._skip

    def app(self) -> ASGIApp:
        """The application."""
        routes = [
            Route("/", self._limited(self._index)),
            Route("/static/{name}", self._limited(self._file)),
            Route("/api/state", self._limited(self._state)),
            Route("/api/{action}", self._limited(self._act), methods=["POST"]),
            Route("/picture/{place}/{number}", self._limited(self._picture)),
        ]
        return WithHeaders(Starlette(routes=routes, exception_handlers=ERRORS))

    def _limited(
        self, handler: Callable[[Request], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """A handler that a visitor may ask so often."""

        async def limited(request: Request) -> Response:
            if self._token(request) and not self._requests.allows(self._token(request)):
                raise HTTPException(429, "Too many requests; wait a moment.")
            return await handler(request)

        return limited

    def _token(self, request: Request) -> str:
        token = request.cookies.get(self.cookie, "")
        return token if token.isascii() and self.sessions.is_token(token) else ""

    async def _index(self, request: Request) -> Response:
        response = Response(self._page, media_type="text/html")
        if not self._token(request) or (self.is_trial and "again" in request.query_params):
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
        name = request.path_params["name"]
        if name not in self._static:
            raise HTTPException(404)
        return Response(
            self._static[name], media_type=STATIC[name], headers={"Cache-Control": "public, max-age=300"}
        )

    async def _state(self, request: Request) -> Response:
        if not (token := self._token(request)):
            raise RefusedError(
                "This study needs a cookie to know you again. Allow cookies and open the page again."
            )
        return JSONResponse(view(self.sessions, token, self.is_trial))

    async def _act(self, request: Request) -> Response:
        token, action = self._token(request), self.actions.get(request.path_params["action"])
        sent = request.headers.get("x-csrf-token", "")
        if not token or not hmac.compare_digest(sent.encode(), self.sessions.csrf(token).encode()):
            raise HTTPException(403, "Open the page of the study again.")
        if action is None:
            raise HTTPException(404)
        if request.path_params["action"] == "begin" and not self._starts.allows(
            request.client.host if request.client else ""
        ):
            raise HTTPException(429, "Too many people begin at once; wait a minute.")
        found = action(token, await _body(request))
        return JSONResponse({**found, "state": view(self.sessions, token, self.is_trial)})

    def _begin(self, token: str, sent: dict[str, Any]) -> dict[str, Any]:
        worker = _text(sent, "worker", MAX_WORKER)
        if worker == "ASSIGNMENT_ID_NOT_AVAILABLE":
            raise RefusedError("Accept the task at the platform first.")
        self.sessions.begin(token, worker)
        return {}

    def _wait(self, token: str, sent: dict[str, Any]) -> dict[str, Any]:
        self.sessions.wait(token, _text(sent, "worker", MAX_WORKER))
        return {}

    def _skip(self, token: str, sent: dict[str, Any]) -> dict[str, Any]:
        self.sessions.skip(token)
        return {}

    def _go_on(self, token: str, sent: dict[str, Any]) -> dict[str, Any]:
        self.sessions.go_on(token, _text(sent, "stage", 20), _settings(sent))
        return {}

    def _choose(self, token: str, sent: dict[str, Any]) -> dict[str, Any]:
        self.sessions.choose(token, _settings(sent))
        return {}

    def _quiz(self, token: str, sent: dict[str, Any]) -> dict[str, Any]:
        return {"is_right": self.sessions.take_quiz(token, _number(sent, "attempt"), _replies(sent))}

    def _answer(self, token: str, sent: dict[str, Any]) -> dict[str, Any]:
        typed = _text(sent, "typed", MAX_TYPED).strip()
        if not typed or not typed.isprintable():
            raise BadRequestError("Type a code first.")
        plays, step, row = self.sessions.plays, _number(sent, "step"), self.sessions.required(token)
        if row["stage"] == GAME and step == row["step"] and (wrong := self._refusal(row, typed)):
            raise BadRequestError(wrong)  # one that is sent again was taken before
        row = self.sessions.answer(token, step, typed, _milliseconds(sent))
        game = self.sessions.game_of(self.sessions.required(token))
        told = game.told(row["step"], Shown(kind=row["kind"], thing=row["thing"]), row["typed"])
        return {
            "is_right": None
            if plays is not None or row["kind"] in (TEST, SPEAKING)
            else bool(row["is_right"]),
            "points": row["points"],
            "kept": row["typed"],
            "told": told,
        }

    def _refusal(self, row: Row, typed: str) -> str:
        """What should have been answered to the present step in place of what was; empty: it can be."""
        if row["kind"] == TEST and not letters_of(typed):
            return "Type letters from a to z."
        if row["kind"] == SPEAKING and letters_of(typed) != typed.lower():
            return "Type letters from a to z, and nothing else."
        return "" if self.sessions.plays is None else self.sessions.plays.refusal(row, typed)

    def _panel(self, token: str, sent: dict[str, Any]) -> dict[str, Any]:
        self.sessions.change_panel(token, _number(sent, "before"), _number(sent, "after"))
        return {}

    def _look(self, token: str, sent: dict[str, Any]) -> dict[str, Any]:
        self.sessions.look(token, _number(sent, "step"))
        return {}

    def _reply(self, token: str, sent: dict[str, Any]) -> dict[str, Any]:
        self.sessions.reply(token, _replies(sent))
        return {}

    def _withdraw(self, token: str, sent: dict[str, Any]) -> dict[str, Any]:
        return {"is_deleted": self.sessions.withdraw(token)}

    async def _picture(self, request: Request) -> Response:
        row = self.sessions.required(self._token(request))
        number, place = request.path_params["number"], request.path_params["place"]
        picture = self._drawn(row, place, int(number)) if NUMBER.fullmatch(number) else None
        if picture is None:
            raise HTTPException(404)
        return Response(picture, media_type="image/png", headers={"Cache-Control": "private, max-age=3600"})

    def _drawn(self, row: Row, place: str, number: int) -> bytes | None:
        """A picture that the participant may see now: of the present step, or of an unlocked object."""
        game, step = self.sessions.game_of(row), row["step"]
        if row["stage"] != GAME:
            return None
        shown = Shown(kind=row["kind"], thing=row["thing"])
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


async def _body(request: Request) -> dict[str, Any]:
    """The JSON object that an action sends."""
    data = b""
    async for chunk in request.stream():
        data += chunk
        if len(data) > MAX_BODY:
            raise BadRequestError("Too much was sent.")
    try:
        return msgspec.json.decode(data, type=dict[str, Any])
    except (ValueError, RecursionError):  # also halves of surrogate pairs, which no text file can have
        raise BadRequestError("Expected a JSON object.") from None


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


def _milliseconds(sent: dict[str, Any]) -> float | None:
    """How long the answer took, None if the page sent nothing that can be."""
    value = sent.get("response_ms")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < 1e9 else None


def _settings(sent: dict[str, Any]) -> dict[str, bool]:
    """The participant's choices, of which both are needed."""
    values = {key: sent.get(key) for key in ("has_sound", "names_objects")}
    if not all(isinstance(value, bool) for value in values.values()):
        raise BadRequestError("has_sound, names_objects: expected true or false.")
    return {key: bool(value) for key, value in values.items()}


def _replies(sent: dict[str, Any]) -> dict[str, str]:
    replies = sent.get("replies")
    if not isinstance(replies, dict) or not all(isinstance(value, str) for value in replies.values()):
        raise BadRequestError("replies: expected texts by name.")
    return {str(name): value for name, value in replies.items()}
