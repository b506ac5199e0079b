"""The benchmark: its jobs, and its result as a table and JSON."""

from collections.abc import Mapping

from ecsuite.eval.experiments.benchmark import Benchmark
from ecsuite.eval.reports.console import Report
from ecsuite.eval.results.sources import Record, Source
from ecsuite.eval.translation.jobs import plan
from ecsuite.eval.translation.result import TranslationResult
from ecsuite.eval.translation.scoring import BeamScore
from ecsuite.eval.translation.study import Study
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import Job, Result, everything
from ecsuite.tables.cells import number, percent, text
from ecsuite.tables.table import Table, name_column, number_column, row_of


class Translation(Benchmark[Study, TranslationResult]):
    """Does pretraining on a corpus help a model to translate?"""

    def plan(self, study: Study) -> list[Job]:
        """The translations; they need the rest."""
        return list(plan(study).values())

    def device(self, study: Study) -> str:
        """The device of the models."""
        return study.machine.device

    def measure(self, study: Study, runner: Runner) -> TranslationResult:
        """Run a study; the results of pretraining and of fine-tuning are read, too."""
        return self.collect(study, runner.run(everything(self.plan(study))))

    def collect(self, study: Study, results: Mapping[Job, Result]) -> TranslationResult:
        """The scores by beam width, from the results of the jobs of `plan` and of those that they read.

        Raises:
            DivergedError: If a training diverged.
        """
        jobs = plan(study)
        tuning_job = next(iter(jobs.values())).inputs["tuned"]
        pretraining_job = tuning_job.inputs["pretrained"]
        beams = {beam: dict(results[job].checked()) for beam, job in jobs.items()}
        for value in beams.values():
            del value["translations"]
        return TranslationResult(
            study=study,
            beams={beam: BeamScore(**value) for beam, value in beams.items()},
            repeats=None if pretraining_job is None else results[pretraining_job].checked()["repeats"],
            tuned=results[tuning_job].checked(),
        )

    def record(self, study: Study, finding: TranslationResult) -> list[Source]:
        """One source: chrF and BLEU, their means over the beam widths and those of each."""
        by_beam: list[tuple[dict[str, int], float, float]] = [({}, finding.chrf, finding.bleu)]
        by_beam += [({"beam": beam}, score.chrf, score.bleu) for beam, score in finding.beams.items()]
        records = tuple(
            Record(score=name, value=value, unit=unit, signature=study.signature)
            for unit, *values in by_beam
            for name, value in zip(("chrf", "bleu"), values, strict=True)
        )
        settings = {"preset": study.preset.name, "setting": study.setting}
        return [
            Source(
                name=study.name, file=study.pairs.path, settings=settings, seed=study.seed, records=records
            )
        ]

    def report(self, study: Study, finding: TranslationResult) -> Report:
        """The table of scores; there is no figure."""
        return Report(tables=(scores_table(finding),), notes=(), data=finding.as_dict())


def scores_table(result: TranslationResult) -> Table:
    """A row a beam width and one of their means, with what the models are trained on below."""
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
