"""Update docs/claims.md, the line of README, the shipped verdicts, and the verdicts in files of results.

`python benchmarks/claims.py` writes them. The results are in `benchmarks/results/claims/`, one file per claim, written
by `ecsuite reproduce NAME --out benchmarks/results/claims/NAME.json`. `docs/conf.py` makes a page for each claim.
"""

import json
import re
import textwrap
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ecsuite.eval.experiments.claims.arms import read_outcome
from ecsuite.eval.experiments.claims.claim import load_claim, shipped_claims
from ecsuite.eval.experiments.claims.report import claim_page, draw_claim, list_rows, report_of
from ecsuite.eval.experiments.claims.verdict import FILE, VerdictRow, all_verdicts, summary
from ecsuite.eval.views.console import as_text
from ecsuite.files.atomic_files import write_atomically
from ecsuite.files.format_numbers import with_format

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "claims"
PAGE = ROOT / "docs" / "claims.md"
README = ROOT / "README.md"
LONGEST_LINE = 110
"""Characters of a line of a page."""
TABLE = re.compile(r"(?<=<!-- made of the results -->\n).*?(?=\n<!-- end -->)", re.DOTALL)
"""Generated part of docs/claims.md."""
LINE = re.compile(r"^Of \d+ published findings [^:]*:\s\[claims\]\(docs/claims\.md\)\.", re.MULTILINE)
"""Generated part of README.md."""


def texts_of(rows: list[VerdictRow]) -> dict[Path, str]:
    """Contents of the files that depend on the results, by path."""
    files = sorted(RESULTS.glob("*.json"))
    verdicts = json.dumps(list(map(asdict, rows)), indent=1, ensure_ascii=False) + "\n"
    table = "\n".join(["", *list_rows(rows), "", *_wrapped(summary(rows)), ""])
    line = "\n".join(_wrapped(f"{summary(rows, is_short=True)}: [claims](docs/claims.md)."))
    return {
        ROOT / "eval" / "experiments" / "claims" / FILE: verdicts,
        PAGE: TABLE.sub(lambda _: table, PAGE.read_text()),
        README: LINE.sub(lambda _: line, README.read_text()),
        **{file: as_text(with_format("result", _judged(file))) for file in files},
    }


def _wrapped(paragraph: str) -> list[str]:
    """Lines of a page."""
    return textwrap.wrap(paragraph, LONGEST_LINE, break_on_hyphens=False)


def _judged(file: Path) -> Mapping[str, Any]:
    """The content of a file of results with the verdicts of the present rules."""
    data = report_of(load_claim(file.stem), read_outcome(file)).data
    assert isinstance(data, Mapping)
    return data


def write_pages(folder: Path) -> list[str]:
    """Write a page with a figure for each claim; returns their names."""
    folder.mkdir(exist_ok=True)
    for name in shipped_claims():
        claim, results = load_claim(name), RESULTS / f"{name}.json"
        outcome = read_outcome(results) if results.is_file() else None
        picture = None if outcome is None else f"{name}.svg"
        if outcome is not None and picture is not None:
            draw_claim(claim, outcome, folder / picture)
        write_atomically(folder / f"{name}.md", claim_page(claim, outcome, picture).encode())
    return list(shipped_claims())


if __name__ == "__main__":
    for file, text in texts_of(all_verdicts(RESULTS)).items():
        write_atomically(file, text.encode())
