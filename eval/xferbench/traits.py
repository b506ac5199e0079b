"""The traits of XferBench's score, which its jobs read, too, and its options."""

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from ecsuite.eval.metrics.traits import Traits


@dataclass(frozen=True, kw_only=True, slots=True)
class XferBenchOptions:
    """How XferBench is run; its signature has what changes the score."""

    preset: Annotated[str, Meta(description="mini, mini-3m, danish, full")] = "mini"
    """Its size: model, data and training steps."""
    protocol: Annotated[str, Meta(description="strict, published-2024, head-2024-12")] = "strict"
    """strict, or a protocol of the authors' program."""
    num_seeds: Annotated[int, Meta(ge=1, le=10_000)] = 1
    """Number of runs, with seeds from that of scoring on."""
    targets: Annotated[str, Meta(description="a folder")] = ""
    """Folder of target texts (da.txt.gz, ...); empty: those of the preset."""


USUAL = XferBenchOptions()

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
    names_options=False,
    options=XferBenchOptions,
    keeps_work=True,
    details={
        "by_target": "nats per token, by target language",
        "reference": "score of a reference source",
        "repeats": "passes over the corpus per epoch of pretraining",
        "text_repeats": "passes over this target's text per epoch",
    },
)
"""The version is that of the jobs, too. What size does is in the signature: `passes`."""
