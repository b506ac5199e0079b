"""The card of a repository, `README.md`: what it is, how to get it, how it came about, its scores and its limits."""

import shlex
from collections.abc import Mapping, Sequence

import yaml

from ecsuite.eval.results.results import Results
from ecsuite.eval.results.sources import Source
from ecsuite.eval.views.comparison import means_table
from ecsuite.eval.views.runs import failed_runs, failed_runs_table
from ecsuite.hub.address import Address
from ecsuite.hub.contents import Contents, messages_in
from ecsuite.hub.licences import Licence
from ecsuite.hub.statements import GENERATED_BY
from ecsuite.hub.summary import Summary
from ecsuite.tables.cells import interval, number, text
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of
from ecsuite.version import __version__

TAGS = ("emergent-communication", "emergent-language", "language-creation", "ecsuite", "croissant")
"""Tags of every repository."""
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
"""Categories of the hub by the number of messages below which they are."""
HEADINGS = {
    "collection": "Collection",
    "biases": "Biases",
    "limitations": "Limits",
    "use_cases": "Uses",
    "social_impact": "Impact",
    "personal_information": "Personal information",
    "maintenance": "Versions",
}
"""Statements that the card has."""
DIGITS = 3
"""Decimals of scores."""


def card(
    address: Address,
    summary: Summary,
    contents: Contents,
    licence: Licence,
    description: str,
    statements: Mapping[str, str],
) -> str:
    """The text of `README.md`.

    Args:
        address: Where it is pushed.
        summary: What it is.
        contents: The files.
        licence: Its terms.
        description: What it is, in a paragraph.
        statements: See `statements_of`.
    """
    scored = any(source.records for source in summary.sources)
    messages = messages_in(address.name, [each.name for each in contents.files], has_scores=scored)
    look = f"score {shlex.quote(messages)}" if messages else f"compare {address.name}"
    parts = [
        _front_matter(address, summary, licence),
        f"# {address.name}",
        f"{description} Made with ecsuite {__version__}.",
        f"    ecsuite pull {address}\n    ecsuite {look}",
        "`ecsuite pull` verifies every file against the checksums in `croissant.json`, and runs nothing.",
        *(["## How it was made", summary.made] if summary.made else []),
        *_scores(summary.sources),
        *_failed([source for source in summary.sources if source.is_run]),
        "## Collection, uses and limits",
        "\n".join(f"- **{HEADINGS[name]}**: {statements[name]}" for name in HEADINGS),
        f"- **Licence**: [{licence.name}]({licence.url})",
        "## Citation",
        f"```bibtex\n{summary.citation}\n```",
    ]
    return "\n\n".join(parts).replace("\n\n- **Licence", "\n- **Licence") + "\n"


def _front_matter(address: Address, summary: Summary, licence: Licence) -> str:
    """What the hub reads of a card."""
    size = next((name for bound, name in SIZES if summary.num_messages < bound), "n>1M")
    data = {
        "pretty_name": address.name,
        "license": licence.name,
        **({"license_name": "other", "license_link": licence.url} if licence.name == "other" else {}),
        "language_creators": ["machine-generated" if summary.origin in GENERATED_BY else "other"],
        "size_categories": [size],
        "tags": list(TAGS),
        "viewer": False,  # lines are arrays, which it does not show
    }
    return f"---\n{yaml.safe_dump(data, sort_keys=False, allow_unicode=True)}---"


def _scores(sources: Sequence[Source]) -> list[str]:
    """The section with the scores: of one source each with its interval, of several their means."""
    scored = [source for source in sources if source.records]
    if not scored:
        return []
    if len(scored) == 1:
        tables = [_of_one(scored[0])]
        note = "Intervals are over messages. Scores with equal signatures are comparable."
    else:
        if any(source.is_run for source in scored):
            scored = [source for source in scored if source.is_run]
        tables = [means_table(Results(scored).means()), _signatures(scored)]
        note = "Means over runs, with 95 % intervals over their seeds."
    return ["## Scores", *(table.markdown().strip() for table in tables), note]


def _of_one(source: Source) -> Table:
    levels = source.metadata.get("chance")
    measured = levels if isinstance(levels, Mapping) else {}
    columns = (
        name_column("score"),
        number_column("value", parts=("low", "high")),
        number_column("chance"),
        Column("signature"),
    )
    rows = [
        row_of(
            record.figure,
            interval(_value(record.value), record.ci95, DIGITS),
            number(
                _value(measured.get(record.figure) if record.chance is None else record.chance.level), DIGITS
            ),
            text(record.signature or (f"undefined: {record.reason}" if record.reason else "")),
        )
        for record in source.records
    ]
    return Table(columns=columns, rows=rows)


def _value(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _signatures(sources: Sequence[Source]) -> Table:
    """The signatures of the scores of several sources."""
    found = dict.fromkeys(
        (record.name, record.signature) for source in sources for record in source.records if record.signature
    )
    rows = [row_of(score, text(signature)) for score, signature in found]
    return Table(columns=(name_column("score"), Column("signature")), rows=rows)


def _failed(runs: Sequence[Source]) -> list[str]:
    """The section with the runs that did not end as their settings say; every started run is counted."""
    if len(runs) < 2:
        return []
    failed = failed_runs(runs)
    told = f"{len(runs) - len(failed)} of {len(runs)} runs ended as their settings say."
    if not failed:
        return ["## Failed seeds", f"{told} None failed."]
    return [
        "## Failed seeds",
        f"{told} These did not, and are in no mean:",
        failed_runs_table(runs).markdown().strip(),
    ]
