"""The game that the participants of a study play: codes of a grammar, or the language of trained agents."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.people.agents_game import AgentsGame
from ecsuite.people.agents_language import AgentsLanguage, Objects, read_language
from ecsuite.people.attribute_pictures import draw
from ecsuite.people.chain_game import chain_game
from ecsuite.people.codes_game import codes_game
from ecsuite.people.database import Database
from ecsuite.people.game import Game
from ecsuite.people.pair_game import pair_game
from ecsuite.people.pictures import as_png
from ecsuite.people.study import Study
from ecsuite.runtime.errors import ConfigError

if TYPE_CHECKING:
    from ecsuite.games.runs.run import Run

LANGUAGE = "language"
"""The setting of a database that has the agents' language."""

MakeGame = Callable[[Mapping[str, Any]], Game]
"""Makes the game of a participant, who is given as stored."""


@dataclass(frozen=True, kw_only=True)
class Agents:
    """The trained agents of a study."""

    run: "Run"
    """Their run."""
    language: AgentsLanguage
    """What they say."""
    objects: Objects
    """The objects that it is about."""

    def hears(self, symbols: Sequence[int]) -> NDArray[Any]:
        """How well their receiver finds that each object fits to a message."""
        (scores,) = self.run.scores([list(symbols)], self.objects.choices)
        return np.asarray(scores)


def load_agents(study: Study) -> Agents | None:
    """The agents of a study, if it has some; who plays rounds is asked as they go on.

    Raises:
        ConfigError: If there is no such run, or people can't play its game, or the play of rounds.
    """
    if study.play:
        from ecsuite.people.rounds_game import try_play

        try_play(study)
    if not study.run:
        return None
    from ecsuite.games.runs.run import load_run
    from ecsuite.people.rounds_game import is_of_rounds

    run = load_run(Path(study.run))
    if is_of_rounds(run.experiment):
        game = Path(study.run) / "config.yaml"
        raise ConfigError(f"{study.run}: agents who play rounds are met in their game: expected {game}")
    language, objects = read_language(run, study.seed)
    return Agents(run=run, language=language, objects=objects)


def game_to_play(study: Study, database: Database, agents: Agents | None) -> MakeGame:
    """The game of a study that goes on; the agents' language is stored when they are first met.

    Raises:
        ConfigError: If answers were given about other weights.
    """
    if agents is None:
        return game_to_read(study, database)
    language, stored = agents.language, database.setting(LANGUAGE, "")
    if stored and AgentsLanguage.from_json(json.loads(stored)).signature != language.signature:
        raise ConfigError(
            f"{database.file}: holds answers about other weights of {language.run}, which has been trained since; "
            "choose another name for the study"
        )
    if not stored:
        database.store_setting(LANGUAGE, json.dumps(language.as_json()))
    pictures = _pictures(language, agents.objects)
    return partial(_agents_game, language, hears=agents.hears, pictures=pictures)


def game_to_read(study: Study, database: Database) -> MakeGame:
    """The game of a study whose answers are only read; agents hear nothing new in it."""
    if study.run:
        return partial(_agents_game, stored_language(database))
    if study.play:
        from ecsuite.people.rounds_game import rounds_game

        return partial(rounds_game, study)
    if study.pairs:
        return partial(pair_game, study)
    return partial(chain_game, study) if study.chains else codes_game


def stored_language(database: Database) -> AgentsLanguage:
    """The language that participants learned.

    Raises:
        ConfigError: If nobody has begun.
    """
    stored = database.setting(LANGUAGE, "")
    if not stored:
        raise ConfigError(f"{database.file}: nobody has been served yet: expected a study that was")
    return AgentsLanguage.from_json(json.loads(stored))


def _agents_game(language: AgentsLanguage, row: Mapping[str, Any], **live: Any) -> AgentsGame:
    return AgentsGame(language=language, role=row["grammar"], seed=row["seed"], **live)


def _pictures(language: AgentsLanguage, objects: Objects) -> Callable[[int], bytes] | None:
    """The pictures of the objects; None if there are none."""
    if language.drawn_by == "images" and objects.images is not None:
        made = [as_png(np.asarray(pixels)) for pixels in objects.images]
        return made.__getitem__
    if language.drawn_by == "values" and language.values is not None:
        made = [draw(values) for values in language.values]
        return made.__getitem__
    return None
