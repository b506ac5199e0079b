"""Result of a translation experiment: the benchmark, its table and its JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from ecsuite.eval.experiments.benchmark import Benchmark
from ecsuite.eval.metrics.score import Score
from ecsuite.eval.results.sources import Source
from ecsuite.eval.translation.jobs import BeamScore, TranslationStudy, plan, sacrebleu_signatures
from ecsuite.eval.views.console import Report
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import Job, Result, everything
from ecsuite.tables.cells import number, percent, text
from ecsuite.tables.table import Table, name_column, number_column, row_of

REDUCED_NOTE = "a reduced size: not comparable with published chrF and BLEU"
FULL_NOTE = (
    "the paper's size; pairs, split and sentence ends differ from the authors' program (docs/xtreme.md)"
)
NUM_EXAMPLES = 5
"""Number of test sentences whose translations are printed, as in appendix F of Boldt & Mortensen (2024)."""
EXAMPLE = ("source", "target", "translation")
SHORT_NOTE = "no line of the test pairs has four words, which BLEU needs: it is always 0; use chrF"


@dataclass(frozen=True, kw_only=True, slots=True)
class TranslationResult:
    """Scores of one corpus, setting and seed."""

    study: TranslationStudy
    """Corpus, pairs, setting and seed."""
    beams: Mapping[int, BeamScore]
    """Scores by beam width."""
    repeats: float | None
    """Passes over the corpus per epoch of pretraining; None without a corpus."""
    tuned: Mapping[str, Any]
    """The result of fine-tuning, see `jobs.tune`."""
    examples: Sequence[Sequence[str]]
    """The first test sentences: source, target, and their translation by the widest beam."""

    @property
    def chrf(self) -> float:
        """Mean chrF over the beam widths, as in the paper."""
        return fmean(score.chrf for score in self.beams.values())

    @property
    def bleu(self) -> float:
        """Mean BLEU over the beam widths."""
        return fmean(score.bleu for score in self.beams.values())

    @property
    def num_left_out(self) -> int:
        """Pairs left out of training: too long, or sharing a sentence with a held-out pair."""
        return self.study.num_left_out + int(self.tuned["num_too_long"])

    @property
    def note(self) -> str:
        """Note on the comparability with published scores, and on BLEU if no reference has four words."""
        note = REDUCED_NOTE if self.study.preset.is_reduced else FULL_NOTE
        return f"{note}; {SHORT_NOTE}" if self.study.lacks_four_words else note

    def as_dict(self) -> dict[str, Any]:
        """The result as JSON-ready data."""
        study = self.study
        return {
            "name": study.name,
            "chrf": self.chrf,
            "bleu": self.bleu,
            "note": self.note,
            "preset": study.preset.name,
            "setting": study.setting,
            "seed": study.seed,
            "is_pretrained": study.corpus is not None,
            "beams": {str(beam): asdict(score) for beam, score in self.beams.items()},
            **{name: value for name, value in self.tuned.items() if name != "num_too_long"},
            "repeats": self.repeats,
            "num_left_out": self.num_left_out,
            "num_test": study.num_tested,
            "is_reduced": study.preset.is_reduced,
            "sacrebleu": sacrebleu_signatures(),
            "signature": study.signature,
            "examples": [dict(zip(EXAMPLE, each, strict=True)) for each in self.examples],
        }


class TranslationBenchmark(Benchmark[TranslationStudy, TranslationResult]):
    """Does pretraining on a corpus help a model to translate?"""

    def plan(self, study: TranslationStudy) -> list[Job]:
        """The translation jobs, which depend on all other jobs."""
        return list(plan(study).values())

    def device(self, study: TranslationStudy) -> str:
        """Type of the device of the models."""
        return study.machine.device

    def measure(self, study: TranslationStudy, runner: Runner) -> TranslationResult:
        """Run a study and read the results of all its jobs, pretraining and fine-tuning included."""
        return self.collect(study, runner.run(everything(self.plan(study))))

    def collect(self, study: TranslationStudy, results: Mapping[Job, Result]) -> TranslationResult:
        """The scores by beam width, from the results of the jobs of `plan` and of their inputs.

        Raises:
            DivergedError: If a training diverged.
        """
        jobs = plan(study)
        tuning_job = next(iter(jobs.values())).inputs["tuned"]
        pretraining_job = tuning_job.inputs["pretrained"]
        beams = {beam: dict(results[job].checked()) for beam, job in jobs.items()}
        translations = {beam: value.pop("translations") for beam, value in beams.items()}
        return TranslationResult(
            study=study,
            beams={beam: BeamScore(**value) for beam, value in beams.items()},
            repeats=None if pretraining_job is None else results[pretraining_job].checked()["repeats"],
            tuned=results[tuning_job].checked(),
            examples=translations[max(beams)][:NUM_EXAMPLES],
        )

    def record(self, study: TranslationStudy, finding: TranslationResult) -> list[Source]:
        """One source: chrF and BLEU for each beam width, and their means over the beam widths."""
        by_beam: list[tuple[dict[str, int], float, float]] = [({}, finding.chrf, finding.bleu)]
        by_beam += [({"beam": beam}, score.chrf, score.bleu) for beam, score in finding.beams.items()]
        records = tuple(
            Score(name=name, value=value, unit=unit, signature=study.signature)
            for unit, *values in by_beam
            for name, value in zip(("chrf", "bleu"), values, strict=True)
        )
        settings = {"preset": study.preset.name, "setting": study.setting}
        return [
            Source(
                name=study.name, file=study.pairs.path, settings=settings, seed=study.seed, records=records
            )
        ]

    def report(self, study: TranslationStudy, finding: TranslationResult) -> Report:
        """A table with a row per beam width and a row with the mean, and one of sentences; there is no figure."""
        columns = [name_column(name) for name in EXAMPLE]
        title = f"sample translations, beam {max(finding.beams)}"
        examples = Table(columns=columns, rows=[row_of(*each) for each in finding.examples], title=title)
        return Report(tables=(_scores_table(finding), examples), notes=(), data=finding.as_dict())


def _scores_table(result: TranslationResult) -> Table:
    study, tuned = result.study, result.tuned
    pretraining = f"corpus repeated {result.repeats:.3g} times" if result.repeats else "without pretraining"
    columns = [name_column("beam"), number_column("chrf", "chrF"), number_column("bleu", "BLEU")]
    columns += [number_column("length_ratio"), number_column("ended", "ended with EOS")]
    rows = [
        row_of(
            text(beam),
            number(score.chrf, 2),
            number(score.bleu, 2),
            number(score.length_ratio, 2),
            percent(score.ended, 0),
        )
        for beam, score in result.beams.items()
    ]
    rows.append(row_of("mean", number(result.chrf, 2), number(result.bleu, 2), None, None))
    notes = [
        f"{study.num_tested:,} sentences; {tuned['num_parameters']:,} parameters, {tuned['num_trainable']:,} of them "
        f"fine-tuned on {tuned['num_train']:,} pairs, {tuned['passes']:.3g} passes; {result.num_left_out:,} pairs "
        "left out",
        f"cross-entropy {tuned['cross_entropy']:.3f} nats per token of the validation targets",
        f"note: {result.note}",
        study.signature,
    ]
    title = (
        f"{study.name}: translation, preset {study.preset.name}, setting {study.setting}, seed {study.seed}; "
    )
    return Table(columns=columns, rows=rows, title=title + pretraining, notes=notes)
