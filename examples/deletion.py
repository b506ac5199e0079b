"""The deletion channel, as an example of a noise; `channel.noise=deletion` is ours."""

from dataclasses import dataclass

from ecsuite.games.channels.noise import MessageNoise, without
from ecsuite.parts.config import Accuracy


class Deletion(MessageNoise):
    """Each symbol but EOS gets lost with a probability, and those after it move up."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the noise."""

        probability: Accuracy = 0.1
        """Share of the symbols that get lost."""

    changes_length = True

    def change(self, message, generator):
        """The message without what got lost."""
        return without(message, self.draw(message, generator) < self.options.probability)
