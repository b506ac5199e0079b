"""What a translation experiment found, for people and for programs."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from ecsuite.eval.translation.scoring import BeamScore
from ecsuite.file_formats import with_format

REDUCED_NOTE = "a reduced size: not comparable with published chrF and BLEU"
FULL_NOTE = "the paper's size; pairs, split and sentence ends differ from its program's (docs/translate.md)"


@dataclass(frozen=True, kw_only=True, slots=True)
class TranslationResult:
    """Scores of one corpus, setting and seed."""

    name: str
    """The source's, as in tables of XferBench: the corpus's folder or file, or no_pretrain."""
    preset: str
    """The preset's name."""
    setting: str
    """full, frozen or reduced."""
    seed: int
    """Of weights, noise, dropout and orders."""
    is_pretrained: bool
    """Whether a corpus was learnt first."""
    beams: Mapping[int, BeamScore]
    """Scores by width of the beam."""
    cross_entropy: float
    """Of the validation targets, nats a token, the ends included; lower is better, and less noisy than chrF."""
    num_parameters: int
    """All parameters of the tuned model, tied ones once."""
    num_trainable: int
    """Those that tuning changes."""
    repeats: float | None
    """How often the corpus was gone through in an epoch of pretraining; None without a corpus."""
    passes: float
    """How often the training pairs were gone through."""
    num_train: int
    """Pairs tuned on."""
    num_left_out: int
    """Pairs not tuned on: too long, or with a sentence of a held-out pair."""
    num_test: int
    """Pairs translated."""
    is_reduced: bool
    """Whether the preset is smaller than the paper's."""
    sacrebleu: Mapping[str, str]
    """sacrebleu's signatures of chrF and BLEU."""
    signature: str
    """Everything that can change the scores but the corpus."""

    @property
    def chrf(self) -> float:
        """Mean chrF over the beams, the paper's figure."""
        return fmean(score.chrf for score in self.beams.values())

    @property
    def bleu(self) -> float:
        """Mean BLEU over the beams."""
        return fmean(score.bleu for score in self.beams.values())

    @property
    def note(self) -> str:
        """What a reader of the figures has to know."""
        return REDUCED_NOTE if self.is_reduced else FULL_NOTE

    def as_dict(self) -> dict[str, Any]:
        """All of it, JSON-ready."""
        data = asdict(self)
        data["beams"] = {str(beam): asdict(score) for beam, score in self.beams.items()}
        told = {"name": self.name, "chrf": self.chrf, "bleu": self.bleu, "note": self.note}
        return with_format("result", told | data)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "TranslationResult":
        """What `as_dict` was made from."""
        fields = {key: value for key, value in data.items() if key not in ("format", "chrf", "bleu", "note")}
        fields["beams"] = {int(beam): BeamScore(**score) for beam, score in data["beams"].items()}
        return cls(**fields)

    def summary(self) -> str:
        """A few lines for people."""
        learnt = f"corpus gone through {self.repeats:.3g} times" if self.repeats else "without pretraining"
        lines = [
            f"{self.name}: translation, preset {self.preset}, setting {self.setting}, seed {self.seed}; {learnt}",
            f"  {self.num_parameters:,} parameters, {self.num_trainable:,} of them tuned on {self.num_train:,} pairs, "
            f"{self.passes:.3g} times; {self.num_left_out:,} pairs left out",
            f"  chrF {self.chrf:.2f}  BLEU {self.bleu:.2f}  (means of {len(self.beams)} beams, "
            f"{self.num_test:,} sentences)",
        ]
        for beam, score in self.beams.items():
            lines.append(
                f"    beam {beam}  chrF {score.chrf:5.2f}  BLEU {score.bleu:5.2f}  length {score.length_ratio:.2f} of "
                f"the references'  {score.ended:.0%} ended"
            )
        lines += [
            f"  cross-entropy {self.cross_entropy:.3f} nats a token of the validation targets",
            f"  note: {self.note}",
            f"  {self.signature}",
        ]
        return "\n".join(lines)
