"""The page of all tables, figures, systems and settings of the four seed papers, made of the YAML files of this folder.

`python benchmarks/seeds/page.py` writes docs/evidence/seeds.md. A file has a row for each item of a paper: `paper`,
`item`, `what`, `command`, `state` and `why_or_file`, the result of what was run here, or why it was not.
"""

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

from ecsuite.files.atomic_files import write_atomically

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "evidence" / "seeds.md"
KEYS = {"paper", "item", "what", "command", "state", "why_or_file"}
"""The keys of a row."""
RUN, RUNS, NOT_POSSIBLE = STATES = ("run here", "runs", "not possible")
"""The states of a row."""
TITLES = {
    "cbm": "Concept Best Matching (Carmeli et al. 2024)",
    "icy": "ICY (Perkins 2021)",
    "xferbench": "XferBench (Boldt & Mortensen 2024)",
    "xtreme": "XTREME (Hu et al. 2020)",
}
"""Headings by paper."""
HEAD = """# Tables of the four papers

Which command produces a table or figure of the four papers that ecsuite repeats? The lists have each table,
figure, system and setting with its command. *Run here* links to the result; *runs* gives the reason why the
command was not run here at the published size; *not possible* gives the reason why there is no command.
[Claims](../claims.md) and [published programs](peers.md) compare the results with published figures.
`python benchmarks/seeds/page.py` makes this page from `benchmarks/seeds/*.yaml`.
"""


def read_rows() -> dict[str, list[Mapping[str, str]]]:
    """Rows by paper, in the order of the names of the files."""
    files = sorted(Path(__file__).parent.glob("*.yaml"))
    return {file.stem: yaml.safe_load(file.read_text()) for file in files}


def commands_of(row: Mapping[str, str]) -> Iterator[list[str]]:
    """The words of each command of a row, which may be joined by `&&` or `;`."""
    for part in re.split(r"&&|;", row["command"]):
        if part.strip():
            yield shlex.split(part)


def file_of(row: Mapping[str, str]) -> tuple[str, str]:
    """The file of what was run here, and the remark after it."""
    found = re.match(r"[\w./-]*\.\w+", row["why_or_file"])
    file = found[0] if found is not None else ""
    return file, row["why_or_file"].removeprefix(file).lstrip(" ,;:")


def page() -> str:
    """The text of docs/evidence/seeds.md."""
    papers = read_rows()
    parts = [HEAD, "| paper | " + " | ".join(STATES) + " |\n|---|" + "---|" * len(STATES)]
    for paper, rows in papers.items():
        counts = Counter(row["state"] for row in rows)
        numbers = " | ".join(str(counts[state]) for state in STATES)
        parts[-1] += f"\n| [{TITLES[paper]}](#{paper}) | {numbers} |"
    for paper, rows in papers.items():
        parts.append(
            f"\n## {paper}\n\n{TITLES[paper]}.\n\n| item | what | command | state |\n|---|---|---|---|"
        )
        parts[-1] += "".join(f"\n{_line(row)}" for row in rows)
    return "\n".join(parts) + "\n"


def _line(row: Mapping[str, str]) -> str:
    if row["state"] == RUN:
        file, remark = file_of(row)
        target = f"../{file.removeprefix('docs/')}" if file.startswith("docs/") else f"../../{file}"
        shown = f"[{RUN}]({target})" + (f", {_plain(remark)}" if remark else "")
    else:
        shown = f"*{row['state']}*: {_plain(row['why_or_file'])}"
    command = f"`{row['command'].replace('|', chr(92) + '|')}`" if row["command"] else ""
    return f"| {_plain(row['item'])} | {_plain(row['what'])} | {command} | {shown} |"


def _plain(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    write_atomically(PAGE, page().encode())
