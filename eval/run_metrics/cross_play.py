"""Cross-play within a society: do senders and receivers understand each other that never met?"""

from typing import TYPE_CHECKING

from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.metrics.traits import Traits, metric
from ecsuite.eval.statistics.chance import Chance
from ecsuite.eval.statistics.estimates import clipped

if TYPE_CHECKING:
    from ecsuite.games.runs import Run

CROSS_PLAY = Traits(
    name="cross_play",
    about="accuracy of pairs that never met",
    high="as high as that of pairs that met: one language for all; as by chance also for renamed symbols",
    question="agents",
    direction="higher",
    version=2,
    bounds=(0.0, 1.0),
    chance="guesses",
    needs=("agents",),
)


@metric(CROSS_PLAY)
def cross_play(run: "Run", options: Options) -> list[Score]:
    """Accuracy of the pairs of a society that never met in training, without learning (zero-shot).

    The score is the mean over these pairs. They share agents, so its 95 % interval is from a jackknife over agents, see
    `crossed_means.crossed_mean`. The details have the mean over pairs that met (`met`), and the accuracy of every
    sender (rows) with every receiver (`matrix`). `ecsuite cross-play` does the same for agents of several runs.

    Undefined if all pairs met.
    """
    from ecsuite.eval.run_metrics.pairings import every_pairing

    evaluation = run.experiment.evaluation
    score = unscored(CROSS_PLAY, task=run.experiment.task.kind, mode=evaluation.mode)
    pairings = every_pairing([run])
    strangers = pairings.where("strangers")
    if not strangers.any():
        return [score(value=None, reason="every sender met every receiver")]
    found = pairings.mean("strangers")
    details = {
        "met": float(pairings.accuracy[pairings.where("met")].mean()),
        "pairs": int(strangers.sum()),
        "matrix": pairings.accuracy.tolist(),
    }
    chance = Chance(kind="constant", level=pairings.chance, error=found.error, freedom=found.freedom)
    ci95 = clipped(found.mean, found.half_width, 0.0, 1.0)
    return [score(value=found.mean, ci95=ci95, chance=chance, details=details)]
