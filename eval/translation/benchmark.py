"""The benchmark: its jobs, and its result as text and JSON."""

from collections.abc import Mapping

from ecsuite.eval.reports.console import Report
from ecsuite.eval.studies.benchmark import Benchmark
from ecsuite.eval.translation.jobs import plan
from ecsuite.eval.translation.result import TranslationResult, collect
from ecsuite.eval.translation.study import Study
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import Job, Result, everything


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
        return collect(study, runner.run(everything(self.plan(study))))

    def collect(self, study: Study, results: Mapping[Job, Result]) -> TranslationResult:
        """The scores by beam width, see `result.collect`."""
        return collect(study, results)

    def report(self, study: Study, finding: TranslationResult) -> Report:
        """A few lines; there is neither table nor figure."""
        return Report(tables=(), notes=(summary(finding),), data=finding.as_dict())


def summary(result: TranslationResult) -> str:
    """The result as text of a few lines."""
    study, tuned = result.study, result.tuned
    pretraining = f"corpus repeated {result.repeats:.3g} times" if result.repeats else "without pretraining"
    lines = [
        f"{study.name}: translation, preset {study.preset.name}, setting {study.setting}, seed {study.seed}; "
        f"{pretraining}",
        f"  {tuned['num_parameters']:,} parameters, {tuned['num_trainable']:,} of them fine-tuned on "
        f"{tuned['num_train']:,} pairs, {tuned['passes']:.3g} passes; {result.num_left_out:,} pairs left out",
        f"  chrF {result.chrf:.2f}  BLEU {result.bleu:.2f}  (means of {len(result.beams)} beam widths, "
        f"{study.num_tested:,} sentences)",
    ]
    for beam, score in result.beams.items():
        lines.append(
            f"    beam {beam}  chrF {score.chrf:5.2f}  BLEU {score.bleu:5.2f}  length ratio "
            f"{score.length_ratio:.2f}  {score.ended:.0%} ended with EOS"
        )
    lines += [
        f"  cross-entropy {tuned['cross_entropy']:.3f} nats per token of the validation targets",
        f"  note: {result.note}",
        f"  {study.signature}",
    ]
    return "\n".join(lines)
