"""The traits of XferBench's score, which its jobs read, too."""

from ecsuite.eval.metrics.traits import Traits

XFERBENCH = Traits(
    name="xferbench",
    about="transfer to human languages, lower is better",
    title="XferBench: cross-entropy of human text after pretraining on the corpus",
    high="below a reference source of its preset: the corpus helps more than that; nats per token",
    question="transfer",
    direction="lower",
    version=4,
    chance="training",
    trains=True,
    keeps_work=True,
    details={
        "by_target": "nats per token, by target language",
        "reference": "score of a reference source",
        "repeats": "passes over the corpus per epoch of pretraining",
        "text_repeats": "passes over this target's text per epoch",
    },
)
"""The version is that of the jobs, too. What size does is in the signature: `passes`."""
