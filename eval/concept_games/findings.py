"""Findings of the CBM paper on its Table 1 (section 5), checked on measured rows."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from operator import ge, gt
from typing import NamedTuple

from ecsuite.eval.concept_games.result import MeasuredRow

Settings = tuple[str, str, int]
"""World, channel (gumbel or quantized) and length of the rules of a row."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """A claim of the paper, and whether it holds for a pair of measured rows."""

    claim: str
    holds: bool | None
    """Whether it holds for the means over seeds; None if a mean is not known."""
    num_holding: int
    """Number of seeds for which it holds."""
    num_seeds: int
    num_unknown: int = 0
    """Number of seeds for which the measure is undefined, or a run failed."""
    figures: str

    def __str__(self) -> str:
        """The finding as one line."""
        outcome = {True: "holds", False: "DOES NOT HOLD", None: "NOT KNOWN"}[self.holds]
        where = f" in {self.num_holding} of {self.num_seeds} seeds"
        where += f", {self.num_unknown} not known" if self.num_unknown else ""
        seeds = "" if self.num_seeds == 1 else f",{where}" if self.holds else f" (it does{where})"
        return f"{outcome}{seeds}: {self.claim} ({self.figures})"


class _Claim(NamedTuple):
    """A claim about a measure of two rows, and whether it holds for their values."""

    text: str
    measure: str
    first: Settings
    second: Settings
    is_true: Callable[[float, float], bool]


def check_findings(rows: Sequence[MeasuredRow]) -> list[Finding]:
    """Check those findings of Table 1 whose rows were measured.

    Several rows may have equal worlds, channels and lengths of the rules, and differ in something else: a claim is then
    checked for every pair of them, and names its rows.
    """
    by_settings: dict[Settings, list[MeasuredRow]] = {}
    for measured in rows:
        experiment = measured.row.experiment
        world, channel = experiment.world, experiment.channel
        by_settings.setdefault((world.kind, channel.kind, world.options.rule_length), []).append(measured)
    findings = []
    for claim in _claims(by_settings):
        pairs = list(product(by_settings.get(claim.first, []), by_settings.get(claim.second, [])))
        findings += [_check(claim, *pair, is_named=len(pairs) > 1) for pair in pairs]
    return findings


def _claims(measured: Iterable[Settings]) -> Iterator[_Claim]:
    """The claims of the paper about these settings; they may lack the other row of a claim."""
    for world, channel, length in measured:
        if channel != "gumbel":
            continue
        gumbel, quantized = (world, "gumbel", length), (world, "quantized", length)
        where = f"{world.upper()}, l={length}"
        yield _Claim(f"{where}: QT is at least as accurate as GS", "accuracy", quantized, gumbel, ge)
        if length == 1:
            text = f"{where}: GS leaves concepts without a word, QT does not"
            yield _Claim(text, "unmatched", gumbel, quantized, lambda gs, qt: gs > 0 and not qt)
        if (world, length) == ("thing", 1):
            yield _Claim(f"{where}: QT has a better match than GS", "cbm", quantized, gumbel, gt)
    for channel, name in (("gumbel", "GS"), ("quantized", "QT")):
        text = f"THING, {name}: the match falls from rules of one pair to rules of four"
        yield _Claim(text, "cbm", ("thing", channel, 1), ("thing", channel, 4), gt)


def _check(claim: _Claim, first: MeasuredRow, second: MeasuredRow, *, is_named: bool) -> Finding:
    """Check a claim on the means of two rows, and on each seed."""

    def holds(one: float | None, other: float | None) -> bool | None:
        return None if one is None or other is None else claim.is_true(one, other)

    values = first.values(claim.measure), second.values(claim.measure)
    by_seed = [holds(*pair) for pair in zip(*values, strict=True)]
    means = first.mean(claim.measure), second.mean(claim.measure)
    names = f", {first.row.name} and {second.row.name}" if is_named else ""
    one, other = ("none" if mean is None else f"{mean:.3f}" for mean in means)
    return Finding(
        claim=claim.text + names,
        holds=holds(*means),
        num_holding=by_seed.count(True),
        num_seeds=len(by_seed),
        num_unknown=by_seed.count(None),
        figures=f"{claim.measure} {one} {'and' if claim.measure == 'unmatched' else 'against'} {other}",
    )
