"""Outcome of a verification: claimed values compared with computed values, claim by claim, and its tables."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from ecsuite.eval.metrics.score import is_number
from ecsuite.eval.views.console import Report
from ecsuite.runtime.errors import shown
from ecsuite.tables.cells import UNDEFINED, Cell, Role, count, nothing, text
from ecsuite.tables.forms import Form, rendered
from ecsuite.tables.table import Column, Table, as_frame, name_column, number_column, row_of

if TYPE_CHECKING:
    import torch

Agreement = Literal["identical", "agrees", "differs", "damaged", "unverifiable", "not verified"]
"""identical: equal bits; agrees: equal within the tolerance; differs: neither; damaged: a file does not match its
checksum; unverifiable: can't be computed again, with a reason; not verified: takes too long, or has no reference."""
ClaimKind = Literal["file", "corpus", "evaluation", "score"]
"""Subject of a claim: the bytes of a file, a corpus, figures of agents, scores of a language."""
ROLES: dict[Agreement, Role] = {
    "identical": "good", "agrees": "good", "differs": "bad", "damaged": "bad", "unverifiable": "warning",
    "not verified": "dim",
}  # fmt: skip
"""Roles of verdicts in a table, in the order of the summary."""
DAMAGED, DIFFERS = 3, 1
"""Exit codes: a file is damaged; a claim does not hold, or can't be verified."""
PLACES = 4
"""Significant digits of a value."""
LEAST = 0.1
"""Minimum magnitude to which a relative tolerance refers."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckedClaim:
    """Claim compared with its recomputed value: a row of the table."""

    kind: ClaimKind
    """Subject of the claim."""
    name: str
    """Name of the file, figure or score."""
    verdict: Agreement
    """Whether it agrees."""
    claimed: Any = None
    """The claimed value; None for a file, or if undefined."""
    here: Any = None
    """The computed value; None if not computed or undefined."""
    difference: float | None = None
    """Computed minus claimed value, for numbers."""
    bound: float | None = None
    """Maximum difference that agrees, 0 if bits must be equal; None for values that are not numbers."""
    reason: str = ""
    """Further differences and their cause, or why it was not computed."""
    signature: str | None = None
    """The signature of a score."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tolerance:
    """Maximum distance of a value from the claimed value."""

    share: float = 0.0
    """Share of the larger of both values; 0: bits must be equal."""
    least: float = LEAST
    """Minimum magnitude to which the share refers."""
    interval: tuple[float, float] | None = None
    """The claimed interval, within which a value agrees; None: use `share`."""

    def allowed(self, claimed: float, here: float) -> float:
        """Maximum difference that agrees."""
        if self.interval is not None:
            low, high = self.interval
            return high - claimed if here > claimed else claimed - low
        return self.share * max(abs(claimed), abs(here), self.least) if self.share else 0.0


EXACT = Tolerance()
"""Tolerance that requires equal bits."""


def compare_values(
    kind: ClaimKind,
    name: str,
    claimed: Any,
    here: Any,
    tolerance: Tolerance = EXACT,
    *,
    why: str = "",
    also: str = "",
    signature: str | None = None,
    has_signature: bool = True,
) -> CheckedClaim:
    """Compare a claimed value with the value that was computed here.

    Args:
        kind: The subject.
        name: Name of the claim.
        claimed: The claimed value; None: undefined.
        here: The computed value.
        tolerance: Maximum difference that agrees.
        why: Differences of the platform, given as reason if values are not identical.
        also: Further differences, with which the claim does not agree.
        signature: The claimed signature of a score.
        has_signature: Whether the computed score has this signature; otherwise equal values agree, but are not
            identical.
    """
    difference, allowed = None, None
    if is_number(claimed) and is_number(here):
        difference, allowed = here - claimed, tolerance.allowed(claimed, here)
        agrees = abs(difference) <= allowed
    else:
        agrees = claimed == here
    verdict: Agreement = "agrees" if agrees and not also else "differs"
    if verdict == "agrees" and has_signature and type(claimed) is type(here) and claimed == here:
        verdict, why = "identical", ""
    return CheckedClaim(
        kind=kind,
        name=name,
        verdict=verdict,
        claimed=claimed,
        here=here,
        difference=difference,
        bound=allowed,
        reason="; ".join(filter(None, (also, why))),
        signature=signature,
    )


def compare_mappings(
    kind: ClaimKind, subject: str, claimed: Mapping[str, Any], here: Mapping[str, Any]
) -> list[CheckedClaim]:
    """Compare two mappings key by key in one row, as the number of equal values; no row if they share no key."""
    names = [name for name in claimed if name in here]
    different = [
        [name, *(f"{value:g}" if is_number(value) else shown(value) for value in (claimed[name], here[name]))]
        for name in names
        if claimed[name] != here[name]
    ]
    also = "; ".join(f"{name} {one} claimed, {other} here" for name, one, other in different)
    number = len(names) - len(different)
    return [compare_values(kind, subject, len(names), number, also=also)] if names else []


def differing_paths(claimed: Any, here: Any, tolerance: Tolerance, path: str = "") -> Iterator[str]:
    """Paths at which JSON differs from the claimed JSON by more than a tolerance; keys without a claim are ignored.

    Args:
        claimed: The claimed JSON.
        here: The JSON computed here.
        tolerance: Maximum difference of two numbers that agrees.
        path: Path of both values.
    """
    if isinstance(claimed, Mapping) and isinstance(here, Mapping):
        for key, value in claimed.items():
            yield from differing_paths(value, here.get(key), tolerance, f"{path}.{key}" if path else str(key))
    elif isinstance(claimed, Sequence) and isinstance(here, Sequence) and not isinstance(claimed, str):
        if len(claimed) != len(here):
            yield path
        else:
            for index, (one, other) in enumerate(zip(claimed, here, strict=True)):
                yield from differing_paths(one, other, tolerance, f"{path}[{index}]")
    elif is_number(claimed) and is_number(here):
        if not abs(here - claimed) <= tolerance.allowed(claimed, here):
            yield path
    elif claimed != here:
        yield path


@dataclass(frozen=True, kw_only=True, slots=True)
class Platform:
    """Hardware, versions and precision of this verification, compared with those of the training."""

    device: "torch.device"
    """Device of this verification."""
    precision: str
    """Precision of this verification."""
    num_threads: int
    """Threads of this verification."""
    recorded: Mapping[str, Any]
    """Versions and hardware in the metadata of the run; empty if not recorded."""
    current: Mapping[str, Any]
    """Versions and hardware of this verification."""
    changes: tuple[str, ...]
    """Differences, such as `device: cuda in the run, cpu here`."""
    tolerance: Tolerance
    """Tolerance of figures of agents: equal bits on the recorded platform."""
    reason: str
    """Summary of the differences, as the reason of a row."""


@dataclass(frozen=True, kw_only=True, slots=True)
class VerifiedSource:
    """Run or corpus with its checked claims."""

    name: str
    """Name; for a run of a sweep, its settings and seed."""
    rows: tuple[CheckedClaim, ...] = ()
    """Checked claims."""
    seed: int | None = None
    """Seed of a run of a sweep."""
    failure: str | None = None
    """Reason why the run failed, which therefore has no claims; None if it did not."""
    platform: Platform | None = None
    """Platforms of its training and of this verification; None without agents."""

    @property
    def counts(self) -> Counter[Agreement]:
        """Number of rows by verdict."""
        return Counter(row.verdict for row in self.rows)

    @property
    def exit_code(self) -> int:
        """Exit code: 0: all agrees; 1: something differs, or can't be verified; 3: a file is damaged."""
        counts = self.counts
        return DAMAGED if counts["damaged"] else DIFFERS if counts["differs"] or counts["unverifiable"] else 0


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Verification:
    """Outcome of a verification, which prints as the command's table."""

    place: str
    """The verified paths."""
    sources: tuple[VerifiedSource, ...]
    """The verified runs and corpora."""

    @property
    def rows(self) -> list[CheckedClaim]:
        """The rows of all sources."""
        return [row for each in self.sources for row in each.rows]

    @property
    def agrees(self) -> bool:
        """Whether all claims agree, except those that were left out."""
        return self.exit_code == 0

    @property
    def exit_code(self) -> int:
        """Exit code of the command, see `VerifiedSource.exit_code`."""
        return max((each.exit_code for each in self.sources), default=0)

    def __str__(self) -> str:
        """The table and the notes as text."""
        report = self.report()
        return "\n".join(map(str, report.tables)) + "".join(f"{line}\n" for line in report.notes)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        report = self.report()
        return rendered(report.tables, Form.HTML, report.notes)

    def to_json(self) -> dict[str, Any]:
        """All rows, JSON-ready."""
        return {
            "source": self.place,
            "agrees": self.agrees,
            "counts": dict(Counter(row.verdict for row in self.rows)),
            "sources": [
                {
                    "name": each.name,
                    "seed": each.seed,
                    "failure": each.failure,
                    "counts": dict(each.counts),
                    "there": None if each.platform is None else dict(each.platform.recorded),
                    "here": None if each.platform is None else dict(each.platform.current),
                    "rows": list(map(asdict, each.rows)),
                }
                for each in self.sources
            ],
        }

    def to_frame(self) -> Any:
        """One row per claim, as a `pandas.DataFrame`.

        Raises:
            ConfigError: If pandas is not installed.
        """
        return as_frame([{"source": each.name, **asdict(row)} for each in self.sources for row in each.rows])

    def report(self) -> Report:
        """Table of the claims of one source; for several, a row per source and a row per claim that does not agree."""
        is_one = len(self.sources) == 1
        rows = [
            (each.name, row)
            for each in self.sources
            for row in each.rows
            if is_one or row.verdict not in ("identical", "agrees", "not verified")
        ]
        tables = [] if is_one else [_summary(self.sources)]
        if is_one or rows:
            tables.append(_claims_table(rows, has_names=not is_one))
        return Report(tables=tables, notes=tuple(self._notes()), data=self.to_json())

    def _notes(self) -> Iterator[str]:
        """Differences of the platforms, and the number of claims by verdict."""
        platforms = [each.platform for each in self.sources if each.platform is not None]
        if changes := dict.fromkeys(change for each in platforms for change in each.changes):
            yield f"Differences from the platform of the training: {'; '.join(changes)}"
        if share := max((each.tolerance.share for each in platforms), default=0):
            yield (
                f"Figures of agents then agree within {share:.1%}; with the same machine, versions, threads "
                "and precision, they are bit-identical"
            )
        counts = Counter(row.verdict for row in self.rows)
        parts = [f"{counts[verdict]:,} {verdict}" for verdict in ROLES if counts[verdict]]
        if failed := sum(each.failure is not None for each in self.sources):
            parts.append(f"{failed:,} failed {'run' if failed == 1 else 'runs'}, without claims")
        yield f"{self.place}: {', '.join(parts)}"


def _summary(sources: Sequence[VerifiedSource]) -> Table:
    """Number of claims by source and verdict."""
    verdicts = [verdict for verdict in ROLES if any(each.counts[verdict] for each in sources)]
    columns = (
        name_column("source"),
        *(number_column(verdict.replace(" ", "_")) for verdict in verdicts),
        Column("failure", wraps=True, is_shown=any(each.failure for each in sources)),
    )
    rows = [
        row_of(
            each.name,
            *(count(n := each.counts[verdict], role=ROLES[verdict] if n else "dim") for verdict in verdicts),
            text(each.failure, role="warning") if each.failure else nothing(),
        )
        for each in sources
    ]
    return Table(columns=columns, rows=rows)


def _claims_table(rows: Sequence[tuple[str, CheckedClaim]], *, has_names: bool) -> Table:
    """Table of claims, with the name of the source if there are several."""
    columns = (
        Column("source", is_key=True, merges=True, is_shown=has_names),
        Column("verdict"),
        name_column("claim"),
        number_column("claimed"),
        number_column("here"),
        number_column("difference"),
        Column("reason", wraps=True, is_shown=any(row.reason for _, row in rows)),
    )
    return Table(
        columns=columns,
        rows=[
            row_of(
                name,
                text(row.verdict, role=ROLES[row.verdict]),
                text(row.name),
                _value(row.claimed, row.kind),
                _value(row.here, row.kind),
                Cell(value=row.difference, lines=(f"{row.difference:+.2g}",))
                if row.difference
                else nothing(),
                text(row.reason) if row.reason else nothing(),
            )
            for name, row in rows
        ],
    )


def _value(value: Any, kind: ClaimKind) -> Cell:
    """Cell of a value: an undefined value has a mark, a file none."""
    if is_number(value):
        return Cell(value=value, lines=(f"{value:,}" if isinstance(value, int) else f"{value:.{PLACES}g}",))
    return text(value) if value is not None else nothing("" if kind == "file" else UNDEFINED)
