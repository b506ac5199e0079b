"""Print the tables of docs/evidence/peers.md.

    python -m ecsuite.benchmarks.literature known                                # four minutes
    python -m ecsuite.benchmarks.literature known examples correlations          # seconds
    python -m ecsuite.benchmarks.literature readings --corpus runs/disc_small    # seconds
    python -m ecsuite.benchmarks.literature chance                               # seconds

`known` computes published figures again, of languages that are known as a whole. `readings` reads each metric in the
ways that published descriptions leave open, on a grammar with noise and on the corpora given, which must have attribute
values. `chance` has random languages, in which each line is also paired with itself.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ecsuite.benchmarks.literature.chance import rows
from ecsuite.benchmarks.literature.known import KNOWN
from ecsuite.benchmarks.literature.readings import READINGS
from ecsuite.benchmarks.literature.samples import Sample, noisy_grammar
from ecsuite.formats.reading import read_corpus
from ecsuite.runtime.errors import look_up


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one of the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("table", choices=("known", "readings", "chance"))
    parser.add_argument(
        "names", nargs="*", help=f"known: {', '.join(KNOWN)}; readings: {', '.join(READINGS)}"
    )
    parser.add_argument(
        "--corpus", type=Path, action="append", default=[], help="a run or a corpus; may be repeated"
    )
    given = parser.parse_args(arguments)
    if given.table == "chance":
        print_chance()
        return
    table = KNOWN if given.table == "known" else READINGS
    names = [name for name in given.names or table if look_up(given.table, name, table)]
    if given.table == "known":
        print_known(names)
    else:
        print_readings(names, given.corpus)


def print_known(names: Sequence[str]) -> None:
    """A line for each figure that can be computed again."""
    print("| claim | measured | published | ours |\n|---|---|---|---|")
    for name in names:
        for row in KNOWN[name]():
            print(f"| {row.claim} | {row.measured} | {row.published:g} | {row.ours:.3f} |", flush=True)


def print_chance() -> None:
    """A line for each geometry."""
    print("| random languages | pairs of different lines | also each line and itself |\n|---|---|---|")
    for row in rows():
        print(f"| {row.about} | {row.others:.3f} | {row.itself:.3f} |", flush=True)


def print_readings(names: Sequence[str], corpora: Sequence[Path]) -> None:
    """A line for each reading of a metric, with the difference from ecsuite's in brackets."""
    samples = {"noisy grammar": noisy_grammar()}
    samples |= {path.name: Sample.of(read_corpus(path)) for path in corpora}
    print(f"| metric | reading | {' | '.join(samples)} |\n|---|---|{'---|' * len(samples)}")
    for metric in names:
        first = [next(iter(READINGS[metric].values()))(sample) for sample in samples.values()]
        for number, (name, reading) in enumerate(READINGS[metric].items()):
            values = [reading(sample) for sample in samples.values()] if number else first
            cells = [_cell(value, own, number > 0) for value, own in zip(values, first, strict=True)]
            print(f"| `{metric}` | {name} | {' | '.join(cells)} |", flush=True)


def _cell(value: float, own: float, is_compared: bool) -> str:
    if np.isnan(value):
        return "undefined"
    return f"{value:.3f} ({value - own:+.3f})" if is_compared and not np.isnan(own) else f"{value:.3f}"


if __name__ == "__main__":
    main()
