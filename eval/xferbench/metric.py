"""XferBench as a metric of a corpus, and as the score of a source that draws a corpus for each seed."""

from pathlib import Path
from typing import TYPE_CHECKING

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.by_speaker import parts_of
from ecsuite.eval.metrics.score import Options, Score
from ecsuite.eval.metrics.traits import metric
from ecsuite.eval.xferbench.traits import USUAL, XFERBENCH, XferBenchOptions
from ecsuite.jobs.graph import Runner
from ecsuite.runtime.errors import ConfigError, DivergedError, look_up

if TYPE_CHECKING:
    from ecsuite.eval.xferbench.study import Corpora, Study
    from ecsuite.eval.xferbench.texts import Text
    from ecsuite.jobs.job import Job

MAX_SEED = 2**31 - 1
"""Largest seed: larger numbers are made of it, of at most 63 bits."""


@metric(XFERBENCH)
def xferbench(
    corpus: Corpus, options: Options, own: XferBenchOptions = USUAL, *, runner: Runner
) -> list[Score]:
    """Score a corpus by XferBench at a preset.

    The score is the mean over targets and seeds. It has no interval over the targets, because their levels differ;
    `ecsuite compare` computes intervals of differences. A seed whose training diverged is left out, and named in the
    details; if no seed is left, the value is None.

    Raises:
        ConfigError: If the preset, the protocol or the device is unknown, or the texts cannot be used.
    """
    if len(corpus.messages.values) == 0:
        from ecsuite.eval.xferbench.report import report

        return [report(study_of(corpus, options, own), None, "the corpus has no symbols to learn from")]
    return [score_source(corpus, options, own, runner)]


def score_source(
    corpus: "Corpora", options: Options, own: XferBenchOptions = USUAL, runner: Runner | None = None
) -> Score:
    """Score a corpus, a corpus for each seed, or, for None, the model without pretraining.

    Raises:
        ConfigError: See `xferbench`.
    """
    from ecsuite.eval.xferbench.report import report
    from ecsuite.eval.xferbench.result import measure

    study = study_of(corpus, options, own)
    try:
        return report(study, measure(study, runner or Runner()))
    except DivergedError as error:
        return report(study, None, str(error))


def jobs_of(corpus: Corpus, options: Options, own: XferBenchOptions = USUAL) -> "list[Job]":
    """The jobs of the score of a corpus: of each speaker's messages, where there are several; none without symbols.

    Raises:
        ConfigError: See `xferbench`.
    """
    from ecsuite.eval.xferbench.jobs import plan

    return [
        job
        for part in parts_of(corpus)
        if len(part.messages.values)
        for job in plan(study_of(part, options, own)).values()
    ]


def study_of(corpus: "Corpora", options: Options, own: XferBenchOptions = USUAL) -> "Study":
    """The study of a corpus, or of a corpus for each seed, by options of the metrics and its own.

    Raises:
        ConfigError: See `xferbench`.
    """
    from ecsuite.eval.xferbench.presets import PRESETS
    from ecsuite.eval.xferbench.study import make_study

    if options.seed + own.num_seeds - 1 > MAX_SEED:
        raise ConfigError(
            f"num_seeds={own.num_seeds}: expected seeds up to {MAX_SEED:,}, from {options.seed} on"
        )
    return make_study(
        corpus,
        texts_of(own),
        PRESETS[own.preset],
        range(options.seed, options.seed + own.num_seeds),
        protocol=own.protocol,
        device=options.device,
    )


def texts_of(own: XferBenchOptions) -> "list[Text]":
    """The target texts of options: those of the folder, or of the preset.

    Raises:
        ConfigError: If there is no such preset or folder, it lacks a text, or a text is empty.
    """
    from ecsuite.eval.xferbench.presets import PRESETS
    from ecsuite.eval.xferbench.texts import TextFile, choose_texts, preset_folder

    preset = look_up("preset", own.preset, PRESETS)
    texts = choose_texts(preset_folder(Path(own.targets) if own.targets else None, preset), preset)
    for text in texts:
        if isinstance(text, TextFile):
            text.require_text()
    return texts


def own_options(name: str) -> XferBenchOptions:
    """The options after the name of XferBench or of a source, checked: `xferbench,preset=danish,num_seeds=3`.

    Raises:
        ConfigError: If one is unknown or out of bounds, or as of `texts_of`.
    """
    from ecsuite.eval.metrics import METRICS
    from ecsuite.eval.xferbench.protocols import PROTOCOLS
    from ecsuite.parts.own_functions import options_in

    own: XferBenchOptions = options_in(METRICS, name, XferBenchOptions)
    look_up("protocol", own.protocol, PROTOCOLS)
    texts_of(own)
    return own
