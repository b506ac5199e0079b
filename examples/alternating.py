"""A play: the signalling game with alternating updates, in which sender and receiver learn in turn."""

from dataclasses import dataclass

from ecsuite.games.plays.signalling import Signalling
from ecsuite.parts.config import Count


class Alternating(Signalling):
    """In each step one of the two roles learns, and the weights of the other one stay as they are."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the play."""

        every: Count = 1
        """Steps in which one role learns, before it is the turn of the other one."""

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
