"""A play: the signalling game with alternating updates of senders and receivers."""

from dataclasses import dataclass

from ecsuite.games.plays.signalling import Signalling
from ecsuite.parts.config import Count


class Alternating(Signalling):
    """Signalling game in which only one role learns in each step."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the play."""

        every: Count = 1
        """Number of steps in which one role learns before the other role learns."""

    def update(self, step, optimise):
        """Play the batches of a step, and change the weights of one role."""
        learner = ("sender", "receiver")[step // self.options.every % 2]
        numbers = self.batches_of(step)
        optimise.begin()
        for number in numbers:
            played = self.play_batch(number, step)
            optimise.backward(self.loss(played), len(numbers), only=self.modules_of(learner))
        optimise.step()
        return played.measures
