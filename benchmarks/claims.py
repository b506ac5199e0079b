"""Make what is made of the results of claims: `python benchmarks/claims.py` writes the page and the list of verdicts.

Results are in `benchmarks/results/claims/`: `ecsuite reproduce NAME --out benchmarks/results/claims/NAME.json`.
"""

from pathlib import Path

from ecsuite.eval.claims.verdicts import FILE, all_listed, verdicts_json
from ecsuite.eval.reports.console import write_json

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "claims"

if __name__ == "__main__":
    write_json(ROOT / "eval" / "claims" / FILE, verdicts_json(all_listed(RESULTS)))
