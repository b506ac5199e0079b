"""Cross-play within a society: do senders and receivers understand each other that never met?"""

from ecsuite.eval.metrics.score import Options, Score, unscored
from ecsuite.eval.run_metrics.pairings import every_pairing
from ecsuite.eval.statistics.t_intervals import mean_and_half_width
from ecsuite.games.runs import Run

VERSION = 1


def cross_play(run: Run, options: Options) -> list[Score]:
    """Accuracy of the pairs of a society that never met in training, without learning (zero-shot).

    The score is the mean over these pairs, with Student's 95 % interval over them, which share agents. The details have
    the mean over pairs that met (`met`), the chance level, and the accuracy of every sender (rows) with every receiver
    (`matrix`). `ecsuite cross-play` does the same for agents of several runs.

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
    strangers = pairings.accuracy[pairings.where("strangers")].tolist()
    if not strangers:
        return [score(value=None, reason="every sender met every receiver")]
    value, half_width = mean_and_half_width(strangers)
    ci95 = None if half_width is None else (max(0.0, value - half_width), min(1.0, value + half_width))
    details = {
        "null_mean": pairings.chance,
        "null_low": pairings.chance,
        "null_high": pairings.chance,
        "met": float(pairings.accuracy[pairings.where("met")].mean()),
        "pairs": len(strangers),
        "matrix": pairings.accuracy.tolist(),
    }
    return [score(value=value, ci95=ci95, details=details)]
