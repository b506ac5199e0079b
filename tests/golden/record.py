"""Record the golden figures: `python tests/golden/record.py [PART ...]`; all parts if none is named.

Run it on a tree whose figures are right. A figure that is still within its bound keeps the digits that are recorded,
so that a recording on another machine changes nothing. A metric whose value left its bound must have a higher
version first; any other change is shown, and is for the reader of the commit to judge.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import game_figures
import grammar_figures
import learning_figures
import metric_figures
from access import package_file
from comparison import Case, differences

FOLDER = Path(__file__).parent
PARTS: dict[str, dict[str, Case]] = {
    "metrics": metric_figures.CASES, "games": game_figures.CASES, "grammars": grammar_figures.CASES,
    "learning": learning_figures.CASES,
}  # fmt: skip
"""The cases of each file of figures."""


def read(part: str) -> dict[str, Any]:
    path = FOLDER / f"{part}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def compute(part: str, case: str) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        return json.loads(json.dumps(PARTS[part][case].compute(Path(folder)), allow_nan=False))


def changed(part: str, case: str, recorded: Any, found: Any) -> list[str]:
    return list(differences(recorded, found, PARTS[part][case].bound))


def unversioned(recorded: Any, found: Any) -> list[str]:
    """Names of metrics' scores that changed, and not only got further figures, while their version did not."""
    bound = metric_figures.BOUND
    return [
        name for name in recorded.keys() & found.keys() if recorded[name]["version"] == found[name][
            "version"
        ] and any(": is new: " not in line for line in differences(recorded[name], found[name], bound))
    ]  # fmt: skip


def record(part: str) -> None:
    """Compute a part and write its file, with what changed on standard output."""
    before, figures = read(part), {}
    for case in PARTS[part]:
        found = compute(part, case)
        lines = changed(part, case, before[case], found) if case in before else []
        if part == "metrics" and case in before and isinstance(found, dict):
            names = unversioned(before[case], found)
            if names:
                sys.exit("\n".join([*lines, f"{case}: raise the version of {', '.join(sorted(names))} first"]))
        figures[case] = found if lines or case not in before else before[case]
        for line in lines:
            print(f"{part}, {case}: {line}")
    text = json.dumps(figures, indent=1, ensure_ascii=False)
    (FOLDER / f"{part}.json").write_text(text + "\n")
    print(f"{part}: {len(figures)} cases")


def main() -> None:
    parts = sys.argv[1:] or list(PARTS)
    for part in parts:
        if part not in PARTS:
            sys.exit(f"unknown part '{part}'; choices: {', '.join(PARTS)}")
    if package_file().parent != FOLDER.parents[1]:
        sys.exit(f"the package of {package_file().parent} answers: put the folder of this one on PYTHONPATH")
    for part in parts:
        record(part)


if __name__ == "__main__":
    main()
