"""Which rows of a benchmark became slower, of two files that it printed with --json.

    python benchmarks/metrics.py --json > before.json
    python benchmarks/metrics.py --json > after.json
    python benchmarks/compare.py before.json after.json

Compared is the best of the measurements of a row, which load on the machine disturbs least. A row that is worse by 5 %
or more is flagged, and the exit code is then 1. Rows of one file alone are named.
"""

import argparse
import sys
from pathlib import Path

from rows import Row, read_rows

BOUND = 0.05
"""Share by which a row may be worse."""


def change(before: Row, after: Row) -> float:
    """How much more time or memory a row takes, as a share; below 0 if less."""
    ratio = before.best / after.best if after.higher_is_better else after.best / before.best
    return ratio - 1


def main() -> None:
    """Print a line a row; exit with 1 if one is flagged."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--bound", type=float, default=BOUND, help="share by which a row may be worse")
    given = parser.parse_args()
    (old, before), (new, after) = read_rows(given.before), read_rows(given.after)
    for key in ("machine", "versions"):
        if old[key] != new[key]:
            print(f"note: measured with other {key}: {old[key]} and {new[key]}")
    common = [name for name in before if name in after]
    if not common:
        sys.exit("no row is in both files")
    worse = 0
    for name in common:
        found = change(before[name], after[name])
        is_worse = found >= given.bound
        worse += is_worse
        values = f"{before[name].best:10,.3f} {after[name].best:10,.3f} {after[name].unit}"
        print(f"{name:40} {values:26} {found:+7.1%}{'  WORSE' if is_worse else ''}")
    for name in sorted(set(before) ^ set(after)):
        print(f"{name:40} only {'before' if name in before else 'after'}")
    sys.exit(f"{worse} of {len(common)} rows are worse by {given.bound:.0%} or more" if worse else 0)


if __name__ == "__main__":
    main()
