"""Cross-play within a society: do senders and receivers understand each other that never met?"""

from ecsuite.eval.metrics.score import Options, Score, unscored, versioned
from ecsuite.eval.run_metrics.pairings import every_pairing
from ecsuite.eval.statistics.chance import Chance
from ecsuite.eval.statistics.t_intervals import clipped
from ecsuite.games.runs import Run

VERSION = 2


@versioned(VERSION)
def cross_play(run: Run, options: Options) -> list[Score]:
    """Accuracy of the pairs of a society that never met in training, without learning (zero-shot).

    The score is the mean over these pairs. They share agents, so its 95 % interval is from a jackknife over agents, see
    `crossed_means.crossed_mean`. The details have the mean over pairs that met (`met`), and the accuracy of every
    sender (rows) with every receiver (`matrix`). `ecsuite cross-play` does the same for agents of several runs.

    Undefined if all pairs met.
    """
    score = unscored(
        "cross_play",
        "accuracy of pairs that never met",
        VERSION,
        task=run.experiment.task.kind,
        mode=run.experiment.evaluation.mode,
    )
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
