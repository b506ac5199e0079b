"""A control: do agents understand each other about objects of noise, which are like nothing that they know?"""

from typing import TYPE_CHECKING

from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import Traits, metric
from ecsuite.eval.statistics.chance import of_guesses
from ecsuite.eval.statistics.estimates import clipped, mean_and_half_width
from ecsuite.runtime.errors import ConfigError

if TYPE_CHECKING:
    from ecsuite.games.runs import Run

NOISE_OBJECTS = Traits(
    name="noise_objects",
    about="accuracy about objects of noise (a control)",
    high="above chance: agents speak of single pixels or features; as by chance: of what objects have in common",
    question="agents",
    version=2,
    bounds=(0.0, 1.0),
    chance="guesses",
    needs=("agents",),
)


@metric(NOISE_OBJECTS)
def noise_objects(run: "Run", options: Options) -> list[Score]:
    """Accuracy in rounds of evaluation about images or vectors of noise, in the place of the objects of the world.

    Bouchacourt & Baroni (2018, section 4), https://arxiv.org/abs/1808.10696: agents that understand each other about
    noise speak of single pixels or features, and not of what objects have in common. The score is the mean over the
    rounds of validation with Student's 95 % interval over rounds, those of a batch sharing objects; of a society, over
    all pairs that meet, too. The details have the accuracy about the objects of the world (`accuracy`) and the chance
    level.

    Undefined where agents see attribute values instead of images or features.
    """
    from ecsuite.eval.run_metrics.rounds import played
    from ecsuite.games.noise_objects import with_noise_objects

    evaluation = run.experiment.evaluation
    score = unscored(NOISE_OBJECTS, task=run.experiment.task.kind, mode=evaluation.mode)
    world = run.pair.world
    try:
        noisy = with_noise_objects(world)
    except ConfigError:
        return [
            score(value=None, reason="the objects of this world are attribute values, no images or features")
        ]
    rounds = played(run, [(noisy, "valid")]).accuracy.tolist()
    value, half_width = mean_and_half_width(rounds)
    chance = of_guesses(run.players.chance()["accuracy"], rounds)
    details = {"accuracy": float(played(run, [(world, "valid")]).accuracy.mean())}
    return [score(value=value, ci95=clipped(value, half_width, 0.0, 1.0), chance=chance, details=details)]
