"""The deletion channel, as an example of a noise; `channel.noise=deletion` is ours."""

from dataclasses import dataclass

from ecsuite.games.channels.noise import MessageNoise, without
from ecsuite.parts.config import Accuracy


class Deletion(MessageNoise):
    """Noise that deletes each symbol except EOS with a probability; later symbols move forward."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the noise."""

        probability: Accuracy = 0.1
        """Share of deleted symbols."""

    changes_length = True

    def change(self, message, generator):
        """Return the message without deleted symbols."""
        return without(message, self.draw(message, generator) < self.options.probability)
