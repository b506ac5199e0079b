"""What an XferBench score can't tell: docs/evidence/mini.md has the figures."""

import re

_LIMITS = {
    "mini": "mini ranks classes of corpora; for games: mini-3m, danish (39 PFLOP, GPU)",
    "mini-3m": "mini-3m ranks games roughly (rho 0.7), by several seeds; surer: danish (GPU)",
}
"""By preset. Spearman's correlation of `mini` with published scores is 0.91 over 17 sources, and -0.14 within games;
that of `mini-3m` is 0.91 and 0.70 on held-out sources (docs/evidence/mini.md). The author of XferBench finds
R² = 0.99 between `danish` and all ten languages."""
PASSES_RATIO = 1.02
"""How many times as often a model may read one corpus in an epoch as another, for their scores to be compared. Where
repetition changes scores of `mini` most, uniform noise of 30,000 types read once and 1.25 times, this much changes them
by .008: less than the resolution with three seeds, .017."""


def limits_of(signature: str) -> str | None:
    """The line about a score, by the preset in its signature; None if there is nothing to say."""
    name, options = _parts(signature)
    return _LIMITS.get(options.get("preset", "")) if name == "xferbench" else None


def passes_of(signature: str) -> float | None:
    """Passes over the corpus per epoch of pretraining, at least 1; None where a signature has no such number."""
    name, options = _parts(signature)
    passes = options.get("passes", "")
    is_number = name == "xferbench" and re.fullmatch(r"\d{1,15}(\.\d{1,15})?", passes)
    return max(1.0, float(passes)) if is_number else None


def are_read_alike(passes: float | None, others: float | None) -> bool:
    """Whether models read two corpora so equally often that their scores are compared; so where this is not known."""
    if passes is None or others is None:
        return True
    return max(passes, others) <= PASSES_RATIO * min(passes, others)


def _parts(signature: str) -> tuple[str, dict[str, str]]:
    """The name in a signature, and its options."""
    name, *options = signature.split("|")
    return name, dict(each.partition(":")[::2] for each in options)
