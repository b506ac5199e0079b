"""Result of a translation experiment, as text and as JSON-ready data."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from ecsuite.eval.translation.scoring import BeamScore
from ecsuite.file_formats import with_format

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

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "TranslationResult":
        """The result that `as_dict` was called on."""
        fields = {key: value for key, value in data.items() if key not in ("format", "chrf", "bleu", "note")}
        fields["beams"] = {int(beam): BeamScore(**score) for beam, score in data["beams"].items()}
        return cls(**fields)

    def summary(self) -> str:
        """The result as text of a few lines."""
        pretraining = f"corpus repeated {self.repeats:.3g} times" if self.repeats else "without pretraining"
        lines = [
            f"{self.name}: translation, preset {self.preset}, setting {self.setting}, seed {self.seed}; {pretraining}",
            f"  {self.num_parameters:,} parameters, {self.num_trainable:,} of them fine-tuned on "
            f"{self.num_train:,} pairs, {self.passes:.3g} passes; {self.num_left_out:,} pairs left out",
            f"  chrF {self.chrf:.2f}  BLEU {self.bleu:.2f}  (means of {len(self.beams)} beam widths, "
            f"{self.num_test:,} sentences)",
        ]
        for beam, score in self.beams.items():
            lines.append(
                f"    beam {beam}  chrF {score.chrf:5.2f}  BLEU {score.bleu:5.2f}  length ratio "
                f"{score.length_ratio:.2f}  {score.ended:.0%} ended with EOS"
            )
        lines += [
            f"  cross-entropy {self.cross_entropy:.3f} nats per token of the validation targets",
            f"  note: {self.note}",
            f"  {self.signature}",
        ]
        return "\n".join(lines)
