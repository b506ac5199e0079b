"""What came out of a translation experiment; reads and writes its JSON."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from ecsuite.eval.translation.jobs import plan
from ecsuite.eval.translation.scoring import BeamScore, sacrebleu_signatures
from ecsuite.eval.translation.study import Study
from ecsuite.file_formats import with_format
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import Job, Result, everything

REDUCED_NOTE = "a reduced size: not comparable with published chrF and BLEU"
FULL_NOTE = (
    "the paper's size; pairs, split and sentence ends differ from the authors' program (docs/translate.md)"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class TranslationResult:
    """Scores of one corpus, setting and seed."""

    name: str
    """Name of the source, as in XferBench tables: the folder or file of the corpus, or no_pretrain."""
    preset: str
    """Name of the preset."""
    setting: str
    """full, frozen or reduced."""
    seed: int
    """Seed of weights, noise, dropout and data order."""
    is_pretrained: bool
    """Whether the model was pretrained on a corpus."""
    beams: Mapping[int, BeamScore]
    """Scores by beam width."""
    cross_entropy: float
    """Cross-entropy of the validation targets, nats per token with ends; lower is better; less noisy than chrF."""
    num_parameters: int
    """Number of parameters of the fine-tuned model, tied ones once."""
    num_trainable: int
    """Number of parameters trained in fine-tuning."""
    repeats: float | None
    """Passes over the corpus per epoch of pretraining; None without a corpus."""
    passes: float
    """Passes over the training pairs."""
    num_train: int
    """Number of training pairs."""
    num_left_out: int
    """Number of pairs left out of training: too long, or sharing a sentence with a held-out pair."""
    num_test: int
    """Number of test pairs."""
    is_reduced: bool
    """Whether the preset is smaller than the paper's."""
    sacrebleu: Mapping[str, str]
    """Signatures of chrF and BLEU by sacrebleu."""
    signature: str
    """Everything except the corpus that can change the scores."""

    @property
    def chrf(self) -> float:
        """Mean chrF over the beam widths, as in the paper."""
        return fmean(score.chrf for score in self.beams.values())

    @property
    def bleu(self) -> float:
        """Mean BLEU over the beam widths."""
        return fmean(score.bleu for score in self.beams.values())

    @property
    def note(self) -> str:
        """Whether the scores are comparable with published ones."""
        return REDUCED_NOTE if self.is_reduced else FULL_NOTE

    def as_dict(self) -> dict[str, Any]:
        """The result as JSON-ready data."""
        data = asdict(self)
        data["beams"] = {str(beam): asdict(score) for beam, score in self.beams.items()}
        headline = {"name": self.name, "chrf": self.chrf, "bleu": self.bleu, "note": self.note}
        return with_format("result", headline | data)


def collect(study: Study, results: Mapping[Job, Result]) -> TranslationResult:
    """The result of a study from the results of its jobs.

    Args:
        study: What was asked.
        results: The results of the jobs of `plan` and of those that they read.

    Raises:
        DivergedError: If a training diverged.
    """
    jobs = plan(study)
    tuning_job = next(iter(jobs.values())).inputs["tuned"]
    pretraining_job = tuning_job.inputs["pretrained"]
    beams = {beam: results[job].checked() for beam, job in jobs.items()}
    tuned = results[tuning_job].checked()
    return TranslationResult(
        name=study.name,
        preset=study.preset.name,
        setting=study.setting,
        seed=study.seed,
        is_pretrained=study.corpus is not None,
        beams={
            beam: BeamScore(**{name: found for name, found in value.items() if name != "translations"})
            for beam, value in beams.items()
        },
        cross_entropy=tuned["cross_entropy"],
        num_parameters=tuned["num_parameters"],
        num_trainable=tuned["num_trainable"],
        repeats=None if pretraining_job is None else results[pretraining_job].checked()["repeats"],
        passes=tuned["passes"],
        num_train=tuned["num_train"],
        num_left_out=study.num_left_out + tuned["num_too_long"],
        num_test=study.num_tested,
        is_reduced=study.preset.is_reduced,
        sacrebleu=sacrebleu_signatures(),
        signature=study.signature,
    )


def measure(study: Study, runner: Runner) -> TranslationResult:
    """Run a study."""
    return collect(study, runner.run(everything(plan(study).values())))
