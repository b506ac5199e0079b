"""Participants that are trained networks: the agents of a run, who speak and listen as they were trained."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ecsuite.games.participants.participant import Ask, Participant, Setting
from ecsuite.games.runs.run import load_run
from ecsuite.runtime.errors import ConfigError


class Trained(Participant):
    """The first sender and receiver of a run.

    The symbols of its channel are those of the play in their order, and its objects have the attributes of the world.

    Raises:
        ConfigError: If there is no such run, or its game has other symbols or objects.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of trained networks."""

        run: str = ""
        """The run folder."""

    tasks: ClassVar[tuple[str, ...]] = ("discrimination", "reconstruction")

    def __init__(self, options: Options, *, setting: Setting) -> None:
        super().__init__(options, setting=setting)
        if not options.run:
            raise ConfigError("run: expected a run folder")
        self.run = load_run(options.run)
        channel = self.run.pair.channel
        symbols = setting.words.symbols
        if len(symbols) != channel.vocab_size or setting.words.max_len != channel.max_len:
            raise ConfigError(
                f"run: {options.run} says {channel.vocab_size} symbols, up to {channel.max_len} a message: expected as "
                f"many play.names and play.max_symbols, got {len(symbols)} and {setting.words.max_len}"
            )
        self._ids = {symbol: number for number, symbol in enumerate(symbols, 1)}
        try:
            self._messages = self.run.speak(setting.values)
        except ConfigError as error:
            raise ConfigError(f"run: {options.run}: {error}: the world of the play has others") from None
        names, trained = ([list(each) for each in of.value_names] for of in (setting, self.run.pair.world))
        if names != trained:
            raise ConfigError(
                f"run: {options.run} was trained on other objects: expected a world of the values "
                f"{', '.join(name for each in trained for name in each):.200}"
            )

    def answer(self, ask: Ask, rng: np.random.Generator) -> str:
        """The most likely message, or the candidate with the highest score."""
        words = self.setting.words
        if ask.role == "speaker":
            said = [words.symbols[symbol - 1] for symbol in self._messages[ask.thing]] or [words.symbols[0]]
            return words.separator.join(said)
        heard = [[self._ids[symbol] for symbol in words.split(ask.message)]]
        things = list(ask.candidates) or list(range(len(self.setting.things)))
        scores: Any = self.run.scores(heard, self.setting.values[things])[0]
        return ask.allowed.choices[int(scores.argmax())]
