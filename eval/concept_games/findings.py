"""Findings of the CBM paper on its Table 1 (section 5), checked on measured rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ecsuite.eval.concept_games.result import MeasuredRow


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """A claim of the paper, and whether it holds for the measured rows."""

    claim: str
    holds: bool
    """Whether it holds for the means over seeds."""
    num_holding: int
    """Number of seeds for which it holds."""
    num_seeds: int
    figures: str

    def __str__(self) -> str:
        """The finding as one line."""
        outcome = "holds" if self.holds else "DOES NOT HOLD"
        where = f" in {self.num_holding} of {self.num_seeds} seeds"
        seeds = "" if self.num_seeds == 1 else f",{where}" if self.holds else f" (it does{where})"
        return f"{outcome}{seeds}: {self.claim} ({self.figures})"


def check_findings(rows: Sequence[MeasuredRow]) -> list[Finding]:
    """Check those findings of Table 1 whose rows were measured.

    Rows are identified by world, channel (gumbel or quantized) and length of the rules.
    """
    by_settings = {_settings(measured): measured for measured in rows if measured.runs}
    found = []
    for world, channel, length in by_settings:
        partner = by_settings.get((world, "quantized", length))
        if channel != "gumbel" or partner is None:
            continue
        gumbel, quantized = by_settings[world, channel, length], partner
        where = f"{world.upper()}, l={length}"
        found.append(
            _compare(
                f"{where}: QT is at least as accurate as GS", "accuracy", quantized, gumbel, or_equal=True
            )
        )
        if length == 1:
            found.append(_unmatched(where, gumbel, quantized))
        if (world, length) == ("thing", 1):
            found.append(_compare(f"{where}: QT has a better match than GS", "cbm", quantized, gumbel))
    for (world, channel, length), measured in by_settings.items():
        longer = by_settings.get((world, channel, 4))
        if (world, length) == ("thing", 1) and longer is not None:
            name = "GS" if channel == "gumbel" else "QT"
            claim = f"THING, {name}: the match falls from rules of one pair to rules of four"
            found.append(_compare(claim, "cbm", measured, longer))
    return found


def _settings(measured: MeasuredRow) -> tuple[str, str, int]:
    """World, channel and length of the rules of a row."""
    experiment = measured.row.experiment
    return experiment.world.kind, experiment.channel.kind, experiment.world.options.rule_length


def _compare(
    claim: str, measure: str, higher: MeasuredRow, lower: MeasuredRow, *, or_equal: bool = False
) -> Finding:
    """Check that a measure of one row exceeds that of another, or is at least equal."""
    pairs = list(_means_and_seeds(measure, higher, lower))
    outcomes = [high > low or (or_equal and high == low) for high, low in pairs]
    figures = f"{measure} {pairs[0][0]:.3f} against {pairs[0][1]:.3f}"
    return Finding(
        claim=claim,
        holds=outcomes[0],
        num_holding=sum(outcomes[1:]),
        num_seeds=len(outcomes) - 1,
        figures=figures,
    )


def _unmatched(where: str, gumbel: MeasuredRow, quantized: MeasuredRow) -> Finding:
    """Check that GS has concepts without a word and QT has none."""
    pairs = list(_means_and_seeds("unmatched", gumbel, quantized))
    outcomes = [left_by_gumbel > 0 and not left_by_quantized for left_by_gumbel, left_by_quantized in pairs]
    return Finding(
        claim=f"{where}: GS leaves concepts without a word, QT does not",
        holds=outcomes[0],
        num_holding=sum(outcomes[1:]),
        num_seeds=len(outcomes) - 1,
        figures=f"unmatched {pairs[0][0]:.3f} and {pairs[0][1]:.3f}",
    )


def _means_and_seeds(measure: str, one: MeasuredRow, other: MeasuredRow) -> Iterator[tuple[float, float]]:
    """Pairs of values of a measure in two rows: first the means, then each seed."""
    values = [[value or 0.0 for value in measured.values(measure)] for measured in (one, other)]
    yield sum(values[0]) / len(values[0]), sum(values[1]) / len(values[1])
    yield from zip(*values, strict=True)
