"""The verdicts on all shipped claims, as they are listed: made from the results, and shipped as `verdicts.json`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from ecsuite.eval.claims.claim import Claim, load_claim, shipped_claims
from ecsuite.eval.claims.outcome import read_outcome
from ecsuite.eval.claims.verdict import Verdict, judge
from ecsuite.eval.views.citations import author_year_of
from ecsuite.runtime.errors import ConfigError
from ecsuite.tables.cells import Cell, interval, nothing, number, text
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

FILE = "verdicts.json"
"""The file of all verdicts, in this package."""
ROLES: Mapping[str, Any] = {"holds": "good", "does not hold": "bad"}
"""What a verdict stands for in a table."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Listed:
    """A claim in the list."""

    claim: str
    """Its name."""
    about: str
    """What it says, in a line."""
    source: str
    """Authors and year."""
    verdict: Verdict
    """What follows from its runs."""
    answer: str = ""
    """What the rule says of the size that was run."""
    reason: str = ""
    """Why."""
    effect: float | None = None
    """The first difference of its criterion."""
    ci95: tuple[float, float] | None = None
    """Its 95 % interval."""
    published: float | None = None
    """The published difference."""
    margin: float | None = None
    """Half the width of what counts as no effect."""
    num_seeds: int = 0
    """Seeds of its runs."""
    hours: float | None = None
    """Hours of computing; of a claim that was not run, those that `--plan` measured."""

    @property
    def told(self) -> str:
        """The verdict and, at another size than the published one, what its rule says of this size."""
        return (
            f"{self.verdict} (here: {self.answer})"
            if self.verdict == "can't tell at this size"
            else self.verdict
        )


def listed(claim: Claim, results: Path) -> Listed:
    """A claim with the verdict on its results, if there is a file of them.

    Raises:
        ConfigError: If what decides was changed after the runs, or the file can't be read.
    """
    sizes = claim.criterion.published_differences
    row = Listed(
        claim=claim.name,
        about=claim.about,
        source=author_year_of(claim.source.work),
        verdict="not run",
        published=sizes[0] if sizes else None,
        margin=claim.criterion.margin,
        hours=claim.hours,
    )
    file = results / f"{claim.name}.json"
    if not file.is_file():
        return row
    outcome = read_outcome(file)
    if outcome.digest != claim.digest or outcome.is_small:
        raise ConfigError(f"{file}: not the results of the claim {claim.name} as it is now")
    verdict, judged = judge(claim, outcome.runs)
    difference = judged.compared[0].difference
    return replace(
        row,
        verdict=verdict,
        answer=judged.answer,
        reason=judged.reason,
        effect=None if difference is None else difference.mean,
        ci95=None if difference is None else difference.ci95,
        num_seeds=len({run.seed for run in outcome.runs}),
        hours=round(outcome.hours, 2),
    )


def all_listed(results: Path) -> list[Listed]:
    """All shipped claims with the verdicts on their results in a folder; those that were not run are the last."""
    rows = [listed(load_claim(name), results) for name in shipped_claims()]
    return sorted(rows, key=lambda row: row.verdict == "not run")


def shipped_verdicts() -> list[Listed]:
    """All shipped claims with their verdicts, as this version ships them."""
    content = resources.files(__package__).joinpath(FILE).read_bytes()
    return msgspec.json.decode(content, type=list[Listed])


def verdicts_json(rows: Iterable[Listed]) -> list[dict[str, Any]]:
    """The list as JSON-ready data."""
    return [asdict(row) for row in rows]


def verdicts_table(rows: Sequence[Listed]) -> Table:
    """The list as a table."""
    columns = (
        name_column("claim"),
        Column("verdict"),
        number_column("effect", parts=("low", "high")),
        number_column("published"),
        number_column("seeds"),
        number_column("hours"),
    )
    return Table(
        columns=columns,
        rows=[
            row_of(
                row.claim,
                text(row.verdict, shown=row.told, role=ROLES.get(row.verdict, "")),
                nothing() if row.effect is None else interval(row.effect, row.ci95),
                published_cell(row),
                row.num_seeds or None,
                nothing() if row.hours is None else number(row.hours, 1),
            )
            for row in rows
        ],
    )


def published_cell(row: Listed) -> Cell:
    """The published difference, or the margin of a null claim."""
    if row.margin is not None:
        return Cell(value=row.margin, lines=(f"within ± {row.margin:g}",))
    return nothing() if row.published is None else number(row.published)


def summary(rows: Sequence[Listed], *, is_short: bool = False) -> str:
    """How many claims hold, do not, and are not run; of the others it can't be told, which the long one says, too."""
    holds = sum(row.verdict.startswith("holds") for row in rows)
    fails = sum(row.verdict.startswith("does not hold") for row in rows)
    not_run = sum(row.verdict == "not run" for row in rows)
    untold, verb = len(rows) - holds - fails - not_run, "does" if fails == 1 else "do"
    if is_short:
        return f"Of {len(rows)} claims {holds} hold, {fails} {verb} not, {not_run} are not run"
    parts = f"{holds} hold, {fails} {verb} not, {untold} can't be told here, and {not_run} are not run"
    return f"Of {len(rows)} published claims {parts}."
