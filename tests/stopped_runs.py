"""Runs that are stopped after some steps, as one is that is asked to end."""

from ecsuite.eval.run_metrics.language_metrics import LanguageMetrics
from ecsuite.games.training.train import train


def trained(experiment, folder, *, stop_after=None, notes=None, device="cpu", **how):
    """Train, or go on; `stop_after`: end after so many steps; `notes` gets what is noted."""
    steps = 0

    def should_stop():
        nonlocal steps
        steps += 1
        return "preempted" if steps == stop_after else None

    return train(
        experiment, folder, device=device, scorer=LanguageMetrics, progress=lambda *_: None,
        note=([] if notes is None else notes).append, should_stop=should_stop, **how,
    )  # fmt: skip
