"""Print what each defect of a published program changes, as the table of docs/evidence/peers.md.

    python -m ecsuite.benchmarks.peers
    python -m ecsuite.benchmarks.peers cbm egg --programs ~/src --path ~/src/site     # runs the programs themselves

`--programs` is a folder with checkouts: EGG, emlangkit, cbm, compositional-inductive-bias. A program that is there is
run, and the row says `run`; else our reimplementation of its rule is computed, and the row says `rule`. `--path` is a
folder of packages that the programs import and this Python lacks (`pip install --target FOLDER editdistance`).
`icy` and `xferbench` train models, which takes minutes on one core.
"""

import argparse
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from ecsuite.benchmarks.peers.rows import Programs, as_markdown
from ecsuite.runtime.errors import look_up

SCRIPTS = ("cbm", "egg", "emlangkit", "elcc", "icy", "xferbench")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, script by script."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scripts", nargs="*", default=SCRIPTS, help=", ".join(SCRIPTS))
    parser.add_argument("--programs", type=Path, help="folder with checkouts of the programs")
    parser.add_argument("--path", type=Path, help="folder of packages that they import")
    given = parser.parse_args(arguments)
    for name in given.scripts:
        look_up("script", name, dict.fromkeys(SCRIPTS))
    programs = Programs(folder=given.programs, path=given.path)
    print(
        "| program | defect | data, and what is measured | its value | right value | how |\n|---|---|---|---|---|---|"
    )
    for name in given.scripts:
        for row in import_module(f"ecsuite.benchmarks.peers.{name}").rows(programs):
            print(as_markdown(row), flush=True)


if __name__ == "__main__":
    main()
