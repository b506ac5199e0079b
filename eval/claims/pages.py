"""The results of claims as pages in Markdown: the list of all, and a page a claim."""

from collections.abc import Mapping, Sequence
from typing import Any

from ecsuite.eval.claims.claim import Claim
from ecsuite.eval.claims.outcome import Outcome
from ecsuite.eval.claims.report import report_of
from ecsuite.eval.claims.verdicts import Listed, published_cell
from ecsuite.eval.views.citations import reference
from ecsuite.tables.cells import interval, number

READ = {
    "paper": "read in the paper",
    "program": "read in the authors' program",
    "secondary": "as another paper says",
    "memory": "not read: nothing was at hand",
}
"""How it is said where a setting was read."""


def list_rows(rows: Sequence[Listed]) -> list[str]:
    """The table of all claims, a line a row."""
    lines = ["| claim | verdict | effect, 95 % interval | published | seeds |", "|---|---|---|---|---|"]
    for row in rows:
        is_run = row.verdict != "not run"
        file = f"benchmarks/results/claims/{row.claim}.json" if is_run else f"configs/claims/{row.claim}.yaml"
        hours = "" if is_run or row.hours is None else f" ({row.hours:.1f} h)"
        effect = "" if row.effect is None else interval(row.effect, row.ci95).text
        cells = (
            f"[{row.about}](../{file})",
            f"{row.told}{hours}",
            effect,
            published_cell(row).text,
            str(row.num_seeds or ""),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def claim_page(claim: Claim, outcome: Outcome | None, picture: str | None) -> str:
    """The page of a claim.

    Args:
        claim: The claim.
        outcome: Its runs; None: it was not run.
        picture: The file of its figure, as the page names it; None: there is none.
    """
    report = None if outcome is None else report_of(claim, outcome)
    verdict = f"not run{_hours(claim)}" if report is None else report.notes[0].partition(": ")[2]
    parts = [
        f"# {claim.about}",
        f"{claim.claim.strip()} {reference(claim.source.work)} ({claim.source.place}; {READ[claim.source.read]}).",
        f"**{verdict[0].upper()}{verdict[1:]}.**",
        *([f"![Arms with all seeds]({picture})"] if picture else []),
        _settings(claim),
        "\n".join(f"- {difference}" for difference in claim.differences),
        _criterion(claim),
    ]
    if report is not None and outcome is not None:
        parts += [table.markdown() for table in report.tables]
        parts += ["\n".join(f"- {note}" for note in report.notes[1:])]
        parts.append(
            f"{outcome.hours:.2f} hours on {outcome.processor}, ecsuite {outcome.version} {_commit(outcome)}."
        )
    if claim.published_figures:
        parts.append(_pairs("published figure", "value", claim.published_figures))
    parts.append(f"```sh\necsuite reproduce {claim.name}\n```")
    return "\n\n".join(filter(None, parts)) + "\n"


def _hours(claim: Claim) -> str:
    return "" if claim.hours is None else f": {claim.hours:g} hours of one core"


def _commit(outcome: Outcome) -> str:
    return "" if outcome.commit is None else f"({outcome.commit[:10]})"


def _settings(claim: Claim) -> str:
    """The published setting beside ours."""
    keys = dict.fromkeys((*claim.published, *claim.ours))
    rows = [f"| {key} | {_text(claim.published.get(key))} | {_text(claim.ours.get(key))} |" for key in keys]
    return "\n".join(["| setting | published | here |", "|---|---|---|", *rows])


def _criterion(claim: Claim) -> str:
    """The criterion in words."""
    criterion = claim.criterion
    sizes = criterion.published_differences
    said = {
        "published": "" if sizes is None else ", ".join(number(size).text for size in sizes),
        "from": criterion.published_from,
        "margin": "" if criterion.margin is None else f"{criterion.margin:g}, {criterion.margin_from}",
    }
    given = "; ".join(f"{key}: {text}" for key, text in said.items() if text)
    pilots = f"{claim.pilots.runs} pilot runs with seeds {', '.join(map(str, claim.pilots.seeds))}"
    before = pilots if claim.pilots.runs else "no pilot runs"
    what = f"{criterion.kind} of {criterion.statistic.name}"
    return f"Criterion, fixed before the runs: {what}; {given}. Before: {before}."


def _pairs(name: str, value: str, entries: Mapping[str, Any]) -> str:
    rows = [f"| {key} | {_text(entry)} |" for key, entry in entries.items()]
    return "\n".join([f"| {name} | {value} |", "|---|---|", *rows])


def _text(value: Any) -> str:
    return "" if value is None else str(value).replace("|", "\\|")
