"""What came out of a translation experiment; reads and writes its JSON."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from ecsuite.eval.translation.scoring import BeamScore, sacrebleu_signatures
from ecsuite.eval.translation.study import Study

REDUCED_NOTE = "a reduced size: not comparable with published chrF and BLEU"
FULL_NOTE = (
    "the paper's size; pairs, split and sentence ends differ from the authors' program (docs/xtreme.md)"
)
SHORT_NOTE = "no line of the test pairs has four words, which BLEU needs: it is 0 whatever is said; read chrF"


@dataclass(frozen=True, kw_only=True, slots=True)
class TranslationResult:
    """Scores of one corpus, setting and seed."""

    study: Study
    """What was asked."""
    beams: Mapping[int, BeamScore]
    """Scores by beam width."""
    repeats: float | None
    """Passes over the corpus per epoch of pretraining; None without a corpus."""
    tuned: Mapping[str, Any]
    """The result of fine-tuning, see `jobs.tune`."""

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
        """Whether the scores are comparable with published ones, and why BLEU is 0 where it can't be more."""
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
        }
