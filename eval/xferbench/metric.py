"""XferBench as a metric of a corpus, and as the score of a source that draws a corpus for each seed."""

from typing import TYPE_CHECKING

from ecsuite.corpus import Corpus
from ecsuite.eval.metrics.score import Options, Score
from ecsuite.eval.metrics.traits import metric
from ecsuite.eval.xferbench.traits import XFERBENCH
from ecsuite.runtime.errors import DivergedError, look_up

if TYPE_CHECKING:
    from ecsuite.eval.xferbench.study import Corpora, Study


@metric(XFERBENCH)
def xferbench(corpus: Corpus, options: Options) -> list[Score]:
    """Score a corpus by XferBench at a preset.

    The score is the mean over targets and seeds. It has no interval over the targets, because their levels differ;
    `ecsuite compare` computes intervals of differences. A seed whose training diverged is left out, and named in the
    details; if no seed is left, the value is None.

    Raises:
        ConfigError: If the preset, the protocol or the device is unknown, or the texts cannot be used.
    """
    if len(corpus.messages.values) == 0:
        from ecsuite.eval.xferbench.report import report

        return [report(study_of(corpus, options), None, "the corpus has no symbols to learn from")]
    return [score_source(corpus, options)]


def score_source(corpus: "Corpora", options: Options) -> Score:
    """Score a corpus, a corpus for each seed, or, for None, the model without pretraining.

    Raises:
        ConfigError: See `xferbench`.
    """
    from ecsuite.eval.xferbench.report import report
    from ecsuite.eval.xferbench.result import measure

    study = study_of(corpus, options)
    try:
        return report(study, measure(study, options.runner))
    except DivergedError as error:
        return report(study, None, str(error))


def study_of(corpus: "Corpora", options: Options) -> "Study":
    """The study of a corpus, or of a corpus for each seed, by options of the metrics.

    Raises:
        ConfigError: See `xferbench`.
    """
    from ecsuite.eval.xferbench.presets import PRESETS
    from ecsuite.eval.xferbench.study import make_study
    from ecsuite.eval.xferbench.texts import choose_texts

    preset = look_up("preset", options.preset, PRESETS)
    return make_study(
        corpus,
        choose_texts(options.targets, preset),
        preset,
        range(options.seed, options.seed + options.num_seeds),
        protocol=options.protocol,
        device=options.device,
    )
